//! Waits for other threads, without an interpreter.
//!
//! The holder of any lock may need to attach to the interpreter: a kernel of an extension does so while the locks of its
//! operands are held. A thread that waited for such a lock while it is attached would wait forever. So every wait calls
//! [`detached`], and a lock that is free costs nothing. A [`ForkLock`](super::sync::ForkLock) is the exception: its
//! holder makes a few stores, or calls a library that runs no code of the program, and never waits, which
//! [`assert_may_wait`] checks.

use once_cell::race::OnceBox;

use super::once_call::OnceCall;

/// The functions of the binding of an interpreter.
#[derive(Clone, Copy)]
pub struct Interpreter {
    /// Returns whether the calling thread is attached and must detach to wait.
    pub must_detach: fn() -> bool,
    /// Calls a function once on the calling thread, which it detaches meanwhile.
    pub detach: fn(&mut dyn FnMut()),
}

static INTERPRETER: OnceBox<Interpreter> = OnceBox::new();

/// Sets the functions of the interpreter's binding. Only the first call has an effect.
///
/// # Safety
/// `detach` calls its argument once, on the calling thread, before it returns.
pub unsafe fn set_interpreter(interpreter: Interpreter) {
    let _ = INTERPRETER.set(Box::new(interpreter));
}

fn to_detach_from() -> Option<&'static Interpreter> {
    INTERPRETER.get().filter(|interpreter| (interpreter.must_detach)())
}

/// Returns whether [`detached`] detaches the calling thread.
pub fn must_detach() -> bool {
    to_detach_from().is_some()
}

/// Calls `work`, which waits for other threads. A thread that is attached to an interpreter is detached meanwhile. It
/// attaches again afterwards, so `work` should not return a lock that it has acquired: finalization of the interpreter
/// may stop the thread there for good.
///
/// # Safety
/// `work` uses no object of an interpreter that it has not attached to itself.
#[inline]
pub unsafe fn detached<T>(work: impl FnOnce() -> T) -> T {
    let mut call = OnceCall::new(work);
    run_detached(&mut || call.run());
    call.into_result()
}

/// Calls `work` once, as [`detached`] does.
#[cold]
#[inline(never)]
fn run_detached(work: &mut dyn FnMut()) {
    assert_may_wait();
    match to_detach_from() {
        Some(interpreter) => (interpreter.detach)(work),
        None => work(),
    }
}

/// Panics in builds with debug assertions if this thread holds a [`ForkLock`](super::sync::ForkLock), whose holders never
/// wait, not even for an interpreter.
#[inline]
#[track_caller]
pub fn assert_may_wait() {
    debug_assert_eq!(super::sync::held_fork_locks(), 0, "the holder of a ForkLock must not wait");
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::base::sync::ForkLock;

    #[test]
    fn detached_runs_without_an_interpreter() {
        // SAFETY: there is no interpreter.
        assert_eq!(unsafe { detached(|| 3) }, 3);
    }

    #[test]
    fn detached_refuses_the_holder_of_a_fork_lock() {
        static LOCK: ForkLock<()> = ForkLock::new(4, ());
        // SAFETY: there is no interpreter.
        let waits = || catch_unwind(|| unsafe { detached(|| ()) }).is_ok();
        let guard = LOCK.lock();
        assert!(!waits());
        drop(guard);
        assert!(waits());
    }
}
