//! The slots of a captured state. To capture the state of a context takes constant time, because the state is an
//! immutable value; its layers are merged when the captured state is first used.

use std::any::Any;
use std::sync::Arc;

use once_cell::race::OnceBox;

use super::Slots;
use super::state::State;

#[derive(Clone, Debug)]
pub(super) struct CapturedSlots(Arc<Captured>);

#[derive(Debug)]
struct Captured {
    /// The state of the context and the slots of the base of the thread; empty if `merged` was given.
    context: State,
    base_of_thread: Option<Arc<Slots>>,
    /// All slots that have an effect, in opaque ones.
    merged: OnceBox<Arc<Slots>>,
}

impl CapturedSlots {
    pub(super) fn from_context(context: State, base_of_thread: Option<Arc<Slots>>) -> Self {
        CapturedSlots(Arc::new(Captured { context, base_of_thread, merged: OnceBox::new() }))
    }

    /// Returns captured slots of slots that are opaque.
    pub(super) fn merged(slots: Arc<Slots>) -> Self {
        let merged = OnceBox::new();
        let _present = merged.set(Box::new(slots));
        CapturedSlots(Arc::new(Captured { context: State::EMPTY, base_of_thread: None, merged }))
    }

    /// Returns the slots, which are opaque: the layers below have no effect.
    pub(super) fn get(&self) -> &Arc<Slots> {
        let Captured { context, base_of_thread, merged } = &*self.0;
        merged.get_or_init(|| {
            let all = context.slots().chain(base_of_thread);
            Box::new(Slots::flattened(all).unwrap_or_else(Slots::opaque))
        })
    }

    /// Returns the hooks of saved tensors, unless other slots, a layer or a captured state share them.
    pub(super) fn own_saved_tensor_hooks(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        // With hooks, the slots were merged when they were captured.
        Slots::own_saved_tensor_hooks(self.0.merged.get()?).filter(|_| Arc::strong_count(&self.0) == 1)
    }

    /// Returns the hooks of the creation of nodes that no other slots, layer or captured state shares.
    pub(super) fn own_node_creation_hooks(&self) -> impl Iterator<Item = &Arc<dyn Any + Send + Sync>> {
        let merged = self.0.merged.get().filter(|_| Arc::strong_count(&self.0) == 1);
        merged.into_iter().flat_map(Slots::own_node_creation_hooks)
    }

    #[cfg(test)]
    pub(super) fn are_merged(&self) -> bool {
        self.0.merged.get().is_some()
    }
}
