//! Handlers of `fork`.
//!
//! Every [`ForkLock`] registers itself when it is first locked, and each fork acquires all
//! registered locks in the order of their ranks, so that a child never inherits a lock that a thread which it lacks
//! holds. A crate with too many locks for that, such as one for each tensor, marks them with [`generation`] instead: a
//! lock of an older generation was acquired by a thread that this process lacks.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::duplicate_instances;
use super::sync::{ForkLock, RelaxedBool, RelaxedU64};

/// The ranks of all locks of the process. A thread that holds a lock acquires only locks of greater rank.
pub mod rank {
    /// The threads of kernels. Forks end these threads before they acquire locks.
    pub const KERNEL_THREADS: u8 = 0;
    /// The functions that observe changes of flags.
    pub const FLAG_HOOKS: u8 = 5;
    /// The scopes of flags whose end is to be reported.
    pub const FLAG_LAYERS: u8 = 6;
    /// The writes of flags.
    pub const FLAGS: u8 = 10;
    /// The exits that other threads have posted.
    pub const MAILBOXES: u8 = 20;
    /// The functions that observe changes of modes.
    pub const MODE_HOOKS: u8 = 22;
    /// The functions that observe layers of flags.
    pub const LAYER_HOOKS: u8 = 23;
    /// The layers whose removal is to be reported.
    pub const HOOKED_LAYERS: u8 = 24;
    /// The registered values of other libraries.
    pub const CARRIED: u8 = 26;
    /// The values of other libraries that open layers have replaced.
    pub const CARRIED_LAYERS: u8 = 27;
    /// The announced changes of states.
    pub const THREAD_CHANGES: u8 = 25;
    /// The traced scopes.
    pub const SCOPE_TRACE: u8 = 30;
    /// The verbosity of libraries.
    pub const VERBOSITY: u8 = 40;
    /// The import path of an interpreter.
    pub const PYTHON_PATHS: u8 = 50;
    /// The registered drivers.
    pub const DRIVERS: u8 = 60;
    /// The names of types of devices.
    pub const DEVICE_NAMES: u8 = 70;
    /// The callbacks for exhausted memory.
    pub const OOM_HOOKS: u8 = 80;
    /// The configuration of the allocators.
    pub const ALLOCATOR_CONFIG: u8 = 90;
    /// The recorded history of memory.
    pub const MEMORY_HISTORY: u8 = 100;
    /// The accesses to memory that threads announce.
    pub const MEMORY_ACCESSES: u8 = 110;
    /// The memory whose events are observed.
    pub const OBSERVED_MEMORY: u8 = 111;
    /// The records of the race detector.
    pub const RACES: u8 = 112;
    /// The recorded activities of devices.
    pub const ACTIVITIES: u8 = 113;
    /// The tasks that are timed.
    pub const TIMED_TASKS: u8 = 114;
    /// The recorded calls of operations.
    pub const DISPATCH_CALLS: u8 = 115;
    /// The cached plans of transforms.
    pub const PLANS: u8 = 116;
    /// The calls of OpenBLAS.
    pub const OPENBLAS: u8 = 117;
    /// While oneDNN prepares a computation under locks of its own.
    pub const ONEDNN: u8 = 118;
    /// The plans of transforms on the CPU.
    pub const CPU_PLANS: u8 = 119;
    pub(super) const INITIALIZATION: u8 = 120;
}

/// Ranks are below this: the locks that a thread has acquired are the bits of a `u128`.
const RANKS: usize = 128;

/// A lock that forks acquire.
pub trait ForkAware: Sync {
    /// Acquires the lock, in the thread that forks.
    fn prepare(&self);
    /// Releases it, in the parent and in the child.
    fn release(&self);
    /// Discards what belongs to threads that this process lacks, once all locks are released.
    fn after_fork_in_child(&self);
}

/// The registered locks by rank. Entries are never freed.
static LOCKS: [AtomicPtr<&'static dyn ForkAware>; RANKS] = [const { AtomicPtr::new(ptr::null_mut()) }; RANKS];

/// The number of registrations, with [`IS_CLOSED`] while a fork holds all registered locks.
static REGISTRATIONS: AtomicU32 = AtomicU32::new(0);
const IS_CLOSED: u32 = 1 << 31;

/// Held while a library runs its one-time initialization.
static INITIALIZING: ForkLock<()> = ForkLock::new(rank::INITIALIZATION, ());

static IS_INSTALLED: RelaxedBool = RelaxedBool::new(false);

/// Incremented in a child before any of its code runs. The child then has one thread, so no ordering is needed.
static GENERATION: RelaxedU64 = RelaxedU64::new(0);

thread_local! {
    /// The number of `prepare` handlers that have run for the current fork of this thread.
    static FORKING: Cell<u32> = const { Cell::new(0) };
    /// The ranks of the locks that this thread has acquired for a fork.
    static ACQUIRED: Cell<u128> = const { Cell::new(0) };
}

/// Returns a number that changes in every forked child and is constant in a process. A child may increment it by more
/// than one.
#[inline]
pub fn generation() -> u32 {
    install_atfork();
    // The lower half: no process has four billion ancestors.
    GENERATION.get() as u32
}

/// Runs `initialize` while no fork happens. A library that blocks other threads during its first use would leave a
/// child that is forked in the middle waiting for a thread that it lacks. `initialize` must neither fork, nor call
/// this function, nor run user code, and should take microseconds: a fork spins meanwhile.
pub fn initialize_without_forks(initialize: impl FnOnce()) {
    let _guard = INITIALIZING.lock();
    initialize();
}

/// Registers a lock before it is first acquired. The thread may hold other locks: it waits only while a fork holds all
/// registered locks, and so none that this thread holds.
#[cfg(not(loom))]
pub fn register(rank: u8, lock: &'static dyn ForkAware) {
    install_atfork();
    let Some(slot) = LOCKS.get(usize::from(rank)) else {
        debug_assert!(false, "the rank {rank} must be below {RANKS}");
        return;
    };
    let entry = Box::into_raw(Box::new(lock));
    if let Err(first) = slot.compare_exchange(ptr::null_mut(), entry, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: `entry` was created above and stored nowhere.
        drop(unsafe { Box::from_raw(entry) });
        // SAFETY: an entry is written before its address is stored, and never freed.
        let first = unsafe { *first };
        debug_assert!(ptr::addr_eq(first, lock), "two locks have the rank {rank}");
    }
    // Counted after the slot is filled: a fork that counts this registration finds the lock.
    let count = |now: u32| (now & IS_CLOSED == 0).then_some(now + 1);
    while REGISTRATIONS.fetch_update(Ordering::AcqRel, Ordering::Acquire, count).is_err() {
        std::thread::yield_now();
    }
}

/// Acquires every registered lock, and blocks registrations until [`release_all`].
fn acquire_all() {
    loop {
        let count = REGISTRATIONS.load(Ordering::Acquire) & !IS_CLOSED;
        for (rank, lock) in registered() {
            lock.prepare();
            ACQUIRED.set(ACQUIRED.get() | 1 << rank);
        }
        let closed = count | IS_CLOSED;
        if REGISTRATIONS.compare_exchange(count, closed, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return;
        }
        // A lock was registered meanwhile, whose rank may be below those of the locks that are held.
        release_acquired();
        std::thread::yield_now();
    }
}

/// Releases the locks that [`acquire_all`] has acquired.
fn release_all() {
    REGISTRATIONS.fetch_and(!IS_CLOSED, Ordering::Release);
    release_acquired();
}

fn release_acquired() {
    let acquired = ACQUIRED.take();
    for (rank, lock) in registered().rev() {
        if acquired & 1 << rank != 0 {
            lock.release();
        }
    }
}

/// Iterates over the registered locks in the order of their ranks.
fn registered() -> impl DoubleEndedIterator<Item = (usize, &'static dyn ForkAware)> {
    LOCKS.iter().enumerate().filter_map(|(rank, slot)| {
        let entry = slot.load(Ordering::Acquire);
        // SAFETY: an entry is written before its address is stored, and never freed.
        (!entry.is_null()).then(|| (rank, unsafe { *entry }))
    })
}

/// Registers the handlers on the first call.
#[inline]
fn install_atfork() {
    // A model makes no forks.
    if !cfg!(loom) && !IS_INSTALLED.get() {
        install();
    }
}

/// Registers the handlers with `pthread_atfork`. A thread never waits until another has registered them: a fork in the
/// meantime would leave the child waiting for a thread that it lacks. Two threads may therefore register them twice,
/// and the handlers count their calls.
#[cold]
fn install() {
    // SAFETY: the three functions live as long as the process (an extension module is never unloaded) and only access
    // memory of this crate, which the locks keep consistent across the fork. The call fails only if memory runs out;
    // then forks are unguarded.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    IS_INSTALLED.set(true);
    duplicate_instances::check_before_first_lock();
}

extern "C" fn prepare() {
    FORKING.with(|handlers| {
        if handlers.replace(handlers.get() + 1) == 0 {
            acquire_all();
        }
    });
}

extern "C" fn parent() {
    let _ = finish();
}

extern "C" fn child() {
    GENERATION.add(1);
    if finish() {
        registered().for_each(|(_, lock)| lock.after_fork_in_child());
    }
}

/// Releases the locks if this is the last of the handlers that run; returns whether it is.
fn finish() -> bool {
    FORKING.with(|handlers| match handlers.get() {
        // Another thread installed the handlers during this fork, so its `prepare` did not run.
        0 => false,
        1 => {
            handlers.set(0);
            release_all();
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

    /// Forks and returns the answer of the child; an alarm kills the child if it hangs.
    fn true_in_child(answer: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child only runs `answer`, which does not wait for threads that the child lacks.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: sets a timer.
            unsafe { libc::alarm(10) };
            let answer = answer();
            // SAFETY: exits without running destructors or exit handlers of the parent.
            unsafe { libc::_exit(if answer { 0 } else { 1 }) };
        }
        let mut status = 1;
        // SAFETY: waits for the child just created, into a local.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        status == 0
    }

    #[test]
    fn generation_changes_only_in_a_child() {
        let before = generation();
        assert!(true_in_child(|| generation() != before));
        assert_eq!(generation(), before);
    }

    #[test]
    fn initialize_without_forks_delays_a_fork() {
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
    fn install_may_run_several_times() {
        (0..3).for_each(|_| install());
        let takes_every_lock = || {
            acquire_all();
            release_all();
            true
        };
        assert!(true_in_child(takes_every_lock));
        assert!(takes_every_lock());
    }

    #[test]
    fn fork_acquires_a_lock_that_registers_under_another() {
        static OUTER: ForkLock<u32> = ForkLock::new(1, 0);
        static INNER: ForkLock<u32> = ForkLock::new(2, 0);
        let thread = std::thread::spawn(|| {
            for _ in 0..200 {
                let mut outer = OUTER.lock();
                *outer += 1;
                *INNER.lock() += 1;
            }
        });
        while !thread.is_finished() {
            assert!(true_in_child(|| *OUTER.lock() >= *INNER.lock()));
        }
        assert!(thread.join().is_ok());
    }
}
