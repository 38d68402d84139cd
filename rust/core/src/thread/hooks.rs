//! Hooks that are called on a thread when its modes have changed, and when layers that set flags are pushed and removed.
//!
//! While there is a hook for modes, no thread counts as having seen all [`changes`], so that every enter, exit, write
//! and look takes the slow path, which ends with a comparison of the modes. While there is none, they add no cost.

use std::sync::Arc;

use super::{FlagSlots, LayerId, Masked, Slots, carried, changes};
use crate::Registration;
use crate::base::fork::rank;
use crate::base::hook_list::HookList;
use crate::base::sync::{ForkLock, RelaxedU64};

/// What set modes on a thread, and what sets them now: layers, innermost first, and writes and the process, without an id.
#[derive(Debug)]
pub(crate) struct ModeReport {
    pub(crate) old: Vec<(LayerId, Masked<u8>)>,
    pub(crate) new: Vec<(LayerId, Masked<u8>)>,
    /// Whether values of other libraries were replaced.
    pub(crate) is_due: bool,
}

impl ModeReport {
    /// Returns the modes that were set, and those that are set now.
    pub(crate) fn effective(&self) -> (Masked<u8>, Masked<u8>) {
        let of = |set: &[(LayerId, Masked<u8>)]| {
            set.iter().fold(Masked::default(), |above: Masked<u8>, (_, modes)| above.over(*modes))
        };
        (of(&self.old), of(&self.new))
    }
}

type ModeHook = dyn Fn(&ModeReport) + Send + Sync;

/// Called with a layer that sets flags: with its flags after it was pushed, with `None` after it was removed.
type LayerHook = dyn Fn(LayerId, Option<&FlagSlots>) + Send + Sync;

static MODE_HOOKS: HookList<ModeHook> = HookList::new(rank::MODE_HOOKS);

static LAYER_HOOKS: HookList<LayerHook> = HookList::new(rank::LAYER_HOOKS);

/// The layers that hooks were called for and that have not been removed.
static OPEN: ForkLock<Vec<LayerId>> = ForkLock::new(rank::HOOKED_LAYERS, Vec::new());

/// The number of these layers.
static OPEN_COUNT: RelaxedU64 = RelaxedU64::new(0);

/// The number of registrations of hooks for modes.
static MODE_REGISTRATIONS: RelaxedU64 = RelaxedU64::new(0);

pub(crate) fn on_mode_change(hook: Arc<ModeHook>) -> Registration {
    let number = MODE_HOOKS.add(hook);
    MODE_REGISTRATIONS.add(1);
    changes::announce();
    Registration::new(number, |number| MODE_HOOKS.remove(number))
}

pub(crate) fn on_flag_layer(hook: Arc<LayerHook>) -> Registration {
    Registration::new(LAYER_HOOKS.add(hook), |number| LAYER_HOOKS.remove(number))
}

/// Returns whether there is a hook for modes, with one load.
#[inline]
pub(super) fn are_modes_hooked() -> bool {
    !MODE_HOOKS.is_empty()
}

/// Returns a number that changes with each registration of a hook for modes: then each thread reports all modes again.
pub(super) fn mode_registrations() -> u64 {
    MODE_REGISTRATIONS.get()
}

pub(super) fn report_modes(report: &ModeReport) {
    MODE_HOOKS.call_each(|hook| hook(report));
}

/// Calls the hooks for a layer that was pushed, if it sets flags. The caller holds no lock and has borrowed nothing.
#[inline]
pub(super) fn report_pushed(id: LayerId, slots: Option<&Slots>) {
    if LAYER_HOOKS.is_empty() {
        return;
    }
    if let Some(slots) = slots.filter(|slots| slots.flags.name_any()) {
        OPEN.lock().push(id);
        OPEN_COUNT.add(1);
        LAYER_HOOKS.call_each(|hook| hook(id, Some(&slots.flags)));
    }
}

/// Calls the hooks for a layer that was removed, if they were called for its push, and puts back values of other libraries
/// that it carried. The caller holds no lock and has borrowed nothing.
#[inline]
pub(super) fn report_removed(id: LayerId) {
    carried::layer_ended(id);
    if OPEN_COUNT.get() != 0 {
        report_removed_now(id);
    }
}

#[cold]
fn report_removed_now(id: LayerId) {
    let mut open = OPEN.lock();
    let Some(index) = open.iter().rposition(|pushed| *pushed == id) else { return };
    open.remove(index);
    drop(open);
    OPEN_COUNT.subtract(1);
    LAYER_HOOKS.call_each(|hook| hook(id, None));
}
