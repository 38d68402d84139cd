//! Kernels of other libraries for the operations of this crate.

use interlock::backends::Node;
use interlock::dispatch::{
    ForeignArgs, ForeignFunctions, ForeignKernel, ForeignKernelDescriptor, Kernel, Numerics, Operation,
    Reason, Stop,
};

use super::matmul_kernels::{MATMUL, Matmul, MatmulArgs, MatmulCall, split};
use crate::kernel::{self, ForeignLaunch, Matrix, foreign_tensor, result_placement};
use crate::shape::{Layout, broadcast};
use crate::{Error, Result, Tensor};

/// Registers a kernel of another library for an operation: `"matmul"`. It is tried before the operation's own kernels
/// and cannot be removed.
///
/// A kernel of `"matmul"` receives two matrices of one element type, or two batches of as many matrices, and computes
/// their product. Strides can be 0. One with the node `cuda.matmul.fp32_precision` receives sums of halves as the flags of
/// `cuda.matmul` request them, too.
///
/// # Errors
/// Fails for an unknown operation, an invalid description and a name that another kernel of the operation has.
///
/// # Safety
/// As for [`ForeignKernel::new`].
///
/// ```
/// use std::ffi::{c_char, c_void};
/// use std::ptr;
///
/// use interlock::dispatch::{ForeignCall, ForeignKernelDescriptor};
/// use interlock_tensor::{DType, Tensor, register_foreign_kernel};
///
/// /// Multiplies two numbers of dtype float32.
/// unsafe extern "C" fn run(_: *mut c_void, call: *const ForeignCall, _: *mut c_char, _: usize) -> i32 {
///     // SAFETY: the condition accepts two matrices of one element on the CPU only.
///     unsafe {
///         let (inputs, output) = ((*call).inputs, (*call).outputs);
///         let [a, b] = [0, 1].map(|index| *(*inputs.add(index)).data.cast::<f32>());
///         *(*output).data.cast::<f32>() = a * b;
///     }
///     0
/// }
///
/// unsafe extern "C" fn condition(_: *mut c_void, call: *const ForeignCall, _: *mut c_char, _: usize) -> i32 {
///     // SAFETY: a product has two inputs and one output.
///     let tensors = unsafe { [*(*call).inputs, *(*call).inputs.add(1), *(*call).outputs] };
///     let is_one = |tensor: &interlock::base::dlpack::DLTensor| {
///         // SAFETY: `shape` has `ndim` sizes.
///         let shape = unsafe { std::slice::from_raw_parts(tensor.shape, tensor.ndim as usize) };
///         shape == [1, 1] && tensor.dtype.bits == 32 && tensor.device.device_type == 1
///     };
///     i32::from(!tensors.iter().all(is_one))
/// }
///
/// let descriptor = ForeignKernelDescriptor {
///     size: size_of::<ForeignKernelDescriptor>(),
///     name: c"scalar".as_ptr(),
///     gates: ptr::null(),
///     num_gates: 0,
///     node: ptr::null(),
///     context: ptr::null_mut(),
///     condition: Some(condition),
///     run: Some(run),
///     backward: None,
/// };
/// // SAFETY: the functions need no context, and can be called on any thread.
/// unsafe { register_foreign_kernel("matmul", &descriptor) }?;
/// let x = Tensor::ones(&[1, 1], DType::Float32)?;
/// assert_eq!(x.explain_matmul(&x)?.kernel(), Some("scalar"));
/// assert_eq!(x.matmul(&x)?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub unsafe fn register_foreign_kernel(
    operation: &str,
    descriptor: *const ForeignKernelDescriptor,
) -> Result<()> {
    if operation != "matmul" {
        return Err(Error::value("register_kernel", "operation", "be matmul", format!("{operation:?}")));
    }
    let registered = || {
        // SAFETY: guaranteed by the caller.
        let kernel = unsafe { ForeignKernel::new(descriptor)? };
        let obeys_cuda = kernel.node() == Some(Node::CudaMatmul);
        let kernel = Kernel::<Matmul>::foreign(kernel, ForeignFunctions { check, run });
        MATMUL.register(if obeys_cuda { kernel.half_sum(MatmulCall::half_sum) } else { kernel })
    };
    registered().map_err(|error| Error::Accelerator(error.into()))
}

fn check(foreign: &ForeignKernel, call: &MatmulCall) -> Result<(), Reason> {
    let [left, right] = call.shapes();
    let ([batch_left @ .., rows, _], [batch_right @ .., _, columns]) = (left, right) else {
        return Err(Reason::from("needs matrices"));
    };
    let Ok(batch) = broadcast(Matmul::NAME, batch_left, batch_right) else {
        return Err(Reason::from("needs batches that can be broadcast"));
    };
    let tensor =
        |matrix: &[usize]| foreign_tensor(call.device(), call.dtype(), &[batch.as_slice(), matrix].concat());
    let matrix = |shape: &[usize]| tensor(shape.split_at(shape.len().saturating_sub(2)).1);
    let (inputs, outputs) = ([matrix(left), matrix(right)], [tensor(&[*rows, *columns])]);
    foreign.check(&ForeignArgs::new(&inputs, &outputs, Numerics::default()))
}

fn run(
    foreign: &ForeignKernel,
    call: &MatmulCall,
    numerics: Numerics,
    args: &MatmulArgs<'_>,
) -> Result<Tensor, Stop<Error>> {
    let MatmulArgs { a, b, batch, shape, dtype } = *args;
    let [left, right] = [a, b].map(|operand| split(operand, batch.len()));
    let product = [batch, &[left.0.rows, right.0.columns]].concat();
    let layout = |operand: &Tensor, (matrix, strides): (Matrix, Vec<usize>)| Layout {
        shape: [batch, &[matrix.rows, matrix.columns]].concat(),
        strides: [strides.as_slice(), &[matrix.row_stride, matrix.column_stride]].concat(),
        offset: operand.storage_offset(),
    };
    let launch = ForeignLaunch {
        op: Matmul::NAME,
        kernel: foreign,
        numerics,
        operands: &[(a, layout(a, left)), (b, layout(b, right))],
        placement: result_placement(a, b),
        dtype: call.dtype(),
        shapes: &[&product],
        options: std::ptr::null(),
    };
    let out = launch.run()?.pop();
    let out = out.ok_or_else(|| Stop::Refused(Reason::from("returned no result")))?;
    Ok(kernel::cast(&out.alias(Layout::contiguous(shape)), dtype)?)
}
