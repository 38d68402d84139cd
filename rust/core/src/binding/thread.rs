//! Contexts of a language as carriers of state, the device slots of layers, and reports about scopes.
//!
//! A language whose code has contexts, such as `contextvars.Context` of Python, implements [`Carrier`] and installs it with
//! [`set_carrier`]. Scopes then push their layers in the [`State`] of the current context.

use std::sync::Arc;

use crate::Result;
use crate::device::Device;
pub use crate::thread::carried::{CarriedTask, CarriedValues};
pub use crate::thread::carrier::{
    Carrier, PresentContext, Receipt, leave_context, look_at, positions_above, set_carrier,
};
pub use crate::thread::current::{enter_at, has_seen, new_position};
pub use crate::thread::device_slots::{DeviceObject, DeviceSlots};
#[cfg(not(loom))]
pub use crate::thread::flag_slots::flag_layers_address;
pub use crate::thread::ids::{LayerId, Position, ScopeId};
pub use crate::thread::reads::{
    current_device, current_stream, default_device, is_ended, mem_pool, mode_word_address,
};
pub use crate::thread::scope::{EndedScopes, Exit, RawGuard, ScopeMark, newly_suspended};
pub use crate::thread::scope_trace::{Entered, ExitOrder, UnclosedScopes, open_scopes, unclosed_scopes};
pub use crate::thread::slots::Slots;
pub use crate::thread::state::State;
pub use crate::thread::writes::set_device_slots;
use crate::thread::{Scope, ScopeGuard, ThreadState};

/// Pushes a layer of a scope that sets these slots and no mode bits, in the current context, else on this thread.
///
/// # Errors
/// Fails, and pushes nothing, if the state of the context cannot be stored.
pub fn enter_slots(scope: &Scope, slots: &Arc<Slots>) -> Result<()> {
    scope.enter_slots(slots)
}

/// Exits a scope as [`Scope::exit`] does and returns what it has removed.
#[inline]
pub fn exit_and_report(scope: &Scope) -> Exit {
    scope.exit_present(PresentContext::at_hand())
}

/// Exits as [`exit_and_report`] does, for a caller that knows the context.
#[inline]
pub fn exit_present(scope: &Scope, context: Option<PresentContext>) -> Exit {
    scope.exit_present(context)
}

/// Returns the id of a scope.
pub fn id_of(scope: &Scope) -> ScopeId {
    scope.id()
}

/// Calls `visit` with the receipt of each layer of a scope that is open in a context, for a garbage collector of the
/// carrier's language. The scope is the only owner of a receipt.
pub fn visit_receipts(scope: &Scope, visit: impl FnMut(&Receipt)) {
    scope.visit_receipts(visit);
}

/// Records the last enter of a scope here, for reports of scopes that were left open. `frame` is the address of the
/// generator or coroutine frame that entered it.
pub fn trace_enter(scope: &Scope, entered: Entered, frame: Option<usize>) {
    scope.trace_enter(entered, frame);
}

/// Pushes a layer on this thread that sets device slots, until the guard is dropped.
pub fn guard_of_devices(devices: DeviceSlots) -> ScopeGuard {
    ScopeGuard::from_devices(devices)
}

/// Returns a state in which the device slots that it does not set have these values.
pub fn with_devices(state: ThreadState, devices: DeviceSlots) -> ThreadState {
    state.with_devices(devices)
}

/// Returns the current streams of a state, of the devices for which one was set.
pub fn streams_of(state: &ThreadState) -> &[Arc<dyn DeviceObject>] {
    state.streams()
}

/// Returns the memory pools that allocations use in a state, of the devices for which a scope set one.
pub fn mem_pools_of(state: &ThreadState) -> &[Arc<dyn DeviceObject>] {
    state.mem_pools()
}

/// Returns whether a recording of calls, or hooks of saved tensors or of the creation of nodes, are active in a state.
pub fn has_objects(state: &ThreadState) -> bool {
    state.has_objects()
}

/// Returns the default device of a state for new tensors, or `None` if none was set; `Some(None)` is the CPU.
pub fn set_default_device_of(state: &ThreadState) -> Option<Option<Device>> {
    state.set_default_device()
}
