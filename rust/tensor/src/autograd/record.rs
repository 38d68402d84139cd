//! How an operation puts itself on record.

use std::sync::Arc;

use interlock::autograd::{is_grad_enabled, is_inference_mode_enabled};

use super::node::{Context, Edge, Function, Gradients, Node};
use super::saved::{Saved, Slot};
use crate::room::{check_memory, room};
use crate::{Result, Tensor};

/// Whether operations on tensors that require grad are recorded on this thread.
pub(crate) fn is_recording() -> bool {
    is_grad_enabled() && !is_inference_mode_enabled()
}

/// A record being made: first what is saved, then the result and the function.
pub(crate) struct Record {
    name: &'static str,
    edges: Vec<Option<Edge>>,
    saved: Vec<Option<Slot>>,
}

impl Record {
    /// `None` if nothing needs recording: then the operation is done when its result is.
    pub fn new(name: &'static str, inputs: &[&Tensor]) -> Result<Option<Self>> {
        Self::of(name, inputs.iter().copied())
    }

    /// As [`new`](Record::new), for as many inputs as a program likes.
    pub fn of<'t>(
        name: &'static str,
        inputs: impl ExactSizeIterator<Item = &'t Tensor> + Clone,
    ) -> Result<Option<Self>> {
        if !is_recording() || !inputs.clone().any(Tensor::requires_grad) {
            return Ok(None);
        }
        check_memory()?;
        let mut edges = room(inputs.len())?;
        for input in inputs {
            edges.push(Edge::of(input)?);
        }
        Ok(Some(Record { name, edges, saved: Vec::new() }))
    }

    /// Whether the gradient of an input is wanted.
    pub fn needs(&self, input: usize) -> bool {
        self.edges.get(input).is_some_and(Option::is_some)
    }

    /// Saves an input (or a tensor without history) and returns its slot.
    pub fn save(&mut self, tensor: &Tensor) -> Result<usize> {
        let saved = Saved::input(tensor)?;
        Ok(self.push(Some(saved)))
    }

    /// Saves a tensor that only the gradient of `input` needs. It takes up a slot in any case, so that
    /// slots are numbered in the order of the calls.
    pub fn save_for(&mut self, input: usize, tensor: &Tensor) -> Result<usize> {
        let saved = if self.needs(input) { Some(Saved::input(tensor)?) } else { None };
        Ok(self.push(saved))
    }

    /// Saves a copy of an input that is about to change, if the gradient of `other` needs it.
    pub fn save_old_for(&mut self, other: usize, tensor: &Tensor) -> Result<usize> {
        let old = if self.needs(other) { Some(Saved::input(&tensor.contiguous_copy()?)?) } else { None };
        Ok(self.push(old))
    }

    /// Saves the result.
    pub fn save_output(&mut self, tensor: &Tensor) -> Result<usize> {
        let saved = Saved::output(tensor)?;
        Ok(self.push(Some(saved)))
    }

    /// Saves the result if the gradient of `input` needs it.
    pub fn save_output_for(&mut self, input: usize, tensor: &Tensor) -> Result<usize> {
        let saved = if self.needs(input) { Some(Saved::output(tensor)?) } else { None };
        Ok(self.push(saved))
    }

    /// Saves a value that is not a tensor; [`Context::kept`] reads it.
    pub fn keep<T: Send + Sync + 'static>(&mut self, value: Arc<T>) -> usize {
        self.saved.push(Some(Slot::Value(value)));
        self.saved.len() - 1
    }

    fn push(&mut self, saved: Option<Saved>) -> usize {
        self.saved.push(saved.map(Slot::Tensor));
        self.saved.len() - 1
    }

    /// The node, for a result like `output`.
    pub fn node(
        self,
        output: &Tensor,
        backward: impl Fn(&Context<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) -> Arc<Node> {
        self.node_with(output, Function::All(Box::new(backward)))
    }

    fn node_with(self, output: &Tensor, function: Function) -> Arc<Node> {
        Node::new(self.name, self.edges, output, self.saved, function)
    }

    /// Ends the record: `output` now has a history, unless its type has no gradients.
    pub fn finish(
        self,
        output: &Tensor,
        backward: impl Fn(&Context<'_>, &Tensor) -> Result<Gradients> + Send + Sync + 'static,
    ) {
        self.finish_with(output, Function::All(Box::new(backward)));
    }

    /// As [`finish`](Record::finish), with a function that computes the gradient of one input.
    pub fn finish_each(
        self,
        output: &Tensor,
        backward: impl Fn(&Context<'_>, &Tensor, usize) -> Result<Tensor> + Send + Sync + 'static,
    ) {
        self.finish_with(output, Function::Each(Box::new(backward)));
    }

    fn finish_with(self, output: &Tensor, function: Function) {
        if !output.dtype().is_floating_point() {
            return;
        }
        let node = self.node_with(output, function);
        output.meta_mut().grad_fn = Some(node);
    }
}
