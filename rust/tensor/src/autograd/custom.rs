//! Recording of functions of the program: PyTorch's `autograd.Function`.

use std::cell::RefCell;
use std::sync::Arc;

use crate::recording::{created_node, edge_of, forward_stack, is_recording, set_grad_fn};
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
/// let (inputs, results) = ([Tensor::from_slice(&[3.0], &[1])?], [Tensor::from_slice(&[6.0], &[1])?]);
/// let call = CustomRecord::new("NamedBackward", &inputs, &results);
/// assert!(call.dirty.is_empty());
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub struct CustomRecord<'a> {
    /// The name of the node.
    pub name: String,
    /// The tensors among the arguments.
    pub inputs: &'a [Tensor],
    /// The tensors among the results.
    pub results: &'a [Tensor],
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
    pub fn new(name: &str, inputs: &'a [Tensor], results: &'a [Tensor]) -> Self {
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
    /// The results. A result that is an unchanged input was replaced by a view of it.
    pub results: Vec<Tensor>,
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
    // A result that is an unchanged input is another tensor, whose history does not replace that of the input.
    let results: Vec<Tensor> = call
        .results
        .iter()
        .map(|result| {
            let is_unchanged_input = contains(call.inputs, result) && !contains(call.dirty, result);
            let needs_alias = is_unchanged_input && (is_recorded || result.requires_grad());
            if needs_alias { result.detach() } else { result.clone() }
        })
        .collect();
    if !is_recorded {
        return Ok(ForwardResult { results, node: None });
    }
    let (Some(first), true) = (results.first(), call.results.iter().any(is_differentiable)) else {
        return Ok(ForwardResult { results, node: None });
    };
    let mut edges = try_with_capacity(call.inputs.len())?;
    for input in call.inputs {
        edges.push(edge_of("apply", input)?);
    }
    let function = BackwardFn::Custom(function);
    let mut node = Node::new(call.name.clone().into(), edges, first, Vec::new(), function, forward_stack());
    node.set_more_results(results.iter().skip(1).map(ResultKind::of).collect());
    node.set_grad_dtypes(call.grad_dtypes);
    let node = Arc::new(node);
    let position = |tensor: &Tensor| call.results.iter().position(|result| result.is(tensor));
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
        if is_differentiable(given) {
            set_grad_fn(result, GradFn { node: node.clone(), output });
        }
    }
    if let Some(function) = node.custom_function() {
        function.recorded(&node);
    }
    created_node(&node)?;
    Ok(ForwardResult { results, node: Some(node) })
}

fn check_dirty(call: &CustomRecord<'_>) -> Result<()> {
    for tensor in call.dirty {
        if !contains(call.results, tensor) {
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
    for tensor in call.dirty {
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
