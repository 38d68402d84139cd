//! What is dropped piece by piece.

use std::cell::{Cell, RefCell};

use crate::storage::Memory;

use crate::autograd::{Edges, Meta, SavedTensors};

/// What tensors and nodes own of each other. Dropping the last handle of a long chain must not use a
/// stack frame for each of its links: what a link owns is put aside ([`discard`](Waste::discard)), and
/// the outermost drop on this thread drops it piece by piece.
pub(crate) enum Waste {
    /// A node leads to older nodes and to leaves, and keeps tensors.
    Node { _edges: Edges, _saved: Option<SavedTensors> },
    /// A tensor leads to its gradient, the node that made it and the base that it is a view of.
    Tensor { _meta: Meta },
    /// Memory of others may belong to an array that is a view of another tensor.
    Memory { _memory: Memory },
}

thread_local! {
    static WASTE: RefCell<Vec<Waste>> = const { RefCell::new(Vec::new()) };
    static SWEEPING: Cell<bool> = const { Cell::new(false) };
}

impl Waste {
    pub(crate) fn discard(self) {
        // While a thread ends the list may be gone; the piece is then dropped right here.
        let _ = WASTE.try_with(|list| list.borrow_mut().push(self));
        if SWEEPING.try_with(|sweeping| sweeping.replace(true)) != Ok(false) {
            return;
        }
        while let Ok(Some(waste)) = WASTE.try_with(|list| list.borrow_mut().pop()) {
            drop(waste);
        }
        let _ = SWEEPING.try_with(|sweeping| sweeping.set(false));
    }
}
