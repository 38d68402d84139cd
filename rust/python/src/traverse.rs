//! Visits of the Python objects that core objects own, for a garbage collector.

use std::cell::Cell;

use crate::thread_count::ThreadCount;

/// The number of threads with a [`CollectionBarrier`]. It changes only while the thread is attached.
static BARRIERS: ThreadCount = ThreadCount::new();

thread_local! {
    /// Whether a garbage collector traverses objects on this thread.
    static IS_TRAVERSING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a garbage collector traverses objects on this thread, which may not detach then.
pub(crate) fn is_traversing() -> bool {
    IS_TRAVERSING.get()
}

/// Calls `visit`, which visits the Python objects that core objects own, for a garbage collector. Returns `None`, without
/// calling it, while another thread has a [`CollectionBarrier`]: it could acquire or release a core object between two
/// traversals of one collection. While the collector traverses objects this does not change, because it holds the
/// interpreter.
pub(crate) fn traverse<T>(visit: impl FnOnce() -> T) -> Option<T> {
    if BARRIERS.get() != 0 {
        return None;
    }
    IS_TRAVERSING.set(true);
    let result = visit();
    IS_TRAVERSING.set(false);
    Some(result)
}

/// Keeps garbage collectors from visiting core objects while this thread works on them detached.
pub(crate) struct CollectionBarrier;

impl CollectionBarrier {
    pub(crate) fn new() -> Self {
        BARRIERS.increment();
        CollectionBarrier
    }
}

impl Drop for CollectionBarrier {
    fn drop(&mut self) {
        BARRIERS.decrement();
    }
}
