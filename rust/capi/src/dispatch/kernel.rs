//! Registration of kernels.

use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::ptr::null;

use super::Rounding;
use crate::error::{check, fill_text};
use crate::import::api;
use crate::raw::{caught, items, text};
use crate::sys::*;
use crate::{Error, ErrorCode, Result};

/// How `matmul` of float16 and bfloat16 inputs accumulates. The result is rounded once more.
///
/// ```
/// use interlock_capi::dispatch::Sums;
///
/// assert_eq!(Sums::default(), Sums::Float32);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sums {
    /// In float32, or the inputs have another type.
    #[default]
    Float32,
    /// In float16: each partial sum is rounded.
    Float16,
    /// Two partial sums in float32, each rounded to float16.
    SplitFloat16,
    /// Two partial sums in float32, each rounded to bfloat16.
    SplitBfloat16,
}

impl Sums {
    pub(super) fn from_raw(raw: u32) -> Self {
        match raw {
            INTERLOCK_SUMS_FLOAT16 => Sums::Float16,
            INTERLOCK_SUMS_SPLIT_FLOAT16 => Sums::SplitFloat16,
            INTERLOCK_SUMS_SPLIT_BFLOAT16 => Sums::SplitBfloat16,
            _ => Sums::Float32,
        }
    }
}

/// The type of the elements of a tensor, as DLPack describes it.
///
/// ```
/// use interlock_capi::dispatch::DType;
/// use interlock_capi::sys::INTERLOCK_DTYPE_FLOAT;
///
/// assert_eq!(DType::FLOAT32, DType { code: INTERLOCK_DTYPE_FLOAT, bits: 32 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DType {
    /// One of `INTERLOCK_DTYPE_*`.
    pub code: u8,
    /// The bits of an element.
    pub bits: u8,
}

impl DType {
    /// float32.
    pub const FLOAT32: DType = DType { code: INTERLOCK_DTYPE_FLOAT, bits: 32 };
    /// float64.
    pub const FLOAT64: DType = DType { code: INTERLOCK_DTYPE_FLOAT, bits: 64 };
    /// float16.
    pub const FLOAT16: DType = DType { code: INTERLOCK_DTYPE_FLOAT, bits: 16 };
    /// bfloat16.
    pub const BFLOAT16: DType = DType { code: INTERLOCK_DTYPE_BFLOAT, bits: 16 };
    /// Bytes.
    pub const UINT8: DType = DType { code: INTERLOCK_DTYPE_UINT, bits: 8 };
}

/// An operand or a result of a kernel. It has the layout of DLPack's `DLTensor`, to which a capsule of the name
/// `dltensor` points.
#[repr(transparent)]
pub struct Tensor(InterlockTensor);

impl Tensor {
    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        DType { code: self.0.dtype.code, bits: self.0.dtype.bits }
    }

    /// Returns whether the tensor is in memory of the CPU.
    pub fn is_on_cpu(&self) -> bool {
        self.0.device.device_type == INTERLOCK_TENSOR_CPU
    }

    /// Returns the type of the device, one of `INTERLOCK_TENSOR_*`, and its index.
    pub fn device(&self) -> (i32, i32) {
        (self.0.device.device_type, self.0.device.device_id)
    }

    /// Returns the size of each dimension.
    pub fn shape(&self) -> &[i64] {
        // SAFETY: interlock passes as many sizes as dimensions.
        unsafe { items(self.0.shape, self.ndim()) }
    }

    /// Returns the stride of each dimension in elements; `None` for contiguous elements, and while the kernel is only
    /// considered.
    pub fn strides(&self) -> Option<&[i64]> {
        // SAFETY: interlock passes as many strides as dimensions, or null.
        (!self.0.strides.is_null()).then(|| unsafe { items(self.0.strides, self.ndim()) })
    }

    /// Returns the address of the first element; null while the kernel is only considered. Operands are only read.
    pub fn data<T>(&self) -> *mut T {
        self.0.data.wrapping_byte_add(self.0.byte_offset as usize).cast()
    }

    fn ndim(&self) -> usize {
        usize::try_from(self.0.ndim).unwrap_or(0)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tensor");
        shown.field("dtype", &self.dtype()).field("shape", &self.shape()).finish_non_exhaustive()
    }
}

/// The options of `scaled_dot_product_attention`.
///
/// ```
/// use interlock_capi::dispatch::AttentionOptions;
///
/// let options = AttentionOptions { scale: 0.125, is_causal: true, enable_gqa: false };
/// assert!(options.is_causal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionOptions {
    /// The factor of the scores; 0 while the kernel is only considered.
    pub scale: f64,
    /// Whether a query sees only the keys up to its own position.
    pub is_causal: bool,
    /// Whether several heads of queries may share one head of keys and values.
    pub enable_gqa: bool,
}

/// A call of an operation, as a kernel receives it.
#[repr(transparent)]
pub struct KernelCall(InterlockKernelCall);

impl KernelCall {
    /// Returns the operands.
    pub fn inputs(&self) -> &[Tensor] {
        // SAFETY: interlock passes as many tensors as it says, and `Tensor` is transparent.
        unsafe { items(self.0.inputs.cast(), self.0.num_inputs as usize) }
    }

    /// Returns the results: contiguous, with unspecified elements.
    pub fn outputs(&self) -> &[Tensor] {
        // SAFETY: as for `inputs`.
        unsafe { items(self.0.outputs.cast(), self.0.num_outputs as usize) }
    }

    /// Returns the rounding of float32 inputs that flags request.
    pub fn rounding(&self) -> Rounding {
        Rounding::from_raw(self.0.numerics.inputs)
    }

    /// Returns the accumulation of float16 and bfloat16 inputs that flags request.
    pub fn sums(&self) -> Sums {
        Sums::from_raw(self.0.numerics.sums)
    }

    /// Returns the native handle of the stream on which the kernel queues its work; 0 on the CPU.
    pub fn stream(&self) -> u64 {
        self.0.stream
    }

    /// Returns the options of an attention; `None` for an operation without options.
    pub fn attention(&self) -> Option<AttentionOptions> {
        // SAFETY: only attention has options, and interlock passes a valid struct with at least these fields.
        let options = unsafe { self.0.options.cast::<InterlockAttentionOptions>().as_ref() }?;
        Some(AttentionOptions {
            scale: options.scale,
            is_causal: options.is_causal != 0,
            enable_gqa: options.enable_gqa != 0,
        })
    }
}

impl fmt::Debug for KernelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("KernelCall");
        shown.field("inputs", &self.inputs()).field("outputs", &self.outputs()).finish_non_exhaustive()
    }
}

/// The error of a kernel.
///
/// ```
/// use interlock_capi::dispatch::KernelError;
///
/// assert_ne!(KernelError::Declined("needs 16 bytes of alignment".to_owned()), KernelError::Failed("timeout".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelError {
    /// The kernel cannot run the call, for this reason, and has written nothing: the next kernel is tried.
    Declined(String),
    /// The call fails with this message.
    Failed(String),
}

type Condition = Box<dyn Fn(&KernelCall) -> Result<(), String> + Send + Sync>;
type Run = Box<dyn Fn(&KernelCall) -> Result<(), KernelError> + Send + Sync>;

/// A kernel for [`register_kernel`].
///
/// ```
/// use interlock_capi::dispatch::{Kernel, KernelCall, KernelError};
///
/// fn run(call: &KernelCall) -> Result<(), KernelError> {
///     Err(KernelError::Declined(format!("got {} operands", call.inputs().len())))
/// }
///
/// let kernel = Kernel::new("mylib", run)
///     .condition(|call| if call.inputs()[0].is_on_cpu() { Ok(()) } else { Err("needs the CPU".to_owned()) })
///     .requires("nnpack.enabled", "True")
///     .node("mkldnn.matmul.fp32_precision");
/// # let _ = kernel;
/// ```
pub struct Kernel {
    name: String,
    requirements: Vec<(String, String)>,
    node: Option<String>,
    functions: Functions,
}

struct Functions {
    condition: Option<Condition>,
    run: Run,
}

impl Kernel {
    /// Creates a kernel that runs every call. Its name has neither whitespace nor control characters. `run` may be
    /// called on any thread, on several at once.
    ///
    /// On a device `run` queues its work on the stream of the call.
    pub fn new(
        name: impl Into<String>,
        run: impl Fn(&KernelCall) -> Result<(), KernelError> + Send + Sync + 'static,
    ) -> Self {
        let functions = Functions { condition: None, run: Box::new(run) };
        Kernel { name: name.into(), requirements: Vec::new(), node: None, functions }
    }

    /// Sets the condition: the function that returns whether the kernel can run a call, whose tensors have no memory
    /// yet. Its error is the reason in the record.
    pub fn condition(
        mut self,
        condition: impl Fn(&KernelCall) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.functions.condition = Some(Box::new(condition));
        self
    }

    /// Requires a value of a flag: `"True"`, `"False"` or a name, as the flag reads in Python.
    pub fn requires(mut self, flag: impl Into<String>, value: impl Into<String>) -> Self {
        self.requirements.push((flag.into(), value.into()));
        self
    }

    /// Sets the node of the precision tree that controls the arithmetic, such as `"cuda.matmul.fp32_precision"`.
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Kernel");
        let shown = shown
            .field("name", &self.name)
            .field("requirements", &self.requirements)
            .field("node", &self.node);
        shown.finish_non_exhaustive()
    }
}

/// Registers a kernel of `"matmul"` or `"scaled_dot_product_attention"`. It is tried before interlock's own kernels and
/// cannot be removed.
///
/// A kernel of `"matmul"` receives two matrices of one type, or two batches of as many matrices. One of
/// `"scaled_dot_product_attention"` receives queries, keys and values, and the mask if there is one.
///
/// ```no_run
/// use interlock_capi::dispatch::{DType, Kernel, KernelError, register_kernel};
///
/// let kernel = Kernel::new("one_by_one", |call| {
///     let address = |tensor: &interlock_capi::dispatch::Tensor| tensor.data::<f64>();
///     let [a, b] = [0, 1].map(|index| address(&call.inputs()[index]));
///     // SAFETY: the condition accepts one element of the CPU for each tensor.
///     unsafe { *address(&call.outputs()[0]) = *a * *b };
///     Ok(())
/// });
/// let kernel = kernel.condition(|call| {
///     let mut tensors = call.inputs().iter().chain(call.outputs());
///     let accepts = tensors.all(|it| it.shape() == [1, 1] && it.dtype() == DType::FLOAT64 && it.is_on_cpu());
///     if accepts { Ok(()) } else { Err("needs one float64 of the CPU".to_owned()) }
/// });
/// register_kernel("matmul", kernel)?;
/// # Ok::<(), interlock_capi::Error>(())
/// ```
pub fn register_kernel(operation: &str, kernel: Kernel) -> Result<()> {
    let Kernel { name, requirements, node, functions } = kernel;
    let name = c_text("name", name)?;
    let node = node.map(|node| c_text("node", node)).transpose()?;
    let requirement = |(flag, value)| Ok((c_text("requirement", flag)?, c_text("requirement", value)?));
    let requirements: Vec<(CString, CString)> =
        requirements.into_iter().map(requirement).collect::<Result<_>>()?;
    let raw_requirements: Vec<InterlockFlagRequirement> = requirements
        .iter()
        .map(|(flag, value)| InterlockFlagRequirement { flag: flag.as_ptr(), value: value.as_ptr() })
        .collect();
    let condition: InterlockKernelFn = match functions.condition {
        Some(_) => Some(call_condition),
        None => None,
    };
    let context = Box::into_raw(Box::new(functions));
    let raw = InterlockKernel {
        size: size_of::<InterlockKernel>(),
        name: name.as_ptr(),
        requirements: raw_requirements.as_ptr(),
        num_requirements: raw_requirements.len(),
        node: node.as_ref().map_or(null(), |node| node.as_ptr()),
        context: context.cast(),
        condition,
        run: Some(call_run),
    };
    // SAFETY: the kernel and the out pointer are valid; the functions may be called on any thread.
    let registered =
        check(|error| unsafe { (api().kernel_register)(text(operation), &raw const raw, error) });
    if registered.is_err() {
        // SAFETY: a kernel that was refused is not called, so that this is the only owner.
        drop(unsafe { Box::from_raw(context) });
    }
    registered
}

fn c_text(member: &str, given: String) -> Result<CString> {
    let refused = |_| {
        let message = format!("register_kernel: {member} must not contain a null byte");
        Error::new(ErrorCode::Argument, message)
    };
    CString::new(given).map_err(refused)
}

unsafe extern "C" fn call_condition(
    context: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
) -> i32 {
    let condition = |functions: &Functions, call: &KernelCall| match &functions.condition {
        Some(condition) => condition(call).map_err(KernelError::Declined),
        None => Ok(()),
    };
    // SAFETY: interlock passes the context of the kernel, a valid call and a buffer for a message.
    unsafe { invoke(context, call, message, capacity, condition) }
}

unsafe extern "C" fn call_run(
    context: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
) -> i32 {
    // SAFETY: as in `call_condition`.
    unsafe { invoke(context, call, message, capacity, |functions, call| (functions.run)(call)) }
}

/// The status of an error of a call.
const FAILED: i32 = 2;

/// Calls a function of a kernel and writes its message.
///
/// # Safety
/// `context` was passed by [`register_kernel`], the call is valid, and `message` has `capacity` bytes.
unsafe fn invoke(
    context: *mut c_void,
    call: *const InterlockKernelCall,
    message: *mut c_char,
    capacity: usize,
    function: impl FnOnce(&Functions, &KernelCall) -> Result<(), KernelError>,
) -> i32 {
    // SAFETY: guaranteed by the caller; `KernelCall` is transparent.
    let (functions, call) = unsafe { (&*context.cast::<Functions>(), &*call.cast::<KernelCall>()) };
    let stop = match caught(|| function(functions, call)) {
        Some(Ok(())) => return INTERLOCK_STATUS_DONE,
        Some(Err(stop)) => stop,
        None => KernelError::Failed("the kernel panicked".to_owned()),
    };
    let (status, text) = match stop {
        KernelError::Declined(reason) => (INTERLOCK_STATUS_REFUSED, reason),
        KernelError::Failed(text) => (FAILED, text),
    };
    if capacity > 0 {
        // SAFETY: guaranteed by the caller.
        fill_text(unsafe { std::slice::from_raw_parts_mut(message, capacity) }, &text);
    }
    status
}
