//! The kernels of attention, and the conditions of each. The conditions are those of PyTorch 2.13, on devices those for
//! a GPU of compute capability 8.0.

use std::fmt;

use interlock::accelerator::{Device, DeviceType};
use interlock::backends::flags::{
    CUDA_CUDNN_SDP, CUDA_FLASH_SDP, CUDA_FP16_BF16_REDUCTION_MATH_SDP, CUDA_MATH_SDP, CUDA_MEM_EFFICIENT_SDP,
    CUDA_SDP_PRIORITY,
};
use interlock::dispatch::{FlagRequirement, Kernel, Op, Operation, Order, Preference, Preferred, Reason};

use super::math::run_math;
use super::{OP, tiled};
use crate::layout::broadcast;
use crate::ops::conditions::{Condition, of_dtype, on_device, require};
use crate::{DType, Error, Tensor, error};

/// Scaled-dot-product attention. [`ATTENTION`] has its kernels.
#[derive(Debug)]
pub struct Attention;

/// The properties of an attention on which the choice of its kernel depends.
///
/// ```
/// use interlock_tensor::{AttentionArgs, AttentionCall, DType, Tensor};
///
/// let x = Tensor::ones(&[1, 2, 3, 4], DType::Float32)?;
/// let args = AttentionArgs {
///     query: &x, key: &x, value: &x, mask: None, is_causal: true, scale: 0.5, enable_gqa: false,
/// };
/// let call = AttentionCall::new(&args);
/// assert_eq!(call.to_string(), "cpu float32 query 1x2x3x4, key 1x2x3x4, value 1x2x3x4, causal");
/// assert_eq!(call.shapes()[0], [1, 2, 3, 4]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttentionCall {
    device: Device,
    dtype: DType,
    /// The shapes of the queries, keys and values.
    shapes: [Vec<usize>; 3],
    has_dense_rows: bool,
    mask: Option<MaskCall>,
    is_causal: bool,
    enable_gqa: bool,
}

/// The properties of a mask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MaskCall {
    dtype: DType,
    shape: Vec<usize>,
    has_dense_rows: bool,
    requires_grad: bool,
}

/// Returns whether the elements of a row have no gaps between them.
fn has_dense_rows(tensor: &Tensor) -> bool {
    tensor.strides().last().is_none_or(|stride| *stride == 1)
}

impl AttentionCall {
    /// Returns the properties of a call.
    pub fn new(args: &AttentionArgs<'_>) -> Self {
        let tensors = [args.query, args.key, args.value];
        AttentionCall {
            device: args.query.device(),
            dtype: args.query.dtype(),
            shapes: tensors.map(|tensor| tensor.shape().to_vec()),
            has_dense_rows: tensors.into_iter().all(has_dense_rows),
            mask: args.mask.map(|mask| MaskCall {
                dtype: mask.dtype(),
                shape: mask.shape().to_vec(),
                has_dense_rows: has_dense_rows(mask),
                requires_grad: mask.requires_grad(),
            }),
            is_causal: args.is_causal,
            enable_gqa: args.enable_gqa,
        }
    }

    /// Returns the device of the operands.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the element type of the queries, keys and values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shapes of the queries, keys and values, which have at least two dimensions.
    pub fn shapes(&self) -> [&[usize]; 3] {
        self.shapes.each_ref().map(Vec::as_slice)
    }

    /// Returns whether a mask is added to the scores.
    pub fn has_mask(&self) -> bool {
        self.mask.is_some()
    }

    /// Returns the type and shape of the mask.
    pub(crate) fn mask(&self) -> Option<(DType, &[usize])> {
        self.mask.as_ref().map(|mask| (mask.dtype, mask.shape.as_slice()))
    }

    /// Returns whether a query sees only the keys up to its own position.
    pub fn is_causal(&self) -> bool {
        self.is_causal
    }

    /// Returns whether several heads of queries may share one head of keys and values.
    pub fn enable_gqa(&self) -> bool {
        self.enable_gqa
    }

    /// Returns the shape of the result: the batch of all operands, the queries and the size of a value.
    ///
    /// # Errors
    /// Returns a reason if the batches cannot be broadcast.
    pub fn output_shape(&self) -> Result<Vec<usize>, Reason> {
        let refused = |_| Reason::from("needs batches that can be broadcast");
        let [[batch_q @ .., rows, _], key, [batch_v @ .., _, depth]] = self.shapes() else {
            return Err(Reason::from("needs at least 2 dimensions"));
        };
        if self.enable_gqa {
            return Ok([batch_q, &[*rows, *depth]].concat());
        }
        let batch_k = key.split_at(key.len().saturating_sub(2)).0;
        let batch = broadcast(OP, batch_q, batch_k).map_err(refused)?;
        let batch = broadcast(OP, &batch, batch_v).map_err(refused)?;
        Ok([batch.as_slice(), &[*rows, *depth]].concat())
    }

    fn is_on_cpu(&self) -> bool {
        self.device.kind() == DeviceType::Cpu
    }
}

impl fmt::Display for AttentionCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [query, key, value] = self.shapes.each_ref().map(|shape| error::Sizes(shape));
        write!(f, "{} {} query {query}, key {key}, value {value}", self.device, self.dtype)?;
        if let Some(mask) = &self.mask {
            write!(f, ", mask {} {}", mask.dtype, error::Sizes(&mask.shape))?;
        }
        f.write_str(if self.is_causal { ", causal" } else { "" })?;
        f.write_str(if self.enable_gqa { ", gqa" } else { "" })
    }
}

/// The arguments of an attention. Shapes, types and devices fit each other.
#[derive(Clone, Copy, Debug)]
pub struct AttentionArgs<'a> {
    /// The queries, of shape (..., heads, length, size).
    pub query: &'a Tensor,
    /// The keys, of shape (..., heads, key length, size).
    pub key: &'a Tensor,
    /// The values, of shape (..., heads, key length, value size).
    pub value: &'a Tensor,
    /// Bools, where true lets a query see a key, or numbers, which are added to the scores.
    pub mask: Option<&'a Tensor>,
    /// Whether a query sees only the keys up to its own position.
    pub is_causal: bool,
    /// The factor of the scores.
    pub scale: f64,
    /// Whether several heads of queries may share one head of keys and values.
    pub enable_gqa: bool,
}

/// The result of a kernel of attention.
#[derive(Debug)]
pub struct AttentionOut {
    pub(crate) output: Tensor,
    /// The largest score of each row and the sum of the exponentials of the differences from it, if the kernel computed
    /// them.
    pub(crate) normalizers: Option<Tensor>,
    /// The name of the node of the operation.
    pub(crate) node: &'static str,
}

impl From<Tensor> for AttentionOut {
    /// Converts the result of a kernel that other code has registered. If the result has no history although one is
    /// recorded, the backward pass recomputes the attention in blocks.
    fn from(output: Tensor) -> Self {
        let node = "ScaledDotProductFusedAttentionOverrideableBackward0";
        AttentionOut { output, normalizers: None, node }
    }
}

impl Operation for Attention {
    const NAME: &'static str = OP;
    type Call = AttentionCall;
    type Args<'a> = AttentionArgs<'a>;
    type Out = AttentionOut;
    type Error = Error;

    fn obeys_precision(_: &AttentionCall) -> bool {
        // The products inside obey it.
        false
    }
}

/// The kernels of attention: `math`, which multiplies matrices, and `flash`, `efficient` and `cudnn`, which compute
/// blocks of keys. On devices the last three are models of PyTorch's kernels, and `cuda.sdp_priority` sets the order,
/// in which registered kernels have the position of `overrideable`. On the CPU registered kernels come first.
///
/// ```
/// use interlock::dispatch::{Kernel, Reason};
/// use interlock_tensor::{ATTENTION, Attention, AttentionOptions, DType, Tensor};
///
/// ATTENTION.register(
///     // The mean of a single value is the value.
///     Kernel::<Attention>::new("single", |_, _, args| Ok(args.value.expand(&[1, 1, 5, 4])?.into())).condition(|call| {
///         match call.shapes() {
///             [[1, 1, 5, 4], [1, 1, 1, _], [1, 1, 1, 4]] => Ok(()),
///             _ => Err(Reason::from("needs one key and five queries")),
///         }
///     }),
/// )?;
/// let (query, key) = (Tensor::ones(&[1, 1, 5, 4], DType::Float32)?, Tensor::ones(&[1, 1, 1, 4], DType::Float32)?);
/// let options = AttentionOptions::default();
/// assert_eq!(query.explain_scaled_dot_product_attention(&key, &key, &options)?.kernel(), Some("single"));
/// assert_eq!(query.scaled_dot_product_attention(&key, &key, &options)?.to_vec::<f32>()?, [1.0; 20]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub static ATTENTION: Op<Attention> = Op::new(&[
    Kernel::<Attention>::new("flash", |call, _, args| tiled::run(args, node_of_flash(call)))
        .model_if(|call| !call.is_on_cpu())
        .requires(&[FlagRequirement::on(&CUDA_FLASH_SDP)])
        .condition(can_run_flash),
    Kernel::<Attention>::new("efficient", |_, _, args| {
        tiled::run(args, "ScaledDotProductEfficientAttentionBackward0")
    })
    .model()
    .requires(&[FlagRequirement::on(&CUDA_MEM_EFFICIENT_SDP)])
    .condition(can_run_efficient),
    Kernel::<Attention>::new("math", run_math)
        .requires(&[FlagRequirement::on(&CUDA_MATH_SDP)])
        .obeys(&CUDA_FP16_BF16_REDUCTION_MATH_SDP),
    Kernel::<Attention>::new("cudnn", |_, _, args| {
        tiled::run(args, "ScaledDotProductCudnnAttentionBackward0")
    })
    .model()
    .requires(&[FlagRequirement::on(&CUDA_CUDNN_SDP)])
    .condition(can_run_cudnn),
])
.order(Order::new(&CUDA_SDP_PRIORITY, preferred_kernels));

fn node_of_flash(call: &AttentionCall) -> &'static str {
    if call.is_on_cpu() {
        "ScaledDotProductFlashAttentionForCpuBackward0"
    } else {
        "ScaledDotProductFlashAttentionBackward0"
    }
}

/// The kernels in the order of the numbers of `SDPBackend`, which are the positions of `cuda.sdp_priority`.
const BY_NUMBER: [Preference; 5] = [
    Preference::Kernel("math"),
    Preference::Kernel("flash"),
    Preference::Kernel("efficient"),
    Preference::Kernel("cudnn"),
    Preference::Registered,
];

/// The order is set on accelerators only.
fn preferred_kernels(call: &AttentionCall) -> Preferred {
    let mut preferred = [None; 5];
    if !call.is_on_cpu() {
        let kernels = CUDA_SDP_PRIORITY.get().positions().map(|position| BY_NUMBER.get(position).copied());
        preferred.iter_mut().zip(kernels).for_each(|(slot, kernel)| *slot = kernel);
    }
    preferred
}

/// PyTorch: `use_flash_attention_cpp` on the CPU and `can_use_flash_attention` on devices.
fn can_run_flash(call: &AttentionCall) -> Condition {
    let Sizes { rows, keys, depth, value_depth, .. } = Sizes::of(call)?;
    if call.is_on_cpu() {
        check_mask(call)?;
    } else {
        require(!call.has_mask(), || "needs no attn_mask on a device")?;
        require(depth <= 256, || format!("needs sizes of heads up to 256, got {depth}"))?;
        require(!call.is_causal || rows == keys, || {
            format!("needs as many queries as keys for is_causal, got {rows} and {keys}")
        })?;
        check_half(call)?;
    }
    require(depth == value_depth && depth > 0, || {
        format!("needs query and value of one size, got {depth} and {value_depth}")
    })?;
    check_operands(call, true)
}

/// PyTorch: `can_use_mem_efficient_attention`.
fn can_run_efficient(call: &AttentionCall) -> Condition {
    on_device(call.device)?;
    let Sizes { depth, value_depth, .. } = Sizes::of(call)?;
    of_dtype("float32, float16 or bfloat16", call.dtype, call.dtype != DType::Float64)?;
    let unit = if call.dtype == DType::Float32 { 4 } else { 8 };
    check_multiples([depth, value_depth], unit)?;
    let requires_grad = call.mask.as_ref().is_some_and(|mask| mask.requires_grad);
    require(!requires_grad, || "needs an attn_mask that does not require grad")?;
    check_operands(call, false)
}

/// PyTorch: `can_use_cudnn_attention`.
fn can_run_cudnn(call: &AttentionCall) -> Condition {
    on_device(call.device)?;
    let Sizes { keys, depth, value_depth, .. } = Sizes::of(call)?;
    check_half(call)?;
    check_mask(call)?;
    let largest = depth.max(value_depth);
    require(largest <= 128, || format!("needs sizes of heads up to 128, got {largest}"))?;
    check_multiples([depth, value_depth], 8)?;
    require(keys != 1, || "needs at least 2 keys, got 1")?;
    check_operands(call, true)
}

/// The sizes of a call with 4 dimensions.
struct Sizes {
    batch: [usize; 3],
    heads: [usize; 3],
    rows: usize,
    keys: usize,
    depth: usize,
    value_depth: usize,
}

impl Sizes {
    /// Returns the sizes, or the reason of a kernel that needs 4 dimensions and at least one query and key.
    fn of(call: &AttentionCall) -> Result<Self, Reason> {
        let [&[b_q, h_q, rows, depth], &[b_k, h_k, keys, _], &[b_v, h_v, _, value_depth]] = call.shapes()
        else {
            let given = call.shapes().map(<[usize]>::len);
            let other = given.into_iter().find(|ndim| *ndim != 4).unwrap_or_default();
            return Err(Reason::from(format!("needs 4 dimensions, got {other}")));
        };
        require(rows > 0 && keys > 0, || format!("needs queries and keys, got {rows} and {keys}"))?;
        Ok(Sizes { batch: [b_q, b_k, b_v], heads: [h_q, h_k, h_v], rows, keys, depth, value_depth })
    }
}

fn check_half(call: &AttentionCall) -> Condition {
    of_dtype("float16 or bfloat16", call.dtype, call.dtype.is_half())
}

fn check_multiples(sizes: [usize; 2], unit: usize) -> Condition {
    let odd = sizes.into_iter().find(|size| *size == 0 || size % unit != 0);
    require(odd.is_none(), || {
        format!("needs sizes of heads that are multiples of {unit}, got {}", odd.unwrap_or_default())
    })
}

/// Checks that nothing is broadcast, that heads of keys are shared only where the kernel can do so, and that rows have no
/// gaps. On the CPU those of a mask may have some.
fn check_operands(call: &AttentionCall, has_gqa: bool) -> Condition {
    let Sizes { batch: [b_q, b_k, b_v], heads: [h_q, h_k, h_v], .. } = Sizes::of(call)?;
    require(b_q == b_k && b_q == b_v, || format!("needs equal batch sizes, got {b_q}, {b_k} and {b_v}"))?;
    let are_equal = h_q == h_k && h_q == h_v;
    let are_shared = call.enable_gqa && has_gqa && h_k == h_v && h_k > 0 && h_q % h_k == 0;
    require(are_equal || are_shared, || format!("needs equal numbers of heads, got {h_q}, {h_k} and {h_v}"))?;
    let is_dense_mask = call.mask.as_ref().is_none_or(|mask| mask.has_dense_rows);
    let holds = call.has_dense_rows && (call.is_on_cpu() || is_dense_mask);
    require(holds, || "needs a stride of 1 in the last dimension")
}

fn check_mask(call: &AttentionCall) -> Condition {
    let Some(mask) = &call.mask else { return Ok(()) };
    require(!mask.requires_grad, || "needs an attn_mask that does not require grad")?;
    let ndim = mask.shape.len();
    require(ndim == 2 || ndim == 4, || format!("needs an attn_mask with 2 or 4 dimensions, got {ndim}"))
}
