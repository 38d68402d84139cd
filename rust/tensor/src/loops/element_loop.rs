//! The interface of inner loops.

use std::sync::Arc;

use crate::DType;

/// The maximum number of operands of a loop.
pub(crate) const MAX_OPERANDS: usize = 4;

/// A run of elements: operand `i` of the loop has its first element at `pointers[i]`, and each next one `steps[i]` bytes
/// behind it. The operand that the loop writes is the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub pointers: [*mut u8; MAX_OPERANDS],
    pub steps: [usize; MAX_OPERANDS],
    pub count: usize,
}

/// An inner loop. Its clones are the same loop, so that work that is queued on a device can own one.
pub(crate) trait ElementLoop: SharedElementLoop + Send + Sync + 'static {
    /// The element types of the operands: of the written one first, then of the sources.
    fn dtypes(&self) -> &[DType];

    /// Whether the written operand is also read: then its elements are those of the target of an in-place operation.
    fn is_update(&self) -> bool {
        false
    }

    /// Whether the loop accepts elements at any distance. Otherwise its operands have no gaps, but for the sources that it
    /// [accepts](ElementLoop::accepts_constant) as constant.
    fn accepts_gaps(&self) -> bool {
        false
    }

    /// Whether the sources that are marked may each be one element everywhere, with a step of 0.
    fn accepts_constant(&self, _sources: [bool; MAX_OPERANDS]) -> bool {
        false
    }

    /// Computes the elements of a run.
    ///
    /// # Safety
    /// Each element of the run is memory that is aligned for the type of its operand, readable, and for the first operand
    /// writable. Elements of sources are initialized, and so are those of the first operand if the loop
    /// [updates](ElementLoop::is_update) them. No element of a source overlaps one of the first operand. The steps are
    /// among those that the loop accepts.
    unsafe fn run(&self, run: &Run);

    /// Computes several runs, each of which begins the given number of bytes behind the previous one, in an order that uses
    /// the caches well. Returns false, without a result, if the loop has none.
    ///
    /// # Safety
    /// As for each [`run`](ElementLoop::run).
    unsafe fn run_rows(&self, _run: &Run, _rows: usize, _row_steps: [usize; MAX_OPERANDS]) -> bool {
        false
    }
}

/// Clones of loops whose type is erased.
pub(crate) trait SharedElementLoop {
    /// Returns a clone.
    fn shared(&self) -> Arc<dyn ElementLoop>;
}

impl<L: ElementLoop + Clone> SharedElementLoop for L {
    fn shared(&self) -> Arc<dyn ElementLoop> {
        Arc::new(self.clone())
    }
}
