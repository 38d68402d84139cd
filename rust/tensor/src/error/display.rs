//! The messages of errors.

use std::fmt;

use super::Error;
use crate::{DType, Scalar};

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
            Error::DType { op, argument, expected, given, hint } => {
                write!(f, "{op}: {argument} must be {expected}, got {given}{hint}")
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
            Error::Dimension { op, argument, dim, ndim: 0 | 1 } => {
                write!(f, "{op}: {argument} must be -1 or 0, got {dim}")
            }
            Error::Dimension { op, argument, dim, ndim } => {
                write!(f, "{op}: {argument} must be from -{ndim} to {}, got {dim}", ndim - 1)
            }
            Error::Index { op, index, dim, size } => {
                write!(f, "{op}: index {index} is out of bounds for dimension {dim} with size {size}")
            }
            Error::Position { op, argument, index, size, wraps } => {
                let least = if *wraps { format!("-{size}, ") } else { String::new() };
                write!(f, "{op}: {argument} must contain positions of range({least}{size}), got {index}")
            }
            Error::Coordinate { op, index, dim, size } => {
                write!(f, "{op}: index must contain positions of range({size}) in dimension {dim}, got {index}")
            }
            Error::Class { op, index, classes } => {
                write!(f, "{op}: target must contain class indices of range({classes}), got {index}")
            }
            Error::ClassValue { op, given, classes } => {
                write!(f, "{op}: tensor must contain classes of range({classes}), got {given}")
            }
            Error::NoDimensions { op } => {
                write!(f, "{op}: a 0-d tensor cannot be indexed; item() returns its element")
            }
            Error::Indexing { op, message } => write!(f, "{op}: {message}"),
            Error::PackHook { expected, given } => {
                write!(f, "saved_tensors_hooks: pack_hook must {expected}, got {given}")
            }
            Error::Shape { op, argument, expected, given } | Error::Value { op, argument, expected, given } => {
                write!(f, "{op}: {argument} must {expected}, got {given}")
            }
            Error::Arguments { op, problem } => write!(f, "{op}: {problem}"),
            Error::LinAlg { op, argument, expected, given } => {
                write!(f, "{op}: {argument} must be {expected}, got {given}")
            }
            Error::Type { op, argument, expected, given } => {
                write!(f, "{op}: {argument} must be {expected}, got {given}")
            }
            Error::OutOfBounds { op, argument, value, dtype } => {
                write!(f, "{op}: {argument} must be a number that {dtype} can hold, got {value}")
            }
            Error::AssignedType { given, target } => write!(
                f,
                "__setitem__: value must be of dtype {target} where tensors or lists are indices, got {given}"
            ),
            Error::TooLarge { op, shape } => {
                write!(f, "{op}: shape {} has more elements than can be addressed", Tuple(shape))
            }
            Error::TooManyDimensions { op, given, limit } => {
                write!(f, "{op}: a tensor can have at most {limit} dimensions, got {given}")
            }
            Error::Overlap { op } => write!(
                f,
                "{op}: several elements of the target share one memory location; clone() it before changing it in place"
            ),
            Error::Aliased { op, argument } => write!(f, "{op}: {argument} must not share memory with an input, unless it has the same elements; clone() the input"),
            Error::AliasedResults { op, positions: [first, second] } => write!(
                f,
                "{op}: out must have tensors that share no memory, got the same memory in out[{first}] and out[{second}]"
            ),
            Error::Resized { op } => {
                write!(f, "{op}: an operand was resized by another thread during the operation")
            }
            Error::LeafInPlace { op, view } => write!(
                f,
                "{op}: {}a leaf tensor that requires grad cannot be changed in place while gradients are recorded; \
                 use no_grad()",
                if *view { "a view of " } else { "" }
            ),
            Error::UntrackedView { op, inference, created_at } => {
                let mode = if *inference { "inference" } else { "no_grad" };
                let location = match created_at {
                    Some(line) => format!(" at {line}"),
                    None => String::new(),
                };
                write!(
                    f,
                    "{op}: this view was created in {mode} mode{location}, so its history since an in-place change is \
                     not known; create the view and change it in the same mode"
                )
            }
            Error::ViewOfSeveral { op } => write!(
                f,
                "{op}: this view is one of several that split(), chunk(), unbind() or iteration returned, and its history does \
                 not record in-place changes of it or of its base; use narrow() or clone() it",
            ),
            Error::ReplacedView { op } => write!(
                f,
                "{op}: the data of this view was replaced by an assignment to .data, and its history does not record in-place \
                 changes; detach() or clone() it",
            ),
            Error::Inference { op, action } => write!(
                f,
                "{op}: an inference tensor cannot {action} outside of inference_mode(); clone() returns a normal tensor"
            ),
            Error::NotResizable { op } => write!(
                f,
                "{op}: the memory must not be shared with NumPy or another library, because the storage is too small and \
                 must grow; clone() the tensor"
            ),
            Error::NoVersion { op } => {
                write!(f, "{op}: an inference tensor has no version counter; clone() returns a normal tensor")
            }
            Error::NotLeaf { op } => write!(
                f,
                "{op}: the tensor must be a leaf to set False, got the result of a recorded operation; detach() returns a \
                 leaf"
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
            Error::NodeInCreationHook { node } => write!(
                f,
                "node_creation_hook: a hook must not create nodes, got {node}; use no_grad() or detach() in the hook"
            ),
            Error::NoBackwardPass { op } => {
                write!(f, "{op}: must be called during a backward pass, by a backward function or a hook")
            }
            Error::GradBuffers { reason } => write!(f, "input_grad_buffers: {reason}"),
            Error::StaleStream { node } => write!(
                f,
                "{node}: its stream is a default stream, which would invalidate the graph that is being captured; run the \
                 forward pass in the capture, or call autograd::set_override_stale_capture_stream(true)"
            ),
            Error::GraphFreed { node } => {
                write!(f, "{node}: graph already freed: set BackwardArgs::retain_graph in the first backward()")
            }
            Error::NestedPasses { op, limit } => {
                write!(f, "{op}: at most {limit} backward passes can run inside of each other")
            }
            Error::NoStackForPass { op, open } => write!(
                f,
                "{op}: the stack of this thread is too small for a backward pass inside of {open} others, and no \
                 other thread can run it"
            ),
            Error::OneBackward { node, hint } => {
                write!(f, "{node}: the backward pass cannot be recorded (BackwardArgs::create_graph); {hint}")
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
                "grad: the outputs do not depend on input {index}; autograd::grad with `allow_unused` returns None for it"
            ),
            Error::Devices { op, left, right } => write!(
                f,
                "{op}: tensors must be on one device, got {left} and {right}; only 0-d CPU tensors may \
                 be on another"
            ),
            Error::Capturing { op, reads: true } => write!(
                f,
                "{op}: elements of a device tensor cannot be read while its stream captures a graph, because the \
                 captured work has not run; read them after a replay{}",
                if matches!(*op, "to" | "copy_") { ", or record the copy with Tensor::to and `non_blocking`" } else { "" }
            ),
            Error::Capturing { op, reads: false } => write!(
                f,
                "{op}: elements cannot be copied from the CPU while the stream captures a graph, because the copy \
                 waits; copy them before the capture, or call Tensor::copy_from or Tensor::to with `non_blocking`"
            ),
            Error::OnDevice { op, device } => {
                write!(f, "{op}: the tensor must be on the CPU, got {device}; call cpu() first")
            }
            Error::Accelerator(error) => error.fmt(f),
            Error::NoStream { op } => {
                write!(f, "{op}: the tensor must be on a device or in pinned memory, got cpu")
            }
            Error::Kernel { op, kernel, message } => write!(f, "{op}: the kernel {kernel} failed: {message}"),
            Error::UnsplitSums { op, flag } => write!(
                f,
                "{op}: backends.cuda.matmul.{flag} must allow split sums on cuBLAS, got (False, False); set it to \
                 (False, True), or backends.cuda.blas_library to 'cublaslt'"
            ),
            Error::NotDifferentiable { op, hint } => write!(f, "{op}: the operation has no gradient; {hint}"),
            Error::NoKernel(error) => error.fmt(f),
            Error::NotDeterministic { op } => write!(
                f,
                "{op}: accumulate must be True while backends.deterministic_algorithms is True, got False: no kernel \
                 has a fixed order of assignments; use index_put_, or set flags::DETERMINISTIC_ALGORITHMS_WARN_ONLY"
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
