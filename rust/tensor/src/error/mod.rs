//! The error type of this crate.

mod display;
mod foreign;
mod forward_stack;
mod warning;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use interlock::accelerator::{Device, Error as AcceleratorError};
use interlock::dispatch::NoKernel;

pub(crate) use display::{Sizes, Tuple};
pub use foreign::ForeignError;
pub use forward_stack::{Creator, ForwardStack};
pub(crate) use warning::warn;
pub use warning::{WarningHandler, set_warning_handler};

use crate::{DType, Scalar};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation. The operation that returns it has no effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Two shapes that cannot be broadcast.
    Broadcast {
        /// The name of the operation.
        op: &'static str,
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
    },
    /// Two shapes that an operation cannot combine for another reason.
    Shapes {
        /// The name of the operation.
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
        /// The name of the operation.
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
        /// The name of the operation.
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
        /// The name of the operation.
        op: &'static str,
        /// The element type of the first operand.
        left: DType,
        /// The element type of the second operand.
        right: DType,
    },
    /// An element type that an operation does not accept.
    DType {
        /// The name of the operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The accepted types, after "must be".
        expected: String,
        /// The element type.
        given: DType,
        /// How to convert the argument, or nothing.
        hint: &'static str,
    },
    /// A bool or a floating-point number as `alpha` of an operation in a narrower type.
    FactorType {
        /// The name of the operation.
        op: &'static str,
        /// The argument that multiplies an operand.
        argument: &'static str,
        /// The promoted type of the operands.
        dtype: DType,
        /// The value that was passed.
        given: Scalar,
    },
    /// A result whose type cannot be cast to the type of the tensor that is changed in place.
    ResultType {
        /// The name of the operation.
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
        /// The name of the operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The requested dimension.
        dim: i64,
        /// The number of dimensions of the tensor.
        ndim: usize,
    },
    /// An index beyond the size of a dimension.
    Index {
        /// The name of the operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// The indexed dimension.
        dim: usize,
        /// The size of the dimension.
        size: usize,
    },
    /// An index that is not one of the positions of a dimension, or of all elements.
    Position {
        /// The name of the operation.
        op: &'static str,
        /// The argument with the indices.
        argument: &'static str,
        /// The index.
        index: i64,
        /// The number of positions.
        size: usize,
        /// Whether negative indices count from the end.
        wraps: bool,
    },
    /// An index of `gather` or `scatter` that is not a position of the dimension.
    Coordinate {
        /// The name of the operation.
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
        /// The name of the operation.
        op: &'static str,
        /// The index.
        index: i64,
        /// The number of classes.
        classes: usize,
    },
    /// An element that is not one of the classes of `one_hot`.
    ClassValue {
        /// The name of the operation.
        op: &'static str,
        /// The element.
        given: i64,
        /// The number of classes.
        classes: usize,
    },
    /// An index of a 0-d tensor.
    NoDimensions {
        /// The name of the operation.
        op: &'static str,
    },
    /// An invalid index expression, or an argument for which PyTorch raises IndexError.
    Indexing {
        /// The name of the operation.
        op: &'static str,
        /// The violated requirement and the index.
        message: String,
    },
    /// A hook of saved tensors that violates its contract, in whichever operation.
    PackHook {
        /// The requirement, after "must".
        expected: &'static str,
        /// The invalid action of the hook.
        given: &'static str,
    },
    /// A value that an operation does not accept.
    Value {
        /// The name of the operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The requirement, after "must".
        expected: String,
        /// The value, as shown in the message.
        given: String,
    },
    /// A matrix that cannot be factored, such as a singular one.
    LinAlg {
        /// The name of the operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The requirement, after "must be".
        expected: &'static str,
        /// The matrix, as shown in the message.
        given: String,
    },
    /// Arguments that exclude each other, or an argument that needs another one.
    Arguments {
        /// The name of the operation.
        op: &'static str,
        /// What is wrong, as shown in the message.
        problem: &'static str,
    },
    /// An argument of a type that an operation does not accept.
    Type {
        /// The name of the operation.
        op: &'static str,
        /// The argument.
        argument: &'static str,
        /// The accepted types, after "must be".
        expected: &'static str,
        /// The name of the type in Python.
        given: &'static str,
    },
    /// A number that a tensor of an element type cannot hold.
    OutOfBounds {
        /// The name of the operation.
        op: &'static str,
        /// The name of the argument.
        argument: &'static str,
        /// The number that the type cannot hold.
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
        /// The name of the operation.
        op: &'static str,
        /// The requested shape.
        shape: Vec<usize>,
    },
    /// More than [`MAX_DIMENSIONS`](crate::MAX_DIMENSIONS) dimensions.
    TooManyDimensions {
        /// The name of the operation.
        op: &'static str,
        /// The requested number.
        given: usize,
        /// The maximum number.
        limit: usize,
    },
    /// An in-place operation on a tensor several of whose elements share a memory location.
    Overlap {
        /// The name of the operation.
        op: &'static str,
    },
    /// A source that shares memory with the tensor that an operation writes.
    Aliased {
        /// The name of the operation.
        op: &'static str,
        /// The tensor that is written.
        argument: &'static str,
    },
    /// Tensors for several results that share memory.
    AliasedResults {
        /// The name of the operation.
        op: &'static str,
        /// The positions of two of them in `out`.
        positions: [usize; 2],
    },
    /// An operand that another thread has resized during the operation.
    Resized {
        /// The name of the operation.
        op: &'static str,
    },
    /// An in-place operation on a leaf that requires grad, or on a view of one.
    LeafInPlace {
        /// The name of the operation.
        op: &'static str,
        /// Whether the target is a view of the leaf.
        view: bool,
    },
    /// A view that was created in no-grad or inference mode, whose history is not recorded.
    UntrackedView {
        /// The name of the operation.
        op: &'static str,
        /// Whether the view was created in inference mode.
        inference: bool,
        /// The source location that created the view, if tracing is enabled.
        created_at: Option<String>,
    },
    /// A view that was created with others by one operation, such as `split`, and that was changed in place or whose
    /// base was.
    ViewOfSeveral {
        /// The name of the operation.
        op: &'static str,
    },
    /// A view whose data was replaced and that was changed in place.
    ReplacedView {
        /// The name of the operation.
        op: &'static str,
    },
    /// An operation that inference tensors do not support outside of inference mode.
    Inference {
        /// The name of the operation.
        op: &'static str,
        /// The attempted action, after "an inference tensor cannot".
        action: &'static str,
    },
    /// More elements for a tensor whose memory belongs to another library, or is shared with NumPy.
    NotResizable {
        /// The name of the operation.
        op: &'static str,
    },
    /// A query of the version counter of an inference tensor.
    NoVersion {
        /// The name of the function.
        op: &'static str,
    },
    /// `requires_grad` set to false for the result of a recorded operation.
    NotLeaf {
        /// The name of the function.
        op: &'static str,
    },
    /// Differentiation of a tensor without a graph.
    NoGraph {
        /// The name of the operation.
        op: &'static str,
    },
    /// A backward pass from a tensor of several elements without an explicit gradient.
    ImplicitGradient {
        /// The name of the operation.
        op: &'static str,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// A node that a hook of the creation of nodes would create.
    NodeInCreationHook {
        /// The name of the node.
        node: Cow<'static, str>,
    },
    /// A call that is possible only during a backward pass.
    NoBackwardPass {
        /// The name of the function.
        op: &'static str,
    },
    /// A read of the buffers of gradients where they are not available.
    GradBuffers {
        /// Why the buffers are not available.
        reason: &'static str,
    },
    /// An operation of a captured stream whose gradient must be computed on a default stream.
    StaleStream {
        /// The name of the node.
        node: Cow<'static, str>,
    },
    /// A backward pass through a graph whose saved tensors were freed.
    GraphFreed {
        /// The name of the node.
        node: Cow<'static, str>,
    },
    /// Too many backward passes inside of each other.
    NestedPasses {
        /// The name of the operation.
        op: &'static str,
        /// The largest number.
        limit: usize,
    },
    /// A backward pass for which the stack is too small, where no other thread can be used.
    NoStackForPass {
        /// The name of the operation.
        op: &'static str,
        /// The number of open passes.
        open: usize,
    },
    /// A recorded backward pass through an operation whose backward function cannot be differentiated.
    OneBackward {
        /// The name of the node.
        node: &'static str,
        /// How to compute the gradient of the gradient.
        hint: &'static str,
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
        /// The name of the operation.
        op: &'static str,
        /// The device of the operation.
        left: Device,
        /// The device of another tensor.
        right: Device,
    },
    /// A copy between the CPU and a device that waits, on a stream that captures a graph.
    Capturing {
        /// The name of the operation.
        op: &'static str,
        /// Whether elements of a device tensor are read.
        reads: bool,
    },
    /// An operation that only CPU tensors support.
    OnDevice {
        /// The name of the operation.
        op: &'static str,
        /// The device of the tensor.
        device: Device,
    },
    /// An error of an allocator or a device: a rejected operation, or an asynchronous error of an earlier one.
    Accelerator(AcceleratorError),
    /// An operation on memory that streams use, of a tensor whose memory they do not.
    NoStream {
        /// The name of the operation.
        op: &'static str,
    },
    /// The kernel of another library failed.
    Kernel {
        /// The name of the operation.
        op: &'static str,
        /// The name of the kernel.
        kernel: String,
        /// The message of the kernel.
        message: String,
    },
    /// A `matmul` on a library that may split sums, although a flag forbids it.
    UnsplitSums {
        /// The name of the operation.
        op: &'static str,
        /// The name of the flag below `backends.cuda.matmul`.
        flag: &'static str,
    },
    /// Every kernel of an operation refuses the call.
    NoKernel(NoKernel),
    /// The result of an operation without a gradient was differentiated.
    NotDifferentiable {
        /// The name of the function.
        op: &'static str,
        /// The function to use instead.
        hint: &'static str,
    },
    /// An operation all of whose kernels have no fixed order, although a flag requires one.
    NotDeterministic {
        /// The name of the operation.
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

/// Returns a number if a tensor of `dtype` can hold it.
///
/// # Errors
/// [`Error::OutOfBounds`] with the names of the function and its argument.
pub(crate) fn check_fits(
    value: Scalar,
    dtype: DType,
    op: &'static str,
    argument: &'static str,
) -> Result<Scalar> {
    if value.fits(dtype) { Ok(value) } else { Err(Error::OutOfBounds { op, argument, value, dtype }) }
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
        let (expected, hint) = ("floating point".to_owned(), "; float() converts it");
        Error::DType { op, argument: "input", expected, given, hint }
    }

    /// Creates the error of a bool tensor that must have numbers.
    pub fn not_numeric(op: &'static str, argument: &'static str, hint: &'static str) -> Self {
        Error::DType { op, argument, expected: "numeric".to_owned(), given: DType::Bool, hint }
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
        let message = format!("it must return {expected}, got {given}");
        Error::Kernel { op, kernel: kernel.to_owned(), message }
    }

    /// Names the operation that the caller has called instead of an operation that it uses. Errors of a backward pass
    /// name a node or the pass, and are unchanged.
    #[must_use]
    pub fn during(mut self, caller: &'static str) -> Self {
        match &mut self {
            Error::Broadcast { op, .. }
            | Error::Shapes { op, .. }
            | Error::Shape { op, .. }
            | Error::ViewNeedsCopy { op, .. }
            | Error::DTypes { op, .. }
            | Error::DType { op, .. }
            | Error::FactorType { op, .. }
            | Error::ResultType { op, .. }
            | Error::Dimension { op, .. }
            | Error::Index { op, .. }
            | Error::NoDimensions { op }
            | Error::Indexing { op, .. }
            | Error::Position { op, .. }
            | Error::Coordinate { op, .. }
            | Error::Class { op, .. }
            | Error::ClassValue { op, .. }
            | Error::Value { op, .. }
            | Error::LinAlg { op, .. }
            | Error::Arguments { op, .. }
            | Error::Type { op, .. }
            | Error::OutOfBounds { op, .. }
            | Error::Overlap { op }
            | Error::TooLarge { op, .. }
            | Error::TooManyDimensions { op, .. }
            | Error::Aliased { op, .. }
            | Error::AliasedResults { op, .. }
            | Error::Resized { op }
            | Error::LeafInPlace { op, .. }
            | Error::UntrackedView { op, .. }
            | Error::ViewOfSeveral { op }
            | Error::ReplacedView { op }
            | Error::Inference { op, .. }
            | Error::NoVersion { op }
            | Error::NotLeaf { op }
            | Error::NotResizable { op }
            | Error::Devices { op, .. }
            | Error::Capturing { op, .. }
            | Error::OnDevice { op, .. }
            | Error::NoStream { op }
            | Error::Kernel { op, .. }
            | Error::UnsplitSums { op, .. }
            | Error::NotDeterministic { op } => *op = caller,
            Error::Accelerator(error) => *error = error.clone().during(caller),
            _ => {}
        }
        self
    }

    /// Names an argument of the operation that the caller has called instead of the one of an operation that it uses.
    #[must_use]
    pub fn rename_argument(mut self, old: &str, new: &'static str) -> Self {
        match &mut self {
            Error::Shape { argument, .. }
            | Error::DType { argument, .. }
            | Error::Dimension { argument, .. }
            | Error::Value { argument, .. }
                if *argument == old =>
            {
                *argument = new;
            }
            _ => {}
        }
        self
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

impl std::error::Error for Error {}
