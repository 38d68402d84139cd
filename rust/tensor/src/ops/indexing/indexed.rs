//! Recorded reads and writes at checked positions, of which the indexing operations are composed. The gradient of a
//! read is an addition at the same positions, and the other way round, so that they can be differentiated any number of
//! times.

use std::sync::Arc;

use super::gather_scatter::ScatterReduce;
use super::positions::{Order, Positions};
use super::scatter_kernels::{IndexedWrite, ScatterArgs};
use crate::recording::{BackwardContext, Gradients, NodeBuilder};
use crate::{Result, Tensor};

/// A pair of operations: one reads elements, the other adds to them. Each computes the gradient of the other.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    /// The name of the operation that reads.
    pub read: &'static str,
    pub read_node: &'static str,
    /// The operation that adds.
    pub scatter: IndexedWrite,
    pub add: &'static str,
    pub add_node: &'static str,
}

/// `index_select` and `index_add`.
pub(crate) const SELECT: Access = Access {
    read: "index_select",
    read_node: "IndexSelectBackward0",
    scatter: IndexedWrite::IndexAdd,
    add: "index_add",
    add_node: "IndexAddBackward0",
};

/// `gather` and `scatter_add`.
pub(crate) const GATHER: Access = Access {
    read: "gather",
    read_node: "GatherBackward0",
    scatter: IndexedWrite::ScatterAdd,
    add: "scatter_add",
    add_node: "ScatterAddBackward0",
};

/// `take` and `put` with `accumulate`.
pub(crate) const TAKE: Access = Access {
    read: "take",
    read_node: "TakeBackward0",
    scatter: IndexedWrite::Put,
    add: "put",
    add_node: "PutBackward0",
};

/// An index expression and `index_put` with `accumulate`.
pub(crate) const INDEX: Access = Access {
    read: "index",
    read_node: "IndexBackward0",
    scatter: IndexedWrite::IndexPut,
    add: "index_put",
    add_node: "IndexPutBackward0",
};

/// The operations whose result has the memory order of the tensor; that of the others is contiguous, as in PyTorch.
const KEEPS_LAYOUT: [&str; 3] = ["index_fill", "index_put", "put"];

/// Where an operation writes its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTo {
    /// The tensor itself, as operations whose name ends with an underscore.
    InPlace,
    /// A copy of the tensor.
    Copy,
}

/// Returns one of two names of an operation, that of a new result or that of a change in place.
pub(crate) const fn name_of(to: WriteTo, [copy, in_place]: [&'static str; 2]) -> &'static str {
    match to {
        WriteTo::Copy => copy,
        WriteTo::InPlace => in_place,
    }
}

impl Tensor {
    /// Runs an operation that changes a few elements, and records it with `positions`. The gradients are those of the
    /// tensor, then those of `inputs`.
    pub(crate) fn write_recorded(
        &self,
        to: WriteTo,
        (op, node): (&'static str, &'static str),
        inputs: &[&Tensor],
        positions: &Arc<Positions>,
        work: impl FnOnce(&Tensor) -> Result<()>,
        backward: impl Fn(&BackwardContext<'_>, &Arc<Positions>, &Tensor) -> Result<Gradients>
        + Send
        + Sync
        + 'static,
    ) -> Result<Tensor> {
        let backward = move |ctx: &BackwardContext<'_>, gradient: &Tensor| {
            backward(ctx, &ctx.saved_value::<Positions>(0)?, gradient)
        };
        if to == WriteTo::InPlace {
            let work = |builder: Option<&mut NodeBuilder>| {
                if let Some(builder) = builder {
                    builder.save_value(positions.clone());
                }
                work(self)
            };
            return self.run_inplace(op, node, inputs, work, backward).cloned();
        }
        let out = if KEEPS_LAYOUT.contains(&op) {
            self.detach().copy()?
        } else {
            self.detach().contiguous_copy()?
        };
        work(&out)?;
        let all: Vec<&Tensor> = std::iter::once(self).chain(inputs.iter().copied()).collect();
        if let Some(mut builder) = NodeBuilder::new(node, &all)? {
            builder.save_value(positions.clone());
            builder.set_history(&out, backward)?;
        }
        Ok(out)
    }

    /// Returns the elements at `positions`.
    pub(crate) fn read_at(&self, access: Access, positions: &Arc<Positions>) -> Result<Tensor> {
        let out = positions.read(access.read, self)?;
        if let Some(mut builder) = NodeBuilder::new(access.read_node, &[self])? {
            let saved = builder.save_value(positions.clone());
            builder.set_history(&out, move |ctx, gradient| {
                let positions = ctx.saved_value(saved)?;
                Ok(vec![Some(spread(access, &positions, gradient, access.read)?)])
            })?;
        }
        Ok(out)
    }

    /// Adds values, which are broadcast, to the elements at `positions`. `composite` is the operation that this addition
    /// is part of.
    pub(crate) fn add_at(
        &self,
        to: WriteTo,
        op: &'static str,
        access: Access,
        positions: &Arc<Positions>,
        values: &Tensor,
        composite: Option<&'static str>,
    ) -> Result<Tensor> {
        let work = |target: &Tensor| {
            let args = ScatterArgs { op, target, values, positions };
            access.scatter.run(&args, true, composite)
        };
        self.write_recorded(
            to,
            (op, access.add_node),
            &[values],
            positions,
            work,
            move |ctx, positions, gradient| {
                let of_values = ctx.gradient(1, || gradient.read_at(access, positions))?;
                Ok(vec![Some(gradient.clone()), of_values])
            },
        )
    }

    /// Replaces the elements at `positions` by values, which are broadcast. `scatter` is the operation whose kernels do
    /// it; without one the last of several values for one element replaces it.
    pub(crate) fn assign_at(
        &self,
        to: WriteTo,
        (op, node): (&'static str, &'static str),
        access: Access,
        positions: &Arc<Positions>,
        values: &Tensor,
        scatter: Option<IndexedWrite>,
    ) -> Result<Tensor> {
        let work = |target: &Tensor| match scatter {
            Some(scatter) => scatter.run(&ScatterArgs { op, target, values, positions }, false, None),
            None => positions.write(op, target, values, ScatterReduce::Replace, Order::RowMajor),
        };
        self.write_recorded(to, (op, node), &[values], positions, work, move |ctx, positions, gradient| {
            let old = ctx.gradient(0, || gradient.cleared_at(access, positions))?;
            Ok(vec![old, ctx.gradient(1, || gradient.read_at(access, positions))?])
        })
    }

    /// Returns a copy with zeros at `positions`.
    pub(crate) fn cleared_at(&self, access: Access, positions: &Arc<Positions>) -> Result<Tensor> {
        let zero = Tensor::zeros(&[], self.options())?;
        self.assign_at(WriteTo::Copy, (access.add, "IndexFillBackward0"), access, positions, &zero, None)
    }
}

/// Returns zeros to which `gradient` is added at `positions`: the gradient of a read by `composite`.
pub(crate) fn spread(
    access: Access,
    positions: &Arc<Positions>,
    gradient: &Tensor,
    composite: &'static str,
) -> Result<Tensor> {
    let zeros = Tensor::zeros(positions.source(), gradient.options())?;
    zeros.add_at(WriteTo::InPlace, access.add, access, positions, gradient, Some(composite))
}
