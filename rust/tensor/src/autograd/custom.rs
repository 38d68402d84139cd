//! Recording of functions of the program: PyTorch's `autograd.Function`.

use std::cell::RefCell;
use std::sync::Arc;

use crate::recording::{
    created_node, edge_of, forward_stack, is_recording, set_grad_fn, track_view, track_view_of_function,
};
use crate::storage::fallible_alloc::{check_memory, try_with_capacity};
use crate::tensor::{
    BackwardFn, CustomFunction, GradDType, GradFn, Gradients, Node, ResultKind, SavedTensor, SavedValue,
};
use crate::{Error, ErrorKind, Result, Tensor};

/// The gradients of the inputs of a running backward function that other nodes have contributed so far, or the reason why
/// they are not available.
pub(super) type GradBuffers = std::result::Result<Gradients, &'static str>;

thread_local! {
    /// For each backward function of the program that runs on this thread, from the outermost.
    static GRAD_BUFFERS: RefCell<Vec<GradBuffers>> = const { RefCell::new(Vec::new()) };
}

/// The buffers of a backward function, until it is dropped.
pub(super) struct ProvidedGradBuffers(());

/// Provides the buffers of the backward function that is about to run on this thread.
pub(super) fn provide_grad_buffers(buffers: GradBuffers) -> ProvidedGradBuffers {
    GRAD_BUFFERS.with_borrow_mut(|all| all.push(buffers));
    ProvidedGradBuffers(())
}

impl Drop for ProvidedGradBuffers {
    fn drop(&mut self) {
        let buffers = GRAD_BUFFERS.with_borrow_mut(Vec::pop);
        // After the borrow: the drop may run code of the program.
        drop(buffers);
    }
}

/// Returns for each input of the backward function of the program that runs on this thread the sum of the gradients that
/// other nodes of the pass have contributed so far: PyTorch's `input_grad_buffers`. The function may add its own gradient
/// to such a sum in place, and return `None` for the input. `None` for an input without a contribution, and where the sum
/// shares memory with another tensor.
///
/// # Errors
/// Fails outside of a backward function, in a pass that is recorded, in anomaly mode, and for a node with a hook that
/// receives the gradients of its inputs.
pub fn input_grad_buffers() -> Result<Gradients> {
    let found = GRAD_BUFFERS.with_borrow(|all| all.last().cloned());
    let reason = "must be read while the backward function of this node runs";
    found.unwrap_or(Err(reason)).map_err(|reason| Error::new(ErrorKind::State, "input_grad_buffers", reason))
}

/// A call of a function of the program, after its forward computation.
///
/// ```
/// use interlock_tensor::autograd::CustomRecord;
/// use interlock_tensor::Tensor;
///
/// let (inputs, results) = ([Tensor::from_slice(&[3.0], &[1])?], [Some(Tensor::from_slice(&[6.0], &[1])?)]);
/// let call = CustomRecord::new("NamedBackward", &inputs, &results);
/// assert!(call.dirty.is_empty());
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub struct CustomRecord<'a> {
    /// The name of the node.
    pub name: String,
    /// The tensors among the arguments.
    pub inputs: &'a [Tensor],
    /// The results. `None` for one that is not a tensor.
    pub results: &'a [Option<Tensor>],
    /// Inputs that were changed in place. Each is also a result.
    pub dirty: &'a [Tensor],
    /// Results that have no gradient.
    pub non_differentiable: &'a [Tensor],
    /// The tensors to save for the backward pass.
    pub saved: &'a [Option<Tensor>],
    /// The type of the gradient of each result. Empty if each gradient has the type of its result.
    pub grad_dtypes: &'a [GradDType],
}

impl<'a> CustomRecord<'a> {
    /// Creates the record of a call that changed no input and saved nothing.
    pub fn new(name: &str, inputs: &'a [Tensor], results: &'a [Option<Tensor>]) -> Self {
        CustomRecord {
            name: name.to_owned(),
            inputs,
            results,
            dirty: &[],
            non_differentiable: &[],
            saved: &[],
            grad_dtypes: &[],
        }
    }
}

/// The results of a call with their history.
///
/// ```
/// use interlock_tensor::autograd::ForwardResult;
///
/// let empty = ForwardResult { results: Vec::new(), node: None };
/// assert!(empty.node.is_none());
/// ```
pub struct ForwardResult {
    /// The results. A result that is an unchanged input was replaced by a view of it, and one that has a history but no
    /// gradient by a tensor without history, unless it is a view.
    pub results: Vec<Option<Tensor>>,
    /// The node, if the call was recorded.
    pub node: Option<Arc<Node>>,
}

fn contains(tensors: &[Tensor], tensor: &Tensor) -> bool {
    tensors.iter().any(|one| one.is(tensor))
}

/// Records a call: creates its node if an input requires grad, and sets the history of the results.
pub fn record(call: &CustomRecord<'_>, function: Arc<dyn CustomFunction>) -> Result<ForwardResult> {
    check_memory()?;
    check_dirty(call)?;
    let is_recorded = is_recording() && call.inputs.iter().any(Tensor::requires_grad);
    if is_recorded {
        check_dirty_history(call)?;
    }
    for tensor in call.dirty {
        tensor.bump_version();
    }
    let is_differentiable = |tensor: &Tensor| {
        is_recorded && tensor.dtype().is_floating_point() && !contains(call.non_differentiable, tensor)
    };
    let given = || call.results.iter().flatten();
    let returned = |result: &Tensor| returned(call, result, is_differentiable(result));
    let results: Vec<Option<Tensor>> =
        call.results.iter().map(|result| result.as_ref().map(returned)).collect();
    let (Some(first), true) = (results.iter().flatten().next(), given().any(is_differentiable)) else {
        return Ok(ForwardResult { results, node: None });
    };
    let mut edges = try_with_capacity(call.inputs.len())?;
    for input in call.inputs {
        edges.push(edge_of("apply", input)?);
    }
    let function = BackwardFn::Custom(function);
    let mut node = Node::new(call.name.clone().into(), edges, first, Vec::new(), function, forward_stack());
    let kind = |(output, result): (usize, &Option<Tensor>)| {
        let grad_dtype = call.grad_dtypes.get(output).copied().unwrap_or_default();
        result.as_ref().map(|result| ResultKind { grad_dtype, ..ResultKind::of(result) })
    };
    node.set_results(results.iter().enumerate().map(kind).collect());
    let node = Arc::new(node);
    let position = |tensor: &Tensor| {
        call.results.iter().position(|result| result.as_ref().is_some_and(|result| result.is(tensor)))
    };
    let mut saved = try_with_capacity(call.saved.len())?;
    for tensor in call.saved {
        let one = tensor.as_ref().map(|tensor| match position(tensor) {
            Some(output) if !contains(call.inputs, tensor) || contains(call.dirty, tensor) => {
                SavedTensor::output(tensor, output)
            }
            _ => SavedTensor::input(tensor),
        });
        saved.push(one.transpose()?.map(SavedValue::Tensor));
    }
    node.set_saved(saved.into());
    for (output, (given, result)) in call.results.iter().zip(&results).enumerate() {
        if let (Some(given), Some(result)) = (given, result)
            && is_differentiable(given)
        {
            set_grad_fn(result, GradFn { node: node.clone(), output }, result.current_version());
        }
    }
    if let Some(function) = node.custom_function() {
        function.recorded(&node);
    }
    created_node(&node)?;
    Ok(ForwardResult { results, node: Some(node) })
}

/// Returns the tensor that the program receives for a result.
fn returned(call: &CustomRecord<'_>, result: &Tensor, is_differentiable: bool) -> Tensor {
    let is_input = contains(call.inputs, result);
    if is_input && contains(call.dirty, result) && (is_differentiable || !result.requires_grad()) {
        return result.clone();
    }
    // The history of the operations in forward(), or of an input, would bypass the function. As in PyTorch views keep it.
    if !is_differentiable && result.requires_grad() && (is_input || !result.is_view()) {
        return result.detach();
    }
    let returned = if is_input { result.detach() } else { result.clone() };
    if is_input {
        track_view(&returned, result);
    }
    track_view_of_function(&returned);
    returned
}

fn check_dirty(call: &CustomRecord<'_>) -> Result<()> {
    for tensor in call.dirty {
        if !call.results.iter().flatten().any(|result| result.is(tensor)) {
            let expected = "be results of forward()";
            return Err(Error::value(
                "mark_dirty",
                "the tensors",
                expected,
                "a tensor that was not returned",
            ));
        }
        if !contains(call.inputs, tensor) {
            let expected = "be arguments of forward()";
            return Err(Error::value("mark_dirty", "the tensors", expected, "another tensor"));
        }
    }
    Ok(())
}

/// Checks that the history of changed inputs can be replaced by that of the call.
fn check_dirty_history(call: &CustomRecord<'_>) -> Result<()> {
    // A result without a gradient is a new tensor.
    for tensor in call.dirty.iter().filter(|tensor| !contains(call.non_differentiable, tensor)) {
        if tensor.meta().view.is_some() {
            let expected = "not be views, whose history is that of their base";
            return Err(Error::value("mark_dirty", "the tensors", expected, "a view"));
        }
        if tensor.requires_grad() && tensor.is_leaf()? {
            return Err(Error::leaf_in_place("mark_dirty", false));
        }
    }
    Ok(())
}
