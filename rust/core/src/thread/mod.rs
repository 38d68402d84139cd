//! The state of the code that runs on a thread: modes, flags, devices and streams, as layers over typed slots.
//!
//! A layer sets only the slots that it names: mode bits, flags, the current device, the current stream and the memory
//! pool of a device, the default device. No saved value is written back, so a scope may be entered twice, shared by
//! threads and exited out of order. Layers belong either to a context or to a thread:
//!
//! - A [`Scope`] that is entered with a current context pushes a layer in the [`State`] of that context, an immutable
//!   value that a [`Carrier`](crate::binding::thread::Carrier) stores. Copying a context copies the state, and later changes of one
//!   do not reach the other. An exit in the context that entered removes the layer there; an exit anywhere else ends it
//!   in every state.
//! - A [`ScopeGuard`], and a scope that is entered without a current context, pushes a layer on its thread. It is above
//!   the layers of the context in which it was made and below all others. A [`TaskState`] replaces the layers of the
//!   thread during each step of a task.
//!
//! A write without a scope changes the innermost layer that sets the slot, else a base: the base of the context, or of
//! the thread without a current context; for flags, the value of the process. Below the bases are the values of the
//! process.
//!
//! Readers load what this thread has last seen ([`sync`]), with one load. The files use each other in this order,
//! later ones the earlier: values of a layer (`masked`, `mode_bits`, `flag_slots`, `device_slots`, `slots`), `ids`,
//! `changes`, `carried`, `hooks`, `process`, `scope_trace`, `base`, `summary`, `state`, `captured_slots`, `mailbox`,
//! `guards`, `view`, `current`, `reads`, `native`, `carrier`, `writes`, `scope`, `thread_state`, `task`. None stores a
//! Python object, except what a binding registers (`carried`, `hooks`).

mod base;
mod captured_slots;
// `crate::binding` exports items of the modules that the crate can name.
pub(crate) mod carried;
pub(crate) mod carrier;
mod changes;
pub(crate) mod current;
pub(crate) mod device_slots;
pub(crate) mod flag_slots;
mod guards;
mod hooks;
pub(crate) mod ids;
#[cfg(loom)]
#[cfg(test)]
pub(crate) mod loom_layer;
mod mailbox;
mod masked;
pub(crate) mod mode_bits;
mod native;
mod process;
pub(crate) mod reads;
pub(crate) mod scope;
pub(crate) mod scope_trace;
pub(crate) mod slots;
pub(crate) mod state;
mod summary;
mod task;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod thread_state;
mod view;
pub(crate) mod writes;

pub use carried::{Carried, CarriedValue, register_carried};
pub(crate) use carrier::PresentContext;
pub use carrier::sync;
pub(crate) use device_slots::{DeviceObject, DeviceSlots};
pub(crate) use flag_slots::{FlagId, FlagSlots, NodeMask, Slot, any_flag_layer};
pub(crate) use hooks::{on_flag_layer, on_mode_change};
pub(crate) use ids::{LayerId, ScopeId, ThreadId};
#[cfg(loom)]
#[cfg(test)]
pub(crate) use mailbox::MAILBOXES;
pub(crate) use masked::Masked;
pub(crate) use process::ProcessValues;
pub(crate) use reads::{
    are_devices_set, current_device, default_device, flag_may_be_scoped, is_mode_set, layer_changes,
    mode_word, scoped_flag, scoped_tree, this_thread,
};
pub use scope::{Scope, ScopeBarrier, ScopeGuard};
pub(crate) use scope::{node_creation_hooks, recording, saved_tensor_hooks};
pub(crate) use slots::Slots;
pub(crate) use state::State;
pub use task::{TaskState, WithState};
pub use thread_state::{StateScope, ThreadState};
pub(crate) use writes::{WrittenMode, restore_mode, scoped_site, write_mode, write_scoped};
