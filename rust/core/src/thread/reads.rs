//! The state of this thread that readers load, as of its last update.

use std::sync::Arc;

use super::captured_slots::CapturedSlots;
use super::current::{Tls, UNSEEN, with_owned, with_tls, with_unborrowed};
use super::device_slots::DeviceObject;
use super::ids::{LayerId, ScopeId, ThreadId};
use super::state::Mark;
use super::view::{Item, View};
use super::{FlagId, Masked, Slots, process};
use crate::device::{Device, DeviceIndex};

/// Returns the id of this thread.
pub(crate) fn this_thread() -> ThreadId {
    with_tls(Tls::this_thread)
}

/// Returns whether the layers of this thread are dropped because it is ending. Then no scope is entered, and no mode,
/// device or stream is written.
pub fn is_ended() -> bool {
    with_tls(|current| current.owned.try_borrow().is_ok_and(|owned| owned.ended))
}

/// Returns the active mode bits of this thread.
#[inline]
pub(crate) fn mode_word() -> u8 {
    with_tls(|current| match current.modes.get() {
        word if word & UNSEEN == 0 => word,
        _ => first_mode_word(current),
    })
}

/// Stores the values of the process, because this thread has neither layers nor a base.
#[cold]
fn first_mode_word(current: &Tls) -> u8 {
    current.modes.set(process::mode_word());
    current.modes.get()
}

/// Returns the address of the active mode bits of this thread, which is valid on this thread until it ends.
pub fn mode_word_address() -> *const u8 {
    mode_word();
    with_tls(|current| current.modes.as_ptr().cast_const())
}

/// Returns whether a layer or a write without a scope sets a mode on this thread.
pub(crate) fn is_mode_set(mask: u8) -> bool {
    read(|view| Some(view.sets_mode(mask))).unwrap_or(false)
}

/// Returns whether a layer or a write without a scope sets the current device and the default device on this thread.
pub(crate) fn are_devices_set() -> (bool, bool) {
    let summary = with_tls(|current| current.devices.get());
    (summary.device.is_some(), summary.any_default_device)
}

/// Returns whether an active layer of this thread may name this flag. `false` is exact; `true` may be another flag with
/// the same bit.
#[inline]
pub(crate) fn flag_may_be_scoped(id: FlagId) -> bool {
    with_tls(|current| current.flags.get()) & id.bit() != 0
}

/// Returns the nodes of the precision tree that the active layers of this thread set.
#[inline]
pub(crate) fn scoped_tree() -> Masked<u64> {
    with_tls(|current| current.tree.get())
}

/// Returns how many times the flags that the layers of this thread set have changed.
pub(crate) fn layer_changes() -> u64 {
    with_tls(|current| current.flag_changes.get())
}

/// Reads the layers of this thread as of its last look.
#[inline]
pub(super) fn read<R>(read: impl FnOnce(View) -> Option<R>) -> Option<R> {
    with_tls(|current| read(current.owned.try_borrow().ok()?.view()))
}

/// Returns the payload of the innermost active layer that names the flag.
#[inline]
pub(crate) fn scoped_flag(id: FlagId) -> Option<u64> {
    // SAFETY: the read of a flag calls no other code.
    unsafe { with_unborrowed(|_, owned| owned.view().flag(id)) }
}

/// Returns the current device of this thread, or `None` if no layer or write has set it.
#[inline]
pub fn current_device() -> Option<DeviceIndex> {
    with_tls(|current| current.devices.get().device).or_else(process::device)
}

/// Returns the current stream of a device on this thread, or `None` if no layer or write has set it.
#[inline]
pub fn current_stream(index: DeviceIndex) -> Option<Arc<dyn DeviceObject>> {
    if !with_tls(|current| current.devices.get().any_stream) {
        return None;
    }
    read(|view| view.stream(index).cloned())
}

/// Returns the memory pool that allocations of this thread on a device use, or `None` if no scope sets one.
#[inline]
pub fn mem_pool(index: DeviceIndex) -> Option<Arc<dyn DeviceObject>> {
    if !with_tls(|current| current.devices.get().any_mem_pool) {
        return None;
    }
    read(|view| view.mem_pool(index).cloned())
}

/// Returns the default device for new tensors on this thread, or `None` if it is the CPU.
#[inline]
pub fn default_device() -> Option<Device> {
    if !with_tls(|current| current.devices.get().any_default_device) {
        return process::default_device();
    }
    read(|view| view.default_device()).unwrap_or_else(process::default_device)
}

/// Returns the active mode bits and slots of this thread, in constant time. If guards are open, a step of a task runs,
/// or a layer has hooks or a recording, the slots are merged instead: hooks own objects of another language, whose
/// collector can follow only references that nothing else shares.
pub(super) fn captured() -> (u8, CapturedSlots) {
    let captured = with_owned(|current, owned, _| {
        owned.ensure_cleanup_registered().then(|| {
            let guards = &owned.native.guards;
            let slots =
                if guards.list().is_empty() && !guards.hide_the_context() && !owned.context.has_objects() {
                    CapturedSlots::from_context(owned.context.clone(), guards.base().slots.clone())
                } else {
                    CapturedSlots::merged(owned.view().flattened().unwrap_or_else(Slots::opaque))
                };
            (current.modes.get(), slots)
        })
    });
    captured.flatten().unwrap_or_else(|| (mode_word(), CapturedSlots::merged(Slots::opaque())))
}

/// Returns the ids and scopes of the active layers, innermost first.
pub(super) fn layers() -> Vec<(LayerId, ScopeId)> {
    let ids =
        with_owned(|_, owned, _| owned.view().items().map(|item: Item| (item.id(), item.scope())).collect());
    ids.unwrap_or_default()
}

/// Returns the layers of the context above a guard.
pub(super) fn marks_above(guard: LayerId) -> Vec<Arc<Mark>> {
    let above = with_owned(|_, owned, _| {
        let items = owned.view().items().take_while(|item| item.id() != guard);
        let marks = items.filter_map(|item| match item {
            Item::Layer(node) => Some(node.layer.mark.clone()),
            Item::Guard(_) => None,
        });
        marks.collect()
    });
    above.unwrap_or_default()
}
