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
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock_core::base::backoff::pause_after;
use interlock_core::base::short_sort::sort_short_by;
use interlock_core::base::{blocking, fork};

/// The holder count of a word that is locked for writing. Smaller counts are numbers of readers.
const WRITER: u32 = u32::MAX >> 1;

/// Flag in the holder count: a writer is waiting. New readers wait too, so that the writer cannot starve.
const WRITER_WAITING: u32 = WRITER + 1;

/// The number of attempts to acquire a lock before the thread waits.
const ATTEMPTS: u32 = 64;

/// A lock without data, for many readers or one writer. The upper half of the word is the fork generation in which it
/// was acquired, the lower half the holder count.
#[derive(Default)]
pub(crate) struct RawForkRwLock(AtomicU64);

impl RawForkRwLock {
    pub(crate) const fn new() -> Self {
        RawForkRwLock(AtomicU64::new(0))
    }

    /// Returns the holder count after the lock is acquired, or `None` if the thread must wait.
    fn acquired(word: u64, is_written: bool, generation: u32) -> Option<u32> {
        let held = if generation_of(word) == generation { holders(word) } else { 0 };
        match is_written {
            true => (held & !WRITER_WAITING == 0).then_some(WRITER),
            false => (held < WRITER - 1).then(|| held + 1),
        }
    }

    fn is_free(&self, is_written: bool) -> bool {
        Self::acquired(self.0.load(Ordering::Relaxed), is_written, fork::generation()).is_some()
    }

    /// Returns the word before the lock is acquired, or `None` if the thread must wait.
    fn try_acquire(&self, is_written: bool) -> Option<u64> {
        let generation = fork::generation();
        let next = |word| {
            let held = Self::acquired(word, is_written, generation)?;
            Some(u64::from(generation) << u32::BITS | u64::from(held))
        };
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, next).ok()
    }

    /// Waits until the lock is acquired. The thread stays detached from the interpreter until it has released the lock.
    fn acquire(&self, is_written: bool) -> u64 {
        let mut attempts = 0;
        loop {
            if let Some(word) = self.try_acquire(is_written) {
                return word;
            }
            if is_written {
                self.0.fetch_or(u64::from(WRITER_WAITING), Ordering::Relaxed);
            }
            pause_after(attempts);
            attempts = attempts.saturating_add(1);
        }
    }

    fn release(&self, is_written: bool, generation: u32) {
        // After a fork the word of an older generation counts as unlocked, and another thread may hold it.
        if fork::generation() == generation {
            let units = if is_written { WRITER } else { 1 };
            self.0.fetch_sub(u64::from(units), Ordering::Release);
        }
    }

    /// Acquires a lock that is held for a few loads and stores.
    fn lock(&self, is_written: bool) -> RawGuard<'_> {
        loop {
            if let Some(word) = attempt(|| self.try_acquire(is_written)) {
                let generation = fork::generation();
                let abandoned = generation_of(word) != generation && self::is_written(word);
                return RawGuard { lock: self, is_written, generation, abandoned };
            }
            let wait = || {
                let mut attempts = 0;
                while !self.is_free(is_written) {
                    pause_after(attempts);
                    attempts = attempts.saturating_add(1);
                }
            };
            // The thread acquires the lock after it has attached again, and makes no reader wait until then: the end of
            // the interpreter may stop it there.
            // SAFETY: the function only waits.
            unsafe { blocking::detached(wait) };
        }
    }

    /// Returns whether a thread of the parent process held the lock for writing at the time of `fork`.
    fn is_abandoned(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        is_written(word) && generation_of(word) != fork::generation()
    }
}

/// Tries to acquire locks without waiting.
fn attempt<T>(try_acquire: impl Fn() -> Option<T>) -> Option<T> {
    let mut attempts = 0;
    loop {
        let acquired = try_acquire();
        if acquired.is_some() || attempts == ATTEMPTS {
            return acquired;
        }
        std::hint::spin_loop();
        attempts += 1;
    }
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
struct RawGuard<'a> {
    lock: &'a RawForkRwLock,
    is_written: bool,
    generation: u32,
    abandoned: bool,
}

impl Drop for RawGuard<'_> {
    fn drop(&mut self) {
        self.lock.release(self.is_written, self.generation);
    }
}

/// One of the locks that an operation holds together.
#[derive(Clone, Copy)]
pub(crate) struct LockRequest<'a> {
    lock: Option<&'a RawForkRwLock>,
    is_written: bool,
}

impl<'a> LockRequest<'a> {
    /// Requests a lock, or nothing.
    pub(crate) fn new(lock: Option<&'a RawForkRwLock>, is_written: bool) -> Self {
        LockRequest { lock, is_written }
    }
}

/// Calls `access` while all locks are held. They are acquired in the order of their addresses, which prevents deadlocks.
/// A lock that is requested twice is acquired once, for writing if one of the requests is.
///
/// A thread that must wait is detached from the interpreter until it has released the locks, so that it never attaches
/// while it holds them; so is a thread whose access `is_long`.
pub(crate) fn with_locks<R>(
    requests: &mut [LockRequest<'_>],
    is_long: bool,
    access: impl FnOnce() -> R,
) -> R {
    let (mut access, mut result) = (Some(access), None);
    call_locked(requests, is_long, &mut || result = access.take().map(|access| access()));
    match result {
        Some(result) => result,
        // `call_locked` calls its argument once.
        None => std::process::abort(),
    }
}

/// Calls `access` once, for [`with_locks`]. Not generic, because every kernel has an access of its own.
fn call_locked(requests: &mut [LockRequest<'_>], is_long: bool, access: &mut dyn FnMut()) {
    let position = |request: &LockRequest<'_>| (request.lock.map(ptr::from_ref), !request.is_written);
    sort_short_by(requests, |one, next| position(one) <= position(next));
    let requests = &*requests;
    if !is_long && let Some(_locks) = attempt(|| Locks::acquire(requests, RawForkRwLock::try_acquire)) {
        return access();
    }
    let work = || {
        let _locks = Locks::acquire(requests, |lock, is_written| Some(lock.acquire(is_written)));
        access();
    };
    // SAFETY: this crate uses no interpreter, and kernels of extensions attach themselves.
    unsafe { blocking::detached(work) }
}

/// The first `count` different locks of sorted requests, which are held.
struct Locks<'a> {
    requests: &'a [LockRequest<'a>],
    count: usize,
    generation: u32,
}

impl<'a> Locks<'a> {
    /// Acquires all locks, or none if one of them is not acquired.
    fn acquire(
        requests: &'a [LockRequest<'a>],
        acquire: impl Fn(&RawForkRwLock, bool) -> Option<u64>,
    ) -> Option<Self> {
        let mut locks = Locks { requests, count: 0, generation: fork::generation() };
        for (lock, is_written) in Self::distinct(requests) {
            acquire(lock, is_written)?;
            locks.count += 1;
        }
        Some(locks)
    }

    fn distinct(requests: &'a [LockRequest<'a>]) -> impl Iterator<Item = (&'a RawForkRwLock, bool)> {
        let mut previous = ptr::null();
        requests.iter().filter_map(move |request| {
            let lock = request.lock?;
            let is_first = !ptr::eq(std::mem::replace(&mut previous, ptr::from_ref(lock)), lock);
            is_first.then_some((lock, request.is_written))
        })
    }
}

impl Drop for Locks<'_> {
    fn drop(&mut self) {
        let held = Self::distinct(self.requests).take(self.count);
        held.for_each(|(lock, is_written)| lock.release(is_written, self.generation));
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
        ReadGuard { value: &self.value, _guard: self.lock.lock(false) }
    }

    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        let guard = self.lock.lock(true);
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
    fn with_locks_makes_readers_wait_behind_a_waiting_writer() {
        let (lock, value) = (RawForkRwLock::default(), AtomicU64::new(0));
        let with = |is_written, access: &dyn Fn() -> u64| {
            with_locks(&mut [LockRequest::new(Some(&lock), is_written)], false, access)
        };
        std::thread::scope(|scope| {
            let second = with_locks(&mut [LockRequest::new(Some(&lock), false)], false, || {
                scope.spawn(|| with(true, &|| value.swap(1, Ordering::Relaxed)));
                while holders(lock.0.load(Ordering::Relaxed)) & WRITER_WAITING == 0 {
                    std::thread::yield_now();
                }
                let second = scope.spawn(|| with(false, &|| value.load(Ordering::Relaxed)));
                std::thread::sleep(Duration::from_millis(5));
                assert_eq!(value.load(Ordering::Relaxed), 0);
                second
            });
            assert_eq!(second.join().unwrap(), 1);
        });
    }

    #[test]
    fn with_locks_acquires_a_lock_that_is_requested_twice_once() {
        let locks = [RawForkRwLock::default(), RawForkRwLock::default()];
        let held = || locks.each_ref().map(|lock| super::holders(lock.0.load(Ordering::Relaxed)));
        let [first, second] = locks.each_ref().map(Some);
        let request = |lock, is_written| LockRequest::new(lock, is_written);
        let mut requests =
            [request(second, false), request(first, false), request(None, true), request(second, true)];
        with_locks(&mut requests, false, || assert_eq!(held(), [1, WRITER]));
        assert_eq!(held(), [0, 0]);
    }

    #[test]
    fn fork_rwlock_of_an_older_generation_is_unlocked() {
        for held in [1, 5, WRITER, WRITER | WRITER_WAITING, WRITER_WAITING] {
            let lock = RawForkRwLock::default();
            for is_written in [false, true] {
                leave(&lock, held);
                with_locks(&mut [LockRequest::new(Some(&lock), is_written)], false, || ());
            }
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
