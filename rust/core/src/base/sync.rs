//! Relaxed atomics, an epoch and the locks. No other module of this crate, except [`fork`], chooses a
//! memory ordering.
//!
//! The primitives come from `platform`: the standard library, or loom if the crate is built for the models of
//! `crate::loom_tests`.

#[cfg_attr(not(loom), path = "sync/std.rs")]
#[cfg_attr(loom, path = "sync/loom.rs")]
pub(crate) mod platform;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

pub(crate) use platform::thread_local;
use platform::{AtomicBool, AtomicU64, UnsafeCell, spin_loop, yield_now};

#[cfg(not(loom))]
use super::fork;
use super::fork::ForkAware;

/// A word that is read everywhere and written rarely.
///
/// Every access is relaxed: a word publishes no other memory, so no access needs to be ordered with it. Code that must
/// read several words consistently acquires the lock under which they are written.
#[derive(Debug, Default)]
pub struct RelaxedU64(AtomicU64);

impl RelaxedU64 {
    /// Creates a word with this value.
    pub const fn new(value: u64) -> Self {
        RelaxedU64(AtomicU64::new(value))
    }

    /// Loads the value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Stores a value.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the address, for readers in other languages. They access it with relaxed ordering, too.
    #[cfg(not(loom))]
    pub fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr()
    }

    /// Stores `value` if the word equals `expected`; returns the value of the word afterwards.
    pub fn compare_set(&self, expected: u64, value: u64) -> u64 {
        match self.0.compare_exchange(expected, value, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => value,
            Err(other) => other,
        }
    }

    /// Stores 0 and returns the previous value.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }

    /// Adds and returns the sum.
    pub fn add(&self, amount: u64) -> u64 {
        self.0.fetch_add(amount, Ordering::Relaxed).wrapping_add(amount)
    }

    /// Subtracts.
    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Ordering::Relaxed);
    }
}

/// A bool that several threads read and write with relaxed ordering.
#[derive(Debug, Default)]
pub struct RelaxedBool(AtomicBool);

impl RelaxedBool {
    /// Creates a bool with this value.
    pub const fn new(value: bool) -> Self {
        RelaxedBool(AtomicBool::new(value))
    }

    /// Loads the value.
    #[inline]
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Stores a value.
    #[inline]
    pub fn set(&self, value: bool) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Returns the value if this is the only reference to it, with a load. [`Arc::get_mut`] also has to lock out weak
/// references, with an exchange.
///
/// # Safety
/// The value has no weak references.
#[inline]
pub(crate) unsafe fn only_reference<T>(shared: &mut Arc<T>) -> Option<&mut T> {
    // SAFETY: guaranteed by the caller; the one reference is borrowed.
    unsafe { value_of_references(shared, 1) }
}

/// Returns the value if these are the only two references to it, as [`only_reference`] does.
///
/// # Safety
/// The value has no weak references.
#[inline]
pub(crate) unsafe fn only_references<'a, T>(one: &'a mut Arc<T>, other: &'a mut Arc<T>) -> Option<&'a mut T> {
    // SAFETY: guaranteed by the caller; both references are borrowed.
    if Arc::ptr_eq(one, other) { unsafe { value_of_references(one, 2) } } else { None }
}

/// Returns the value if it has this number of references.
///
/// # Safety
/// The value has no weak references. If it has this number of references, all are borrowed as long as the result.
#[inline]
unsafe fn value_of_references<T>(shared: &mut Arc<T>, number: usize) -> Option<&mut T> {
    if Arc::strong_count(shared) != number {
        return None;
    }
    // What other threads did with the value before they dropped their references (release) happens before.
    fence(Ordering::Acquire);
    // SAFETY: nothing else refers to the value, and the borrow of the references keeps others from being made.
    Some(unsafe { &mut *Arc::as_ptr(shared).cast_mut() })
}

/// A counter of changes, which identifies cached results that are stale.
///
/// A thread that reads the count and then values reads no value older than the count: a change is counted after it has
/// been stored (release), and the count is read before the values (acquire).
#[derive(Debug, Default)]
pub struct Epoch {
    published: AtomicU64,
    /// The same count, which only writers access, under their lock. loom explores a load of `published` by a reader
    /// and a store, but not if the writer also loads it.
    counted: RelaxedU64,
}

impl Epoch {
    /// Creates an epoch of 0.
    pub const fn new() -> Self {
        Epoch { published: AtomicU64::new(0), counted: RelaxedU64::new(0) }
    }

    /// Returns the number of changes so far.
    #[inline]
    pub fn get(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// Reads the count with an exchange. loom does not explore the order of a load and a store if the storing thread has
    /// loaded the word before.
    #[cfg(loom)]
    pub fn get_exploring_order(&self) -> u64 {
        self.published.fetch_add(0, Ordering::Acquire)
    }

    /// Counts a change. The caller holds the lock under which the values are written, so that no two calls overlap and
    /// stores suffice.
    pub fn advance(&self) {
        let count = self.counted.get().wrapping_add(1);
        self.counted.set(count);
        self.published.store(count, Ordering::Release);
    }
}

/// Fails in debug builds if this thread holds a [`TryLock`] or a [`ForkLock`]. For code that runs user code: a destructor
/// or a callback that acquires the lock would wait for itself.
#[inline]
pub fn debug_assert_unlocked() {
    debug_assert_eq!(held::locks(), 0, "user code must not run while this thread holds a lock");
}

/// Returns the number of [`ForkLock`]s that this thread holds; 0 in builds without debug assertions.
#[inline]
pub(super) fn held_fork_locks() -> i32 {
    held::fork_locks()
}

/// The numbers of locks that this thread holds, in debug builds.
#[cfg(all(debug_assertions, not(loom)))]
mod held {
    use std::cell::Cell;

    thread_local! {
        static LOCKS: Cell<i32> = const { Cell::new(0) };
        static FORK_LOCKS: Cell<i32> = const { Cell::new(0) };
    }

    pub(super) fn add(change: i32, is_fork_lock: bool) {
        LOCKS.set(LOCKS.get() + change);
        FORK_LOCKS.set(FORK_LOCKS.get() + if is_fork_lock { change } else { 0 });
    }

    pub(super) fn locks() -> i32 {
        LOCKS.get()
    }

    pub(super) fn fork_locks() -> i32 {
        FORK_LOCKS.get()
    }
}

#[cfg(not(all(debug_assertions, not(loom))))]
mod held {
    #[inline]
    pub(super) fn add(_change: i32, _is_fork_lock: bool) {}

    #[inline]
    pub(super) fn locks() -> i32 {
        0
    }

    #[inline]
    pub(super) fn fork_locks() -> i32 {
        0
    }
}

/// A lock without waiting: a thread that finds it held continues without it. So a forked child does not hang if a
/// thread that the child lacks holds it.
pub struct TryLock<T> {
    held: AtomicBool,
    /// Whether this is the lock of a [`ForkLock`] or [`SpinLock`], for which threads wait.
    is_awaited: bool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed only through a guard or by its only owner, and `held` allows one guard at a time.
unsafe impl<T: Send> Sync for TryLock<T> {}

impl<T> TryLock<T> {
    /// Creates a lock that is not acquired.
    pub const fn new(value: T) -> Self {
        TryLock::with(value, false)
    }

    const fn with(value: T, is_awaited: bool) -> Self {
        TryLock { held: AtomicBool::new(false), is_awaited, value: UnsafeCell::new(value) }
    }

    /// Acquires the lock; `None` if it is acquired.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        if self.held.swap(true, Ordering::Acquire) {
            None
        } else {
            held::add(1, self.is_awaited);
            Some(LockGuard { lock: self, value: PhantomData })
        }
    }

    /// Returns the value without the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Waits for the lock: spins, then yields.
    fn acquire(&self) -> LockGuard<'_, T> {
        const SPINS_BEFORE_YIELD: u32 = 64;
        let mut spins = 0;
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            // Only loads until it is free: an attempt would invalidate the cache line of the holder.
            while self.held.load(Ordering::Relaxed) {
                spins += 1;
                if spins < SPINS_BEFORE_YIELD {
                    spin_loop();
                } else {
                    yield_now();
                }
            }
        }
    }

    /// Acquires the lock without an exchange.
    ///
    /// # Safety
    /// The lock is free, and no other thread acquires it before the guard is dropped.
    #[inline]
    unsafe fn acquire_free(&self) -> LockGuard<'_, T> {
        debug_assert!(!self.held.load(Ordering::Relaxed));
        self.held.store(true, Ordering::Relaxed);
        held::add(1, self.is_awaited);
        LockGuard { lock: self, value: PhantomData }
    }

    #[inline]
    fn release(&self) {
        held::add(-1, self.is_awaited);
        self.held.store(false, Ordering::Release);
    }
}

impl<T> fmt::Debug for TryLock<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("TryLock").finish_non_exhaustive()
    }
}

/// Exclusive access to the value until it is dropped.
pub struct LockGuard<'a, T> {
    lock: &'a TryLock<T>,
    /// `Send` and `Sync` as for such a reference.
    value: PhantomData<&'a mut T>,
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock, so no other reference to the value exists.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` excludes a second reference from this guard.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for LockGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.release();
    }
}

/// A lock that survives `fork`: each [`fork`] acquires it, so a child never inherits one that a thread which it lacks
/// holds.
///
/// The lock spins and yields instead of blocking, because a lock with waiters that are parked in the kernel cannot be
/// handed to a child. So holders only make a few stores: they never call Python, never wait, and neither call nor drop
/// user code. Debug builds check it ([`debug_assert_unlocked`], [`assert_may_wait`](super::blocking::assert_may_wait)). A
/// thread that waits for the lock may stay attached to the interpreter.
pub struct ForkLock<T> {
    lock: TryLock<T>,
    #[cfg_attr(loom, expect(dead_code, reason = "a model makes no forks"))]
    rank: u8,
    #[cfg_attr(loom, expect(dead_code, reason = "a model makes no forks"))]
    is_registered: RelaxedBool,
    in_child: fn(),
}

impl<T> ForkLock<T> {
    /// Creates a lock with a unique rank of [`fork::rank`].
    pub const fn new(rank: u8, value: T) -> Self {
        Self::with_child_hook(rank, value, || ())
    }

    /// Creates a lock that calls `in_child` in each forked child once all locks are released. `in_child` discards the
    /// state of other threads.
    pub const fn with_child_hook(rank: u8, value: T, in_child: fn()) -> Self {
        let lock = TryLock::with(value, true);
        ForkLock { lock, rank, is_registered: RelaxedBool::new(false), in_child }
    }
}

/// A lock for a few loads and stores on an object that threads hardly share: to acquire it is one exchange, and to release
/// it a store. Holders neither wait nor call code of the program.
#[derive(Debug)]
pub struct SpinLock<T> {
    lock: TryLock<T>,
    /// Whether the threads that use the lock exclude each other.
    is_serialized: bool,
}

impl<T> SpinLock<T> {
    /// Creates a lock that is not acquired.
    pub const fn new(value: T) -> Self {
        SpinLock { lock: TryLock::with(value, true), is_serialized: false }
    }

    /// Creates a lock for threads that exclude each other by other means: to acquire it is a store.
    ///
    /// # Safety
    /// No two threads use the lock at the same time, and none acquires it while it holds it.
    pub const unsafe fn new_serialized(value: T) -> Self {
        SpinLock { lock: TryLock::with(value, true), is_serialized: true }
    }

    /// Acquires the lock. A thread that waits spins, so the holder must be brief.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        if self.is_serialized {
            // SAFETY: guaranteed by the caller of `new_serialized`.
            unsafe { self.lock.acquire_free() }
        } else {
            self.lock.acquire()
        }
    }
}

#[cfg(not(loom))]
impl<T: Send> ForkLock<T> {
    /// Acquires the lock, and registers it for forks first.
    #[inline]
    pub fn lock(&'static self) -> LockGuard<'static, T> {
        if !self.is_registered.get() {
            self.register();
        }
        self.lock.acquire()
    }

    #[cold]
    fn register(&'static self) {
        fork::register(self.rank, self);
        self.is_registered.set(true);
    }
}

/// A model makes no forks, and its locks live as long as one execution.
#[cfg(loom)]
impl<T> ForkLock<T> {
    /// Acquires the lock.
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.lock.acquire()
    }
}

impl<T: Send> ForkAware for ForkLock<T> {
    fn prepare(&self) {
        std::mem::forget(self.lock.acquire());
    }

    fn release(&self) {
        self.lock.release();
    }

    fn after_fork_in_child(&self) {
        (self.in_child)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_are_found_by_their_number() {
        let mut one = Arc::new(1);
        // SAFETY: there are no weak references.
        unsafe {
            *only_reference(&mut one).unwrap() += 1;
            let (mut other, mut equal) = (one.clone(), Arc::new(2));
            assert!(only_reference(&mut one).is_none() && only_references(&mut one, &mut equal).is_none());
            *only_references(&mut one, &mut other).unwrap() += 1;
            let third = one.clone();
            assert!(only_references(&mut one, &mut other).is_none());
            assert_eq!(*third, 3);
        }
    }

    #[test]
    fn serialized_spin_lock_is_free_after_its_guard() {
        // SAFETY: only this thread uses the lock.
        let lock = unsafe { SpinLock::new_serialized(1) };
        *lock.lock() += 1;
        assert_eq!(*lock.lock(), 2);
    }

    #[test]
    fn fork_lock_admits_one_thread_at_a_time() {
        static LOCK: ForkLock<u64> = ForkLock::new(3, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *LOCK.lock() += 1));
            }
        });
        assert_eq!(*LOCK.lock(), 40_000);
    }

    #[test]
    fn compare_set_returns_the_value_of_another_thread() {
        let word = RelaxedU64::new(1);
        assert_eq!(word.compare_set(1, 2), 2);
        assert_eq!(word.compare_set(1, 3), 2);
        assert_eq!(word.get(), 2);
    }
}
