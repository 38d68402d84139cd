//! Foundations of all other modules: locks and atomics, forks, the environment, and small tools.
//!
//! The other crates of interlock use them as well; they may change in every release.

#[cfg(not(unix))]
compile_error!(
    "interlock supports Linux and macOS, not Windows, which lacks `pthread_atfork`, `mmap`, `dlopen` and POSIX signals: \
     docs/platforms.md in the repository lists what a port needs"
);

pub mod background_thread;
pub mod backoff;
pub mod blocking;
pub mod catch;
pub mod duplicate_instances;
pub mod env;
#[cfg(not(loom))]
mod floating_point_modes;
pub mod fork;
pub mod fork_local;
pub mod hook_list;
pub mod invariant;
pub mod location;
mod messages;
pub mod mutex;
pub mod once_call;
pub mod parker;
pub mod quote;
pub mod raw_array;
pub mod short_sort;
pub mod stack;
pub mod suggest;
pub mod sync;
#[cfg(not(loom))]
pub mod worker_threads;
