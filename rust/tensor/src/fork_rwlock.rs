//! Read-write locks that a forked child process can acquire although a thread of the parent held them.
//!
//! After `fork` the child has one thread, the one that called it. A `std::sync::RwLock` that another thread of the
//! parent held stays locked in the child, and the next operation on the tensor would deadlock. There is one lock per
//! tensor, too many to acquire before each `fork`. Instead, the lock's word records the fork generation in which it
//! was acquired, and a word of an older generation counts as unlocked. glibc's `pthread_once` detects an
//! initialization that a fork interrupted in the same way (`__fork_generation` in nptl/pthread_once.c).
//!
//! A write that the fork interrupted stays incomplete in the child: the elements of a tensor are then partly old and
//! partly new, and a [`ForkRwLock`] value is reset to its default. No operation forks while it holds a lock.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use interlock::base::backoff::pause_after;
use interlock::base::fork;

/// The holder count of a word that is locked for writing. Smaller counts are numbers of readers.
const WRITER: u32 = u32::MAX >> 1;

/// Flag in the holder count: a writer is waiting. New readers wait too, so that the writer cannot starve.
const WRITER_WAITING: u32 = WRITER + 1;

/// A lock without data, for many readers or one writer. The upper half of the word is the fork generation in which it
/// was acquired, the lower half the holder count.
#[derive(Default)]
pub(crate) struct RawForkRwLock(AtomicU64);

impl RawForkRwLock {
    pub(crate) const fn new() -> Self {
        RawForkRwLock(AtomicU64::new(0))
    }

    /// Acquires the lock for reading. Waits while another thread holds it for writing.
    pub(crate) fn read(&self) -> RawGuard<'_> {
        self.acquire(1, |held| if held < WRITER - 1 { Step::Enter(held + 1) } else { Step::Wait(held) })
    }

    /// Acquires the lock for writing. Waits while another thread holds it.
    pub(crate) fn write(&self) -> RawGuard<'_> {
        self.acquire(WRITER, |held| match held & !WRITER_WAITING {
            0 => Step::Enter(WRITER),
            _ => Step::Wait(held | WRITER_WAITING),
        })
    }

    fn acquire(&self, units: u32, step: impl Fn(u32) -> Step) -> RawGuard<'_> {
        let generation = fork::generation();
        let mut attempts = 0;
        loop {
            let word = self.0.load(Ordering::Relaxed);
            let is_own = generation_of(word) == generation;
            let (next, enters) = match step(if is_own { holders(word) } else { 0 }) {
                Step::Enter(next) => (next, true),
                Step::Wait(next) => (next, false),
            };
            let next = u64::from(generation) << u32::BITS | u64::from(next);
            let exchange = || self.0.compare_exchange(word, next, Ordering::Acquire, Ordering::Relaxed);
            if (next == word || exchange().is_ok()) && enters {
                return RawGuard { lock: self, units, generation, abandoned: !is_own && is_written(word) };
            }
            pause_after(attempts);
            attempts = attempts.saturating_add(1);
        }
    }

    /// Returns whether a thread of the parent process held the lock for writing at the time of `fork`.
    fn is_abandoned(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        is_written(word) && generation_of(word) != fork::generation()
    }
}

enum Step {
    Enter(u32),
    Wait(u32),
}

fn generation_of(word: u64) -> u32 {
    (word >> u32::BITS) as u32
}

fn holders(word: u64) -> u32 {
    word as u32
}

fn is_written(word: u64) -> bool {
    holders(word) & !WRITER_WAITING == WRITER
}

/// Releases a [`RawForkRwLock`] when it is dropped.
pub(crate) struct RawGuard<'a> {
    lock: &'a RawForkRwLock,
    units: u32,
    generation: u32,
    abandoned: bool,
}

impl Drop for RawGuard<'_> {
    fn drop(&mut self) {
        // After a fork the word of an older generation counts as unlocked, and another thread may hold it.
        if fork::generation() == self.generation {
            self.lock.0.fetch_sub(u64::from(self.units), Ordering::Release);
        }
    }
}

/// A value guarded by a [`RawForkRwLock`] for a few loads and stores at a time, such as the autograd metadata of a
/// tensor.
///
/// If a fork interrupts a write, the value is reset to its default in the child and what it owned leaks, because the
/// fields that were written cannot be determined.
#[derive(Default)]
pub(crate) struct ForkRwLock<T: Default> {
    lock: RawForkRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed only through guards, of which many read or one writes.
unsafe impl<T: Default + Send + Sync> Sync for ForkRwLock<T> {}

impl<T: Default> ForkRwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        ForkRwLock { lock: RawForkRwLock::default(), value: UnsafeCell::new(value) }
    }

    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        if self.lock.is_abandoned() {
            drop(self.write());
        }
        ReadGuard { value: &self.value, _guard: self.lock.read() }
    }

    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        let guard = self.lock.write();
        if guard.abandoned {
            // SAFETY: the guard excludes all other accesses. The old value is not dropped, because it may consist of
            // parts of two values.
            unsafe { self.value.get().write(T::default()) };
        }
        WriteGuard { value: &self.value, _guard: guard }
    }
}

impl<T: Default> Drop for ForkRwLock<T> {
    fn drop(&mut self) {
        // A partly written value must not be dropped: `read` resets it first.
        drop(self.read());
    }
}

/// Shared read access to the value of a [`ForkRwLock`].
pub(crate) struct ReadGuard<'a, T> {
    value: &'a UnsafeCell<T>,
    _guard: RawGuard<'a>,
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard excludes writers.
        unsafe { &*self.value.get() }
    }
}

/// Exclusive write access to the value of a [`ForkRwLock`].
pub(crate) struct WriteGuard<'a, T> {
    value: &'a UnsafeCell<T>,
    _guard: RawGuard<'a>,
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard excludes all other accesses.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` prevents a second reference through this guard.
        unsafe { &mut *self.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Stores the word that a thread of an older fork generation would leave behind.
    fn leave(lock: &RawForkRwLock, held: u32) {
        let other = u64::from(fork::generation().wrapping_sub(1)) << u32::BITS;
        lock.0.store(other | u64::from(held), Ordering::Relaxed);
    }

    #[test]
    fn fork_rwlock_write_excludes_readers_and_other_writers() {
        let pair = ForkRwLock::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let mut pair = pair.write();
                        pair.0 += 1;
                        pair.1 += 1;
                    }
                });
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let pair = pair.read();
                        assert_eq!(pair.0, pair.1);
                    }
                });
            }
        });
        assert_eq!(*pair.read(), (30_000, 30_000));
    }

    #[test]
    fn fork_rwlock_read_waits_behind_a_waiting_writer() {
        let value = ForkRwLock::new(0);
        let first = value.read();
        std::thread::scope(|scope| {
            scope.spawn(|| *value.write() = 1);
            while holders(value.lock.0.load(Ordering::Relaxed)) & WRITER_WAITING == 0 {
                std::thread::yield_now();
            }
            let second = scope.spawn(|| *value.read());
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(*first, 0);
            drop(first);
            assert_eq!(second.join().unwrap(), 1);
        });
    }

    #[test]
    fn fork_rwlock_of_an_older_generation_is_unlocked() {
        for held in [1, 5, WRITER, WRITER | WRITER_WAITING, WRITER_WAITING] {
            let lock = RawForkRwLock::default();
            leave(&lock, held);
            drop(lock.read());
            leave(&lock, held);
            drop(lock.write());
            assert_eq!(super::holders(lock.0.load(Ordering::Relaxed)), 0);
        }
    }

    #[test]
    fn fork_rwlock_resets_the_value_of_an_interrupted_write() {
        let value = ForkRwLock::new(7);
        leave(&value.lock, 1);
        assert_eq!(*value.read(), 7);
        leave(&value.lock, WRITER);
        assert_eq!(*value.read(), 0);
        *value.write() = 7;
        leave(&value.lock, WRITER | WRITER_WAITING);
        assert_eq!(*value.write(), 0);
    }
}
