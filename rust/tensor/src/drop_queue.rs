//! Iterative drop of long chains of tensors and nodes.

use std::any::Any;
use std::cell::{Cell, RefCell};

use crate::storage::Bytes;

use crate::autograd::{AutogradMeta, Edges, SavedValues};

/// A value whose drop is deferred.
///
/// Tensors and nodes own each other. If each drop called the next one, a long chain would overflow the stack.
/// Instead, a drop [pushes](Deferred::push) what the link owned onto a queue of the thread, and the outermost drop on
/// this thread drains the queue in a loop.
pub(crate) enum Deferred {
    /// A node's edges to older nodes and leaves, its saved tensors, and what else it owned.
    Node { edges: Edges, saved: Option<SavedValues>, _owned: Option<Box<dyn Any + Send + Sync>> },
    /// A tensor's gradient, `grad_fn` and the base of which it is a view.
    Tensor { _meta: AutogradMeta },
    /// A storage's bytes. Foreign memory may belong to an array that is a view of another tensor.
    Bytes { _bytes: Bytes },
}

thread_local! {
    static QUEUE: RefCell<Vec<Deferred>> = const { RefCell::new(Vec::new()) };
    static DRAINING: Cell<bool> = const { Cell::new(false) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

impl Deferred {
    /// Drops the value now, or after the drop that runs on this thread.
    pub(crate) fn push(self) {
        /// Maximum depth of recursive drops while the thread exits and the queue may already be destroyed.
        const MAX_DEPTH_AT_THREAD_EXIT: usize = 256;
        /// Maximum depth of recursive drops if the queue cannot grow. Without free memory the stack cannot grow far
        /// either.
        const MAX_DEPTH_WITHOUT_MEMORY: usize = 8;
        let mut deferred = Some(self);
        let queued = QUEUE.try_with(|queue| {
            let mut queue = queue.borrow_mut();
            if queue.try_reserve(1).is_ok() {
                queue.extend(deferred.take());
            }
        });
        if let Some(deferred) = deferred {
            deferred.drop_recursively(if queued.is_ok() {
                MAX_DEPTH_WITHOUT_MEMORY
            } else {
                MAX_DEPTH_AT_THREAD_EXIT
            });
        }
        if DRAINING.try_with(|draining| draining.replace(true)) != Ok(false) {
            return;
        }
        while let Ok(Some(deferred)) = QUEUE.try_with(|queue| queue.borrow_mut().pop()) {
            deferred.drop_one();
        }
        let _ = DRAINING.try_with(|draining| draining.set(false));
    }

    /// Drops one value. A node may have any number of edges: they are dropped one at a time and the others stay in
    /// the node, so that the queue does not grow with their number.
    fn drop_one(self) {
        let Deferred::Node { mut edges, saved, _owned: owned } = self else { return };
        let edge = edges.pop();
        if !edges.is_empty() {
            // The queue has capacity: this value was popped from it, and nothing has been pushed since.
            let rest = Deferred::Node { edges, saved: None, _owned: None };
            let _ = QUEUE.try_with(|queue| queue.borrow_mut().push(rest));
        }
        drop(edge);
        drop(saved);
        drop(owned);
    }

    /// Drops one value recursively. Values deeper than `max_depth` are leaked, because a stack overflow would abort
    /// the process.
    fn drop_recursively(self, max_depth: usize) {
        let depth = DEPTH.try_with(Cell::get).unwrap_or(max_depth);
        if depth >= max_depth {
            std::mem::forget(self);
            return;
        }
        let _ = DEPTH.try_with(|nested| nested.set(depth + 1));
        drop(self);
        let _ = DEPTH.try_with(|nested| nested.set(depth));
    }
}
