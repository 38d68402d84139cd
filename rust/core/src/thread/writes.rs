//! Writes without a scope: each slot is written in the innermost layer that sets it, else in a base.
//!
//! With a context at hand, a changed layer replaces a layer of the context, and writes reach the base of the context.
//! Otherwise they reach the base of the thread, and a layer of the context cannot be written.

use std::sync::Arc;

use super::carrier::Context;
use super::current::{Owned, Tls, next_layer_id, with_owned};
use super::ids::LayerId;
use super::reads::read;
use super::state::State;
use super::view::{Target, View};
use super::{DeviceSlots, FlagSlots, Masked, Slot, StreamSlot};
use crate::base::location::SourceLocation;
use crate::{Error, Result};

/// Returns the error of a write to a slot that a layer of the context sets, on a thread without that context at hand.
fn of_context(name: &str) -> Error {
    Error::ContextNotAtHand { name: name.into() }
}

/// A mode that was written: the layer or base, and its previous bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenMode {
    pub(crate) layer: LayerId,
    /// Empty if a base did not set the mode.
    pub(crate) old: Masked<u8>,
}

/// Where a mode is written, if not on the thread itself.
enum InContext {
    Layer(Arc<super::state::Mark>),
    Base,
}

/// Writes one mode without a scope. Returns `None` if the thread is ending.
pub(crate) fn write_mode(name: &str, bit: Masked<u8>) -> Result<Option<WrittenMode>> {
    let context = Context::at_hand();
    let on_thread = |current: &Tls, owned: &mut Owned| {
        let target = owned.view().target_of_mode(bit.mask);
        let (layer, old) = match target {
            Some(Target::Guard(id)) => {
                let guard = owned.native.guards.guard_mut(id)?;
                let old = guard.word.modes().within(bit.mask);
                guard.word.set_modes(bit.over(guard.word.modes()));
                (id, old)
            }
            Some(Target::Layer(mark)) => return Some(Err(InContext::Layer(mark))),
            None if context.is_some() && !owned.native.guards.hide_the_context() => {
                return Some(Err(InContext::Base));
            }
            None => owned.native.guards.write_base_mode(&mut owned.ids, bit),
        };
        current.publish_modes(owned);
        Some(Ok(WrittenMode { layer, old }))
    };
    let place = match with_owned(|current, owned, _| on_thread(current, owned)).flatten() {
        None => return Ok(None),
        Some(Ok(written)) => return Ok(Some(written)),
        Some(Err(place)) => place,
    };
    let Some(context) = context else { return Err(of_context(name)) };
    let state = context.state();
    let mut written = None;
    let state = match place {
        InContext::Layer(mark) => state.with_layer(&mark, |layer| {
            written = Some(WrittenMode { layer: mark.id, old: layer.modes.within(bit.mask) });
            layer.modes = bit.over(layer.modes);
        }),
        InContext::Base => state.with_base(|base| {
            if base.id == LayerId::NONE {
                base.id = next_layer_id().unwrap_or_default();
            }
            written = Some(WrittenMode { layer: base.id, old: base.modes.within(bit.mask) });
            base.modes = bit.over(base.modes);
        }),
    };
    context.store(&state);
    Ok(written)
}

/// Restores the bits that [`write_mode`] has replaced, if the layer or base is active on this thread.
pub(crate) fn restore_mode(mask: u8, written: WrittenMode) {
    let WrittenMode { layer, old } = written;
    let context = Context::at_hand();
    let restored = with_owned(|current, owned, _| {
        let restored = owned.native.guards.restore_mode(layer, mask, old);
        current.publish_modes(owned);
        restored
    });
    if restored != Some(false) {
        return;
    }
    let Some(context) = context else { return };
    let state = context.state();
    let restore = |modes: &mut Masked<u8>| *modes = old.over(modes.within(!mask));
    let found = state.find(|mark| mark.id == layer).map(|node| node.layer.mark.clone());
    let state = match (found, state.base()) {
        (Some(mark), _) => state.with_layer(&mark, |layer| restore(&mut layer.modes)),
        (None, Some(base)) if base.id == layer => state.with_base(|base| restore(&mut base.modes)),
        _ => return,
    };
    context.store(&state);
}

/// Writes each device slot without a scope. An opaque layer is written also if it does not set the slot.
#[doc(hidden)]
pub fn set_device_slots(devices: DeviceSlots) -> Result<()> {
    let context = Context::at_hand();
    let mut state = context.as_ref().map(Context::state);
    let is_at_hand = state.is_some();
    // Returned, so that a replaced stream is dropped when nothing is borrowed.
    let replaced = with_owned(|current, owned, _| {
        if !owned.ensure_cleanup_registered() {
            return Ok(Vec::new());
        }
        let pieces: Vec<_> = devices.pieces().map(|piece| (target_of(owned.view(), &piece), piece)).collect();
        if !is_at_hand && pieces.iter().any(|(target, _)| matches!(target, Some(Target::Layer(_)))) {
            return Err(of_context("the current device, stream or default device"));
        }
        let mut replaced = Vec::new();
        for (target, piece) in pieces {
            replaced.extend(put(owned, &mut state, target, piece));
        }
        current.publish(owned);
        Ok(replaced)
    });
    let _replaced = replaced.unwrap_or(Ok(Vec::new()))?;
    if let (Some(context), Some(state)) = (context, state) {
        context.store_if_changed(&state);
    }
    Ok(())
}

fn target_of(view: View, piece: &DeviceSlots) -> Option<Target> {
    view.target(|_, slots| slots.is_some_and(|slots| slots.is_opaque || slots.devices.names_all_of(piece)))
        .flatten()
}

/// Writes one device slot. Returns the stream that it replaces.
fn put(
    owned: &mut Owned,
    state: &mut Option<State>,
    target: Option<Target>,
    piece: DeviceSlots,
) -> Option<Arc<dyn StreamSlot>> {
    let guards = &mut owned.native.guards;
    match (target, state) {
        (Some(Target::Guard(id)), _) => {
            let slots = guards.guard_mut(id)?.slots.as_mut()?;
            Arc::make_mut(slots).devices.put(piece)
        }
        (Some(Target::Layer(mark)), Some(state)) => {
            *state = state.with_layer(&mark, |layer| {
                // The state that it replaces keeps the stream.
                let _replaced =
                    layer.slots.as_mut().and_then(|slots| Arc::make_mut(slots).devices.put(piece));
            });
            None
        }
        (None, Some(state)) if !guards.hide_the_context() => {
            *state = state.with_base(|base| {
                let _replaced = Arc::make_mut(base.slots.get_or_insert_default()).devices.put(piece);
            });
            None
        }
        _ => guards.base_slots_mut().devices.put(piece),
    }
}

/// The layers of this thread and its context, for a write of flags.
#[derive(Default)]
pub(crate) struct ScopedFlags<'a> {
    /// `None` once the layers of the thread are dropped.
    owned: Option<&'a mut Owned>,
    /// The state of the context with the changes so far; `None` if no context is at hand.
    state: Option<State>,
    is_changed: bool,
}

/// Where a flag is set.
enum FlagTarget {
    Layer(Target),
    Base,
}

impl ScopedFlags<'_> {
    fn target(&self, slot: Slot) -> Option<FlagTarget> {
        let owned = self.owned.as_deref()?;
        let view = View { context: self.state.as_ref().unwrap_or(&owned.context), ..owned.view() };
        match view.target(|_, slots| slots.is_some_and(|slots| slots.flags.names(slot))) {
            Some(target) => target.map(FlagTarget::Layer),
            None => view.owner_of_flag(slot).map(|_| FlagTarget::Base),
        }
    }

    /// Returns an error if a layer of the context sets the slot and the context is not at hand.
    pub(crate) fn check(&self, name: &str, slot: Slot) -> Result<()> {
        match self.target(slot) {
            Some(FlagTarget::Layer(Target::Layer(_))) if self.state.is_none() => Err(of_context(name)),
            _ => Ok(()),
        }
    }

    /// Changes the flags of the innermost layer that names a slot. Returns false if there is none.
    pub(crate) fn change(&mut self, slot: Slot, change: impl FnOnce(&mut FlagSlots)) -> bool {
        let Some(target) = self.target(slot) else { return false };
        let Some(owned) = self.owned.as_deref_mut() else { return false };
        self.is_changed = true;
        match (target, &mut self.state) {
            (FlagTarget::Layer(Target::Guard(id)), _) => {
                if let Some(slots) = owned.native.guards.guard_mut(id).and_then(|guard| guard.slots.as_mut())
                {
                    change(&mut Arc::make_mut(slots).flags);
                }
            }
            (FlagTarget::Layer(Target::Layer(mark)), Some(state)) => {
                *state = state.with_layer(&mark, |layer| {
                    if let Some(slots) = &mut layer.slots {
                        change(&mut Arc::make_mut(slots).flags);
                    }
                });
            }
            (FlagTarget::Layer(Target::Layer(_)), None) => debug_assert!(false, "`check` refuses this write"),
            (FlagTarget::Base, _) => change(&mut owned.native.guards.base_slots_mut().flags),
        }
        true
    }
}

/// Runs `write` with the flags of the active layers. `write` acquires the lock of flags, and changes from elsewhere are
/// seen before: dropping removed layers runs user code, which may write flags. The carrier is called after it.
pub(crate) fn write_scoped<R>(write: impl Fn(&mut ScopedFlags) -> R) -> R {
    let context = Context::at_hand();
    let state = context.as_ref().map(Context::state);
    let written = with_owned(|current, owned, _| {
        let mut flags = ScopedFlags { owned: Some(owned), state: state.clone(), is_changed: false };
        let result = write(&mut flags);
        let ScopedFlags { state, is_changed, .. } = flags;
        if is_changed {
            current.publish(owned);
        }
        (result, state)
    });
    let Some((result, state)) = written else { return write(&mut ScopedFlags::default()) };
    if let (Some(context), Some(state)) = (context, state) {
        context.store_if_changed(&state);
    }
    result
}

/// Returns `Some` if a layer of this thread sets the slot, with the location that set it if writes are traced.
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<SourceLocation>> {
    read(|view| {
        let flags = view.owner_of_flag(slot)?;
        Some(flags.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone()))
    })
}
