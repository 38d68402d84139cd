//! The thread-local state: modes, flags, devices and streams, as a stack of layers over typed slots.
//!
//! A layer decides only the slots that it names: mode bits, flags, the current device, the current stream of a device,
//! the default device. Entering a [`Scope`] pushes a layer on the stack of the thread. Exiting removes the innermost
//! layer that this scope pushed on the thread, at any depth of the stack. No saved value is written back, so a scope
//! may be entered twice, shared by threads and exited out of order. A write without a scope changes the innermost layer
//! that names the slot, else the base: the process's values for flags, the thread's own values for all other slots.
//!
//! A task with a state of its own ([`TaskState`]) has a stack and a base, too. They replace those of the thread during
//! each step of the task, so "this thread" means the task there.
//!
//! The state is stored in one thread-local without a destructor (`tls`), so a read is one load. Memory that it owns is
//! released when the thread ends. It stores no Python object.

mod active;
mod device_slots;
mod flag_slots;
mod layer_stack;
mod masked;
pub(crate) mod mode_bits;
mod remote_exit;
mod scope;
#[doc(hidden)]
pub mod scope_trace;
mod slots;
mod task;
#[cfg(test)]
pub(crate) mod testing;
mod thread_state;
mod tls;

pub(crate) use active::{
    apply_remote_exits, recording, restore_mode, saved_tensor_hooks, scoped_flag, scoped_site, write_mode,
    write_scoped,
};
#[doc(hidden)]
pub use device_slots::{
    DeviceSlots, StreamSlot, current_device, current_stream, default_device, set_device_slots,
};
pub(crate) use flag_slots::{FlagId, FlagSlots, NodeMask, Slot};
#[cfg(not(loom))]
#[doc(hidden)]
pub use layer_stack::flag_layers_address;
pub(crate) use layer_stack::{LayerId, any_flag_layer};
pub(crate) use masked::Masked;
#[cfg(loom)]
#[cfg(test)]
pub(crate) use remote_exit::MAILBOXES;
#[doc(hidden)]
pub use scope::{RawGuard, ScopeId};
pub use scope::{Scope, ScopeBarrier, ScopeGuard};
#[doc(hidden)]
pub use slots::Slots;
pub use task::{TaskState, WithState};
pub use thread_state::{StateScope, ThreadState};
pub(crate) use tls::{ThreadId, flag_may_be_scoped, layer_changes, mode_word, scoped_tree, this_thread};
#[doc(hidden)]
pub use tls::{is_ended, mode_word_address};
