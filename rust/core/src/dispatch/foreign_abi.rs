//! The C form of a kernel: DLPack tensors in and out, and the arithmetic as plain integers. Structs only grow at their end.

use std::ffi::{c_char, c_void};

use super::Numerics;
use crate::base::dlpack::DLTensor;

/// [`Numerics`] as integers with fixed values.
///
/// ```
/// use interlock_core::dispatch::{ForeignNumerics, Numerics, Rounding};
///
/// let mut numerics = Numerics::default();
/// assert_eq!(ForeignNumerics::from(numerics).inputs, 0);
/// numerics.inputs = Rounding::Bf16;
/// assert_eq!(ForeignNumerics::from(numerics).inputs, 2);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignNumerics {
    /// The rounding of float32 inputs: 0 none, 1 TensorFloat-32, 2 bfloat16, 3 three bfloat16 parts.
    pub inputs: u32,
    /// The sums of products of float16 and bfloat16 inputs: 0 in float32, 1 in float16 throughout, 2 and 3 of two halves,
    /// each rounded to float16 or bfloat16.
    pub sums: u32,
    /// 0; for later use.
    pub reserved: [u32; 2],
}

impl From<Numerics> for ForeignNumerics {
    fn from(numerics: Numerics) -> Self {
        let (inputs, sums) = (numerics.inputs as u32, numerics.sums as u32);
        ForeignNumerics { inputs, sums, reserved: [0; 2] }
    }
}

/// A call of an operation, as a foreign kernel receives it. The kernel borrows everything during its call.
///
/// ```
/// use interlock_core::dispatch::ForeignCall;
///
/// /// Runs if the first input is a matrix.
/// unsafe extern "C" fn condition(
///     _context: *mut std::ffi::c_void,
///     call: *const ForeignCall,
///     _message: *mut std::ffi::c_char,
///     _capacity: usize,
/// ) -> i32 {
///     // SAFETY: interlock passes a valid call with all inputs of the operation.
///     let first = unsafe { &*(*call).inputs };
///     i32::from(first.ndim != 2)
/// }
/// # let _ = condition;
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct ForeignCall {
    /// The size of this struct in bytes. Later versions append members.
    pub size: usize,
    /// The operands. Without data and strides while the kernel is only considered.
    pub inputs: *const DLTensor,
    /// The results, contiguous, with unspecified content.
    pub outputs: *const DLTensor,
    /// The number of operands.
    pub num_inputs: u32,
    /// The number of results.
    pub num_outputs: u32,
    /// The arithmetic that flags request.
    pub numerics: ForeignNumerics,
    /// On a device, the handle of the stream on which the kernel queues its work; 0 on the CPU.
    pub stream: u64,
    /// The options of the operation, in a struct that its documentation names; null for an operation without options.
    pub options: *const c_void,
}

/// A function of a foreign kernel. It may be called on several threads at once, and must not unwind.
///
/// `message` has `capacity` bytes for a NUL-terminated text that says why the function does not return 0.
pub type ForeignFn = unsafe extern "C" fn(
    context: *mut c_void,
    call: *const ForeignCall,
    message: *mut c_char,
    capacity: usize,
) -> i32;

/// The value of a flag that a foreign kernel requires. See [`Gate`](super::Gate).
///
/// ```
/// use interlock_core::dispatch::ForeignGate;
///
/// let gate = ForeignGate { flag: c"nnpack.enabled".as_ptr(), value: c"True".as_ptr() };
/// # let _ = gate;
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ForeignGate {
    /// The dotted name of the flag.
    pub flag: *const c_char,
    /// `"True"`, `"False"` or a name, as the flag reads in Python.
    pub value: *const c_char,
}

/// A kernel of another library, as the library describes it.
///
/// ```
/// use std::ffi::{c_char, c_void};
/// use std::ptr;
///
/// use interlock_core::dispatch::{ForeignCall, ForeignKernel, ForeignKernelDescriptor};
///
/// unsafe extern "C" fn run(_: *mut c_void, _: *const ForeignCall, _: *mut c_char, _: usize) -> i32 {
///     0
/// }
///
/// let descriptor = ForeignKernelDescriptor {
///     size: size_of::<ForeignKernelDescriptor>(),
///     name: c"mine".as_ptr(),
///     gates: ptr::null(),
///     num_gates: 0,
///     node: c"cuda.matmul.fp32_precision".as_ptr(),
///     context: ptr::null_mut(),
///     condition: None,
///     run: Some(run),
/// };
/// // SAFETY: the pointers are valid, and `run` may be called at any time.
/// let kernel = unsafe { ForeignKernel::new(&descriptor) }?;
/// assert_eq!(kernel.name(), "mine");
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ForeignKernelDescriptor {
    /// The size of this struct in bytes. Later versions append members.
    pub size: usize,
    /// The name, in UTF-8. It is copied.
    pub name: *const c_char,
    /// The flags whose values the kernel requires.
    pub gates: *const ForeignGate,
    /// The number of gates.
    pub num_gates: usize,
    /// The name of the precision node that decides the arithmetic, or null.
    pub node: *const c_char,
    /// The first argument of each function.
    pub context: *mut c_void,
    /// Returns 0 if the kernel can run a call, else a message with the reason; or null.
    pub condition: Option<ForeignFn>,
    /// Computes the result, on a device by queuing work on the stream of the call. Returns 0, 1 if it cannot run the
    /// call and has written nothing, or any other number for an error.
    pub run: Option<ForeignFn>,
}
