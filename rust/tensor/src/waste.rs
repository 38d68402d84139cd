//! What is dropped piece by piece.

use std::cell::{Cell, RefCell};

use crate::storage::Memory;

use crate::autograd::{Edges, Meta, SavedTensors};

/// What tensors and nodes own of each other. Dropping the last handle of a long chain must not use a
/// stack frame for each of its links: what a link owns is put aside ([`discard`](Waste::discard)), and
/// the outermost drop on this thread drops it piece by piece.
pub(crate) enum Waste {
    /// A node leads to older nodes and to leaves, and keeps tensors.
    Node { edges: Edges, saved: Option<SavedTensors> },
    /// A tensor leads to its gradient, the node that made it and the base that it is a view of.
    Tensor { _meta: Meta },
    /// Memory of others may belong to an array that is a view of another tensor.
    Memory { _memory: Memory },
}

thread_local! {
    static WASTE: RefCell<Vec<Waste>> = const { RefCell::new(Vec::new()) };
    static SWEEPING: Cell<bool> = const { Cell::new(false) };
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

impl Waste {
    pub(crate) fn discard(self) {
        /// Links that are dropped recursively while a thread ends, where the list may be gone.
        const AT_THREAD_END: usize = 256;
        /// As above, without memory for the list. The stack cannot grow far then, either.
        const WITHOUT_MEMORY: usize = 8;
        let mut waste = Some(self);
        let listed = WASTE.try_with(|list| {
            let mut list = list.borrow_mut();
            if list.try_reserve(1).is_ok() {
                list.extend(waste.take());
            }
        });
        if let Some(waste) = waste {
            waste.drop_nested(if listed.is_ok() { WITHOUT_MEMORY } else { AT_THREAD_END });
        }
        if SWEEPING.try_with(|sweeping| sweeping.replace(true)) != Ok(false) {
            return;
        }
        while let Ok(Some(waste)) = WASTE.try_with(|list| list.borrow_mut().pop()) {
            waste.sweep();
        }
        let _ = SWEEPING.try_with(|sweeping| sweeping.set(false));
    }

    /// Drops a piece. A node may lead to as many others as a program likes: they are dropped one at a time, and the
    /// rest waits in the node, so that the list does not grow with their number.
    fn sweep(self) {
        let Waste::Node { mut edges, saved } = self else { return };
        let edge = edges.pop();
        if !edges.is_empty() {
            // The list has room: this piece was taken from it, and nothing has been added since.
            let _ = WASTE.try_with(|list| list.borrow_mut().push(Waste::Node { edges, saved: None }));
        }
        drop(edge);
        drop(saved);
    }

    /// Drops a piece with stack frames for each link of a chain. What is behind too many links is leaked, because a stack
    /// overflow would end the process.
    fn drop_nested(self, most: usize) {
        let depth = NESTED.try_with(Cell::get).unwrap_or(most);
        if depth >= most {
            std::mem::forget(self);
            return;
        }
        let _ = NESTED.try_with(|nested| nested.set(depth + 1));
        drop(self);
        let _ = NESTED.try_with(|nested| nested.set(depth));
    }
}
