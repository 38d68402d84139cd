//! Locks that a forked child finds free.
//!
//! A child has one thread, the one that forked. A lock of the standard library that another thread
//! held in that moment stays held in the child, and whoever touches the tensor there hangs. There are
//! too many tensors for a fork to take every lock, as it does with those of the control plane. So a
//! lock's word says in which generation of the process it was taken, and a word of an older generation
//! counts as free. glibc's `pthread_once` tells an initialisation cut off by a fork in the same way
//! (`__fork_generation` in nptl/pthread_once.c).
//!
//! What a thread was writing in that moment stays half written in the child: elements of a tensor are
//! then partly old and partly new, and a [`ForkRwLock`] value starts afresh. No operation forks while it
//! holds a lock.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use interlock::base::backoff::pause_after;
use interlock::base::fork;

/// What the lower half of a word counts to when it is held for writing; below it are readers.
const WRITER: u32 = u32::MAX >> 1;

/// A writer waits: no new readers, or it could wait for ever.
const WRITER_WAITING: u32 = WRITER + 1;

/// Many readers or one writer. The upper half of the word is the generation.
#[derive(Default)]
pub(crate) struct RawForkRwLock(AtomicU64);

impl RawForkRwLock {
    /// Waits until nobody writes.
    pub(crate) fn read(&self) -> RawGuard<'_> {
        self.acquire(1, |held| if held < WRITER - 1 { Step::Enter(held + 1) } else { Step::Wait(held) })
    }

    /// Waits until nobody reads or writes.
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

    /// Whether a thread that this process lacks was writing.
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

/// RawForkRwLock until it is dropped.
pub(crate) struct RawGuard<'a> {
    lock: &'a RawForkRwLock,
    units: u32,
    generation: u32,
    abandoned: bool,
}

impl Drop for RawGuard<'_> {
    fn drop(&mut self) {
        // In a child the word that this thread took counts as free already, and may be another's.
        if fork::generation() == self.generation {
            self.lock.0.fetch_sub(u64::from(self.units), Ordering::Release);
        }
    }
}

/// A value of a tensor or a node, held for a few loads and stores at a time. One that another thread
/// was writing when a child was forked is the default in the child, and what it owned leaks there:
/// nobody can tell which of its parts were written.
#[derive(Default)]
pub(crate) struct ForkRwLock<T: Default> {
    lock: RawForkRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through guards: many that read or one that writes.
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
            // SAFETY: the guard keeps everyone else out. What is overwritten is not dropped, because it
            // may be half of one value and half of another.
            unsafe { self.value.get().write(T::default()) };
        }
        WriteGuard { value: &self.value, _guard: guard }
    }
}

impl<T: Default> Drop for ForkRwLock<T> {
    fn drop(&mut self) {
        // A half-written value must not be dropped either.
        drop(self.read());
    }
}

/// A value that others may read, too.
pub(crate) struct ReadGuard<'a, T> {
    value: &'a UnsafeCell<T>,
    _guard: RawGuard<'a>,
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard keeps writers out.
        unsafe { &*self.value.get() }
    }
}

/// A value that nobody else reaches.
pub(crate) struct WriteGuard<'a, T> {
    value: &'a UnsafeCell<T>,
    _guard: RawGuard<'a>,
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard keeps everyone else out.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` keeps this guard from giving out a second reference.
        unsafe { &mut *self.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The word that a thread of another generation leaves.
    fn leave(lock: &RawForkRwLock, held: u32) {
        let other = u64::from(fork::generation().wrapping_sub(1)) << u32::BITS;
        lock.0.store(other | u64::from(held), Ordering::Relaxed);
    }

    #[test]
    fn writers_are_alone_and_readers_see_whole_values() {
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
    fn a_reader_that_comes_after_a_waiting_writer_reads_what_it_wrote() {
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
    fn a_lock_of_an_older_generation_is_free() {
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
    fn a_value_that_was_being_written_starts_afresh_and_one_that_was_read_does_not() {
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
