//! States of contexts for the models of `crate::loom_tests`, in which threads share thread-locals of the standard library
//! and so cannot switch contexts.

use std::sync::Arc;

use super::ids::{LayerId, ScopeId};
use super::state::{Layer, Mark, State};
use super::{FlagSlots, Masked, NodeMask, Slots, changes, current, mode_bits};

/// The state of a context with one layer.
pub(crate) struct ContextLayer {
    mark: Arc<Mark>,
    state: State,
}

/// The mark of a [`ContextLayer`].
pub(crate) struct LayerMark(Arc<Mark>);

impl ContextLayer {
    pub(crate) fn no_grad() -> Self {
        Self::of(Masked::new(mode_bits::GRAD, 0), None)
    }

    pub(crate) fn flag() -> Self {
        let tree = Masked::new(NodeMask(1).0, 0);
        Self::of(Masked::default(), Some(Slots::of_flags(FlagSlots { tree, ..FlagSlots::default() })))
    }

    fn of(modes: Masked<u8>, slots: Option<Arc<Slots>>) -> Self {
        let mark = Mark::new(LayerId::of_number(1), ScopeId::NONE, None);
        let state = State::EMPTY.with(Layer { mark: mark.clone(), modes, slots });
        ContextLayer { mark, state }
    }

    pub(crate) fn show(&self) {
        current::show(&self.state);
    }

    pub(crate) fn mark(&self) -> LayerMark {
        LayerMark(self.mark.clone())
    }
}

impl LayerMark {
    pub(crate) fn end(&self) {
        self.0.end();
        changes::announce();
    }
}
