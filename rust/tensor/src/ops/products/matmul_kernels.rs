//! The kernels of matrix products.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use interlock::accelerator::memory::DeviceBuffer;
use interlock::accelerator::{Device, current_stream};
use interlock::backends::flags::{
    CUDA_BLAS_LIBRARY, CUDA_CUBLAS_WORKSPACE, CUDA_CUBLASLT_WORKSPACE, CUDA_MATMUL_BF16_REDUCTION,
    CUDA_MATMUL_FP16_REDUCTION, MKLDNN_DETERMINISTIC, MKLDNN_ENABLED,
};
use interlock::backends::{BlasLibrary, Flag, Node};
use interlock::dispatch::{
    Accumulation, FlagRequirement, Kernel, KernelError, Numerics, Op, Operation, Order, Preference,
    Preferred, Reason, Rounding, Sums,
};

use crate::error::Sizes;
use crate::iterate::{Plan, PlanOperand};
use crate::layout::{Layout, sizes_and_strides};
use crate::ops::conditions::{
    Condition, MODEL_OF_ONEDNN, at_least, by_onednn, of_dtype, of_float, of_float32, on_cpu, on_device,
};
use crate::products::mkl::Mkl;
use crate::products::onednn::{Attributes, OneDnnMatmul};
use crate::products::{Matrix, MatrixBatch, MultiplyBy};
use crate::{DType, Element, Error, ErrorKind, Result, Tensor, bf16, f16, iterate, products};

/// The product of matrices in tensors with at least two dimensions, broadcast over the others. [`MATMUL`] has its
/// kernels.
#[derive(Debug)]
pub struct Matmul;

/// The properties of a product on which the choice of its kernel depends.
///
/// ```
/// use interlock_tensor::{DType, MatmulCall, Tensor};
///
/// let (a, b) = (Tensor::ones(&[2, 3], DType::Float32)?, Tensor::ones(&[3, 4], DType::Float32)?);
/// let call = MatmulCall::new(&a, &b);
/// assert_eq!(call.to_string(), "cpu float32 2x3 @ 3x4");
/// assert_eq!((call.dtype(), call.shapes()), (DType::Float32, [&[2, 3][..], &[3, 4]]));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatmulCall {
    device: Device,
    dtype: DType,
    left: Vec<usize>,
    right: Vec<usize>,
}

impl MatmulCall {
    /// Returns the properties of `a @ b`.
    pub fn new(a: &Tensor, b: &Tensor) -> Self {
        let device = if a.is_on_device() { a.device() } else { b.device() };
        MatmulCall { device, dtype: a.dtype(), left: a.shape().to_vec(), right: b.shape().to_vec() }
    }

    /// Returns the device of the result.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the element type of the operands.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shapes of the operands, which have at least two dimensions.
    pub fn shapes(&self) -> [&[usize]; 2] {
        [&self.left, &self.right]
    }

    /// Returns the rows, columns and depth of a pair of matrices.
    #[inline]
    fn sizes(&self) -> [usize; 3] {
        match (self.left.as_slice(), self.right.as_slice()) {
            ([.., rows, depth], [.., columns]) => [*rows, *columns, *depth],
            // Operands have at least two dimensions.
            _ => [0; 3],
        }
    }

    /// Returns the number of multiplications of a pair of matrices.
    #[inline]
    fn work(&self) -> usize {
        self.sizes().into_iter().fold(1, usize::saturating_mul)
    }

    /// Returns the accumulation of 16-bit floats. It is split if the sums are long and the result is small.
    pub(crate) fn accumulation(&self) -> Option<Accumulation> {
        /// The least number of products that cuBLAS splits.
        const DEPTH: usize = 1024;
        /// The elements of a tile of cuBLAS. The tiles of larger results occupy a device without splits.
        const TILE: usize = 128 * 128;
        let [rows, columns, depth] = self.sizes();
        let is_split = depth >= DEPTH && rows.saturating_mul(columns) <= TILE;
        match self.dtype {
            DType::Float16 => Some(Accumulation::Float16 { is_split }),
            DType::BFloat16 => Some(Accumulation::Bfloat16 { is_split }),
            _ => None,
        }
    }
}

impl fmt::Display for MatmulCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MatmulCall { device, dtype, left, right } = self;
        write!(f, "{device} {dtype} {} @ {}", Sizes(left), Sizes(right))
    }
}

/// The operands of a product, which have matching shapes and one element type.
#[derive(Debug)]
pub struct MatmulArgs<'a> {
    /// The left operand.
    pub a: &'a Tensor,
    /// The right operand.
    pub b: &'a Tensor,
    /// The sizes over which the matrices are broadcast.
    pub batch: &'a [usize],
    /// The shape of the result.
    pub shape: &'a [usize],
    /// The element type of the result: that of the operands, or `float32` for a product of 16-bit floats to which a
    /// composite operation adds before it rounds.
    pub dtype: DType,
}

impl Operation for Matmul {
    const NAME: &'static str = "matmul";
    type Call = MatmulCall;
    type Args<'a> = MatmulArgs<'a>;
    type Out = Tensor;
    type Error = Error;

    fn obeys_precision(call: &MatmulCall) -> bool {
        call.dtype == DType::Float32
    }

    fn accumulates_low_precision(call: &MatmulCall) -> bool {
        call.accumulation().is_some()
    }
}

/// The least number of multiplications that are worth the call of a library.
const LIBRARY_WORK: usize = 1 << 19;

/// The kernel of this crate, the last one.
pub(super) const NATIVE: &str = "native";

/// The kernels of matrix products: models of cuBLAS and cuBLASLt on devices; on the CPU a model of oneDNN, and oneDNN and
/// MKL where they are found; and the runtime's own.
///
/// ```
/// use interlock::dispatch::{Kernel, Reason, KernelError};
/// use interlock_tensor::{DType, MATMUL, Matmul, Tensor};
///
/// MATMUL.register(
///     Kernel::<Matmul>::new("dot", |_, _, args| {
///         Ok(args.a.mul(&args.b.t()?)?.sum(None, false)?.reshape(&[1, 1])?)
///     })
///     .condition(|call| match call.shapes() {
///         [[1, _], [_, 1]] => Ok(()),
///         _ => Err(Reason::from("needs a row and a column")),
///     }),
/// )?;
/// let (row, column) = (Tensor::ones(&[1, 8], DType::Float32)?, Tensor::ones(&[8, 1], DType::Float32)?);
/// assert_eq!(row.explain_matmul(&column)?.kernel(), Some("dot"));
/// assert_eq!(row.matmul(&column)?.to_vec::<f32>()?, [8.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub static MATMUL: Op<Matmul> = Op::new(&[
    Kernel::<Matmul>::new("cublas", run_cublas)
        .obeys(&CUDA_CUBLAS_WORKSPACE)
        .model()
        .node(Node::CudaMatmul)
        .accumulation(MatmulCall::accumulation)
        .condition(is_float_on_device),
    Kernel::<Matmul>::new("cublaslt", run_cublaslt)
        .obeys(&CUDA_CUBLASLT_WORKSPACE)
        .model()
        .node(Node::CudaMatmul)
        .accumulation(MatmulCall::accumulation)
        .condition(is_float_on_device),
    Kernel::<Matmul>::new("mkldnn", run)
        .model()
        .requires(&MODEL_OF_ONEDNN)
        .node(Node::MkldnnMatmul)
        .condition(|call| on_cpu(call.device).and_then(|()| of_float32(call.dtype))),
    Kernel::<Matmul>::new("onednn", run_onednn)
        .requires(&[FlagRequirement::on(&MKLDNN_ENABLED)])
        .obeys(&MKLDNN_DETERMINISTIC)
        .node(Node::MkldnnMatmul)
        .condition(can_use_onednn),
    Kernel::<Matmul>::new("mkl", run_mkl).condition(can_use_mkl),
    Kernel::<Matmul>::new(NATIVE, run),
])
.order(Order::new(&CUDA_BLAS_LIBRARY, preferred_library));

/// The libraries are preferred on accelerators only.
fn preferred_library(call: &MatmulCall) -> Preferred {
    let library = CUDA_BLAS_LIBRARY.get();
    let is_preferred = on_device(call.device).is_ok() && library != BlasLibrary::Default;
    [is_preferred.then_some(Preference::Kernel(library.name())), None, None, None, None]
}

fn is_float_on_device(call: &MatmulCall) -> Condition {
    on_device(call.device)?;
    of_float(call.dtype)
}

fn can_use_onednn(call: &MatmulCall) -> Condition {
    by_onednn(call.device, call.dtype, LIBRARY_WORK, call.work())
}

fn can_use_mkl(call: &MatmulCall) -> Condition {
    on_cpu(call.device)?;
    at_least(LIBRARY_WORK, "multiplications", call.work())?;
    let is_accepted = matches!(call.dtype, DType::Float32 | DType::Float64);
    of_dtype("float32 or float64", call.dtype, is_accepted)?;
    products::mkl::check().map_err(Reason::from)
}

/// Multiplies as cuBLAS, which has no option against split sums.
fn run_cublas(
    call: &MatmulCall,
    numerics: Numerics,
    args: &MatmulArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let (flag, name) = match call.dtype {
        DType::Float16 => (&CUDA_MATMUL_FP16_REDUCTION, "allow_fp16_reduced_precision_reduction"),
        DType::BFloat16 => (&CUDA_MATMUL_BF16_REDUCTION, "allow_bf16_reduced_precision_reduction"),
        _ => return run_with_workspace(&CUDA_CUBLAS_WORKSPACE, call, numerics, args),
    };
    if flag.get().split {
        run_with_workspace(&CUDA_CUBLAS_WORKSPACE, call, numerics, args)
    } else {
        let message = format!(
            "backends.cuda.matmul.{name} must allow split sums on cuBLAS, got (False, False); set it to (False, True), \
             or backends.cuda.blas_library to 'cublaslt'"
        );
        Err(Error::new(ErrorKind::State, "matmul", message).into())
    }
}

fn run_cublaslt(
    call: &MatmulCall,
    numerics: Numerics,
    args: &MatmulArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    run_with_workspace(&CUDA_CUBLASLT_WORKSPACE, call, numerics, args)
}

/// Multiplies with a workspace, which belongs to the product until it is queued. cuBLAS and cuBLASLt share none, as in
/// PyTorch unless `TORCH_CUBLAS_WORKSPACE_CACHE` is set. A captured product has none, because the memory of a graph is
/// never freed while it exists.
fn run_with_workspace(
    size: &Flag<u64>,
    call: &MatmulCall,
    numerics: Numerics,
    args: &MatmulArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let stream = current_stream(Some(call.device)).map_err(Error::from)?;
    let is_empty = [args.a, args.b].into_iter().any(|operand| operand.numel() == 0);
    let bytes = usize::try_from(size.get()).unwrap_or(usize::MAX);
    let needs_workspace = bytes != 0 && !is_empty && !stream.is_capturing().map_err(Error::from)?;
    // The allocator gives the freed block only to later work of the stream.
    let workspace = needs_workspace.then(|| DeviceBuffer::on(&stream, bytes)).transpose();
    let workspace = workspace.map_err(|error| Error::from(error.of_size(size.name())))?;
    let out = run(call, numerics, args);
    drop(workspace);
    out
}

/// Returns an operand whose matrices are in rows or in columns, as the libraries read them, and the pairs of matrices.
fn in_order<'a>(args: &MatmulArgs<'a>) -> Result<([Cow<'a, Tensor>; 2], MatrixBatch)> {
    let ordered = |tensor: &'a Tensor| match split(tensor, args.batch.len()).0.order() {
        Some(_) => Ok(Cow::Borrowed(tensor)),
        None => tensor.detach().contiguous().map(Cow::Owned),
    };
    let (a, b) = (ordered(args.a)?, ordered(args.b)?);
    let batch = batch(&a, &b, args.batch);
    Ok(([a, b], batch))
}

/// Returns the options of oneDNN's calls.
pub(crate) fn onednn_attributes(numerics: Numerics) -> Attributes {
    /// `deterministic_algorithms` turns the flag on, too.
    static MAY_BE_UNORDERED: FlagRequirement = FlagRequirement::off(&MKLDNN_DETERMINISTIC);
    Attributes::new(numerics.inputs, MAY_BE_UNORDERED.refusal().is_some())
}

/// Multiplies by oneDNN, unless it does not implement the product. It may round float32 inputs to the precision that the node
/// permits.
fn run_onednn(
    call: &MatmulCall,
    numerics: Numerics,
    args: &MatmulArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let attributes = onednn_attributes(numerics);
    let ([a, b], batch) = in_order(args)?;
    let (shape, operands) = (args.shape, [&*a, &*b]);
    let out = match call.dtype {
        DType::Float16 => multiply_by_onednn::<f32, f16, f16>(shape, operands, batch, attributes)?,
        DType::BFloat16 => multiply_by_onednn::<f32, bf16, bf16>(shape, operands, batch, attributes)?,
        _ => multiply_by_onednn::<f32, f32, f32>(shape, operands, batch, attributes)?,
    };
    Ok(iterate::cast(&out, args.dtype)?)
}

/// Multiplies matrices of `A` and `B`, in rows or in columns, into sums of `T` by oneDNN, unless it does not implement the product.
pub(crate) fn multiply_by_onednn<T: Element, A: Element, B: Element>(
    shape: &[usize],
    [a, b]: [&Tensor; 2],
    batch: MatrixBatch,
    attributes: Attributes,
) -> Result<Tensor, KernelError<Error>> {
    let prepared = OneDnnMatmul::<T, A, B>::new(&batch, attributes);
    let prepared = prepared.map_err(|reason| KernelError::Declined(Reason::from(reason)))?;
    Ok(products::matmul_by(shape, a, b, batch, MultiplyBy::<T, A, B>::Prepared(Arc::new(prepared)))?)
}

fn run_mkl(call: &MatmulCall, _: Numerics, args: &MatmulArgs<'_>) -> Result<Tensor, KernelError<Error>> {
    let ([a, b], batch) = in_order(args)?;
    Ok(match call.dtype {
        DType::Float64 => {
            products::matmul_by::<f64, f64, f64>(args.shape, &a, &b, batch, MultiplyBy::Static(&Mkl))?
        }
        _ => products::matmul_by::<f32, f32, f32>(args.shape, &a, &b, batch, MultiplyBy::Static(&Mkl))?,
    })
}

/// Multiplies operands that are rounded, and sums the products, as the flags request.
fn run(_: &MatmulCall, numerics: Numerics, args: &MatmulArgs<'_>) -> Result<Tensor, KernelError<Error>> {
    let out = match numerics.sums {
        Sums::F16 => {
            let batch = batch(args.a, args.b, args.batch);
            products::matmul::<f16>(args.shape, args.a, args.b, batch)?
        }
        Sums::F32 if numerics.inputs == Rounding::Bfx9 => multiply_parts(args)?,
        sums => {
            let (a, b) = (loaded(args.a, numerics.inputs)?, loaded(args.b, numerics.inputs)?);
            let batch = batch(&a, &b, args.batch);
            let halves = match sums {
                Sums::SplitF16 => Some(DType::Float16),
                Sums::SplitBf16 => Some(DType::BFloat16),
                _ => None,
            };
            match halves {
                None => multiply(&a, &b, batch, args.shape)?,
                Some(dtype) => {
                    let parts = batch.halves().map(|half| multiply(&a, &b, half, args.shape));
                    let [first, second] = parts.map(|part| iterate::cast(&part?, dtype));
                    first?.add(&second?)?
                }
            }
        }
    };
    Ok(iterate::cast(&out, args.dtype)?)
}

/// Multiplies the bfloat16 parts of the operands, and adds the nine products in float32, the smallest first.
fn multiply_parts(args: &MatmulArgs<'_>) -> Result<Tensor> {
    /// Replaces an infinity or NaN, which the product of the first parts has: its products with 0 would be NaN.
    const fn finite(number: f32) -> f32 {
        if number.is_finite() { number } else { 0.0 }
    }
    let parts = |tensor: &Tensor| -> Result<[Tensor; 4]> {
        let part = |choose: fn(f32) -> f32| mapped(tensor, choose);
        let high = part(|number| Rounding::bfx9_parts(number)[0])?;
        let middle = part(|number| Rounding::bfx9_parts(number)[1])?;
        let low = part(|number| Rounding::bfx9_parts(number)[2])?;
        let finite = part(|number| finite(Rounding::bfx9_parts(number)[0]))?;
        Ok([high, finite, middle, low])
    };
    let ([a_high, a1, a2, a3], [b_high, b1, b2, b3]) = (parts(args.a)?, parts(args.b)?);
    let product = |a: &Tensor, b: &Tensor| multiply(a, b, batch(a, b, args.batch), args.shape);
    let mut sum = product(&a3, &b3)?;
    let larger = [(&a3, &b2), (&a2, &b3), (&a3, &b1), (&a2, &b2), (&a1, &b3), (&a2, &b1), (&a1, &b2)];
    for (a, b) in larger.into_iter().chain([(&a_high, &b_high)]) {
        sum = sum.add(&product(a, b)?)?;
    }
    Ok(sum)
}

/// Returns the pairs of matrices of two operands.
pub(crate) fn batch(a: &Tensor, b: &Tensor, sizes: &[usize]) -> MatrixBatch {
    let [(left, strides_a), (right, strides_b)] = [a, b].map(|operand| split(operand, sizes.len()));
    let operands = [
        PlanOperand { strides: &strides_a, offset: a.storage_offset(), size: 1 },
        PlanOperand { strides: &strides_b, offset: b.storage_offset(), size: 1 },
    ];
    MatrixBatch { pairs: Plan::new(&Layout::contiguous(sizes), &operands), left, right }
}

/// Multiplies operands in the type of arithmetic.
fn multiply(a: &Tensor, b: &Tensor, batch: MatrixBatch, shape: &[usize]) -> Result<Tensor> {
    match a.dtype() {
        DType::Float32 => products::matmul::<f32>(shape, a, b, batch),
        DType::Float64 => products::matmul::<f64>(shape, a, b, batch),
        DType::Int64 => products::matmul::<i64>(shape, a, b, batch),
        // Halves and narrow integers were converted.
        _ => Err(err_bools()),
    }
}

/// Returns the error of a product of bools.
pub(super) fn err_bools() -> Error {
    Error::not_numeric(Matmul::NAME, "both operands", "; long() converts them")
}

/// Returns a matrix with the sizes and strides of the last two dimensions, and the strides of the others, which are 0
/// in dimensions that are broadcast.
pub(crate) fn split(tensor: &Tensor, batch: usize) -> (Matrix, Vec<usize>) {
    let mut dims = sizes_and_strides(tensor.layout());
    let (columns, column_stride) = dims.pop().unwrap_or_default();
    let (rows, row_stride) = dims.pop().unwrap_or_default();
    let own = dims.iter().map(|&(size, stride)| if size == 1 { 0 } else { stride });
    let strides = std::iter::repeat_n(0, batch.saturating_sub(dims.len())).chain(own).collect();
    (Matrix { start: 0, rows, columns, row_stride, column_stride }, strides)
}

/// Returns the operand in the type of arithmetic with rounded elements, in memory of its own unless nothing changes.
pub(crate) fn loaded(tensor: &Tensor, rounding: Rounding) -> Result<Cow<'_, Tensor>> {
    let is_stored = tensor.dtype() != tensor.dtype().compute();
    if rounding == Rounding::None && !is_stored {
        return Ok(Cow::Borrowed(tensor));
    }
    if is_stored {
        return once_each(tensor, |once| iterate::cast(once, tensor.dtype().compute())).map(Cow::Owned);
    }
    mapped(tensor, move |element| rounding.round(element)).map(Cow::Owned)
}

/// Returns a float32 operand with other elements, in memory of its own.
fn mapped(tensor: &Tensor, change: impl Fn(f32) -> f32 + Clone + Send + Sync + 'static) -> Result<Tensor> {
    once_each(tensor, |once| iterate::map(Matmul::NAME, once, change))
}

/// Applies a function of each element to an operand. An element that a stride of 0 repeats is converted once.
fn once_each(tensor: &Tensor, apply: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let layout = tensor.layout();
    let is_repeated = |stride: &usize| *stride == 0;
    let stored = layout.shape.iter().zip(&layout.strides);
    let shape = stored.map(|(&size, stride)| if is_repeated(stride) { size.min(1) } else { size }).collect();
    let once = apply(&tensor.alias(Layout { shape, ..layout.clone() }))?;
    let strides = once.strides().iter().zip(&layout.strides);
    let strides = strides.map(|(&own, stride)| if is_repeated(stride) { 0 } else { own }).collect();
    let expanded = Layout { shape: layout.shape.clone(), strides, offset: once.storage_offset() };
    Ok(once.alias(expanded))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between two numbers of TensorFloat-32 and of bfloat16.
    const ODD: f32 = 1.0 + 3.0 / 4096.0;

    fn odd(shape: &[usize]) -> Tensor {
        let count = shape.iter().product();
        Tensor::from_slice(&vec![ODD; count], shape).unwrap()
    }

    fn eye(size: usize) -> Tensor {
        let elements: Vec<f32> = (0..size * size).map(|i| f32::from(u8::from(i % (size + 1) == 0))).collect();
        Tensor::from_slice(&elements, &[size, size]).unwrap()
    }

    #[test]
    fn multiply_parts_is_as_exact_as_float32() {
        let mut generator = fastrand::Rng::with_seed(3);
        let mut matrix = |rows: usize, columns: usize| {
            let elements: Vec<f32> = (0..rows * columns).map(|_| generator.f32() * 2.0 - 1.0).collect();
            Tensor::from_slice(&elements, &[rows, columns]).unwrap()
        };
        let (a, b) = (matrix(16, 200), matrix(200, 16));
        let product = |a: &Tensor, b: &Tensor| {
            let args = MatmulArgs { a, b, batch: &[], shape: &[16, 16], dtype: DType::Float32 };
            multiply_parts(&args).unwrap().to_vec::<f32>().unwrap()
        };
        let wide = |x: &Tensor| x.cast(DType::Float64).unwrap();
        let exact = wide(&a).matmul(&wide(&b)).unwrap().to_vec::<f64>().unwrap();
        let bound =
            wide(&a.abs().unwrap()).matmul(&wide(&b.abs().unwrap())).unwrap().to_vec::<f64>().unwrap();
        let got = product(&a, &b);
        for ((got, exact), bound) in got.iter().zip(exact).zip(bound) {
            assert!((f64::from(*got) - exact).abs() < 1e-6 * bound, "{got} {exact}");
        }
        let (square, eye) = (odd(&[16, 16]), eye(16));
        assert_eq!(product(&square, &eye), [ODD; 256]);
    }

    #[test]
    fn multiply_parts_keeps_infinities_and_loses_tiny_numbers() {
        let column = |numbers: &[f32]| Tensor::from_slice(numbers, &[numbers.len(), 1]).unwrap();
        let row = Tensor::from_slice(&[ODD, 0.0, -2.0], &[1, 3]).unwrap();
        let a = column(&[f32::INFINITY, f32::from_bits(1), f32::NAN]);
        let args = MatmulArgs { a: &a, b: &row, batch: &[], shape: &[3, 3], dtype: DType::Float32 };
        let out = multiply_parts(&args).unwrap().to_vec::<f32>().unwrap();
        assert_eq!((out[0], out[2]), (f32::INFINITY, f32::NEG_INFINITY));
        assert!(out[1].is_nan(), "an infinity times 0");
        assert_eq!([out[3], out[5]], [0.0, 0.0]);
        assert!(out[6].is_nan());
    }
}
