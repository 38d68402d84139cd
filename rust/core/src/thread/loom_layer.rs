//! States of contexts for the models of `crate::loom_tests`, in which threads share thread-locals of the standard
//! library and so cannot switch contexts.

use std::sync::Arc;

use super::ids::{LayerId, Position, ScopeId, ThreadId};
use super::state::{self, Layer, Mark, State};
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
        Self::over(&State::EMPTY, Masked::new(mode_bits::GRAD, 0), None)
    }

    pub(crate) fn flag() -> Self {
        Self::over(&State::EMPTY, Masked::default(), Some(Self::slots()))
    }

    /// Returns the state with another layer above this one, which sets a flag.
    pub(crate) fn with_flag_above(&self) -> Self {
        Self::over(&self.state, Masked::default(), Some(Self::slots()))
    }

    fn slots() -> Arc<Slots> {
        let tree = Masked::new(NodeMask(1).0, 0);
        Slots::from_flags(FlagSlots { tree, ..FlagSlots::default() })
    }

    fn over(below: &State, modes: Masked<u8>, slots: Option<Arc<Slots>>) -> Self {
        let id = state::depth(below.layers()) + 1;
        let mark = Arc::new(Mark::new(LayerId::from_number(id.into()), ScopeId::NONE, Position::current()));
        let state = below.with(Layer { mark: mark.clone(), modes, modes_set_by: ThreadId::NONE, slots });
        ContextLayer { mark, state }
    }

    /// Returns the layer in a copy of its context.
    pub(crate) fn copy(&self) -> Self {
        ContextLayer { mark: self.mark.clone(), state: self.state.clone() }
    }

    pub(crate) fn show(&self) {
        current::show(&self.state);
    }

    /// Returns whether this thread has seen the state, as a binding does before each read.
    pub(crate) fn is_seen(&self) -> bool {
        current::has_seen(self.state.serial())
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
