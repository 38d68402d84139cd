//! Writes without a scope: each slot is written in the innermost layer that sets it, else in a base.
//!
//! With a current context, a changed layer replaces a layer of the context, and writes reach the base of the context.
//! Otherwise they reach the base of the thread, and a layer of the context cannot be written.

use std::sync::Arc;

use super::carrier::Context;
use super::current::{Owned, Tls, ended, next_layer_id, with_owned};
use super::ids::LayerId;
use super::reads::{read, this_thread};
use super::state::{Mark, State};
use super::view::Target;
use super::{DeviceObject, DeviceSlots, FlagSlots, Masked, Slot, Slots};
use crate::base::location::SourceLocation;
use crate::{Error, Result};

/// Returns the error of a write to a slot that a layer of the context sets, on a thread on which that context is not
/// current.
fn not_at_hand(name: &str) -> Error {
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
    Layer(Arc<Mark>),
    Base,
}

/// Writes one mode without a scope.
pub(crate) fn write_mode(name: &str, bit: Masked<u8>) -> Result<WrittenMode> {
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
        None => return Err(ended(format!("set {name}"))),
        Some(Ok(written)) => return Ok(written),
        Some(Err(place)) => place,
    };
    let Some(context) = context else { return Err(not_at_hand(name)) };
    let state = context.state();
    let mut written = WrittenMode { layer: LayerId::NONE, old: Masked::default() };
    let state = match place {
        InContext::Layer(mark) => state.with_layer(&mark, |layer| {
            written = WrittenMode { layer: mark.id, old: layer.modes.within(bit.mask) };
            layer.modes = bit.over(layer.modes);
            layer.modes_set_by = this_thread();
        }),
        InContext::Base => state.with_base(|base| {
            if base.id == LayerId::NONE {
                base.id = next_layer_id().unwrap_or_default();
            }
            written = WrittenMode { layer: base.id, old: base.modes.within(bit.mask) };
            base.modes = bit.over(base.modes);
            base.modes_set_by = this_thread();
        }),
    };
    context.store(|| format!("set {name}"), &state)?;
    Ok(written)
}

/// Restores the bits that [`write_mode`] has replaced, if the layer or base is active on this thread.
pub(crate) fn restore_mode(name: &str, mask: u8, written: WrittenMode) -> Result<()> {
    let WrittenMode { layer, old } = written;
    let context = Context::at_hand();
    let restored = with_owned(|current, owned, _| {
        let restored = owned.native.guards.restore_mode(layer, mask, old);
        current.publish_modes(owned);
        restored
    });
    if restored != Some(false) {
        return Ok(());
    }
    let Some(context) = context else { return Ok(()) };
    let state = context.state();
    let restore = |modes: &mut Masked<u8>| *modes = old.over(modes.within(!mask));
    let found = state.find(|mark| mark.id == layer).map(|node| node.layer.mark.clone());
    let state = match (found, state.base()) {
        (Some(mark), _) => state.with_layer(&mark, |layer| restore(&mut layer.modes)),
        (None, Some(base)) if base.id == layer => state.with_base(|base| restore(&mut base.modes)),
        _ => return Ok(()),
    };
    context.store(|| format!("set {name}"), &state).map(drop)
}

/// Removes what was written without a scope in the current context, if there is one.
pub(super) fn unset_base_of_context() -> Result<()> {
    let Some(context) = Context::at_hand() else { return Ok(()) };
    let state = context.state();
    if state.base().is_none() {
        return Ok(());
    }
    context.store(|| "install a state".to_owned(), &state.without_base()).map(drop)
}

/// Where a device slot is written.
enum DevicePlace {
    Guard(LayerId),
    Layer(Arc<Mark>),
    BaseOfContext,
    BaseOfThread,
}

/// Writes each device slot without a scope, all or none. An opaque layer is written also if it does not set the slot.
pub fn set_device_slots(devices: DeviceSlots) -> Result<()> {
    const NAME: &str = "the current device, stream or default device";
    let context = Context::at_hand();
    let state = context.as_ref().map(Context::state);
    let pieces = with_owned(|_, owned, _| {
        let place_of = |piece: &DeviceSlots| device_place(owned, piece, context.is_some());
        let pieces = || devices.pieces().map(|piece| (place_of(&piece), piece)).collect::<Vec<_>>();
        owned.ensure_cleanup_registered().then(pieces)
    });
    let Some(pieces) = pieces.flatten() else { return Err(ended(format!("set {NAME}"))) };
    let (of_context, of_thread): (Vec<_>, Vec<_>) = pieces
        .into_iter()
        .partition(|(place, _)| matches!(place, DevicePlace::Layer(_) | DevicePlace::BaseOfContext));
    // The context first: only that can fail.
    if !of_context.is_empty() {
        let (Some(context), Some(state)) = (&context, state) else { return Err(not_at_hand(NAME)) };
        let state = of_context.into_iter().fold(state, |state, (place, piece)| put_in(&state, place, piece));
        context.store(|| format!("set {NAME}"), &state)?;
    }
    // Returned, so that a replaced stream is dropped when nothing is borrowed.
    let _replaced = with_owned(|current, owned, _| {
        let put = |(place, piece)| put_on_thread(owned, place, piece);
        let replaced: Vec<_> = of_thread.into_iter().filter_map(put).collect();
        current.publish(owned);
        replaced
    });
    Ok(())
}

fn device_place(owned: &Owned, piece: &DeviceSlots, is_at_hand: bool) -> DevicePlace {
    let accepts = |slots: &Slots| slots.is_opaque || slots.devices.names_all_of(piece);
    match owned.view().target(|_, slots| slots.is_some_and(accepts)).flatten() {
        Some(Target::Guard(id)) => DevicePlace::Guard(id),
        Some(Target::Layer(mark)) => DevicePlace::Layer(mark),
        None if is_at_hand && !owned.native.guards.hide_the_context() => DevicePlace::BaseOfContext,
        None => DevicePlace::BaseOfThread,
    }
}

/// Returns the state with one device slot written in a layer, else in the base.
fn put_in(state: &State, place: DevicePlace, piece: DeviceSlots) -> State {
    // The state that it replaces keeps a replaced stream.
    match place {
        DevicePlace::Layer(mark) => state.with_layer(&mark, |layer| {
            let _replaced = layer.slots.as_mut().and_then(|slots| Arc::make_mut(slots).devices.put(piece));
        }),
        _ => state.with_base(|base| {
            let _replaced = Arc::make_mut(base.slots.get_or_insert_default()).devices.put(piece);
        }),
    }
}

/// Writes one device slot of the thread. Returns the stream that it replaces.
fn put_on_thread(owned: &mut Owned, place: DevicePlace, piece: DeviceSlots) -> Option<Arc<dyn DeviceObject>> {
    let guards = &mut owned.native.guards;
    let slots = match place {
        DevicePlace::Guard(id) => Arc::make_mut(guards.guard_mut(id)?.slots.as_mut()?),
        _ => guards.base_slots_mut(),
    };
    slots.devices.put(piece)
}

/// The layers of this thread and its context, for a write of flags.
#[derive(Default)]
pub(crate) struct ScopedFlags<'a> {
    /// `None` once the layers of the thread are dropped.
    owned: Option<&'a mut Owned>,
    step: WriteStep,
    is_thread_changed: bool,
}

/// The steps of a write. The context is written first, because only that can fail.
#[derive(Default)]
enum WriteStep {
    /// Computes the state of the context with the changes.
    OfContext(State),
    /// Changes the thread and the process. The layers of the context are changed already.
    OfThread,
    /// Like `OfThread`, without a current context.
    #[default]
    WithoutContext,
}

/// Where a flag is set.
enum FlagTarget {
    Layer(Target),
    Base,
}

impl ScopedFlags<'_> {
    fn target(&self, slot: Slot) -> Option<FlagTarget> {
        let view = self.owned.as_deref()?.view();
        match view.target(|_, slots| slots.is_some_and(|slots| slots.flags.names(slot))) {
            Some(target) => target.map(FlagTarget::Layer),
            None => view.owner_of_flag(slot).map(|_| FlagTarget::Base),
        }
    }

    /// Returns whether this is the first of two calls of a write, in which only [`change`](ScopedFlags::change) has an
    /// effect.
    pub(crate) fn is_first_step(&self) -> bool {
        matches!(self.step, WriteStep::OfContext(_))
    }

    /// Returns an error if a layer of the context sets the slot and the context is not current. `name` is what is
    /// written.
    pub(crate) fn check(&self, name: impl FnOnce() -> String, slot: Slot) -> Result<()> {
        if !matches!(self.step, WriteStep::WithoutContext) {
            return Ok(());
        }
        match self.target(slot) {
            Some(FlagTarget::Layer(Target::Layer(_))) => Err(not_at_hand(&name())),
            _ => Ok(()),
        }
    }

    /// Changes the flags of the innermost layer that names a slot; `change` gets its id, none for a base. Returns false if
    /// there is none.
    pub(crate) fn change(&mut self, slot: Slot, change: impl FnOnce(LayerId, &mut FlagSlots)) -> bool {
        let Some(target) = self.target(slot) else { return false };
        let Some(owned) = self.owned.as_deref_mut() else { return false };
        let guards = &mut owned.native.guards;
        match (target, &mut self.step) {
            (FlagTarget::Layer(Target::Layer(mark)), WriteStep::OfContext(state)) => {
                *state = state.with_layer(&mark, |layer| {
                    if let Some(slots) = &mut layer.slots {
                        change(mark.id, &mut Arc::make_mut(slots).flags);
                    }
                });
            }
            (FlagTarget::Layer(Target::Layer(_)), _) | (_, WriteStep::OfContext(_)) => {}
            (FlagTarget::Layer(Target::Guard(id)), _) => {
                self.is_thread_changed = true;
                if let Some(slots) = guards.guard_mut(id).and_then(|guard| guard.slots.as_mut()) {
                    change(id, &mut Arc::make_mut(slots).flags);
                }
            }
            (FlagTarget::Base, _) => {
                self.is_thread_changed = true;
                change(LayerId::NONE, &mut guards.base_slots_mut().flags);
            }
        }
        true
    }
}

/// Runs `write` with the flags of the active layers: twice if a layer of the current context sets flags, see
/// [`ScopedFlags::is_first_step`]. `write` acquires the lock of flags, and changes from elsewhere are seen before:
/// dropping removed layers runs user code, which may write flags. The carrier is called without the lock. `name` is
/// what is written, for the error.
pub(crate) fn write_scoped(
    name: impl Fn() -> String,
    write: impl Fn(&mut ScopedFlags) -> Result<()>,
) -> Result<()> {
    let of_thread = |step| {
        let written = with_owned(|current, owned, _| {
            let mut flags = ScopedFlags { owned: Some(owned), step, is_thread_changed: false };
            let result = write(&mut flags);
            if flags.is_thread_changed {
                current.publish(owned);
            }
            result
        });
        written.unwrap_or_else(|| write(&mut ScopedFlags::default()))
    };
    let Some(context) = Context::at_hand() else { return of_thread(WriteStep::WithoutContext) };
    if !context.stored.names_flags() {
        return of_thread(WriteStep::OfThread);
    }
    let state = context.state();
    let serial = state.serial();
    let changed = with_owned(|_, owned, _| {
        let step = WriteStep::OfContext(state);
        let mut flags = ScopedFlags { owned: Some(owned), step, is_thread_changed: false };
        write(&mut flags)?;
        match flags.step {
            WriteStep::OfContext(state) if state.serial() != serial => Ok(Some(state)),
            _ => Ok(None),
        }
    });
    let receipt = match changed.unwrap_or(Ok(None))? {
        Some(state) => Some(context.store(|| format!("set {}", name()), &state)?),
        None => None,
    };
    let written = of_thread(WriteStep::OfThread);
    if let (Err(_), Some(receipt)) = (&written, receipt) {
        // Another thread has frozen flags meanwhile.
        context.undo(receipt);
    }
    written
}

/// Returns `Some` if a layer of this thread sets the slot, with the location that set it if writes are traced.
pub(crate) fn scoped_site(slot: Slot) -> Option<Option<SourceLocation>> {
    read(|view| {
        let flags = view.owner_of_flag(slot)?;
        Some(flags.sites.iter().find(|(noted, _)| *noted == slot).map(|(_, site)| site.clone()))
    })
}
