//! What a process does around `fork`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backends;
use crate::state;
use crate::sync::HeldAcrossFork;

/// Every lock of the process, in the one order in which locks are taken: by a fork, and by whoever
/// holds two.
static LOCKS: [&dyn HeldAcrossFork; 2] = [&backends::PROCESS, &state::INBOXES];

static WATCHING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How many of the handlers of a fork that this thread is making have run.
    static FORKING: Cell<u32> = const { Cell::new(0) };
}

/// Has the C library take every lock around each fork from now on; cheap to call again.
#[inline]
pub(crate) fn watch_forks() {
    if !WATCHING.load(Ordering::Relaxed) {
        start_watching();
    }
}

/// Nobody waits for another thread's registration: a fork in the middle of one would leave the child
/// waiting for a thread that it lacks. Two threads may register twice, which the handlers count.
#[cold]
fn start_watching() {
    // SAFETY: the three functions live as long as the process (an extension module is never
    // unloaded) and only touch atomics and a cell, which is allowed in a forked child.
    // It fails only for want of memory, and then a fork is as unguarded as without this crate.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
    WATCHING.store(true, Ordering::Relaxed);
}

extern "C" fn before() {
    FORKING.with(|handlers| {
        if handlers.replace(handlers.get() + 1) == 0 {
            LOCKS.iter().for_each(|lock| lock.before());
        }
    });
}

extern "C" fn after() {
    FORKING.with(|handlers| match handlers.get() {
        // Registered by another thread while this fork was under way, so its first half did not run.
        0 => {}
        1 => {
            handlers.set(0);
            LOCKS.iter().rev().for_each(|lock| lock.after());
        }
        more => handlers.set(more - 1),
    });
}
