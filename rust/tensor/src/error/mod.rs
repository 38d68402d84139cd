//! The error type of this crate.

mod foreign;
mod forward_stack;
mod sizes;
mod warning;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use interlock::accelerator::{Device, Error as AcceleratorError};
use interlock::dispatch::NoKernel;

pub use foreign::ForeignError;
pub use forward_stack::{Creator, ForwardStack};
pub(crate) use sizes::{Sizes, Tuple};
pub(crate) use warning::warn;
pub use warning::{WarningHandler, set_warning_handler};

use crate::{DType, Scalar};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation. The operation that returns it has no effect. It is one pointer, because every result of an
/// operation has room for one.
///
/// ```
/// use interlock_tensor::{DType, ErrorCause, ErrorKind, Tensor};
///
/// let x = Tensor::zeros(&[2, 3], DType::Float32)?;
/// let error = x.add(&Tensor::zeros(&[4], DType::Float32)?).unwrap_err();
/// assert_eq!(error.kind(), Some(ErrorKind::Shape));
/// assert!(matches!(error.cause(), ErrorCause::Refused { op: Some("add"), .. }));
/// assert_eq!(error.to_string(), "add: shapes (2, 3) and (4,) cannot be broadcast");
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<ErrorCause>);

/// What an [`Error`] reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorCause {
    /// An operation does not accept an argument, or the state of a tensor, a graph or the process.
    Refused {
        /// The reason, which callers match.
        kind: ErrorKind,
        /// The name of the operation, or `None` if the message names another subject, such as a node.
        op: Option<&'static str>,
        /// The argument, if the message begins with one.
        argument: Option<&'static str>,
        /// The violated requirement and what was given.
        message: String,
    },
    /// An error of an allocator or a device: a rejected operation, or an asynchronous error of an earlier one.
    Accelerator(AcceleratorError),
    /// Every kernel of an operation refuses the call.
    NoKernel(NoKernel),
    /// A function of the program, such as a hook, failed.
    Foreign(ForeignError),
    /// In anomaly mode, an error of a backward function.
    Anomaly {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The stack of the operation that created the node, if it ran in anomaly mode.
        stack: Option<Arc<ForwardStack>>,
        /// The error.
        error: Error,
    },
}

/// The reason for which an operation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A shape, sizes of a new shape, or shapes that cannot be combined.
    Shape,
    /// A shape that only a copy of the tensor can have.
    ViewNeedsCopy,
    /// An element type, or element types that cannot be combined.
    DType,
    /// A value.
    Value,
    /// An argument of a wrong type, or arguments that exclude each other.
    Type,
    /// An index, a dimension, or an argument for which PyTorch raises `IndexError`.
    Index,
    /// A matrix that cannot be factored, such as a singular one.
    LinAlg,
    /// Tensors on different devices, or on one that the operation does not support.
    Device,
    /// An operand that another thread resized during the operation.
    Resized,
    /// A view that was created in no-grad or inference mode, whose history is not recorded.
    UntrackedView,
    /// A view that was created with others by one operation, such as `split`.
    ViewOfSeveral,
    /// An operation that a stream cannot capture in a graph.
    Capture,
    /// A backward pass through a graph whose saved tensors were freed.
    GraphFreed,
    /// Too many backward passes inside of each other.
    Nesting,
    /// Another state of a tensor, a graph, a kernel or the process.
    State,
}

/// Returns a number if a tensor of `dtype` can hold it.
///
/// # Errors
/// [`ErrorKind::Value`] with the names of the function and its argument.
pub(crate) fn check_fits(
    value: Scalar,
    dtype: DType,
    op: &'static str,
    argument: &'static str,
) -> Result<Scalar> {
    if value.fits(dtype) { Ok(value) } else { Err(Error::out_of_bounds(op, argument, value, dtype)) }
}

/// Like [`check_fits`] for `fill_` and `full`, which round a number to a half-precision type, as in PyTorch.
pub(crate) fn check_fills(
    value: Scalar,
    dtype: DType,
    op: &'static str,
    argument: &'static str,
) -> Result<Scalar> {
    if dtype.is_half() { Ok(value) } else { check_fits(value, dtype, op, argument) }
}

/// Like [`check_fits`] for a factor, which is not rounded to a half-precision type.
pub(crate) fn check_factor(
    value: Scalar,
    dtype: DType,
    op: &'static str,
    argument: &'static str,
) -> Result<Scalar> {
    check_fits(value, if dtype.is_half() { DType::Float32 } else { dtype }, op, argument)
}

impl Error {
    /// Creates the error of an operation, whose name precedes the message.
    #[cold]
    pub fn new(kind: ErrorKind, op: &'static str, message: impl Into<String>) -> Self {
        ErrorCause::Refused { kind, op: Some(op), argument: None, message: message.into() }.into()
    }

    /// Creates the error of an argument, whose name precedes the requirement.
    #[cold]
    pub fn argument(
        kind: ErrorKind,
        op: &'static str,
        argument: &'static str,
        message: impl Into<String>,
    ) -> Self {
        ErrorCause::Refused { kind, op: Some(op), argument: Some(argument), message: message.into() }.into()
    }

    /// Creates the error of another subject than the called operation, such as a node of a graph or a hook.
    #[cold]
    pub(crate) fn of(subject: &str, kind: ErrorKind, message: impl fmt::Display) -> Self {
        ErrorCause::Refused { kind, op: None, argument: None, message: format!("{subject}: {message}") }
            .into()
    }

    /// Returns an error if a condition applies.
    #[inline]
    pub fn when(applies: bool, error: impl FnOnce() -> Error) -> Result<()> {
        if applies { Err(error()) } else { Ok(()) }
    }

    /// Returns what the error reports.
    pub fn cause(&self) -> &ErrorCause {
        &self.0
    }

    /// Returns the reason of a refused operation.
    pub fn kind(&self) -> Option<ErrorKind> {
        if let ErrorCause::Refused { kind, .. } = *self.0 { Some(kind) } else { None }
    }

    /// Creates the error of a tensor whose shape an operation does not accept.
    #[cold]
    pub(crate) fn shape(
        op: &'static str,
        argument: &'static str,
        expected: impl fmt::Display,
        given: &[usize],
    ) -> Self {
        let message = format!("must {expected}, got shape {}", Tuple(given));
        Error::argument(ErrorKind::Shape, op, argument, message)
    }

    /// Creates the error of the sizes of a new shape that an operation does not accept.
    #[cold]
    pub(crate) fn sizes(
        op: &'static str,
        argument: &'static str,
        expected: impl fmt::Display,
        given: &[impl fmt::Display],
    ) -> Self {
        Error::argument(ErrorKind::Shape, op, argument, format!("must {expected}, got {}", Tuple(given)))
    }

    /// Creates the error of two shapes that cannot be broadcast.
    pub(crate) fn broadcast(op: &'static str, left: &[usize], right: &[usize]) -> Self {
        let message = format!("shapes {} and {} cannot be broadcast", Tuple(left), Tuple(right));
        Error::new(ErrorKind::Shape, op, message)
    }

    /// Creates the error of two shapes that an operation cannot combine because of `problem`.
    #[cold]
    pub(crate) fn shapes(
        op: &'static str,
        problem: impl fmt::Display,
        left: &[usize],
        right: &[usize],
    ) -> Self {
        Error::new(ErrorKind::Shape, op, format!("{problem} for shapes {} and {}", Tuple(left), Tuple(right)))
    }

    /// Creates the error of a shape with more elements than the address space.
    pub(crate) fn too_large(op: &'static str, shape: &[usize]) -> Self {
        let message = format!("shape {} has more elements than can be addressed", Tuple(shape));
        Error::new(ErrorKind::Shape, op, message)
    }

    /// Creates the error of more than `limit` dimensions, which is [`MAX_DIMENSIONS`](crate::MAX_DIMENSIONS).
    pub fn too_many_dimensions(op: &'static str, given: usize, limit: usize) -> Self {
        let message = format!("a tensor can have at most {limit} dimensions, got {given}");
        Error::new(ErrorKind::Shape, op, message)
    }

    /// Creates the error of a value that an operation does not accept.
    #[cold]
    pub fn value(
        op: &'static str,
        argument: &'static str,
        expected: impl fmt::Display,
        given: impl fmt::Display,
    ) -> Self {
        Error::argument(ErrorKind::Value, op, argument, format!("must {expected}, got {given}"))
    }

    /// Creates the error of a number that a tensor of an element type cannot hold.
    pub fn out_of_bounds(op: &'static str, argument: &'static str, value: Scalar, dtype: DType) -> Self {
        Error::value(op, argument, format_args!("be a number that {dtype} can hold"), value)
    }

    /// Creates the error of a sequence of tensors without items.
    pub(crate) fn no_tensors(op: &'static str, argument: &'static str) -> Self {
        Error::value(op, argument, "contain at least one tensor", "none")
    }

    /// Creates the error of an element type that an operation does not accept.
    #[cold]
    pub fn dtype(
        op: &'static str,
        argument: &'static str,
        expected: impl fmt::Display,
        given: DType,
    ) -> Self {
        Error::argument(ErrorKind::DType, op, argument, format!("must be {expected}, got {given}"))
    }

    /// Adds to the message how to convert the argument, as in "; float() converts it".
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        if let ErrorCause::Refused { message, .. } = &mut *self.0 {
            message.push_str(hint);
        }
        self
    }

    /// Creates the error of an argument that must be a floating-point tensor.
    pub(crate) fn not_floating_point(op: &'static str, argument: &'static str, given: DType) -> Self {
        Error::dtype(op, argument, "floating point", given).with_hint("; float() converts it")
    }

    /// Creates the error of a bool tensor that must have numbers.
    pub fn not_numeric(op: &'static str, argument: &'static str, hint: &'static str) -> Self {
        Error::dtype(op, argument, "numeric", DType::Bool).with_hint(hint)
    }

    /// Creates the error of operands of different element types, for an operation that does not promote them.
    pub(crate) fn dtypes(op: &'static str, left: DType, right: DType) -> Self {
        Error::new(ErrorKind::DType, op, format!("dtypes must match, got {left} and {right}"))
    }

    /// Creates the error of a result that cannot be cast to the element type of the tensor that is written.
    pub(crate) fn result_type(op: &'static str, argument: &str, result: DType, target: DType) -> Self {
        let message =
            format!("the result must be castable to {target}, the dtype of {argument}, got {result}");
        Error::new(ErrorKind::DType, op, message)
    }

    /// Creates the error of a dimension that the tensor does not have.
    pub fn dimension(op: &'static str, argument: &'static str, dim: i64, ndim: usize) -> Self {
        let message = match ndim {
            0 | 1 => format!("must be -1 or 0, got {dim}"),
            _ => format!("must be from -{ndim} to {}, got {dim}", ndim - 1),
        };
        Error::argument(ErrorKind::Index, op, argument, message)
    }

    /// Creates the error of an index beyond the size of a dimension.
    pub(crate) fn index(op: &'static str, index: i64, dim: usize, size: usize) -> Self {
        let message = format!("index {index} is out of bounds for dimension {dim} with size {size}");
        Error::new(ErrorKind::Index, op, message)
    }

    /// Creates the error of an index of a 0-d tensor.
    pub(crate) fn no_dimensions(op: &'static str) -> Self {
        Error::new(ErrorKind::Index, op, "a 0-d tensor cannot be indexed; item() returns its element")
    }

    /// Creates the error of a 0-d tensor where an operation works along a dimension.
    pub(crate) fn needs_dimension(op: &'static str, kind: ErrorKind) -> Self {
        Error::argument(kind, op, "input", "must have a dimension, got shape ()")
    }

    /// Creates the error of an in-place operation on a tensor several of whose elements share a memory location.
    pub(crate) fn overlap(op: &'static str) -> Self {
        let message = "several elements of the target share one memory location; clone() it before changing it in place";
        Error::new(ErrorKind::State, op, message)
    }

    /// Creates the error of a written tensor that shares memory with a source.
    pub(crate) fn aliased(op: &'static str, argument: &'static str) -> Self {
        let message =
            "must not share memory with an input, unless it has the same elements; clone() the input";
        Error::argument(ErrorKind::State, op, argument, message)
    }

    /// Creates the error of an operand that another thread resized during the operation.
    pub(crate) fn resized(op: &'static str) -> Self {
        Error::new(ErrorKind::Resized, op, "an operand was resized by another thread during the operation")
    }

    /// Creates the error of an action, such as "require grad", that inference tensors do not support outside of
    /// inference mode.
    pub(crate) fn inference(op: &'static str, action: &str) -> Self {
        let cure = "clone() returns a normal tensor";
        let message = format!("an inference tensor cannot {action} outside of inference_mode(); {cure}");
        Error::new(ErrorKind::State, op, message)
    }

    /// Creates the error of a change in place of a leaf that requires grad, or of a view of one.
    pub(crate) fn leaf_in_place(op: &'static str, view: bool) -> Self {
        let message = format!(
            "{}a leaf tensor that requires grad cannot be changed in place while gradients are recorded; use no_grad()",
            if view { "a view of " } else { "" }
        );
        Error::new(ErrorKind::State, op, message)
    }

    /// Creates the error of a differentiated tensor without a graph.
    pub(crate) fn no_graph(op: &'static str) -> Self {
        let message =
            "the tensor does not require grad and has no grad_fn, so there is nothing to differentiate";
        Error::new(ErrorKind::State, op, message)
    }

    /// Creates the error of a differentiated operation without a gradient, with the function to use instead.
    pub(crate) fn not_differentiable(op: &'static str, hint: &str) -> Self {
        Error::new(ErrorKind::State, op, format!("the operation has no gradient; {hint}"))
    }

    /// Creates the error of a backward pass through a node whose saved tensors were freed.
    pub(crate) fn graph_freed(node: &str) -> Self {
        let message = "graph already freed: set BackwardArgs::retain_graph in the first backward()";
        Error::of(node, ErrorKind::GraphFreed, message)
    }

    /// Creates the error of tensors on different devices.
    pub fn devices(op: &'static str, left: Device, right: Device) -> Self {
        let message = format!(
            "tensors must be on one device, got {left} and {right}; only 0-d CPU tensors may be on another"
        );
        Error::new(ErrorKind::Device, op, message)
    }

    /// Creates the error of an operation that only CPU tensors support.
    pub fn on_device(op: &'static str, device: Device) -> Self {
        let message = format!("the tensor must be on the CPU, got {device}; call cpu() first");
        Error::new(ErrorKind::Device, op, message)
    }

    /// Creates the error of a failed kernel of another library.
    pub(crate) fn kernel(op: &'static str, kernel: &str, message: &str) -> Self {
        Error::new(ErrorKind::State, op, format!("the kernel {kernel} failed: {message}"))
    }

    /// Creates the error of a kernel whose result has another shape, element type or device than the expected ones.
    pub fn kernel_result(
        op: &'static str,
        kernel: &str,
        expected: (&[usize], DType, Device),
        given: (&[usize], DType, Device),
    ) -> Self {
        let [expected, given] = [expected, given]
            .map(|(shape, dtype, device)| format!("{dtype} of shape {} on {device}", Tuple(shape)));
        Error::kernel(op, kernel, &format!("it must return {expected}, got {given}"))
    }

    /// Names the operation that the caller has called instead of an operation that it uses. Errors of a node are
    /// unchanged.
    #[must_use]
    #[cold]
    pub fn during(mut self, caller: &'static str) -> Self {
        match *self.0 {
            ErrorCause::Refused { op: Some(ref mut op), .. } => *op = caller,
            ErrorCause::Accelerator(error) => return error.during(caller).into(),
            _ => {}
        }
        self
    }

    /// Names an argument of the operation that the caller has called instead of the one of an operation that it uses.
    #[must_use]
    pub fn rename_argument(mut self, old: &str, new: &'static str) -> Self {
        if let ErrorCause::Refused { argument: Some(argument), .. } = &mut *self.0
            && *argument == old
        {
            *argument = new;
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause() {
            ErrorCause::Refused { op, argument, message, .. } => {
                if let Some(op) = op {
                    write!(f, "{op}: ")?;
                }
                if let Some(argument) = argument {
                    write!(f, "{argument} ")?;
                }
                f.write_str(message)
            }
            ErrorCause::Accelerator(error) => error.fmt(f),
            ErrorCause::NoKernel(error) => error.fmt(f),
            ErrorCause::Foreign(error) => error.fmt(f),
            ErrorCause::Anomaly { stack: Some(stack), error, .. } => {
                write!(f, "{error}; the forward operation was called at {}", stack.location())
            }
            ErrorCause::Anomaly { stack: None, error, .. } => write!(
                f,
                "{error}; the forward operation ran without anomaly detection, so its line is not known"
            ),
        }
    }
}

impl From<ErrorCause> for Error {
    #[cold]
    fn from(cause: ErrorCause) -> Self {
        Error(Box::new(cause))
    }
}

impl From<NoKernel> for Error {
    fn from(error: NoKernel) -> Self {
        ErrorCause::NoKernel(error).into()
    }
}

impl From<AcceleratorError> for Error {
    fn from(error: AcceleratorError) -> Self {
        ErrorCause::Accelerator(error).into()
    }
}

impl From<ForeignError> for Error {
    fn from(error: ForeignError) -> Self {
        ErrorCause::Foreign(error).into()
    }
}

impl std::error::Error for Error {}
