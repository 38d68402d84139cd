//! The layers that are active on a thread, in one order: the guards of the thread and the layers of its context.

use std::any::Any;
use std::sync::Arc;

use super::base::Base;
use super::device_slots::DeviceObject;
use super::guards::{Guard, Guards};
use super::ids::{LayerId, ScopeId, ThreadId};
use super::state::{Mark, Node, State};
use super::summary::Summary;
use super::{FlagId, FlagSlots, Masked, Slot, Slots, mode_bits, process};
use crate::device::{Device, DeviceIndex};

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) guards: &'a Guards,
    pub(super) context: &'a State,
}

/// A layer of a [`View`].
#[derive(Clone, Copy)]
pub(super) enum Item<'a> {
    Guard(&'a Guard),
    Layer(&'a Arc<Node>),
}

/// The layer that sets a slot.
pub(super) enum Target {
    Guard(LayerId),
    Layer(Arc<Mark>),
}

impl<'a> Item<'a> {
    pub(super) fn id(self) -> LayerId {
        match self {
            Item::Guard(guard) => guard.id,
            Item::Layer(node) => node.layer.mark.id,
        }
    }

    pub(super) fn scope(self) -> ScopeId {
        match self {
            Item::Guard(guard) => guard.scope,
            Item::Layer(node) => node.layer.mark.scope,
        }
    }

    fn modes(self) -> Masked<u8> {
        match self {
            Item::Guard(guard) => guard.word.modes(),
            Item::Layer(node) => node.layer.modes,
        }
    }

    /// Returns the thread that has set the modes of a layer of the context.
    fn modes_set_by(self) -> Option<ThreadId> {
        match self {
            Item::Guard(_) => None,
            Item::Layer(node) => Some(node.layer.modes_set_by),
        }
    }

    fn slots(self) -> Option<&'a Arc<Slots>> {
        match self {
            Item::Guard(guard) => guard.slots.as_ref(),
            Item::Layer(node) => node.layer.slots.as_ref(),
        }
    }

    fn target(self) -> Target {
        match self {
            Item::Guard(guard) => Target::Guard(guard.id),
            Item::Layer(node) => Target::Layer(node.layer.mark.clone()),
        }
    }
}

impl<'a> View<'a> {
    /// Iterates over the layers, innermost first.
    pub(super) fn items(self) -> impl Iterator<Item = Item<'a>> {
        let mut nodes = super::state::iterate(self.context.layers()).peekable();
        let mut guards = self.guards.list().iter().rev().peekable();
        let floor_rank = self.guards.floor_rank;
        std::iter::from_fn(move || {
            let rank = guards.peek().map_or(floor_rank, |guard| guard.word.rank());
            match nodes.next_if(|node| node.depth() > rank) {
                Some(node) => Some(Item::Layer(node)),
                None => guards.next().map(Item::Guard),
            }
        })
    }

    /// Returns the base of the context, unless the thread hides it.
    fn context_base(self) -> Option<&'a Arc<Base>> {
        self.context.base().filter(|_| !self.guards.hide_the_context())
    }

    /// Iterates over the slots of layers and of the bases, innermost first.
    fn all_slots(self) -> impl Iterator<Item = &'a Arc<Slots>> {
        let bases = self
            .context_base()
            .and_then(|base| base.slots.as_ref())
            .into_iter()
            .chain(&self.guards.base().slots);
        self.items().filter_map(Item::slots).chain(bases)
    }

    /// Iterates over the slots that have an effect: down to the first opaque layer.
    fn visible(self) -> impl Iterator<Item = &'a Arc<Slots>> {
        Slots::visible(self.all_slots())
    }

    /// Returns the mode bits of the bases and of the process.
    pub(super) fn base_modes(self) -> u8 {
        let bases =
            self.context_base().map_or(Masked::default(), |base| base.modes).over(self.guards.base().modes);
        bases.applied_to(process::mode_word())
    }

    /// Returns the modes that layers, writes without a scope and the process set, innermost first; of the context only those
    /// that were set by a thread that a condition accepts. Writes and the process are one item, without an id. A captured
    /// state sets the modes that differ from their defaults: it also has those that nothing had set.
    pub(super) fn set_modes(self, accepts: impl Fn(ThreadId) -> bool) -> Vec<(LayerId, Masked<u8>)> {
        let of = |modes: Masked<u8>, slots: Option<&Arc<Slots>>| {
            let is_captured = slots.is_some_and(|slots| slots.is_opaque);
            let mask = if is_captured { modes.value ^ mode_bits::BASE } else { u8::MAX };
            (modes.within(mask), is_captured)
        };
        let mut set = Vec::new();
        let mut push = |id, modes: Masked<u8>| {
            if modes.mask != 0 {
                set.push((id, modes));
            }
        };
        for item in self.items().filter(|item| item.modes_set_by().is_none_or(&accepts)) {
            let (modes, is_captured) = of(item.modes(), item.slots());
            push(item.id(), modes);
            if is_captured {
                return set;
            }
        }
        let base = self.guards.base();
        let (of_thread, is_captured) = of(base.modes, base.slots.as_ref());
        let above = self.context_base().filter(|base| accepts(base.modes_set_by));
        let bases = above.map_or(Masked::default(), |base| base.modes).over(of_thread);
        push(LayerId::NONE, if is_captured { bases } else { bases.over(process::modes()) });
        set
    }

    /// Returns the summary of all layers and bases, without the values of the process.
    pub(super) fn summary(self) -> Summary {
        let of_base =
            |slots: Option<&Arc<Slots>>| Summary::from_layer(Masked::default(), slots.map(|slots| &**slots));
        let slots_of_context = self.context_base().and_then(|base| base.slots.as_ref());
        let bases = match (slots_of_context, self.guards.base().slots.as_ref()) {
            (None, None) => Summary::NONE,
            (above, below) => of_base(above).over(of_base(below)),
        };
        if self.guards.list().is_empty() && !self.guards.hide_the_context() {
            let layers = self.context.summary();
            return if bases == Summary::NONE { layers } else { layers.over(bases) };
        }
        if self.context.layers().is_none() {
            let of_guard = |guard: &Guard| Summary::from_layer(guard.word.modes(), guard.slots.as_deref());
            let guards = self.guards.list().iter().rev();
            return guards.fold(Summary::NONE, |above, guard| above.over(of_guard(guard))).over(bases);
        }
        let layers = self.items().fold(Summary::NONE, |above, item| {
            above.over(Summary::from_layer(item.modes(), item.slots().map(|slots| &**slots)))
        });
        layers.over(bases)
    }

    /// Returns the recording of the innermost layer that has one.
    pub(super) fn recording(self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.visible().find_map(|slots| slots.recording())
    }

    /// Returns the hooks of saved tensors of the innermost layer that has them.
    pub(super) fn saved_tensor_hooks(self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.visible().find_map(|slots| slots.saved_tensor_hooks())
    }

    /// Returns the hooks of the creation of nodes of all layers, outermost first.
    pub(super) fn node_creation_hooks(self) -> Vec<Arc<dyn Any + Send + Sync>> {
        let mut hooks: Vec<_> =
            self.visible().flat_map(|slots| slots.node_creation_hooks()).cloned().collect();
        hooks.reverse();
        hooks
    }

    pub(super) fn stream(self, index: DeviceIndex) -> Option<&'a Arc<dyn DeviceObject>> {
        self.visible().find_map(|slots| slots.devices.streams.get(index))
    }

    pub(super) fn mem_pool(self, index: DeviceIndex) -> Option<&'a Arc<dyn DeviceObject>> {
        self.visible().find_map(|slots| slots.devices.mem_pools.get(index))
    }

    /// Returns the default device that a layer or base sets; `Some(None)` is the CPU.
    pub(super) fn default_device(self) -> Option<Option<Device>> {
        self.visible().find_map(|slots| slots.devices.default_device)
    }

    /// Returns the payload of a flag that a layer or base sets.
    #[inline]
    pub(super) fn flag(self, id: FlagId) -> Option<u64> {
        if self.context.layers().is_none() {
            // The read of a flag in a scope of native code: no merge of two lists.
            for slots in self.guards.list().iter().rev().filter_map(|guard| guard.slots.as_ref()) {
                let payload = slots.flags.word(id);
                if payload.is_some() || slots.is_opaque {
                    return payload;
                }
            }
            // The base of a context sets no flags.
            return self.guards.base().slots.as_ref()?.flags.word(id);
        }
        for slots in self.all_slots() {
            let payload = slots.flags.word(id);
            if payload.is_some() || slots.is_opaque {
                return payload;
            }
        }
        None
    }

    /// Returns the flags of the innermost layer or base that sets a slot.
    pub(super) fn owner_of_flag(self, slot: Slot) -> Option<&'a FlagSlots> {
        self.visible().map(|slots| &slots.flags).find(|flags| flags.names(slot))
    }

    /// Returns the innermost layer that a condition accepts, at most down to an opaque one. `Some(None)` if an opaque
    /// one comes first, `None` if neither exists.
    pub(super) fn target(self, sets: impl Fn(Item<'a>, Option<&Slots>) -> bool) -> Option<Option<Target>> {
        for item in self.items() {
            let slots = item.slots().map(|slots| &**slots);
            if sets(item, slots) {
                return Some(Some(item.target()));
            }
            if slots.is_some_and(|slots| slots.is_opaque) {
                return Some(None);
            }
        }
        None
    }

    /// Returns whether a layer or base sets a mode.
    pub(super) fn sets_mode(self, mask: u8) -> bool {
        let bases = self.context_base().into_iter().map(|base| base.modes).chain([self.guards.base().modes]);
        self.items().map(Item::modes).chain(bases).any(|modes| modes.mask & mask != 0)
    }

    /// Returns the innermost layer that sets a mode.
    pub(super) fn target_of_mode(self, mask: u8) -> Option<Target> {
        self.items().find(|item| item.modes().mask & mask != 0).map(Item::target)
    }

    /// Merges the slots of all visible layers into opaque ones; `None` if there are none.
    pub(super) fn flattened(self) -> Option<Arc<Slots>> {
        Slots::flattened(self.all_slots())
    }
}
