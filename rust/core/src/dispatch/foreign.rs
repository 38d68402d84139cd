//! Kernels of other libraries, whose functions are C functions.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::ptr;

use super::{FlagRequirement, KernelError, Numerics, Reason};
use crate::base::invariant::UnwrapOrAssert;
use crate::base::quote::{one_line, quoted};
use crate::base::raw_array::{max_count, slice_of};
use crate::flags::Node;
use crate::sys::{
    INTERLOCK_STATUS_DONE, INTERLOCK_STATUS_REFUSED, InterlockDType, InterlockFlagRequirement,
    InterlockKernel, InterlockKernelCall, InterlockNumerics, InterlockTensor, InterlockTensorDevice,
};
use crate::{Error, Result};

/// A kernel of another library.
///
/// ```
/// use interlock_core::dispatch::ForeignKernel;
/// use interlock_core::sys::InterlockKernel;
///
/// let empty = InterlockKernel {
///     size: size_of::<InterlockKernel>(),
///     name: c"mine".as_ptr(),
///     requirements: std::ptr::null(),
///     num_requirements: 0,
///     node: std::ptr::null(),
///     context: std::ptr::null_mut(),
///     condition: None,
///     run: None,
/// };
/// // SAFETY: the name is a static text, and there are no functions.
/// let refused = unsafe { ForeignKernel::new(&empty) }.unwrap_err();
/// assert_eq!(refused.to_string(), "register_foreign_kernel: run must be a function, got NULL");
/// ```
#[derive(Debug)]
pub struct ForeignKernel {
    name: String,
    requirements: Vec<FlagRequirement>,
    node: Option<Node>,
    functions: Functions,
}

#[derive(Clone, Copy, Debug)]
struct Functions {
    context: *mut c_void,
    condition: Option<Function>,
    run: Function,
}

// SAFETY: the creator of the kernel guarantees that its functions may be called with the context on any thread.
unsafe impl Send for Functions {}
// SAFETY: as for `Send`; several threads may call them at once.
unsafe impl Sync for Functions {}

/// A function of a kernel: an [`InterlockKernelFn`](crate::sys::InterlockKernelFn) that is not null.
type Function = unsafe extern "C" fn(*mut c_void, *const InterlockKernelCall, *mut c_char, usize) -> i32;

/// The bytes for a message of a foreign function.
const MESSAGE_BYTES: usize = 512;

impl ForeignKernel {
    /// Copies the description of a kernel.
    ///
    /// # Errors
    /// Fails if the description is of another version, or names a flag, value or node that does not exist.
    ///
    /// # Safety
    /// The pointers of the description are valid during this call. Its functions may be called with its context on any
    /// thread, several at once, until the process exits, and do what their documentation says.
    pub unsafe fn new(descriptor: *const InterlockKernel) -> Result<Self> {
        // SAFETY: a description of any version begins with its size.
        let size = unsafe { ptr::read(descriptor.cast::<usize>()) };
        let expected = size_of::<InterlockKernel>();
        if size < expected {
            return Err(err_descriptor("size", size, format!("at least {expected}")));
        }
        // SAFETY: it has at least all members that this version knows.
        let descriptor = unsafe { *descriptor };
        // SAFETY: guaranteed by the caller.
        let text = |argument, pointer| unsafe { text_at(argument, pointer) };
        let name = name_of(text("name", descriptor.name)?)?.to_owned();
        let run = descriptor.run.ok_or_else(|| err_descriptor("run", "NULL", "a function"))?;
        let node = match descriptor.node {
            pointer if pointer.is_null() => None,
            pointer => Some(node_named(text("node", pointer)?)?),
        };
        let requirements = match descriptor.num_requirements {
            0 => &[],
            count if descriptor.requirements.is_null() => {
                return Err(err_descriptor(
                    "requirements",
                    "NULL",
                    format!("an array of {count} requirements"),
                ));
            }
            // SAFETY: guaranteed by the caller.
            count => unsafe { slice_of(descriptor.requirements, count) }.ok_or_else(|| {
                let allowed = format!("at most {} requirements", max_count::<InterlockFlagRequirement>());
                err_descriptor("num_requirements", count, allowed)
            })?,
        };
        let requirement = |requirement: &InterlockFlagRequirement| {
            let (flag, value) = (
                text("requirements: flag", requirement.flag)?,
                text("requirements: value", requirement.value)?,
            );
            FlagRequirement::from_name(flag, value).map_err(|error| match error {
                Error::FlagValue { .. } | Error::FlagType { .. } => {
                    Error::KernelRequirement { error: Box::new(error) }
                }
                other => other,
            })
        };
        let requirements = requirements.iter().map(requirement).collect::<Result<_>>()?;
        let InterlockKernel { context, condition, .. } = descriptor;
        Ok(ForeignKernel { name, requirements, node, functions: Functions { context, condition, run } })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the flags whose values the kernel requires.
    pub(super) fn requirements(&self) -> &[FlagRequirement] {
        &self.requirements
    }

    /// Returns the precision node that controls the arithmetic.
    pub fn node(&self) -> Option<Node> {
        self.node
    }

    /// Asks the kernel whether it can run a call, whose tensors have no memory yet.
    ///
    /// # Errors
    /// Returns the reason of the kernel. A condition that fails refuses the call, so that another kernel runs it; the
    /// reason has its status.
    pub fn check(&self, args: &ForeignArgs<'_>) -> Result<(), Reason> {
        let Some(condition) = self.functions.condition else { return Ok(()) };
        // SAFETY: the tensors without memory have valid shapes.
        let (status, message) = unsafe { self.call(condition, args) };
        match status {
            INTERLOCK_STATUS_DONE => Ok(()),
            INTERLOCK_STATUS_REFUSED => Err(Reason::from(message)),
            _ if message.is_empty() => Err(Reason::from(format!("its condition returned {status}"))),
            _ => Err(Reason::from(format!("its condition returned {status}: {message}"))),
        }
    }

    /// Runs a call.
    ///
    /// # Errors
    /// Returns the reason if the kernel cannot run the call, or the message of its error.
    ///
    /// # Safety
    /// The memory of all tensors is valid during the call, and on a device until the work that is queued on the stream
    /// now is done. No other code writes to it, or reads the results.
    pub unsafe fn run(&self, args: &ForeignArgs<'_>) -> Result<(), KernelError<String>> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.call(self.functions.run, args) } {
            (INTERLOCK_STATUS_DONE, _) => Ok(()),
            (INTERLOCK_STATUS_REFUSED, message) => Err(KernelError::Declined(Reason::from(message))),
            (status, message) if message.is_empty() => Err(KernelError::Failed(format!("status {status}"))),
            (_, message) => Err(KernelError::Failed(message)),
        }
    }

    /// Calls a function and returns its status and message.
    ///
    /// # Safety
    /// The tensors are as the function requires.
    unsafe fn call(&self, function: Function, args: &ForeignArgs<'_>) -> (i32, String) {
        let tensors =
            |tensors: &[ForeignTensor]| tensors.iter().map(ForeignTensor::as_dlpack).collect::<Vec<_>>();
        let (inputs, outputs) = (tensors(args.inputs), tensors(args.outputs));
        let count = |tensors: &[InterlockTensor]| {
            u32::try_from(tensors.len()).ok().unwrap_or_assert(0, "a call has few tensors")
        };
        let call = InterlockKernelCall {
            size: size_of::<InterlockKernelCall>(),
            inputs: inputs.as_ptr(),
            outputs: outputs.as_ptr(),
            num_inputs: count(&inputs),
            num_outputs: count(&outputs),
            numerics: args.numerics.into(),
            stream: args.stream,
            options: args.options,
        };
        let mut message = [0u8; MESSAGE_BYTES];
        // SAFETY: the creator of the kernel guarantees the function, and the caller the tensors.
        let status =
            unsafe { function(self.functions.context, &call, message.as_mut_ptr().cast(), message.len()) };
        (status, message_text(&message))
    }
}

impl From<Numerics> for InterlockNumerics {
    fn from(numerics: Numerics) -> Self {
        let (inputs, sums) = (numerics.inputs as u32, numerics.sums as u32);
        InterlockNumerics { inputs, sums, reserved: [0; 2] }
    }
}

/// Returns the text before the first NUL, on one line.
fn message_text(message: &[u8]) -> String {
    let text = message.split(|byte| *byte == 0).next().unwrap_or_default();
    one_line(&String::from_utf8_lossy(text)).into_owned()
}

/// The tensors and options of a call of a foreign kernel.
///
/// ```
/// use interlock_core::dispatch::{ForeignArgs, Numerics};
///
/// let args = ForeignArgs::new(&[], &[], Numerics::default());
/// assert_eq!((args.stream, args.options.is_null()), (0, true));
/// ```
#[derive(Debug)]
pub struct ForeignArgs<'a> {
    /// The operands, in the order of the operation's arguments.
    pub inputs: &'a [ForeignTensor],
    /// The tensors that the kernel writes.
    pub outputs: &'a [ForeignTensor],
    /// The arithmetic that flags request.
    pub numerics: Numerics,
    /// The handle of the stream of a device; 0 on the CPU.
    pub stream: u64,
    /// The options of the operation, or null.
    pub options: *const c_void,
}

impl<'a> ForeignArgs<'a> {
    /// Returns the arguments of an operation without options, on the CPU.
    pub fn new(inputs: &'a [ForeignTensor], outputs: &'a [ForeignTensor], numerics: Numerics) -> Self {
        ForeignArgs { inputs, outputs, numerics, stream: 0, options: ptr::null() }
    }
}

/// A tensor as an argument of a foreign kernel.
///
/// ```
/// use interlock_core::sys::{InterlockDType, InterlockTensorDevice};
/// use interlock_core::dispatch::ForeignTensor;
///
/// let tensor = ForeignTensor::new(InterlockTensorDevice::CPU, InterlockDType::float(32), &[2, 3]);
/// assert_eq!(tensor.shape(), [2, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct ForeignTensor {
    data: *mut c_void,
    device: InterlockTensorDevice,
    dtype: InterlockDType,
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
}

impl ForeignTensor {
    /// Returns a tensor without memory.
    pub fn new(device: InterlockTensorDevice, dtype: InterlockDType, shape: &[usize]) -> Self {
        ForeignTensor { data: ptr::null_mut(), device, dtype, shape: as_i64(shape), strides: None }
    }

    /// Adds the address of the first element.
    pub fn with_data(self, data: *mut c_void) -> Self {
        ForeignTensor { data, ..self }
    }

    /// Adds strides in elements; without them, the elements are contiguous in row-major order.
    pub fn with_strides(self, strides: &[usize]) -> Self {
        ForeignTensor { strides: Some(as_i64(strides)), ..self }
    }

    /// Returns the sizes of the dimensions.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Returns the tensor as a kernel reads it. It borrows the shape, which the kernel does not change.
    fn as_dlpack(&self) -> InterlockTensor {
        InterlockTensor {
            data: self.data,
            device: self.device,
            ndim: i32::try_from(self.shape.len()).ok().unwrap_or_assert(0, "a tensor has few dimensions"),
            dtype: self.dtype,
            shape: self.shape.as_ptr().cast_mut(),
            strides: self.strides.as_ref().map_or(ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
            byte_offset: 0,
        }
    }
}

/// Converts sizes, which the memory of a tensor limits.
fn as_i64(sizes: &[usize]) -> Vec<i64> {
    let as_i64 = |size: &usize| {
        i64::try_from(*size).ok().unwrap_or_assert(0, "the memory of a tensor limits its sizes")
    };
    sizes.iter().map(as_i64).collect()
}

/// Returns the node of a name.
fn node_named(name: &str) -> Result<Node> {
    let allowed = || format!("one of {}", Node::ALL.map(Node::name).join(", "));
    let node = Node::ALL.into_iter().find(|node| node.name() == name);
    node.ok_or_else(|| err_descriptor("node", quoted(name), allowed()))
}

/// Returns a text that is not empty.
///
/// # Safety
/// The pointer is null or of a NUL-terminated text that lives as long as it is used.
unsafe fn text_at<'a>(argument: &'static str, pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(err_descriptor(argument, "NULL", "a text"));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    match text.to_str() {
        Ok("") => Err(err_descriptor(argument, "an empty text", "a text")),
        Ok(text) => Ok(text),
        Err(_) => Err(err_descriptor(argument, quoted(&text.to_string_lossy()), "UTF-8")),
    }
}

/// Returns the name of a kernel, which records print within a line.
fn name_of(name: &str) -> Result<&str> {
    if name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err(err_descriptor("name", quoted(name), "a text without whitespace and control characters"));
    }
    Ok(name)
}

fn err_descriptor(argument: &'static str, given: impl fmt::Display, allowed: impl Into<String>) -> Error {
    Error::KernelDescriptor { argument, given: given.to_string(), allowed: allowed.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Rounding;
    use crate::flags::flags::NNPACK_ENABLED;

    /// Accepts matrices, and returns the status that `context` points to.
    unsafe extern "C" fn matrix(
        _: *mut c_void,
        call: *const InterlockKernelCall,
        message: *mut c_char,
        capacity: usize,
    ) -> i32 {
        // SAFETY: called with one input.
        let ndim = unsafe { (*(*call).inputs).ndim };
        // SAFETY: the message has `capacity` bytes.
        unsafe { write(message, capacity, &format!("needs 2 dimensions, got {ndim}")) };
        i32::from(ndim != 2)
    }

    unsafe extern "C" fn run(
        context: *mut c_void,
        call: *const InterlockKernelCall,
        message: *mut c_char,
        capacity: usize,
    ) -> i32 {
        // SAFETY: called with a valid call.
        let numerics = unsafe { (*call).numerics };
        // SAFETY: the message has `capacity` bytes, and the context is a status.
        unsafe {
            write(message, capacity, &format!("inputs {}", numerics.inputs));
            *context.cast::<i32>()
        }
    }

    /// # Safety
    /// `message` has `capacity` bytes.
    unsafe fn write(message: *mut c_char, capacity: usize, text: &str) {
        assert!(text.len() < capacity);
        // SAFETY: the text and its end fit.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr().cast(), message, text.len());
            *message.add(text.len()) = 0;
        }
    }

    fn descriptor(status: &mut i32) -> InterlockKernel {
        InterlockKernel {
            size: size_of::<InterlockKernel>(),
            name: c"mine".as_ptr(),
            requirements: ptr::null(),
            num_requirements: 0,
            node: ptr::null(),
            context: (&raw mut *status).cast(),
            condition: Some(matrix),
            run: Some(run),
        }
    }

    fn kernel(descriptor: &InterlockKernel) -> Result<ForeignKernel> {
        // SAFETY: the pointers are valid, and the functions need no more than their context.
        unsafe { ForeignKernel::new(descriptor) }
    }

    fn tensor(shape: &[usize]) -> ForeignTensor {
        ForeignTensor::new(InterlockTensorDevice::CPU, InterlockDType::float(32), shape)
    }

    #[test]
    fn check_returns_the_reason_of_the_kernel() {
        let mut status = 0;
        let kernel = kernel(&descriptor(&mut status)).unwrap();
        assert_eq!(kernel.check(&ForeignArgs::new(&[tensor(&[2, 3])], &[], Numerics::default())), Ok(()));
        let refused = kernel.check(&ForeignArgs::new(&[tensor(&[2])], &[], Numerics::default())).unwrap_err();
        assert_eq!(refused.to_string(), "needs 2 dimensions, got 1");
    }

    #[test]
    fn messages_of_kernels_are_one_line() {
        unsafe extern "C" fn hostile(
            _: *mut c_void,
            _: *const InterlockKernelCall,
            message: *mut c_char,
            capacity: usize,
        ) -> i32 {
            // SAFETY: the message has `capacity` bytes.
            unsafe { write(message, capacity, "first\nsecond \x1b[31m") };
            INTERLOCK_STATUS_REFUSED
        }
        let mut status = 0;
        let described =
            InterlockKernel { condition: Some(hostile), run: Some(hostile), ..descriptor(&mut status) };
        let kernel = kernel(&described).unwrap();
        let args = ForeignArgs::new(&[], &[], Numerics::default());
        let expected = Reason::from(r"first\nsecond \u{1b}[31m");
        assert_eq!(kernel.check(&args), Err(expected.clone()));
        // SAFETY: the function uses no memory of the tensors.
        let stopped = unsafe { kernel.run(&args) };
        assert!(matches!(stopped, Err(KernelError::Declined(reason)) if reason == expected));
    }

    #[test]
    fn run_distinguishes_success_refusals_and_errors() {
        let inputs = [tensor(&[2, 3])];
        let numerics = Numerics { inputs: Rounding::Tf32, ..Default::default() };
        let args = ForeignArgs::new(&inputs, &[], numerics);
        for (mut status, expected) in [
            (INTERLOCK_STATUS_DONE, "done"),
            (INTERLOCK_STATUS_REFUSED, "refused: inputs 1"),
            (7, "error: inputs 1"),
        ] {
            let kernel = kernel(&descriptor(&mut status)).unwrap();
            // SAFETY: the function uses no memory of the tensors.
            let result = match unsafe { kernel.run(&args) } {
                Ok(()) => "done".to_owned(),
                Err(KernelError::Declined(reason)) => format!("refused: {reason}"),
                Err(KernelError::Failed(error)) => format!("error: {error}"),
            };
            assert_eq!(result, expected);
        }
    }

    #[test]
    fn new_reads_gates_and_the_node_by_name() {
        let mut status = 0;
        let requirements =
            [InterlockFlagRequirement { flag: c"nnpack.enabled".as_ptr(), value: c"True".as_ptr() }];
        let node = c"mkldnn.matmul.fp32_precision".as_ptr();
        let described = InterlockKernel {
            requirements: requirements.as_ptr(),
            num_requirements: 1,
            node,
            ..descriptor(&mut status)
        };
        let kernel = kernel(&described).unwrap();
        assert_eq!((kernel.name(), kernel.node()), ("mine", Some(Node::MkldnnMatmul)));
        let reason = || kernel.requirements()[0].refusal().map(|reason| reason.to_string());
        assert_eq!(reason(), None);
        let _guard = NNPACK_ENABLED.scope(false).unwrap().guard();
        assert_eq!(reason().as_deref(), Some("backends.nnpack.enabled is False"));
    }

    /// Returns the status that `context` points to, with a message unless it is negative.
    unsafe extern "C" fn fail(
        context: *mut c_void,
        _: *const InterlockKernelCall,
        message: *mut c_char,
        capacity: usize,
    ) -> i32 {
        // SAFETY: the context is a status, and the message has `capacity` bytes.
        unsafe {
            let status = *context.cast::<i32>();
            write(message, capacity, if status < 0 { "" } else { "out of registers" });
            status
        }
    }

    #[test]
    fn condition_that_fails_refuses_with_its_status() {
        for (mut status, expected) in
            [(-7, "its condition returned -7"), (99, "its condition returned 99: out of registers")]
        {
            let described = InterlockKernel { condition: Some(fail), ..descriptor(&mut status) };
            let refused = kernel(&described).unwrap().check(&ForeignArgs::new(&[], &[], Numerics::default()));
            assert_eq!(refused.unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn new_names_the_member_that_it_refuses() {
        let mut status = 0;
        let good = descriptor(&mut status);
        let requirement = |flag: &'static CStr, value: &'static CStr| InterlockFlagRequirement {
            flag: flag.as_ptr(),
            value: value.as_ptr(),
        };
        let unknown = [requirement(c"nnpack.enable", c"True")];
        let invalid = [requirement(c"cuda.blas_library", c"mine")];
        let number = [requirement(c"cudnn.benchmark_limit", c"3")];
        let with_requirement = |requirements: &[InterlockFlagRequirement; 1]| InterlockKernel {
            requirements: requirements.as_ptr(),
            num_requirements: 1,
            ..good
        };
        let cases = [
            (InterlockKernel { size: 8, ..good }, "register_foreign_kernel: size must be at least 64, got 8"),
            (
                InterlockKernel { name: ptr::null(), ..good },
                "register_foreign_kernel: name must be a text, got NULL",
            ),
            (
                InterlockKernel { run: None, ..good },
                "register_foreign_kernel: run must be a function, got NULL",
            ),
            (
                InterlockKernel { node: c"matmul".as_ptr(), ..good },
                "register_foreign_kernel: node must be one of fp32_precision, ",
            ),
            (
                InterlockKernel { num_requirements: 3, ..good },
                "register_foreign_kernel: requirements must be an array of 3 requirements, got NULL",
            ),
            (
                with_requirement(&unknown),
                "there is no flag backends.nnpack.enable; did you mean backends.nnpack.enabled?",
            ),
            (
                with_requirement(&invalid),
                "register_foreign_kernel: requirements: value of backends.cuda.blas_library must be 'default', ",
            ),
            (
                InterlockKernel { name: c"two words".as_ptr(), ..good },
                "register_foreign_kernel: name must be a text without whitespace and control characters, got \"two words\"",
            ),
            (
                InterlockKernel { num_requirements: usize::MAX, ..with_requirement(&unknown) },
                "register_foreign_kernel: num_requirements must be at most ",
            ),
            (
                with_requirement(&number),
                "register_foreign_kernel: requirements: flag must be a flag with bools or names, got cudnn.benchmark_limit",
            ),
        ];
        for (described, expected) in cases {
            let error = kernel(&described).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
