//! A check for the memory that `gemm` allocates itself.

use std::cell::Cell;

use gemm_common::cache::CACHE_INFO;

use crate::Result;
use crate::storage::fallible_alloc::check_available;

/// Returns an error unless there is memory for what `gemm` allocates for a product of these sizes, because gemm
/// aborts the process if an allocation fails. The cache sizes must have been read.
///
/// gemm packs a part of each operand, whose size its parameters limit by the cache sizes, and allocates one buffer of
/// the size of the L2 cache per thread. The result is an upper bound for every kind of CPU.
pub(super) fn check(rows: usize, columns: usize, depth: usize, size: usize) -> Result<()> {
    /// More rows or columns than any microkernel computes at once.
    const TILE: usize = 64;
    /// The part of the left operand that is packed in advance has at most twice the rows of a block, which has 8
    /// tiles.
    const ROWS: usize = 16 * TILE;
    /// Columns of a block if the size of the L3 cache is unknown.
    const COLUMNS: usize = 128 * 16;
    /// Bytes of a column of the smallest tile.
    const TILE_BYTES: usize = 32;
    /// Smaller allocations are covered by `check_memory`.
    const SMALL: usize = 64 << 10;
    let [first, second, third] = CACHE_INFO.map(|cache| cache.cache_bytes);
    let depth = depth.min((first.max(64 << 10) / TILE_BYTES * 2).max(512));
    let bytes = |count: usize| count.saturating_add(TILE).saturating_mul(depth).saturating_mul(size);
    // gemm may exchange the operands and compute the result column by column.
    let packed = |rows: usize, columns: usize| {
        let right =
            if third == 0 { bytes(COLUMNS) } else { bytes(columns).min(third.saturating_add(bytes(0))) };
        bytes(rows.min(ROWS)).saturating_add(right)
    };
    let mut needed = packed(rows, columns).max(packed(columns, rows));
    thread_local! {
        static HAS_BUFFER: Cell<bool> = const { Cell::new(false) };
    }
    let has_buffer = HAS_BUFFER.try_with(Cell::get).unwrap_or(true);
    if !has_buffer {
        check_available(second.saturating_add(needed))?;
        let _ = gemm_common::gemm::L2_SLAB.try_with(|_| ());
        let _ = HAS_BUFFER.try_with(|has| has.set(true));
        needed = 0;
    }
    if needed > SMALL { check_available(needed) } else { Ok(()) }
}
