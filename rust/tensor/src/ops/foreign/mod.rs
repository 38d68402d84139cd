//! Kernels of other libraries for the operations of this crate.

mod attention;
pub(crate) mod launch;
mod matmul;

use interlock::Error;
use interlock::dispatch::ForeignKernel;
use interlock::sys::InterlockKernel;

use super::products::matmul_kernels::MATMUL;
use crate::ops::nn::attention::kernels::ATTENTION;

/// Registers a kernel of another library for an operation: `"matmul"` or `"scaled_dot_product_attention"`. It is tried
/// before the operation's own kernels and cannot be removed.
///
/// A kernel of `"matmul"` receives two matrices of one element type, or two batches of as many matrices, and computes
/// their product. Strides can be 0. One with the node `cuda.matmul.fp32_precision` receives the accumulation of 16-bit
/// floats as the flags of `cuda.matmul` request them, too.
///
/// A kernel of `"scaled_dot_product_attention"` receives the queries, keys and values, and the mask if there is one,
/// whose shape can be broadcast to that of the scores. Its options are an
/// [`InterlockAttentionOptions`](interlock::sys::InterlockAttentionOptions). On devices it has the position of
/// `overrideable` in `cuda.sdp_priority`.
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
/// use interlock::sys::{InterlockKernel, InterlockKernelCall};
/// use interlock_tensor::{DType, Tensor, register_foreign_kernel};
///
/// /// Multiplies two numbers of dtype float32.
/// unsafe extern "C" fn run(_: *mut c_void, call: *const InterlockKernelCall, _: *mut c_char, _: usize) -> i32 {
///     // SAFETY: the condition accepts two matrices of one element on the CPU only.
///     unsafe {
///         let (inputs, output) = ((*call).inputs, (*call).outputs);
///         let [a, b] = [0, 1].map(|index| *(*inputs.add(index)).data.cast::<f32>());
///         *(*output).data.cast::<f32>() = a * b;
///     }
///     0
/// }
///
/// unsafe extern "C" fn condition(_: *mut c_void, call: *const InterlockKernelCall, _: *mut c_char, _: usize) -> i32 {
///     // SAFETY: a product has two inputs and one output.
///     let tensors = unsafe { [*(*call).inputs, *(*call).inputs.add(1), *(*call).outputs] };
///     let is_one = |tensor: &interlock::sys::InterlockTensor| {
///         // SAFETY: `shape` has `ndim` sizes.
///         let shape = unsafe { std::slice::from_raw_parts(tensor.shape, tensor.ndim as usize) };
///         shape == [1, 1] && tensor.dtype.bits == 32 && tensor.device.device_type == 1
///     };
///     i32::from(!tensors.iter().all(is_one))
/// }
///
/// let descriptor = InterlockKernel {
///     size: size_of::<InterlockKernel>(),
///     name: c"scalar".as_ptr(),
///     requirements: ptr::null(),
///     num_requirements: 0,
///     node: ptr::null(),
///     context: ptr::null_mut(),
///     condition: Some(condition),
///     run: Some(run),
/// };
/// // SAFETY: the functions need no context, and can be called on any thread.
/// unsafe { register_foreign_kernel("matmul", &descriptor) }?;
/// let x = Tensor::ones(&[1, 1], DType::Float32)?;
/// assert_eq!(x.explain_matmul(&x)?.kernel(), Some("scalar"));
/// assert_eq!(x.matmul(&x)?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub unsafe fn register_foreign_kernel(
    operation: &str,
    descriptor: *const InterlockKernel,
) -> interlock::Result<()> {
    // SAFETY: guaranteed by the caller.
    let kernel = || unsafe { ForeignKernel::new(descriptor) };
    match operation {
        "matmul" => MATMUL.register(matmul::kernel(kernel()?)),
        "scaled_dot_product_attention" => ATTENTION.register(attention::kernel(kernel()?)),
        _ => Err(Error::KernelDescriptor {
            argument: "operation",
            given: format!("{operation:?}"),
            allowed: "matmul or scaled_dot_product_attention".to_owned(),
        }),
    }
}
