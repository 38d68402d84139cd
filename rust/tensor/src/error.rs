//! The error type of this crate and its messages.

use std::fmt;

use interlock::accelerator::Device;

use crate::{DType, Scalar};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation. The operation that returns it has no effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that an operation cannot combine.
    Shapes {
        /// The operation.
        op: &'static str,
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
        /// The violated requirement.
        reason: &'static str,
    },
    /// A shape that an operation does not accept.
    Shape {
        /// The operation.
        op: &'static str,
        /// The shape of the operand.
        given: Vec<usize>,
        /// The violated requirement.
        reason: String,
    },
    /// An element type that an operation does not accept.
    DType {
        /// The operation.
        op: &'static str,
        /// The element type.
        given: DType,
        /// The violated requirement.
        reason: &'static str,
    },
    /// A result whose type cannot be cast to the type of the tensor that is changed in place.
    ResultType {
        /// The operation.
        op: &'static str,
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
    OutOfRange {
        /// The operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// A description of what is indexed.
        what: &'static str,
        /// The number of indexable items.
        size: usize,
    },
    /// An invalid index expression.
    Indexing {
        /// The violated requirement.
        message: String,
    },
    /// A value that an operation does not accept.
    Value {
        /// The operation.
        op: &'static str,
        /// The violated requirement.
        message: String,
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
    /// An operation that inference tensors do not support outside of inference mode.
    Inference {
        /// The attempted action.
        action: &'static str,
    },
    /// `requires_grad` set on a tensor that is not floating point.
    RequiresGradType {
        /// The element type.
        given: DType,
    },
    /// An operation that requires a leaf, on the result of a recorded operation.
    NotLeaf {
        /// The attempted action.
        action: &'static str,
    },
    /// Differentiation of a tensor without a graph.
    NoGraph {
        /// The operation.
        op: &'static str,
    },
    /// A backward pass from a tensor of several elements without an explicit gradient.
    ImplicitGradient {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// A backward pass through a graph whose saved tensors were freed.
    GraphFreed {
        /// The name of the node.
        node: &'static str,
    },
    /// A backward pass through a node whose saved tensor was changed in place.
    Modified {
        /// The name of the node.
        node: &'static str,
        /// The shape of the saved tensor.
        shape: Vec<usize>,
        /// The version when the tensor was saved.
        saved: u32,
        /// The current version.
        now: u32,
    },
    /// An input that the outputs do not depend on.
    Unused {
        /// The position of the input.
        index: usize,
    },
    /// A wrong number of arguments.
    Count {
        /// A description of the arguments.
        what: &'static str,
        /// The number that was passed.
        given: usize,
        /// The required number.
        needed: usize,
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
    /// A property or operation that only CPU tensors support.
    OnDevice {
        /// A description of the property or operation.
        what: &'static str,
        /// The device of the tensor.
        device: Device,
    },
    /// An error of an allocator or a device: a rejected operation, or an asynchronous error of an earlier one.
    Accelerator(interlock::accelerator::Error),
}

impl From<interlock::accelerator::Error> for Error {
    fn from(error: interlock::accelerator::Error) -> Self {
        Error::Accelerator(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Shapes { op, left, right, reason } => {
                write!(f, "{op}: shapes {left:?} and {right:?} are incompatible: {reason}")
            }
            Error::Shape { op, given, reason } => {
                write!(f, "{op}: invalid shape {given:?}: {reason}")
            }
            Error::DType { op, given, reason } => write!(f, "{op}: not supported for {given}: {reason}"),
            Error::ResultType { op, result, target } => write!(
                f,
                "{op}: the result type {result} cannot be cast to the type {target} of the tensor that is changed in place"
            ),
            Error::Dimension { op, dim, ndim: 0 } => {
                write!(
                    f,
                    "{op}: dimension {dim} is out of range: a tensor without dimensions accepts only -1 and 0"
                )
            }
            Error::Dimension { op, dim, ndim } => {
                write!(f, "{op}: dimension {dim} is out of range: expected -{ndim} to {}", ndim - 1)
            }
            Error::OutOfRange { op, index, what, size } => {
                write!(f, "{op}: index {index} is out of range for {size} {what}")
            }
            Error::Indexing { message } => f.write_str(message),
            Error::Value { op, message } => write!(f, "{op}: {message}"),
            Error::OutOfBounds { op, argument, value, dtype } => {
                write!(f, "{op}: {argument} must be a number that {dtype} can hold, got {value}")
            }
            Error::AssignedType { given, target } => write!(
                f,
                "__setitem__: value must be of dtype {target} where tensors or lists are indices, got {given}"
            ),
            Error::TooLarge { shape } => write!(f, "shape {shape:?} has more elements than can be addressed"),
            Error::TooManyDimensions { given, limit } => {
                write!(f, "a tensor can have at most {limit} dimensions, got {given}")
            }
            Error::Overlap { op } => write!(
                f,
                "{op}: several elements of the target share one memory location; clone() it before changing it in place"
            ),
            Error::LeafInPlace { op, view: false } => write!(
                f,
                "{op}: a leaf tensor that requires grad cannot be changed in place while gradients are recorded; use no_grad()"
            ),
            Error::LeafInPlace { op, view: true } => write!(
                f,
                "{op}: a view of a leaf tensor that requires grad cannot be changed in place while gradients are recorded; use no_grad()"
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
            Error::Inference { action } => write!(
                f,
                "inference tensors do not allow {action} outside of inference_mode; clone() returns a normal tensor"
            ),
            Error::RequiresGradType { given } => {
                write!(f, "only floating-point tensors can require grad, got {given}")
            }
            Error::NotLeaf { action } => {
                write!(f, "{action} is only supported for leaf tensors; detach() returns one")
            }
            Error::NoGraph { op } => write!(
                f,
                "{op}: the tensor does not require grad and has no grad_fn, so there is nothing to differentiate"
            ),
            Error::ImplicitGradient { shape } => {
                write!(
                    f,
                    "backward: an output of shape {shape:?} requires an explicit gradient; it is only implied for one element"
                )
            }
            Error::GraphFreed { node } => write!(
                f,
                "{node}: the graph was already freed; pass retain_graph=True to the first backward() to run it again"
            ),
            Error::Modified { node, shape, saved, now } => write!(
                f,
                "{node}: a saved tensor of shape {shape:?} was changed in place: \
                 it was saved at version {saved} and is now at version {now}"
            ),
            Error::Unused { index } => write!(
                f,
                "grad: the outputs do not depend on input {index}; allow_unused=True returns None for it"
            ),
            Error::Count { what, given, needed } => write!(f, "expected {needed} {what}, got {given}"),
            Error::Devices { op, left, right } => write!(
                f,
                "{op}: tensors are on {left} and on {right}; all tensors must be on one device, except CPU \
                 tensors without dimensions"
            ),
            Error::OnDevice { what, device } => {
                write!(f, "a tensor on {device} has no {what}; call cpu() first")
            }
            Error::Accelerator(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
