//! Iterative drop of long chains of tensors and nodes.

use std::cell::{Cell, RefCell};
use std::thread::LocalKey;

/// The values of one type whose drop is deferred on this thread.
pub(crate) type Queue<T> = LocalKey<RefCell<Vec<T>>>;

/// What a tensor, a node or a storage owned, whose drop is deferred.
///
/// Tensors and nodes own each other. If each drop called the next one, a long chain would overflow the stack.
/// Instead, a drop [defers](defer) what the link owned, and the outermost drop on this thread drops in a loop what has
/// been deferred meanwhile.
pub(crate) trait Deferred: Sized + 'static {
    /// Returns the queue of the values of this type.
    fn queue() -> &'static Queue<Self>;

    /// Drops one link of the chain. It may defer the others.
    fn drop_link(self) {
        drop(self);
    }
}

thread_local! {
    /// For each value in the queues of this thread the function that drops the last one of its type.
    static PENDING: RefCell<Vec<fn()>> = const { RefCell::new(Vec::new()) };
    static DRAINING: Cell<bool> = const { Cell::new(false) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Drops a value now, or after the drop that runs on this thread.
pub(crate) fn defer<T: Deferred>(value: T) {
    if DRAINING.replace(true) {
        return enqueue(value);
    }
    value.drop_link();
    while let Ok(Some(drop_last)) = PENDING.try_with(|pending| pending.borrow_mut().pop()) {
        drop_last();
    }
    DRAINING.set(false);
}

fn enqueue<T: Deferred>(value: T) {
    /// Maximum depth of recursive drops while the thread exits and a queue may already be destroyed.
    const MAX_DEPTH_AT_THREAD_EXIT: usize = 256;
    /// Maximum depth of recursive drops if a queue cannot grow. Without free memory the stack cannot grow far either.
    const MAX_DEPTH_WITHOUT_MEMORY: usize = 8;
    let mut value = Some(value);
    let queued = T::queue().try_with(|queue| {
        PENDING.try_with(|pending| {
            let (mut queue, mut pending) = (queue.borrow_mut(), pending.borrow_mut());
            if queue.try_reserve(1).is_ok() && pending.try_reserve(1).is_ok() {
                queue.extend(value.take());
                pending.push(drop_last::<T>);
            }
        })
    });
    if let Some(value) = value {
        let has_queue = matches!(queued, Ok(Ok(())));
        drop_recursively(value, if has_queue { MAX_DEPTH_WITHOUT_MEMORY } else { MAX_DEPTH_AT_THREAD_EXIT });
    }
}

fn drop_last<T: Deferred>() {
    // Dropped outside of the borrow.
    let last = T::queue().try_with(|queue| queue.borrow_mut().pop());
    if let Ok(Some(value)) = last {
        value.drop_link();
    }
}

/// Drops a value and what it owns recursively. Values deeper than `max_depth` are leaked, because a stack overflow
/// would abort the process.
fn drop_recursively<T: Deferred>(value: T, max_depth: usize) {
    let depth = DEPTH.get();
    if depth >= max_depth {
        std::mem::forget(value);
        return;
    }
    DEPTH.set(depth + 1);
    drop(value);
    DEPTH.set(depth);
}
