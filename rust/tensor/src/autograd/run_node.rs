//! The run of one node in a backward pass.

use std::sync::Arc;

use super::anomaly;
use super::convert::convert;
use super::custom::{self, GradBuffers};
use super::hooks::HookCalls;
use crate::error::Tuple;
use crate::layout::{Layout, is_expandable_to};
use crate::ops::conversion::cast::copy_with_layout;
use crate::ops::shape::as_strided::{as_strided, as_strided_backward};
use crate::storage::fallible_alloc::{try_from_elem, try_with_capacity};
use crate::tensor::{
    BackwardContext, BackwardFn, CustomFunction, Edge, GradDType, Gradients, Node, PartOfBase, SavedValue,
};
use crate::{Error, ErrorKind, Result, Tensor, TensorOptions};

/// How a backward pass runs a node.
pub(super) struct NodeCall<'a> {
    /// For each input whether its gradient is needed.
    pub needed: &'a [bool],
    /// Whether the saved tensors are retained.
    pub retain_graph: bool,
    pub hooks: Option<&'a HookCalls>,
    /// For a function of the program, what it may read of the gradients of its inputs.
    pub buffers: Option<GradBuffers>,
}

impl NodeCall<'_> {
    /// Runs the backward function with its hooks, calls `deliver` for each needed edge, also without a gradient, and frees
    /// the saved tensors unless `retain_graph` is set.
    pub fn run(
        self,
        node: &Arc<Node>,
        mut results: Gradients,
        mut deliver: impl FnMut(&Edge, Option<Tensor>) -> Result<()>,
    ) -> Result<()> {
        let NodeCall { needed, retain_graph, hooks, buffers } = self;
        if let Some(hooks) = hooks {
            hooks.call_pre(&mut results)?;
        }
        let needed_edge = |input: usize| {
            node.edges.get(input)?.as_ref().filter(|_| needed.get(input).copied().unwrap_or(false))
        };
        let free = || {
            if !retain_graph {
                node.free();
            }
        };
        let is_zero = results.iter().all(Option::is_none);
        if (is_zero || !needed.contains(&true)) && node.custom_function().is_none() {
            // Only the hooks run: no gradient arrived, or none is needed because the result is an input of the pass.
            if let Some(hooks) = hooks {
                hooks.call_post(&mut try_from_elem(None, node.edges.len())?, &results)?;
            }
            if is_zero {
                free();
            }
            return (0..node.edges.len()).filter_map(needed_edge).try_for_each(|edge| deliver(edge, None));
        }
        let saved = node.saved_values().ok_or_else(|| node.err_freed())?;
        // As in PyTorch all saved tensors must be unmodified, whichever gradients are needed.
        for slot in saved.iter().flatten() {
            if let SavedValue::Tensor(tensor) = slot {
                tensor.check_version(node)?;
            }
        }
        let ctx = BackwardContext { node, saved, needed };
        let hooks = hooks.filter(|hooks| hooks.has_post());
        if let (BackwardFn::PerInput(function), None, [Some(gradient)]) = (&node.function, hooks, &*results) {
            for input in 0..node.edges.len() {
                if let Some(edge) = needed_edge(input) {
                    let gradient = function(&ctx, gradient, input)?;
                    anomaly::check_gradient(node, input, &gradient)?;
                    deliver(edge, Some(gradient))?;
                }
            }
            drop((ctx, results));
            free();
            return Ok(());
        }
        let mut gradients = match (&node.function, &*results) {
            (BackwardFn::Custom(function), _) => {
                let given = materialized(node, &**function, &results)?;
                let buffers = buffers.map(custom::provide_grad_buffers);
                let given = function.backward(given)?;
                drop(buffers);
                checked(node, given)?
            }
            (BackwardFn::SeveralResults(function), results) => vec![Some(function(&ctx, results)?)],
            (function, [Some(gradient)]) => gradients(function, &ctx, gradient)?,
            // The other functions have one result.
            _ => Vec::new(),
        };
        // Releases tensors that are not needed any more, whose memory the next operations can use.
        drop(ctx);
        if hooks.is_none() {
            results.clear();
        }
        free();
        for (input, gradient) in gradients.iter_mut().enumerate() {
            match needed_edge(input) {
                Some(edge) => {
                    if let Some(gradient) = gradient {
                        anomaly::check_gradient(node, input, gradient)?;
                        if hooks.is_some() {
                            *gradient = convert(node.name(), edge, gradient)?;
                        }
                    }
                }
                None => drop(gradient.take()),
            }
        }
        if let Some(hooks) = hooks {
            hooks.call_post(&mut gradients, &results)?;
        }
        for input in 0..node.edges.len() {
            if let Some(edge) = needed_edge(input) {
                deliver(edge, gradients.get_mut(input).and_then(Option::take))?;
            }
        }
        Ok(())
    }
}

/// Returns the gradients of the results for a function of the program: zeros for those that are `None`, if the
/// function requests them.
fn materialized(node: &Node, function: &dyn CustomFunction, results: &[Option<Tensor>]) -> Result<Gradients> {
    let fill = function.materialize_grads();
    let gradients = results.iter().enumerate().map(|(index, gradient)| match gradient {
        Some(gradient) => Ok(Some(gradient.clone())),
        None if fill && node.is_tensor(index) => {
            let kind = node.result(index);
            let dtype = match kind.grad_dtype {
                GradDType::As(dtype) => dtype,
                GradDType::OfResult | GradDType::Any => kind.dtype,
            };
            Tensor::zeros(&kind.shape, TensorOptions { dtype, placement: kind.device.into() }).map(Some)
        }
        None => Ok(None),
    });
    gradients.collect()
}

/// Checks the gradients that a function of the program returned, one for each input.
fn checked(node: &Node, mut gradients: Gradients) -> Result<Gradients> {
    let expected = node.edges.len();
    let surplus = gradients.iter().skip(expected).any(Option::is_some);
    if gradients.len() < expected || surplus {
        let given = gradients.len();
        let message = format!(
            "backward must return one gradient for each argument of forward, {expected}, got {given}"
        );
        return Err(Error::of(node.name(), ErrorKind::State, message));
    }
    gradients.truncate(expected);
    for (index, (edge, gradient)) in node.edges.iter().zip(&gradients).enumerate() {
        let (Some(edge), Some(gradient)) = (edge, gradient) else { continue };
        if !is_expandable_to(gradient.shape(), edge.shape()) {
            let (expected, given) = (Tuple(edge.shape()), Tuple(gradient.shape()));
            let message = format!(
                "gradient {index} must be of shape {expected}, or have more dimensions to sum over, got {given}"
            );
            return Err(Error::of(node.name(), ErrorKind::Shape, message));
        }
        let (expected, given) = (edge.device(), gradient.device());
        // As in PyTorch a number is moved to the device of the input.
        if expected != given && gradient.ndim() > 0 {
            let message =
                format!("gradient {index} must be on {expected}, got one on {given}; to() moves it");
            return Err(Error::of(node.name(), ErrorKind::Device, message));
        }
    }
    Ok(gradients)
}

/// Computes the gradients of all inputs of an operation with one result.
fn gradients(function: &BackwardFn, ctx: &BackwardContext<'_>, gradient: &Tensor) -> Result<Gradients> {
    match function {
        BackwardFn::Custom(function) => function.backward(vec![Some(gradient.clone())]),
        BackwardFn::AllInputs(function) => function(ctx, gradient),
        BackwardFn::SeveralResults(function) => Ok(vec![Some(function(ctx, &[Some(gradient.clone())])?)]),
        BackwardFn::View(layouts) => {
            Ok(vec![Some(as_strided_backward(gradient, &layouts.part, &layouts.base)?)])
        }
        BackwardFn::ChangedPart(layouts, change) => gradients_of_change(layouts, change, ctx, gradient),
        BackwardFn::PerInput(function) => {
            let mut gradients = try_with_capacity(ctx.needed.len())?;
            for input in 0..ctx.needed.len() {
                gradients.push(ctx.gradient(input, || function(ctx, gradient, input))?);
            }
            Ok(gradients)
        }
    }
}

/// Returns the gradients of the inputs of an operation that changed a part of a base in place. The first input is the base
/// before the change.
fn gradients_of_change(
    layouts: &PartOfBase,
    change: &BackwardFn,
    ctx: &BackwardContext<'_>,
    gradient: &Tensor,
) -> Result<Gradients> {
    let PartOfBase { base, part } = layouts;
    // The gradients of elements that share one memory location would overwrite each other.
    Error::when(base.has_internal_overlap(), || Error::overlap("backward"))?;
    let whole = copy_with_layout(gradient, base)?;
    let offset = part.offset.checked_sub(base.offset).ok_or_else(|| {
        let message = "a view that was changed in place begins before its base, and the gradient of the memory before \
                       the tensor is unknown";
        Error::new(ErrorKind::State, "backward", message)
    })?;
    let part = as_strided(&whole, Layout { offset, ..part.clone() })?;
    let mut gradients = gradients(change, ctx, &part.contiguous_copy()?)?;
    if let Some(first) = gradients.first_mut() {
        match first.take() {
            Some(changed) => part.copy_(&changed)?,
            None => part.zero_()?,
        };
        *first = ctx.needs(0).then_some(whole);
    }
    Ok(gradients)
}
