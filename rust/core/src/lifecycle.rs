//! What a process does around `fork`.
//!
//! The locks of this crate are taken by every fork. A crate that has too many locks for that, such as
//! one for each tensor, marks them with [`fork_generation`] instead: a lock of an older generation was
//! taken by a thread that this process lacks.

use std::cell::Cell;

use crate::accelerator;
use crate::backends;
use crate::libraries;
use crate::state;
use crate::sync::{ForkLock, HeldAcrossFork, SharedBool, SharedWord};

/// Every lock of the process, in the one order in which locks are taken: by a fork, and by whoever
/// holds two.
static LOCKS: [&dyn HeldAcrossFork; 12] = [
    &backends::PROCESS,
    &state::INBOXES,
    &state::trace::TRACED,
    &libraries::LEVELS,
    &libraries::PACKAGES,
    &accelerator::REGISTRY,
    &accelerator::NAMES,
    &accelerator::memory::ASKED,
    &accelerator::memory::CONFIGURED,
    &accelerator::memory::RECORDED,
    &accelerator::memory::ACCESSES,
    &INITIALIZING,
];

/// Held while a library initializes what it computes once.
static INITIALIZING: ForkLock<()> = ForkLock::new(());

static WATCHING: SharedBool = SharedBool::new(false);

/// Raised in a child before any of its code runs, when it has one thread: nothing to order it with.
static GENERATION: SharedWord = SharedWord::new(0);

thread_local! {
    /// How many of the handlers of a fork that this thread is making have run.
    static FORKING: Cell<u32> = const { Cell::new(0) };
}

/// A number that changes in every forked child and stays the same in a process (a child may count up
/// by more than one). Forks are watched from the first call on.
#[inline]
pub fn fork_generation() -> u32 {
    watch_forks();
    // The lower half: no process has four billion ancestors.
    GENERATION.get() as u32
}

/// Runs `initialize` while no fork happens. A library that blocks other threads during its first use would leave a
/// child that is forked in the middle waiting for a thread that it lacks. `initialize` must neither fork, nor call
/// this function, nor run user code, and should take microseconds: a fork spins meanwhile.
pub fn initialize_without_forks(initialize: impl FnOnce()) {
    watch_forks();
    let guard = INITIALIZING.lock();
    initialize();
    drop(guard);
}

/// Has the C library take every lock around each fork from now on; cheap to call again.
#[inline]
pub(crate) fn watch_forks() {
    // A model makes no forks.
    if !cfg!(loom) && !WATCHING.get() {
        start_watching();
    }
}

/// Nobody waits for another thread's registration: a fork in the middle of one would leave the child
/// waiting for a thread that it lacks. Two threads may register twice, which the handlers count.
#[cold]
fn start_watching() {
    // SAFETY: the three functions live as long as the process (an extension module is never
    // unloaded) and only touch memory of this crate, which the locks keep whole across the fork.
    // It fails only for want of memory, and then a fork is as unguarded as without this crate.
    unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    WATCHING.set(true);
}

extern "C" fn before() {
    FORKING.with(|handlers| {
        if handlers.replace(handlers.get() + 1) == 0 {
            LOCKS.iter().for_each(|lock| lock.before());
        }
    });
}

extern "C" fn after_in_parent() {
    let _ = after();
}

extern "C" fn after_in_child() {
    GENERATION.add(1);
    if after() {
        // What other threads opened won't be left any more. With the locks released, and one thread.
        backends::forget_other_threads();
        libraries::forget_other_threads();
    }
}

/// Releases the locks if this is the last of the handlers that run; returns whether it is.
fn after() -> bool {
    FORKING.with(|handlers| match handlers.get() {
        // Registered by another thread while this fork was under way, so its first half did not run.
        0 => false,
        1 => {
            handlers.set(0);
            LOCKS.iter().rev().for_each(|lock| lock.after());
            true
        }
        more => {
            handlers.set(more - 1);
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forks; the child answers and leaves, or is ended by an alarm.
    fn true_in_child(answer: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child only runs `answer`, which waits for nothing that it lacks.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: sets a timer.
            unsafe { libc::alarm(10) };
            let answer = answer();
            // SAFETY: leaves without running anything of the parent's.
            unsafe { libc::_exit(if answer { 0 } else { 1 }) };
        }
        let mut status = 1;
        // SAFETY: waits for the child just made, into a local.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        status == 0
    }

    #[test]
    fn only_a_child_is_of_another_generation() {
        let before = fork_generation();
        assert!(true_in_child(|| fork_generation() != before));
        assert_eq!(fork_generation(), before);
    }

    #[test]
    fn a_fork_waits_for_what_a_library_initializes() {
        use std::sync::atomic::{AtomicU32, Ordering};

        static STEPS: AtomicU32 = AtomicU32::new(0);
        let thread = std::thread::spawn(|| {
            initialize_without_forks(|| {
                STEPS.store(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(50));
                STEPS.store(2, Ordering::SeqCst);
            });
        });
        while STEPS.load(Ordering::SeqCst) == 0 {
            std::hint::spin_loop();
        }
        assert!(true_in_child(|| {
            let mut called = false;
            initialize_without_forks(|| called = true);
            called && STEPS.load(Ordering::SeqCst) == 2
        }));
        assert!(thread.join().is_ok());
    }

    #[test]
    fn threads_that_register_at_once_do_no_harm() {
        (0..3).for_each(|_| start_watching());
        let takes_every_lock = || {
            LOCKS.iter().for_each(|lock| lock.before());
            LOCKS.iter().rev().for_each(|lock| lock.after());
            true
        };
        assert!(true_in_child(takes_every_lock));
        assert!(takes_every_lock());
    }
}
