//! What is dropped piece by piece.

use std::cell::{Cell, RefCell};

use crate::storage::Bytes;

use crate::autograd::{AutogradMeta, Edges, SavedValues};

/// What tensors and nodes own of each other. Dropping the last handle of a long chain must not use a
/// stack frame for each of its links: what a link owns is put aside ([`discard`](Deferred::discard)), and
/// the outermost drop on this thread drops it piece by piece.
pub(crate) enum Deferred {
    /// A node leads to older nodes and to leaves, and keeps tensors.
    Node { edges: Edges, saved: Option<SavedValues> },
    /// A tensor leads to its gradient, the node that made it and the base that it is a view of.
    Tensor { _meta: AutogradMeta },
    /// Memory of others may belong to an array that is a view of another tensor.
    Bytes { _bytes: Bytes },
}

thread_local! {
    static QUEUE: RefCell<Vec<Deferred>> = const { RefCell::new(Vec::new()) };
    static DRAINING: Cell<bool> = const { Cell::new(false) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

impl Deferred {
    pub(crate) fn push(self) {
        /// Links that are dropped recursively while a thread ends, where the list may be gone.
        const MAX_DEPTH_AT_THREAD_EXIT: usize = 256;
        /// As above, without memory for the queue. The stack cannot grow far then, either.
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

    /// Drops a piece. A node may lead to as many others as a program likes: they are dropped one at a time, and the
    /// rest waits in the node, so that the list does not grow with their number.
    fn drop_one(self) {
        let Deferred::Node { mut edges, saved } = self else { return };
        let edge = edges.pop();
        if !edges.is_empty() {
            // The list has room: this piece was taken from it, and nothing has been added since.
            let _ = QUEUE.try_with(|queue| queue.borrow_mut().push(Deferred::Node { edges, saved: None }));
        }
        drop(edge);
        drop(saved);
    }

    /// Drops a piece with stack frames for each link of a chain. What is behind too many links is leaked, because a stack
    /// overflow would end the process.
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
