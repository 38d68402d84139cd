//! Threads that run only code of this library, which the program knows nothing of.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that handles no signal which the kernel sends to the process: a program that blocks a signal on each
/// thread that it started, to wait for it on one of them, would else find it handled on a thread of a library. Signals that
/// an instruction of the thread raises, and those of profilers, stay unblocked. Processes and threads that `run` starts would
/// inherit the mask, so it calls no code of the program.
///
/// # Errors
/// Returns the error of the system if it creates no thread.
pub fn spawn(builder: Builder, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    // A thread starts with the mask of the thread that creates it.
    let mask = set_mask(&background_mask());
    let spawned = builder.spawn(run);
    set_mask(&mask);
    spawned
}

/// Returns the signals that a thread of the library blocks.
fn background_mask() -> libc::sigset_t {
    const UNBLOCKED: [i32; 8] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGSYS,
        libc::SIGPROF,
    ];
    let mut mask = MaybeUninit::uninit();
    // SAFETY: `sigfillset` writes the whole set, and the signals exist.
    unsafe {
        libc::sigfillset(mask.as_mut_ptr());
        for signal in UNBLOCKED {
            libc::sigdelset(mask.as_mut_ptr(), signal);
        }
        mask.assume_init()
    }
}

/// Sets the signals that the calling thread blocks; returns those that it blocked before.
fn set_mask(mask: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are valid for the call, which fails only for an invalid first argument and else writes the second.
    unsafe {
        let failed = libc::pthread_sigmask(libc::SIG_SETMASK, ptr::from_ref(mask), before.as_mut_ptr());
        debug_assert_eq!(failed, 0, "the mask of signals must be valid");
        before.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Returns whether the calling thread blocks each of the signals.
    fn blocked(signals: [i32; 3]) -> [bool; 3] {
        let mask = set_mask(&background_mask());
        set_mask(&mask);
        // SAFETY: reads a set.
        signals.map(|signal| unsafe { libc::sigismember(&raw const mask, signal) } == 1)
    }

    #[test]
    fn thread_blocks_signals_of_the_process_and_its_creator_does_not() {
        const SIGNALS: [i32; 3] = [libc::SIGTERM, libc::SIGUSR1, libc::SIGSEGV];
        let (sender, receiver) = channel();
        let before = blocked(SIGNALS);
        let thread = spawn(Builder::new(), move || sender.send(blocked(SIGNALS)).unwrap()).unwrap();
        thread.join().unwrap();
        assert_eq!(receiver.recv(), Ok([true, true, false]));
        assert_eq!(blocked(SIGNALS), before);
    }
}
