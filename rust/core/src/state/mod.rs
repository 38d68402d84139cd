//! The one thread state: what a thread decides for itself, as layers over typed slots.
//!
//! A thread has a list of live layers. A layer decides only the slots it names: mode bits, flags, the current
//! device, the current stream of a device, the default device. Entering
//! a [`Scope`] pushes a layer; leaving removes the innermost live layer that this scope pushed on
//! this thread, wherever it lies. Nothing saved is ever written back, so a scope may be entered
//! twice, shared by threads and left out of order, and the state comes back. A write without a scope
//! goes into the innermost layer that names the slot, else into the base: the process's for flags, the
//! thread's own for everything else.
//!
//! A task with a state of its own ([`TaskState`]) has such a list and base, too. They take the place of the
//! thread's during each of its steps, so "this thread" means the task there.
//!
//! It lies in one thread-local without a destructor (`current`), so a read is one load. What owns
//! memory is given back when the thread ends, and holds no Python object.

mod captured;
mod current;
mod flags;
mod inbox;
mod layers;
mod masked;
mod places;
mod scope;
mod slots;
mod task;
#[cfg(test)]
pub(crate) mod testing;
mod thread;
pub mod trace;

pub use captured::{StateScope, ThreadState};
pub(crate) use current::{
    ThreadNumber, flag_may_be_scoped, layer_changes, mode_word, scoped_tree, this_thread,
};
pub(crate) use flags::{FlagId, FlagSlots, Slot};
#[cfg(loom)]
#[cfg(test)]
pub(crate) use inbox::INBOXES;
pub(crate) use layers::{LayerId, any_flag_layer};
pub(crate) use masked::Masked;
pub(crate) use places::{Places, current_device, current_stream, default_device, write_place};
pub use scope::{Scope, ScopeGuard};
pub(crate) use slots::Slots;
pub use task::{InState, TaskState};
pub(crate) use thread::{
    held_flag, landed_write, landed_writes, restore_mode, scoped_site, settle, write_mode,
};
