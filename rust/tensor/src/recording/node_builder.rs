//! Recording of operations in the autograd graph.

use std::sync::Arc;

use interlock::autograd::{is_grad_enabled, is_inference_mode_enabled};

use super::edge::edge_of;
use super::forward_stack::forward_stack;
use super::node_creation_hook::created;
use crate::storage::fallible_alloc::{check_memory, try_with_capacity};
use crate::tensor::{
    BackwardContext, BackwardFn, Edge, GradFn, Gradients, Node, ResultKind, SavedTensor, SavedValue,
};
use crate::{Result, Tensor};

/// Returns whether operations on tensors that require grad are recorded on this thread.
pub(crate) fn is_recording() -> bool {
    is_grad_enabled() && !is_inference_mode_enabled()
}

/// Builds the [`Node`] of an operation: first it saves tensors, then it is combined with the result and the backward
/// function.
pub(crate) struct NodeBuilder {
    name: &'static str,
    edges: Vec<Option<Edge>>,
    saved: Vec<Option<SavedValue>>,
}

impl NodeBuilder {
    /// Returns a builder with edges to the inputs, or `None` if the operation need not be recorded.
    pub fn new(name: &'static str, inputs: &[&Tensor]) -> Result<Option<Self>> {
        Self::for_inputs(name, inputs.iter().copied())
    }

    /// Like [`new`](NodeBuilder::new), for any number of inputs.
    pub fn for_inputs<'t>(
        name: &'static str,
        inputs: impl ExactSizeIterator<Item = &'t Tensor> + Clone,
    ) -> Result<Option<Self>> {
        if !is_recording() || !inputs.clone().any(Tensor::requires_grad) {
            return Ok(None);
        }
        check_memory()?;
        let mut edges = try_with_capacity(inputs.len())?;
        for input in inputs {
            edges.push(edge_of(name, input)?);
        }
        Ok(Some(NodeBuilder { name, edges, saved: Vec::new() }))
    }

    /// Returns whether the gradient of an input is needed.
    pub fn needs(&self, input: usize) -> bool {
        self.edges.get(input).is_some_and(Option::is_some)
    }

    /// Saves an input (or a tensor without history) and returns its index.
    pub fn save(&mut self, tensor: &Tensor) -> Result<usize> {
        let saved = SavedTensor::input(tensor)?;
        Ok(self.push(Some(saved)))
    }

    /// Saves a tensor if the gradient of `input` needs it. An index is assigned in any case, so that indices follow
    /// the order of the calls.
    pub fn save_for(&mut self, input: usize, tensor: &Tensor) -> Result<usize> {
        let saved = if self.needs(input) { Some(SavedTensor::input(tensor)?) } else { None };
        Ok(self.push(saved))
    }

    /// Saves the result and returns its index.
    pub fn save_output(&mut self, tensor: &Tensor) -> Result<usize> {
        let saved = SavedTensor::output(tensor, 0)?;
        Ok(self.push(Some(saved)))
    }

    /// Saves the results of an operation with several. Their indices are their numbers, if no other tensor was saved before.
    pub fn save_results(&mut self, results: &[Tensor]) -> Result<()> {
        results.iter().enumerate().try_for_each(|(number, result)| {
            let saved = SavedTensor::output(result, number)?;
            self.push(Some(saved));
            Ok(())
        })
    }

    /// Saves the result if the gradient of `input` needs it. An index is assigned in any case.
    pub fn save_output_for(&mut self, input: usize, tensor: &Tensor) -> Result<usize> {
        let saved = if self.needs(input) { Some(SavedTensor::output(tensor, 0)?) } else { None };
        Ok(self.push(saved))
    }

    /// Saves a value that is not a tensor, for [`BackwardContext::saved_value`].
    pub fn save_value<T: Send + Sync + 'static>(&mut self, value: Arc<T>) -> usize {
        self.saved.push(Some(SavedValue::Other(value)));
        self.saved.len() - 1
    }

    fn push(&mut self, saved: Option<SavedTensor>) -> usize {
        self.saved.push(saved.map(SavedValue::Tensor));
        self.saved.len() - 1
    }

    /// Returns the node of a result like `output`. The caller sets the history, and then calls the hooks of the creation
    /// of nodes.
    pub fn build(
        self,
        output: &Tensor,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Arc<Node> {
        self.build_with(output, BackwardFn::AllInputs(Box::new(backward)))
    }

    /// Like [`build`](NodeBuilder::build), with any backward function.
    pub fn build_with(self, output: &Tensor, function: BackwardFn) -> Arc<Node> {
        Arc::new(Node::new(self.name.into(), self.edges, output, self.saved, function, forward_stack()))
    }

    /// Sets the `grad_fn` of `output` to the node, as PyTorch's `set_history`, unless its type has no gradients, and calls
    /// the hooks of the creation of nodes, whose error it returns.
    pub fn set_history(
        self,
        output: &Tensor,
        backward: impl Fn(&BackwardContext<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Result<()> {
        self.set_history_with(output, BackwardFn::AllInputs(Box::new(backward)))
    }

    /// Records an operation on one tensor whose gradient is a function of the gradient of the result alone, and returns the
    /// result.
    pub fn record_linear(
        name: &'static str,
        input: &Tensor,
        output: Tensor,
        backward: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        if let Some(builder) = NodeBuilder::new(name, &[input])? {
            builder.set_history(&output, move |_, gradient| Ok(vec![Some(backward(gradient)?)]))?;
        }
        Ok(output)
    }

    /// Saves a tensor that is not the result, and sets the history of an operation on one tensor whose gradient is a function
    /// of the saved tensor and of the gradient of the result.
    pub fn set_history_saving(
        mut self,
        saved: &Tensor,
        output: &Tensor,
        backward: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<()> {
        let saved = self.save(saved)?;
        self.set_history(output, move |ctx, gradient| Ok(vec![Some(backward(&ctx.saved(saved)?, gradient)?)]))
    }

    /// Records an operation on one tensor whose gradient is a function of the result and of its gradient, and returns the
    /// result.
    pub fn record_saving_output(
        name: &'static str,
        input: &Tensor,
        output: Tensor,
        backward: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        if let Some(mut builder) = NodeBuilder::new(name, &[input])? {
            let saved = builder.save_output(&output)?;
            builder.set_history(&output, move |ctx, gradient| {
                Ok(vec![Some(backward(&ctx.saved(saved)?, gradient)?)])
            })?;
        }
        Ok(output)
    }

    /// Like [`set_history`](NodeBuilder::set_history), with a function that computes the gradient of one input at a
    /// time.
    pub fn set_history_per_input(
        self,
        output: &Tensor,
        backward: impl Fn(&BackwardContext<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<()> {
        self.set_history_with(output, BackwardFn::PerInput(Box::new(backward)))
    }

    /// Sets the `grad_fn` of several results of one input to the node, unless their type has no gradients. `backward`
    /// computes the gradient of the input from those of the results, which are `None` where they are zero.
    pub fn set_history_of_several(
        self,
        outputs: &[Tensor],
        backward: impl Fn(&BackwardContext<'_>, &[Option<Tensor>]) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<()> {
        let Some(first) = outputs.first() else { return Ok(()) };
        if !first.dtype().is_floating_point() {
            return Ok(());
        }
        let function = BackwardFn::SeveralResults(Box::new(backward));
        let mut node = Node::new(self.name.into(), self.edges, first, self.saved, function, forward_stack());
        node.set_results(outputs.iter().map(|output| Some(ResultKind::of(output))).collect());
        let node = Arc::new(node);
        for (output, tensor) in outputs.iter().enumerate() {
            tensor.meta_mut().grad_fn = Some(GradFn { node: node.clone(), output });
        }
        created(&GradFn::only(node))
    }

    fn set_history_with(self, output: &Tensor, function: BackwardFn) -> Result<()> {
        if !output.dtype().is_floating_point() {
            return Ok(());
        }
        let grad_fn = GradFn::only(self.build_with(output, function));
        output.meta_mut().grad_fn = Some(grad_fn.clone());
        created(&grad_fn)
    }
}
