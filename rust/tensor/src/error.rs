//! The error type of this crate and its messages.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use interlock::accelerator::{Device, Error as AcceleratorError};
use interlock::dispatch::NoKernel;

use crate::forward_stack::ForwardStack;
use crate::{DType, Scalar};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation. The operation that returns it has no effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that cannot be broadcast.
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
    },
    /// Two shapes that an operation cannot combine for another reason.
    Shapes {
        /// The operation.
        op: &'static str,
        /// The violated requirement, before "for shapes".
        problem: String,
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
    },
    /// A shape, or the sizes of a new shape, that an operation does not accept.
    Shape {
        /// The operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The requirement, after "must".
        expected: String,
        /// The shape or the sizes, as shown in the message.
        given: String,
    },
    /// A shape that only a copy of the tensor can have.
    ViewNeedsCopy {
        /// The operation.
        op: &'static str,
        /// The requested shape.
        wanted: Vec<usize>,
        /// The shape of the tensor.
        shape: Vec<usize>,
        /// The strides of the tensor.
        strides: Vec<usize>,
    },
    /// Operands of different element types, for an operation that does not promote them.
    DTypes {
        /// The operation.
        op: &'static str,
        /// The element type of the first operand.
        left: DType,
        /// The element type of the second operand.
        right: DType,
    },
    /// An element type that an operation does not accept.
    DType {
        /// The operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The accepted types, after "must be".
        expected: String,
        /// The element type.
        given: DType,
        /// How to convert the argument, or nothing.
        cure: &'static str,
    },
    /// A bool or a floating-point number as `alpha` of an operation in a narrower type.
    FactorType {
        /// The operation.
        op: &'static str,
        /// The argument that multiplies an operand.
        argument: &'static str,
        /// The promoted type of the operands.
        dtype: DType,
        /// The value.
        given: Scalar,
    },
    /// A result whose type cannot be cast to the type of the tensor that is changed in place.
    ResultType {
        /// The operation.
        op: &'static str,
        /// The tensor that is written, as in "the tensor".
        argument: &'static str,
        /// The element type of the result.
        result: DType,
        /// The element type of the target.
        target: DType,
    },
    /// A dimension that the tensor does not have.
    Dimension {
        /// The operation.
        op: &'static str,
        /// The requested dimension.
        dim: i64,
        /// The number of dimensions of the tensor.
        ndim: usize,
    },
    /// An index beyond the size of a dimension.
    Index {
        /// The index.
        index: i64,
        /// The indexed dimension.
        dim: usize,
        /// The size of the dimension.
        size: usize,
    },
    /// An index that is not one of the positions of a dimension, or of all elements.
    Position {
        /// The operation.
        op: &'static str,
        /// The argument with the indices.
        argument: &'static str,
        /// The index.
        index: i64,
        /// The number of positions.
        size: usize,
    },
    /// An index of `gather` or `scatter` that is not a position of the dimension.
    Coordinate {
        /// The operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// The indexed dimension.
        dim: usize,
        /// The size of the dimension.
        size: usize,
    },
    /// A class index that is negative or not smaller than the number of classes.
    Class {
        /// The operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// The number of classes.
        classes: usize,
    },
    /// An element that is not one of the classes of `one_hot`.
    ClassValue {
        /// The operation.
        op: &'static str,
        /// The element.
        given: i64,
        /// The number of classes.
        classes: usize,
    },
    /// An index of a tensor without dimensions.
    NoDimensions,
    /// An invalid index expression.
    Indexing {
        /// The violated requirement and the index.
        message: String,
    },
    /// A value that an operation does not accept.
    Value {
        /// The operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The requirement, after "must".
        expected: String,
        /// The value, as shown in the message.
        given: String,
    },
    /// A number that a tensor of an element type cannot hold.
    OutOfBounds {
        /// The operation.
        op: &'static str,
        /// The name of the argument.
        argument: &'static str,
        /// The number.
        value: Scalar,
        /// The element type.
        dtype: DType,
    },
    /// An assignment of a tensor of another element type to an index that contains tensors.
    AssignedType {
        /// The element type.
        given: DType,
        /// The element type of the target.
        target: DType,
    },
    /// A shape with more elements than the address space.
    TooLarge {
        /// The requested shape.
        shape: Vec<usize>,
    },
    /// More than [`MAX_DIMENSIONS`](crate::MAX_DIMENSIONS) dimensions.
    TooManyDimensions {
        /// The requested number.
        given: usize,
        /// The maximum number.
        limit: usize,
    },
    /// An in-place operation on a tensor several of whose elements share a memory location.
    Overlap {
        /// The operation.
        op: &'static str,
    },
    /// A source that shares memory with the tensor that an operation writes.
    Aliased {
        /// The operation.
        op: &'static str,
    },
    /// An in-place operation on a leaf that requires grad, or on a view of one.
    LeafInPlace {
        /// The operation.
        op: &'static str,
        /// Whether the target is a view of the leaf.
        view: bool,
    },
    /// A view that was created in no-grad or inference mode, whose history is not recorded.
    UntrackedView {
        /// Whether the view was created in inference mode.
        inference: bool,
        /// The source location that created the view, if tracing is enabled.
        created_at: Option<String>,
    },
    /// A view that was created with others by one operation, such as `split`, and that was changed in place or whose base
    /// was.
    ViewOfSeveral,
    /// An operation that inference tensors do not support outside of inference mode.
    Inference {
        /// The attempted action, after "an inference tensor cannot".
        action: &'static str,
    },
    /// A query of the version counter of an inference tensor.
    NoVersion,
    /// `requires_grad` set to false for the result of a recorded operation.
    NotLeaf,
    /// Differentiation of a tensor without a graph.
    NoGraph {
        /// The operation.
        op: &'static str,
    },
    /// A backward pass from a tensor of several elements without an explicit gradient.
    ImplicitGradient {
        /// The operation.
        op: &'static str,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// A backward pass through a graph whose saved tensors were freed.
    GraphFreed {
        /// The name of the node.
        node: Cow<'static, str>,
    },
    /// Too many backward passes inside of each other.
    NestedPasses {
        /// The operation.
        op: &'static str,
        /// The largest number.
        limit: usize,
    },
    /// A recorded backward pass through an operation whose backward function cannot be differentiated.
    OneBackward {
        /// The name of the node.
        node: &'static str,
        /// How to compute the gradient of the gradient.
        cure: &'static str,
    },
    /// A backward pass through a node whose saved tensor was changed in place.
    Modified {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The shape of the saved tensor.
        shape: Vec<usize>,
        /// The version when the tensor was saved.
        saved: u32,
        /// The current version.
        now: u32,
    },
    /// A backward pass through an in-place change of a view that begins before its base.
    ViewBeforeBase,
    /// An input that the outputs do not depend on.
    Unused {
        /// The position of the input.
        index: usize,
    },
    /// Tensors on different devices.
    Devices {
        /// The operation.
        op: &'static str,
        /// The device of the operation.
        left: Device,
        /// The device of another tensor.
        right: Device,
    },
    /// An operation that only CPU tensors support.
    OnDevice {
        /// The operation.
        op: &'static str,
        /// The device of the tensor.
        device: Device,
    },
    /// An error of an allocator or a device: a rejected operation, or an asynchronous error of an earlier one.
    Accelerator(AcceleratorError),
    /// An operation on memory that streams use, of a tensor whose memory they do not.
    NoStream {
        /// The operation.
        op: &'static str,
    },
    /// The kernel of another library failed.
    Kernel {
        /// The operation.
        op: &'static str,
        /// The name of the kernel.
        kernel: String,
        /// The message of the kernel.
        message: String,
    },
    /// A product on a library that may split sums, although a flag forbids it.
    UnsplitSums {
        /// The name of the flag below `backends.cuda.matmul`.
        flag: &'static str,
    },
    /// Every kernel of an operation refuses the call.
    NoKernel(NoKernel),
    /// The result of an operation without a gradient was differentiated.
    NotDifferentiable {
        /// The function.
        op: &'static str,
        /// What to use instead.
        cure: &'static str,
    },
    /// An operation all of whose kernels have no fixed order, although a flag requires one.
    NotDeterministic {
        /// The operation.
        op: &'static str,
    },
    /// A function of the program, such as a hook, failed.
    Foreign(ForeignError),
    /// A function of the program returned the wrong number of gradients.
    GradientCount {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The number of inputs.
        expected: usize,
        /// The number of gradients.
        given: usize,
    },
    /// A function of the program returned a gradient of a wrong shape.
    GradientShape {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The position of the input.
        index: usize,
        /// The shape of the input.
        expected: Vec<usize>,
        /// The shape of the gradient.
        given: Vec<usize>,
    },
    /// A function of the program returned a gradient on another device.
    GradientDevice {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The position of the input.
        index: usize,
        /// The device of the input.
        expected: Device,
        /// The device of the gradient.
        given: Device,
    },
    /// In anomaly mode, a backward function computed NaN.
    NanGradient {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The position of the input.
        input: usize,
    },
    /// In anomaly mode, an error of a backward function.
    Anomaly {
        /// The name of the node.
        node: Cow<'static, str>,
        /// The stack of the operation that created the node, if it ran in anomaly mode.
        stack: Option<Arc<ForwardStack>>,
        /// The error.
        error: Box<Error>,
    },
}

/// An error of a function of the program, in a form that this crate does not know, such as an exception of Python.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::ForeignError;
///
/// let error = ForeignError::new("division by zero".to_owned(), Arc::new(7));
/// assert_eq!(error.payload().downcast_ref(), Some(&7));
/// assert_eq!(error.to_string(), "division by zero");
/// ```
#[derive(Clone)]
pub struct ForeignError {
    message: String,
    payload: Arc<dyn Any + Send + Sync>,
}

impl ForeignError {
    /// Creates an error with a message and the program's object.
    pub fn new(message: String, payload: Arc<dyn Any + Send + Sync>) -> Self {
        ForeignError { message, payload }
    }

    /// Returns the program's object.
    pub fn payload(&self) -> &(dyn Any + Send + Sync) {
        &*self.payload
    }
}

impl fmt::Debug for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignError({:?})", self.message)
    }
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl PartialEq for ForeignError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.payload, &other.payload)
    }
}

impl Error {
    /// Creates the error of a tensor whose shape an operation does not accept.
    pub(crate) fn shape(
        op: &'static str,
        argument: &'static str,
        expected: impl Into<String>,
        given: &[usize],
    ) -> Self {
        Error::Shape { op, argument, expected: expected.into(), given: format!("shape {}", Tuple(given)) }
    }

    /// Creates the error of the sizes of a new shape that an operation does not accept.
    pub(crate) fn sizes(
        op: &'static str,
        argument: &'static str,
        expected: impl Into<String>,
        given: &[impl fmt::Display],
    ) -> Self {
        Error::Shape { op, argument, expected: expected.into(), given: Tuple(given).to_string() }
    }

    /// Creates the error of a value that an operation does not accept.
    pub(crate) fn value(
        op: &'static str,
        argument: &'static str,
        expected: impl Into<String>,
        given: impl fmt::Display,
    ) -> Self {
        Error::Value { op, argument, expected: expected.into(), given: given.to_string() }
    }

    /// Creates the error of a sequence of tensors without items.
    pub(crate) fn no_tensors(op: &'static str, argument: &'static str) -> Self {
        Error::value(op, argument, "contain at least one tensor", "none")
    }

    /// Creates the error of an input that must be a floating-point tensor.
    pub(crate) fn not_floating_point(op: &'static str, given: DType) -> Self {
        let (expected, cure) = ("floating point".to_owned(), "; float() converts it");
        Error::DType { op, argument: "input", expected, given, cure }
    }

    /// Creates the error of a bool tensor that must have numbers.
    pub(crate) fn not_numeric(op: &'static str, argument: &'static str, cure: &'static str) -> Self {
        Error::DType { op, argument, expected: "numeric".to_owned(), given: DType::Bool, cure }
    }

    /// Replaces the operation of an error for arguments or an unavailable device with the operation of the caller.
    #[must_use]
    pub fn during(mut self, caller: &'static str) -> Self {
        match &mut self {
            Error::Broadcast { op, .. }
            | Error::Shapes { op, .. }
            | Error::Shape { op, .. }
            | Error::ViewNeedsCopy { op, .. }
            | Error::DTypes { op, .. }
            | Error::DType { op, .. }
            | Error::Devices { op, .. }
            | Error::Dimension { op, .. }
            | Error::Value { op, .. }
            | Error::OutOfBounds { op, .. } => *op = caller,
            Error::Accelerator(error) => *error = error.clone().during(caller),
            _ => {}
        }
        self
    }
}

/// Shows sizes as a Python tuple.
pub(crate) struct Tuple<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Items that are shown of a longer sequence: as many as a tensor has dimensions at most.
        const SHOWN: usize = 64;
        f.write_str("(")?;
        for (index, size) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{size}", if index > 0 { ", " } else { "" })?;
        }
        match self.0.len() {
            1 => f.write_str(",)"),
            length if length > SHOWN => write!(f, ", ...) with {length} items"),
            _ => f.write_str(")"),
        }
    }
}

/// Shows sizes as records do, such as "2x3".
pub(crate) struct Sizes<'a>(pub &'a [usize]);

impl fmt::Display for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("()");
        }
        for (index, size) in self.0.iter().enumerate() {
            write!(f, "{}{size}", if index > 0 { "x" } else { "" })?;
        }
        Ok(())
    }
}

impl From<NoKernel> for Error {
    fn from(error: NoKernel) -> Self {
        Error::NoKernel(error)
    }
}

impl From<AcceleratorError> for Error {
    fn from(error: AcceleratorError) -> Self {
        Error::Accelerator(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Broadcast { op, left, right } => {
                write!(f, "{op}: shapes {} and {} cannot be broadcast", Tuple(left), Tuple(right))
            }
            Error::Shapes { op, problem, left, right } => {
                write!(f, "{op}: {problem} for shapes {} and {}", Tuple(left), Tuple(right))
            }
            Error::ViewNeedsCopy { op, wanted, shape, strides } => write!(
                f,
                "{op}: shape {} needs a copy of the tensor of shape {} with strides {}; use reshape()",
                Tuple(wanted),
                Tuple(shape),
                Tuple(strides)
            ),
            Error::DTypes { op, left, right } => write!(f, "{op}: dtypes must match, got {left} and {right}"),
            Error::DType { op, argument, expected, given, cure } => {
                write!(f, "{op}: {argument} must be {expected}, got {given}{cure}")
            }
            Error::FactorType { op, argument, dtype, given } => {
                let expected = match (given, dtype) {
                    (Scalar::Bool(_), dtype) if dtype.is_floating_point() => "an int or a float",
                    (Scalar::Bool(_), _) => "an int",
                    (_, DType::Bool) => "a bool or an int",
                    _ => "an int",
                };
                write!(f, "{op}: {argument} must be {expected} for operands of dtype {dtype}, got {given}")
            }
            Error::ResultType { op, argument, result, target } => write!(
                f,
                "{op}: the result must be castable to {target}, the dtype of {argument}, got {result}"
            ),
            Error::Dimension { op, dim, ndim: 0 | 1 } => write!(f, "{op}: dim must be -1 or 0, got {dim}"),
            Error::Dimension { op, dim, ndim } => {
                write!(f, "{op}: dim must be from -{ndim} to {}, got {dim}", ndim - 1)
            }
            Error::Index { index, dim, size } => {
                write!(f, "index {index} is out of bounds for dimension {dim} with size {size}")
            }
            Error::Position { op, argument, index, size } => {
                write!(f, "{op}: {argument} must contain positions below {size}, got {index}")
            }
            Error::Coordinate { op, index, dim, size } => {
                write!(f, "{op}: index must contain positions of range({size}) in dimension {dim}, got {index}")
            }
            Error::Class { op, index, classes } => {
                write!(f, "{op}: target must contain class indices of range({classes}), got {index}")
            }
            Error::ClassValue { op, given, classes } => {
                write!(f, "{op}: input must contain classes of range({classes}), got {given}")
            }
            Error::NoDimensions => {
                f.write_str("a tensor without dimensions cannot be indexed; item() returns its element")
            }
            Error::Indexing { message } => f.write_str(message),
            Error::Shape { op, argument, expected, given } | Error::Value { op, argument, expected, given } => {
                write!(f, "{op}: {argument} must {expected}, got {given}")
            }
            Error::OutOfBounds { op, argument, value, dtype } => {
                write!(f, "{op}: {argument} must be a number that {dtype} can hold, got {value}")
            }
            Error::AssignedType { given, target } => write!(
                f,
                "__setitem__: value must be of dtype {target} where tensors or lists are indices, got {given}"
            ),
            Error::TooLarge { shape } => {
                write!(f, "shape {} has more elements than can be addressed", Tuple(shape))
            }
            Error::TooManyDimensions { given, limit } => {
                write!(f, "a tensor can have at most {limit} dimensions, got {given}")
            }
            Error::Overlap { op } => write!(
                f,
                "{op}: several elements of the target share one memory location; clone() it before changing it in place"
            ),
            Error::Aliased { op } => write!(f, "{op}: source and target must not share memory"),
            Error::LeafInPlace { op, view } => write!(
                f,
                "{op}: {}a leaf tensor that requires grad cannot be changed in place while gradients are recorded; \
                 use no_grad()",
                if *view { "a view of " } else { "" }
            ),
            Error::UntrackedView { inference, created_at } => {
                let mode = if *inference { "inference" } else { "no_grad" };
                let location = match created_at {
                    Some(line) => format!(" at {line}"),
                    None => String::new(),
                };
                write!(
                    f,
                    "this view was created in {mode} mode{location}, so its history since an in-place change is \
                     not known; create the view and change it in the same mode"
                )
            }
            Error::ViewOfSeveral => f.write_str(
                "this view is one of several that split(), chunk() or unbind() returned, and its history does not record \
                 in-place changes of it or of its base; use narrow() or clone() it",
            ),
            Error::Inference { action } => write!(
                f,
                "an inference tensor cannot {action} outside of inference_mode(); clone() returns a normal tensor"
            ),
            Error::NoVersion => {
                f.write_str("an inference tensor has no version counter; clone() returns a normal tensor")
            }
            Error::NotLeaf => f.write_str(
                "requires_grad must be True for the result of a recorded operation, got False; detach() returns a leaf",
            ),
            Error::NoGraph { op } => write!(
                f,
                "{op}: the tensor does not require grad and has no grad_fn, so there is nothing to differentiate"
            ),
            Error::ImplicitGradient { op, shape } => write!(
                f,
                "{op}: a gradient must be passed for an output of shape {}; without one the output must have one element",
                Tuple(shape)
            ),
            Error::GraphFreed { node } => {
                write!(f, "{node}: graph already freed: pass retain_graph=True to the first backward()")
            }
            Error::NestedPasses { op, limit } => {
                write!(f, "{op}: at most {limit} backward passes can run inside of each other")
            }
            Error::OneBackward { node, cure } => {
                write!(f, "{node}: the backward pass cannot be recorded (create_graph=True); {cure}")
            }
            Error::Modified { node, shape, saved, now } => write!(
                f,
                "{node}: a saved tensor of shape {} was changed in place: \
                 it was saved at version {saved} and is now at version {now}",
                Tuple(shape)
            ),
            Error::ViewBeforeBase => f.write_str(
                "backward: a view that was changed in place begins before its base, and the gradient of the memory \
                 before the tensor is unknown",
            ),
            Error::Unused { index } => write!(
                f,
                "grad: the outputs do not depend on input {index}; allow_unused=True returns None for it"
            ),
            Error::Devices { op, left, right } => write!(
                f,
                "{op}: tensors must be on one device, got {left} and {right}; only CPU tensors without dimensions may \
                 be on another"
            ),
            Error::OnDevice { op, device } => {
                write!(f, "{op}: the tensor must be on the CPU, got {device}; call cpu() first")
            }
            Error::Accelerator(error) => error.fmt(f),
            Error::NoStream { op } => {
                write!(f, "{op}: the tensor must be on a device or in pinned memory, got cpu")
            }
            Error::Kernel { op, kernel, message } => write!(f, "{op}: the kernel {kernel} failed: {message}"),
            Error::UnsplitSums { flag } => write!(
                f,
                "matmul: backends.cuda.matmul.{flag} must allow split sums on cuBLAS, got (False, False); set it to \
                 (False, True), or backends.cuda.blas_library to 'cublaslt'"
            ),
            Error::NotDifferentiable { op, cure } => write!(f, "{op}: the operation has no gradient; {cure}"),
            Error::NoKernel(error) => error.fmt(f),
            Error::NotDeterministic { op } => write!(
                f,
                "{op}: accumulate must be True while backends.deterministic_algorithms is True, got False: no kernel \
                 has a fixed order of assignments; use index_put_, or use_deterministic_algorithms(True, warn_only=True)"
            ),
            Error::Foreign(error) => error.fmt(f),
            Error::GradientCount { node, expected, given } => write!(
                f,
                "{node}: backward must return one gradient for each argument of forward, {expected}, got {given}"
            ),
            Error::GradientShape { node, index, expected, given } => write!(
                f,
                "{node}: gradient {index} must be of shape {}, or have more dimensions to sum over, got {}",
                Tuple(expected),
                Tuple(given)
            ),
            Error::GradientDevice { node, index, expected, given } => {
                write!(f, "{node}: gradient {index} must be on {expected}, got one on {given}; to() moves it")
            }
            Error::NanGradient { node, input } => {
                write!(f, "{node}: the gradient of input {input} has NaN elements")
            }
            Error::Anomaly { stack: Some(stack), error, .. } => {
                write!(f, "{error}; the forward operation was called at {}", stack.location())
            }
            Error::Anomaly { stack: None, error, .. } => write!(
                f,
                "{error}; the forward operation ran without anomaly detection, so its line is not known"
            ),
        }
    }
}

impl std::error::Error for Error {}
