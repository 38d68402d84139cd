//! Recording of functions of the program: PyTorch's `autograd.Function`.

use std::any::Any;
use std::sync::Arc;

use super::edge::Edge;
use super::node::{BackwardFn, Node, ResultKind};
use super::saved_tensor::{SavedTensor, SavedValue};
use super::views::set_grad_fn;
use super::{GradFn, is_recording};
use crate::fallible_alloc::{check_memory, try_with_capacity};
use crate::{Error, Result, Tensor};

/// The backward function of an operation that the program defines.
///
/// ```
/// use std::sync::Arc;
/// use interlock::autograd::no_grad;
/// use interlock_tensor::autograd::{CustomFunction, CustomRecord, record};
/// use interlock_tensor::{Result, Tensor};
///
/// /// The backward function of a doubling.
/// struct Double;
/// impl CustomFunction for Double {
///     fn backward(&self, gradients: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
///         gradients.into_iter().map(|gradient| gradient.map(|g| g.mul(2.0)).transpose()).collect()
///     }
/// }
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let guard = no_grad();
/// let (inputs, results) = ([leaf.clone()], [leaf.mul(2.0)?]);
/// drop(guard);
/// let call = CustomRecord::new("DoubleBackward", &inputs, &results);
/// let forward = record(&call, Arc::new(Double))?;
/// forward.results[0].backward()?;
/// assert_eq!(leaf.grad().map(|gradient| gradient.to_vec::<f64>()), Some(Ok(vec![2.0])));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub trait CustomFunction: Any + Send + Sync {
    /// Computes the gradients of the inputs from those of the results.
    fn backward(&self, gradients: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>>;

    /// Returns whether zeros are passed to [`backward`](CustomFunction::backward) for results without a gradient.
    fn materialize_grads(&self) -> bool {
        true
    }
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
        tensor.storage_handle().bump_version();
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
        edges.push(Edge::of(input)?);
    }
    let mut node =
        Node::new(call.name.clone().into(), edges, first, Vec::new(), BackwardFn::Custom(function));
    node.set_more_results(results.iter().skip(1).map(ResultKind::of).collect());
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
            return Err(Error::LeafInPlace { op: "mark_dirty", view: false });
        }
    }
    Ok(())
}
