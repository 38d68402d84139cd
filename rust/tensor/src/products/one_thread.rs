//! Limits vendor libraries to one thread: this crate divides work among threads of its own, and results must not depend on
//! the number of threads.

use std::ffi::c_int;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;

type Get = unsafe extern "C" fn() -> c_int;
type Set = unsafe extern "C" fn(c_int);

/// The functions for the number of threads of a library.
#[derive(Clone, Copy)]
pub(super) enum Threads {
    /// A number of the calling thread, of which 0 means the number of the process. The setter returns the former one.
    Local(unsafe extern "C" fn(c_int) -> c_int),
    /// OpenMP's getter and setter for parallel regions of the calling thread. A forked child would wait forever for threads
    /// of GNU's runtime that the fork has lost.
    Regions(Get, Set),
    /// The getter and setter of one number for the process, which OpenBLAS has.
    Global(Get, Set),
}

/// The calls of OpenBLAS by this crate that run now, and its number of threads before the first of them, or 0.
struct Calls {
    count: usize,
    before: c_int,
}

static CALLS: ForkLock<Calls> =
    ForkLock::with_child_hook(rank::OPENBLAS, Calls { count: 0, before: 0 }, || {
        // The calls ran on threads that the child does not have. The next call restores the number.
        CALLS.lock().count = 0;
    });

/// While it exists, calls of this thread compute on one thread.
pub(super) struct OneThread {
    threads: Threads,
    former: c_int,
}

impl OneThread {
    pub fn new(threads: Threads) -> Self {
        let former = match threads {
            // SAFETY: any thread may call it with any number.
            Threads::Local(set) => unsafe { set(1) },
            // SAFETY: any thread may call both, and 1 is a valid number.
            Threads::Regions(get, set) => unsafe {
                let former = get();
                set(1);
                former.max(1)
            },
            Threads::Global(get, set) => {
                let mut calls = CALLS.lock();
                if calls.count == 0 {
                    // SAFETY: any thread may call both. They call no code of the program, and wait for no other thread; the
                    // first call in a forked child starts OpenBLAS's threads again.
                    unsafe {
                        let now = get();
                        // 1: a call of the parent may have set it in a forked child.
                        calls.before = if now == 1 { calls.before.max(1) } else { now };
                        if calls.before > 1 {
                            set(1);
                        }
                    }
                }
                calls.count = calls.count.saturating_add(1);
                1
            }
        };
        OneThread { threads, former }
    }
}

impl Drop for OneThread {
    fn drop(&mut self) {
        match self.threads {
            // SAFETY: the former number is a valid one.
            Threads::Local(set) => unsafe {
                set(self.former);
            },
            // SAFETY: as above.
            Threads::Regions(_, set) => unsafe { set(self.former) },
            Threads::Global(_, set) => {
                let mut calls = CALLS.lock();
                calls.count = calls.count.saturating_sub(1);
                if calls.count == 0 {
                    let before = std::mem::replace(&mut calls.before, 0);
                    if before > 1 {
                        // SAFETY: as above.
                        unsafe { set(before) };
                    }
                }
            }
        }
    }
}
