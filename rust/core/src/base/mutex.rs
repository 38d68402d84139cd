//! A mutex and a condition variable without poisoning, whose waits are [`blocking`].

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::blocking;

/// A [`std::sync::Mutex`] that ignores poisoning. It is for values that are consistent whenever user code may panic.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a mutex that is not locked.
    pub const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Locks the mutex. While another thread has it, a thread of an interpreter waits detached.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.lock_contended())
    }

    /// Returns `None` if the mutex is locked.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    #[expect(clippy::disallowed_methods, reason = "the wait is detached")]
    fn lock_contended(&self) -> MutexGuard<'_, T> {
        blocking::assert_may_wait();
        while blocking::must_detach() {
            // Released again at once: while this thread attaches it should not hold the lock.
            // SAFETY: the function only acquires a lock.
            unsafe { blocking::detached(|| drop(self.0.lock())) };
            if let Some(guard) = self.try_lock() {
                return guard;
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self.0.try_lock(), Err(std::sync::TryLockError::WouldBlock))
    }

    /// Returns the value without a lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`std::sync::Condvar`] that ignores poisoning.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

#[expect(clippy::disallowed_methods, reason = "the waits are detached")]
impl Condvar {
    /// Creates a condition variable for which no thread waits.
    pub const fn new() -> Self {
        Condvar(std::sync::Condvar::new())
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits until the thread is notified, or for no reason.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        // SAFETY: the function only waits.
        unsafe { blocking::detached(|| self.0.wait(guard)) }.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while `condition` returns true.
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        // SAFETY: the function only waits; conditions read the value.
        let guard = unsafe { blocking::detached(|| self.0.wait_while(guard, condition)) };
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while `condition` returns true, for at most `timeout`.
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        // SAFETY: as above.
        let waited = unsafe { blocking::detached(|| self.0.wait_timeout_while(guard, timeout, condition)) };
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::base::blocking::{Interpreter, set_interpreter};

    #[test]
    fn thread_attaches_without_the_lock_that_it_waits_for() {
        thread_local! {
            static IS_ATTACHED: Cell<bool> = const { Cell::new(false) };
        }
        static LOCK: Mutex<u32> = Mutex::new(0);
        static HAS_DETACHED: AtomicBool = AtomicBool::new(false);
        let interpreter = Interpreter {
            must_detach: || IS_ATTACHED.get(),
            detach: |work| {
                IS_ATTACHED.set(false);
                HAS_DETACHED.store(true, Ordering::SeqCst);
                work();
                assert!(!LOCK.is_locked());
                IS_ATTACHED.set(true);
            },
        };
        // SAFETY: the function calls its argument once.
        unsafe { set_interpreter(interpreter) };
        let guard = LOCK.lock();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                IS_ATTACHED.set(true);
                *LOCK.lock() += 1;
            });
            while !HAS_DETACHED.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            drop(guard);
        });
        assert_eq!(*LOCK.lock(), 1);
    }
}
