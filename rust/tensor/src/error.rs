//! What can go wrong, with the data that a message needs.

use std::fmt;

use interlock::accelerator::Device;

use crate::{DType, Scalar};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Nothing has changed when one of these is returned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that do not fit each other.
    Shapes {
        /// The operation.
        op: &'static str,
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
        /// What the operation needs.
        expected: &'static str,
    },
    /// One shape that an operation cannot take.
    Shape {
        /// The operation.
        op: &'static str,
        /// The shape of the operand.
        given: Vec<usize>,
        /// What the operation needs.
        expected: String,
    },
    /// An element type that an operation cannot take.
    DType {
        /// The operation.
        op: &'static str,
        /// The element type given.
        given: DType,
        /// What the operation needs.
        expected: &'static str,
    },
    /// A result that the element type of an in-place operation's target cannot hold.
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
        /// The dimension given.
        dim: i64,
        /// How many dimensions there are.
        ndim: usize,
    },
    /// An index outside of a dimension.
    OutOfRange {
        /// The operation.
        op: &'static str,
        /// The index given.
        index: i64,
        /// What is indexed.
        what: &'static str,
        /// How many there are.
        size: usize,
    },
    /// A wrong way to index.
    Indexing {
        /// What is wrong with it.
        message: String,
    },
    /// A value that an operation cannot take.
    Value {
        /// The operation.
        op: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A number that a tensor of an element type cannot hold.
    OutOfBounds {
        /// The operation.
        op: &'static str,
        /// The name of the argument.
        argument: &'static str,
        /// The number given.
        value: Scalar,
        /// The element type.
        dtype: DType,
    },
    /// A tensor of another element type where an index with tensors is assigned.
    AssignedType {
        /// The element type given.
        given: DType,
        /// The element type of the target.
        target: DType,
    },
    /// More elements than memory can hold.
    TooLarge {
        /// The shape asked for.
        shape: Vec<usize>,
    },
    /// More dimensions than a tensor can have.
    TooManyDimensions {
        /// How many were asked for.
        given: usize,
        /// How many there can be.
        limit: usize,
    },
    /// An in-place operation on a tensor some of whose elements share memory.
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
    /// A view made in no-grad or inference mode whose history can't be told any more.
    UntrackedView {
        /// Whether the view was made in inference mode.
        inference: bool,
        /// The line that made it, where that is traced.
        created_at: Option<String>,
    },
    /// An operation that an inference tensor does not allow here.
    Inference {
        /// What was tried.
        action: &'static str,
    },
    /// `requires_grad` of something that is not floating point.
    RequiresGradType {
        /// The element type.
        given: DType,
    },
    /// `requires_grad` switched off on the result of a recorded operation.
    NotLeaf {
        /// What was tried.
        action: &'static str,
    },
    /// Differentiation of something that no recorded operation made.
    NoGraph {
        /// The operation.
        op: &'static str,
    },
    /// No gradient given for a tensor of several elements.
    ImplicitGradient {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// What the graph had saved is gone.
    GraphFreed {
        /// The name of the node.
        node: &'static str,
    },
    /// A tensor that a node saved was changed in place since.
    Modified {
        /// The name of the node.
        node: &'static str,
        /// The shape of the saved tensor.
        shape: Vec<usize>,
        /// Its version when it was saved.
        saved: u32,
        /// Its version now.
        now: u32,
    },
    /// An input that the outputs do not depend on.
    Unused {
        /// Which of the inputs.
        index: usize,
    },
    /// Numbers of arguments that do not fit.
    Count {
        /// What is counted.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Tensors on different devices.
    Devices {
        /// The operation.
        op: &'static str,
        /// Where it was to run.
        left: Device,
        /// Where another tensor is.
        right: Device,
    },
    /// Something that only tensors of the processor have.
    OnDevice {
        /// What was asked for.
        what: &'static str,
        /// Where the tensor is.
        device: Device,
    },
    /// An error of an allocator or a device: a refused operation, or an asynchronous error of an earlier one.
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
            Error::Shapes { op, left, right, expected } => {
                write!(f, "{op}: shapes {left:?} and {right:?} do not fit: {expected}")
            }
            Error::Shape { op, given, expected } => {
                write!(f, "{op}: shape {given:?} does not fit: {expected}")
            }
            Error::DType { op, given, expected } => write!(f, "{op}: not for {given}: {expected}"),
            Error::ResultType { op, result, target } => write!(
                f,
                "{op}: the result has type {result}, which does not fit into the {target} tensor that is changed in place"
            ),
            Error::Dimension { op, dim, ndim: 0 } => {
                write!(
                    f,
                    "{op}: dimension {dim} is out of range: a tensor without dimensions takes only -1 and 0"
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
            Error::TooLarge { shape } => write!(f, "shape {shape:?} has more elements than memory can hold"),
            Error::TooManyDimensions { given, limit } => {
                write!(f, "a tensor has at most {limit} dimensions, not {given}")
            }
            Error::Overlap { op } => write!(
                f,
                "{op}: several elements of the target share one place in memory; clone() it before changing it in place"
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
                let place = match created_at {
                    Some(line) => format!(" at {line}"),
                    None => String::new(),
                };
                write!(
                    f,
                    "this view was made in {mode} mode{place}, so its history since an in-place change is not \
                     known; make the view and change it in the same mode"
                )
            }
            Error::Inference { action } => write!(
                f,
                "inference tensors do not allow {action} outside of inference_mode; clone() makes a normal tensor"
            ),
            Error::RequiresGradType { given } => {
                write!(f, "only floating-point tensors can require grad, this one is {given}")
            }
            Error::NotLeaf { action } => write!(f, "{action} is only for leaf tensors; detach() makes one"),
            Error::NoGraph { op } => write!(
                f,
                "{op}: the tensor does not require grad and no recorded operation made it, so there is nothing to differentiate"
            ),
            Error::ImplicitGradient { shape } => {
                write!(
                    f,
                    "backward: an output of shape {shape:?} needs a gradient given; only one element has an implicit 1"
                )
            }
            Error::GraphFreed { node } => write!(
                f,
                "{node}: what this graph had saved was freed by an earlier backward; pass retain_graph=True there to go through it again"
            ),
            Error::Modified { node, shape, saved, now } => write!(
                f,
                "{node}: a saved tensor of shape {shape:?} was changed in place since: \
                 it was saved at version {saved} and is now at version {now}"
            ),
            Error::Unused { index } => write!(
                f,
                "grad: the outputs do not depend on input {index}; allow_unused=True gives None for it"
            ),
            Error::Count { what, given, needed } => write!(f, "{given} {what} given, {needed} needed"),
            Error::Devices { op, left, right } => write!(
                f,
                "{op}: tensors are on {left} and on {right}; all must be on one device, but a tensor without \
                 dimensions may be on the cpu"
            ),
            Error::OnDevice { what, device } => {
                write!(f, "a tensor on {device} has no {what}; cpu() copies it")
            }
            Error::Accelerator(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
