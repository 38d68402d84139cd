//! Scopes: an object that threads enter and exit, and a RAII guard.

use std::marker::PhantomData;
use std::sync::Arc;

use super::active;
use super::layer_stack::ExitTarget;
use super::remote_exit::MailboxId;
use super::{DeviceSlots, LayerId, Masked, Slots, ThreadState};
use crate::base::sync::RelaxedU64;

/// Identifies a scope; 0 is none. Unique in a process: the address of a dropped scope may be reused while one of its
/// layers is still open.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScopeId(pub(super) u64);

impl ScopeId {
    /// The id of a guard, which removes its layer by the id of the layer.
    pub(super) const NONE: ScopeId = ScopeId(0);
}

static LAST_ID: RelaxedU64 = RelaxedU64::new(0);

/// The identity of an object that is entered and exited. It may be entered again while it is open, by several threads,
/// and exited in any order.
///
/// ```
/// use interlock_core::modes::{ModeContext, ModeKind, is_grad_enabled};
/// use interlock_core::thread::Scope;
///
/// let context = ModeContext::new(ModeKind::NoGrad);
/// context.enter();
/// let scope: &Scope = context.scope();
/// scope.exit();
/// assert!(is_grad_enabled());
/// ```
#[derive(Debug)]
pub struct Scope {
    id: ScopeId,
    /// The mailbox of the thread or task that entered last.
    entered_on: RelaxedU64,
}

impl Default for Scope {
    fn default() -> Self {
        Scope { id: ScopeId(LAST_ID.add(1)), entered_on: RelaxedU64::new(0) }
    }
}

impl Scope {
    /// Pushes a layer of this scope on this thread that decides mode bits.
    #[inline]
    pub(crate) fn enter_modes(&self, decided: Masked<u8>) {
        self.note_enter(active::push_modes(self.id, decided));
    }

    /// Pushes a layer of this scope on this thread that decides no mode bits.
    #[doc(hidden)]
    pub fn enter_slots(&self, slots: &Arc<Slots>) {
        self.note_enter(active::push_slots(self.id, Masked::default(), slots));
    }

    /// Pushes a layer of this scope on this thread that decides all slots of a captured state.
    pub(super) fn enter_state(&self, captured: &ThreadState) {
        self.note_enter(active::push_slots(self.id, captured.decided_modes(), &captured.slots));
    }

    /// Records the mailbox unless nothing was pushed because the thread is ending: other threads may have the scope
    /// open.
    #[inline]
    fn note_enter(&self, pushed: Option<LayerId>) {
        if pushed.is_some() {
            self.entered_on.set(active::this_mailbox().0);
        }
    }

    #[doc(hidden)]
    pub fn id(&self) -> ScopeId {
        self.id
    }

    pub(super) fn entered_on(&self) -> MailboxId {
        MailboxId(self.entered_on.get())
    }

    /// Removes the innermost layer that this scope pushed on this thread. If there is none, the thread or task that
    /// entered last is requested to remove one; if that has none either, nothing happens.
    #[inline]
    pub fn exit(&self) {
        self.exit_and_detect_order();
    }

    /// Exits as [`exit`](Scope::exit) does. If the exit is out of order, returns the scope that pushed the layer
    /// directly above the removed one.
    #[doc(hidden)]
    #[inline]
    pub fn exit_and_detect_order(&self) -> Option<ScopeId> {
        let target = ExitTarget::Scope(self.id);
        match active::remove(target) {
            Some(above) => (above != ScopeId::NONE).then_some(above),
            None => {
                active::exit_elsewhere(self.entered_on(), target);
                None
            }
        }
    }
}

/// Removes a layer of this thread's state when it is dropped. It is not `Send`; if another task of the thread drops it,
/// the layer is removed from the task or thread that created the guard.
///
/// ```
/// use interlock_core::modes::{is_grad_enabled, no_grad};
/// use interlock_core::thread::ScopeGuard;
///
/// let guard: ScopeGuard = no_grad();
/// assert!(!is_grad_enabled());
/// drop(guard);
/// assert!(is_grad_enabled());
/// ```
#[must_use = "the layer is removed when the guard is dropped"]
#[derive(Debug)]
pub struct ScopeGuard {
    layer: Option<LayerId>,
    made_on: MailboxId,
    _not_send: PhantomData<*const ()>,
}

impl ScopeGuard {
    /// Pushes a layer on this thread that decides mode bits.
    #[inline]
    pub(crate) fn of_modes(decided: Masked<u8>) -> Self {
        ScopeGuard::of_layer(active::push_modes(ScopeId::NONE, decided))
    }

    /// Pushes a layer on this thread that decides no mode bits.
    pub(crate) fn of_slots(slots: &Arc<Slots>) -> Self {
        ScopeGuard::of_layer(active::push_slots(ScopeId::NONE, Masked::default(), slots))
    }

    /// Pushes a layer on this thread that decides device slots.
    #[doc(hidden)]
    pub fn of_devices(devices: DeviceSlots) -> Self {
        ScopeGuard::of_slots(&Slots::of_devices(devices))
    }

    /// Pushes a layer on this thread that decides all slots of a captured state.
    pub(super) fn of_state(captured: &ThreadState) -> Self {
        let (modes, slots) = (captured.decided_modes(), &captured.slots);
        ScopeGuard::of_layer(active::push_slots(ScopeId::NONE, modes, slots))
    }

    #[inline]
    fn of_layer(layer: Option<LayerId>) -> Self {
        ScopeGuard { layer, made_on: active::this_mailbox(), _not_send: PhantomData }
    }
}

impl Drop for ScopeGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(layer) = self.layer {
            exit_layer(layer, self.made_on);
        }
    }
}

/// Ends the scopes that were entered on this thread since it was created and are still open, when it is dropped. Modes
/// that are written meanwhile without a scope have their old values again.
///
/// ```
/// use interlock_core::modes::{ModeContext, ModeKind, is_grad_enabled, scope_barrier};
/// use interlock_core::thread::ScopeBarrier;
///
/// let barrier: ScopeBarrier = scope_barrier();
/// let left_open = ModeContext::new(ModeKind::NoGrad);
/// left_open.enter();
/// assert!(!is_grad_enabled());
/// drop(barrier);
/// assert!(is_grad_enabled());
/// ```
#[must_use = "scopes that are left open end when the barrier is dropped"]
#[derive(Debug)]
pub struct ScopeBarrier(ScopeGuard);

impl ScopeBarrier {
    /// Pushes a layer on this thread that decides mode bits.
    #[inline]
    pub(crate) fn of_modes(decided: Masked<u8>) -> Self {
        ScopeBarrier(ScopeGuard::of_modes(decided))
    }
}

impl Drop for ScopeBarrier {
    #[inline]
    fn drop(&mut self) {
        if let Some(layer) = self.0.layer {
            active::remove_above(layer);
        }
    }
}

/// Removes a layer of this thread, or requests the thread or task that pushed it to remove it.
#[inline]
fn exit_layer(layer: LayerId, made_on: MailboxId) {
    if active::remove(ExitTarget::Layer(layer)).is_none() {
        active::exit_elsewhere(made_on, ExitTarget::Layer(layer));
    }
}

/// A [`ScopeGuard`] as numbers, for other languages. It is `Send`; an exit on another thread is posted to the thread or
/// task that made it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawGuard {
    /// The layer; 0 for none.
    pub layer: u64,
    /// The mailbox of the thread or task.
    pub made_on: u64,
}

impl RawGuard {
    /// Removes the layer of the guard. Does nothing if there is none.
    pub fn exit(self) {
        if self.layer != 0 {
            exit_layer(LayerId::of_number(self.layer), MailboxId(self.made_on));
        }
    }
}

impl From<ScopeGuard> for RawGuard {
    fn from(guard: ScopeGuard) -> Self {
        let raw = RawGuard { layer: guard.layer.map_or(0, LayerId::number), made_on: guard.made_on.0 };
        std::mem::forget(guard);
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{ModeContext, ModeKind, no_grad};

    fn entered() -> ModeContext {
        let context = ModeContext::new(ModeKind::NoGrad);
        context.enter();
        context
    }

    fn exited(context: &ModeContext) -> Option<ScopeId> {
        context.exit_with(Scope::exit_and_detect_order)
    }

    #[test]
    fn exit_out_of_order_returns_the_scope_directly_above() {
        let [first, second, third] = [entered(), entered(), entered()];
        assert_eq!(exited(&first), Some(second.scope().id()));
        assert_eq!(exited(&second), Some(third.scope().id()));
        assert_eq!(exited(&third), None);
        assert_eq!(exited(&third), None);
    }

    #[test]
    fn exit_below_a_guard_and_on_another_thread_returns_no_scope() {
        let (first, guard) = (entered(), no_grad());
        assert_eq!(exited(&first), None);
        drop(guard);
        let [first, _second] = [entered(), entered()];
        std::thread::scope(|threads| assert_eq!(threads.spawn(|| exited(&first)).join().unwrap(), None));
    }
}
