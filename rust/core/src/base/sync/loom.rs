//! Loom's primitives for the models of `crate::loom_tests`, behind the names and `const` constructors of the standard
//! library, so that statics stay statics.
//!
//! A static lives through all executions of a model, loom's objects live through one. So an object here only has an
//! index into the objects of the execution, which are all created at its beginning: then loom sees no difference
//! between an object that existed from the start and one that a thread uses first.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::Ordering;

pub use loom::hint::spin_loop;
pub use loom::thread::yield_now;

loom::lazy_static! {
    static ref EXECUTION: Execution = Execution::begin();
}

/// The loom objects of one execution of a model. Statics use them by number, because loom objects must be created in
/// each execution.
struct Execution {
    number: u64,
    words: Objects<loom::sync::atomic::AtomicU64>,
    cells: Objects<loom::cell::UnsafeCell<()>>,
}

struct Objects<T> {
    all: Vec<T>,
    used: Cell<usize>,
}

impl Execution {
    fn begin() -> Self {
        static EXECUTIONS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Execution {
            number: EXECUTIONS.fetch_add(1, Ordering::Relaxed) + 1,
            words: Objects::new(|| loom::sync::atomic::AtomicU64::new(0)),
            cells: Objects::new(|| loom::cell::UnsafeCell::new(())),
        }
    }
}

/// Creates the objects of an execution. Call it first in every execution, before there is a second thread.
#[cfg(test)]
pub fn begin_execution() {
    _ = EXECUTION.number;
}

impl<T> Objects<T> {
    /// More than any model uses; each adds a small cost to every execution.
    const CAPACITY: usize = 64;

    fn new(make: impl Fn() -> T) -> Self {
        Objects { all: (0..Self::CAPACITY).map(|_| make()).collect(), used: Cell::new(0) }
    }
}

/// The index of an object and the execution that it is valid for. Moves with the object.
#[derive(Debug, Default)]
struct Index(std::sync::atomic::AtomicU64);

impl Index {
    const BITS: u32 = 8;

    const fn new() -> Self {
        Index(std::sync::atomic::AtomicU64::new(0))
    }

    #[allow(clippy::expect_used, reason = "a model that outgrows its objects must stop")]
    fn among<T>(&self, objects: &'static Objects<T>) -> &'static T {
        let noted = self.0.load(Ordering::Relaxed);
        let index = if noted >> Self::BITS == EXECUTION.number {
            (noted & ((1 << Self::BITS) - 1)) as usize
        } else {
            let index = objects.used.replace(objects.used.get() + 1);
            self.0.store(EXECUTION.number << Self::BITS | index as u64, Ordering::Relaxed);
            index
        };
        objects.all.get(index).expect("a model with fewer shared objects than Objects::CAPACITY")
    }
}

/// Loom's word stores the distance from the initial value, so that all words can begin as 0.
#[derive(Default)]
pub struct AtomicU64 {
    initial: u64,
    index: Index,
}

impl AtomicU64 {
    pub const fn new(initial: u64) -> Self {
        AtomicU64 { initial, index: Index::new() }
    }

    fn word(&self) -> &'static loom::sync::atomic::AtomicU64 {
        self.index.among(&EXECUTION.words)
    }

    fn held(&self, distance: u64) -> u64 {
        distance.wrapping_add(self.initial)
    }

    fn distance(&self, value: u64) -> u64 {
        value.wrapping_sub(self.initial)
    }

    pub fn load(&self, ordering: Ordering) -> u64 {
        self.held(self.word().load(ordering))
    }

    /// An exchange, because loom does not order a store with another thread's exchange: a thread would then read again
    /// the value that it has overwritten. Two effects of stores are not modelled: being ordered before an earlier write
    /// to its word, and ending a release sequence.
    pub fn store(&self, value: u64, ordering: Ordering) {
        self.swap(value, ordering);
    }

    pub fn swap(&self, value: u64, ordering: Ordering) -> u64 {
        self.held(self.word().swap(self.distance(value), ordering))
    }

    pub fn fetch_add(&self, amount: u64, ordering: Ordering) -> u64 {
        self.held(self.word().fetch_add(amount, ordering))
    }

    pub fn fetch_sub(&self, amount: u64, ordering: Ordering) -> u64 {
        self.held(self.word().fetch_sub(amount, ordering))
    }

    pub fn compare_exchange(
        &self,
        expected: u64,
        value: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let (expected, value) = (self.distance(expected), self.distance(value));
        let previous = self.word().compare_exchange(expected, value, success, failure);
        previous.map(|distance| self.held(distance)).map_err(|distance| self.held(distance))
    }
}

// Prints no value, because reading it would be a step of the model.
impl fmt::Debug for AtomicU64 {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("AtomicU64").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub struct AtomicBool(AtomicU64);

impl AtomicBool {
    pub const fn new(initial: bool) -> Self {
        AtomicBool(AtomicU64::new(initial as u64))
    }

    pub fn load(&self, ordering: Ordering) -> bool {
        self.0.load(ordering) != 0
    }

    pub fn store(&self, value: bool, ordering: Ordering) {
        self.0.store(u64::from(value), ordering);
    }

    pub fn swap(&self, value: bool, ordering: Ordering) -> bool {
        self.0.swap(u64::from(value), ordering) != 0
    }
}

/// Every access is an access of loom's cell, which fails if two accesses are not ordered.
pub struct UnsafeCell<T> {
    index: Index,
    value: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        UnsafeCell { index: Index::new(), value: std::cell::UnsafeCell::new(value) }
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    pub fn with<R>(&self, action: impl FnOnce(*const T) -> R) -> R {
        self.index.among(&EXECUTION.cells).with(|_| action(self.value.get()))
    }

    pub fn with_mut<R>(&self, action: impl FnOnce(*mut T) -> R) -> R {
        self.index.among(&EXECUTION.cells).with_mut(|_| action(self.value.get()))
    }
}

/// A thread-local of one thread; `None` once the thread has dropped it.
pub struct Local<T>(Rc<RefCell<Option<Rc<T>>>>);

type Drops = RefCell<Vec<Box<dyn FnOnce()>>>;

loom::thread_local! {
    static DROPS: Drops = RefCell::new(Vec::new());
}

impl<T: 'static> Local<T> {
    pub fn new(value: T) -> Self {
        let local = Rc::new(RefCell::new(Some(Rc::new(value))));
        if std::mem::needs_drop::<T>() {
            let dropped = local.clone();
            DROPS.with(|drops| drops.borrow_mut().push(Box::new(move || drop(dropped.take()))));
        }
        Local(local)
    }
}

/// Drops the thread-locals of this thread. Loom drops them too late, when the thread has been joined, and all together,
/// so that no destructor could read thread-locals without one.
#[cfg(test)]
pub fn end_thread() {
    while let Some(end) = DROPS.with(|drops| drops.borrow_mut().pop()) {
        end();
    }
}

#[derive(Debug)]
pub struct AccessError;

pub struct LocalKey<T: 'static>(&'static loom::thread::LocalKey<Local<T>>);

impl<T: 'static> LocalKey<T> {
    pub const fn new(key: &'static loom::thread::LocalKey<Local<T>>) -> Self {
        LocalKey(key)
    }

    #[allow(clippy::expect_used, reason = "as in the standard library")]
    pub fn with<R>(&self, action: impl FnOnce(&T) -> R) -> R {
        self.try_with(action).expect("a thread-local that is not dropped yet")
    }

    pub fn try_with<R>(&self, action: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let value = self.0.with(|local| local.0.borrow().clone());
        value.map(|value| action(&value)).ok_or(AccessError)
    }
}

macro_rules! local_keys {
    ($(static $name:ident: $type:ty = const $value:block;)+) => {$(
        static $name: $crate::base::sync::platform::LocalKey<$type> = {
            loom::thread_local! {
                static KEY: $crate::base::sync::platform::Local<$type> = $crate::base::sync::platform::Local::new($value);
            }
            $crate::base::sync::platform::LocalKey::new(&KEY)
        };
    )+};
}
pub(crate) use local_keys as thread_local;
