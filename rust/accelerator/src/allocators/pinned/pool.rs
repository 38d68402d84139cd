//! Blocks of pinned memory.

use std::collections::BTreeMap;

use interlock_driver::{Address, AllocatorState};

use super::recorder::Recorder;
use super::stats::PinnedStats;
use crate::allocators::config::AllocatorConfig;
use crate::allocators::snapshot::{self, BlockUsage};
use crate::allocators::trace::TraceAction;

/// The rounding of sizes and the limits of the cache of pinned memory, in bytes. By default every size is rounded and
/// every block is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinnedOptions {
    /// The largest size that is rounded up to a power of two.
    pub max_round_threshold: usize,
    /// The largest block that is cached. Larger sizes are not rounded.
    pub max_cached_size: usize,
    /// The size of a segment that is allocated with the first block and never released. Later blocks are taken from it
    /// while it has room. 0 allocates blocks one by one.
    pub reserve_segment_size: usize,
}

impl PinnedOptions {
    /// Creates the options of a configuration.
    pub(super) fn of(config: &AllocatorConfig) -> Self {
        let in_bytes = |megabytes: usize| megabytes.saturating_mul(1 << 20);
        PinnedOptions {
            max_round_threshold: config.pinned_max_round_threshold_mb.map_or(usize::MAX, in_bytes),
            max_cached_size: config.pinned_max_cached_size_mb.map_or(usize::MAX, in_bytes),
            reserve_segment_size: in_bytes(config.pinned_reserve_segment_size_mb),
        }
    }

    /// Returns the block size for a request.
    pub(super) fn round(&self, bytes: usize) -> usize {
        let rounds = bytes <= self.max_round_threshold && bytes <= self.max_cached_size;
        // A size without a larger power of two exceeds the memory of any machine.
        if rounds { bytes.checked_next_power_of_two().unwrap_or(bytes) } else { bytes }
    }
}

impl Default for PinnedOptions {
    fn default() -> Self {
        PinnedOptions::of(&AllocatorConfig::default())
    }
}

/// A block that the caller releases to the driver.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToFree {
    pub(super) address: Address,
    pub(super) bytes: usize,
}

/// The alignment of blocks in the segment.
const SEGMENT_ALIGNMENT: usize = 4096;

#[derive(Debug)]
struct Block {
    bytes: usize,
    state: BlockState,
    /// Whether it is a part of the segment, and so is never released.
    in_segment: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum BlockState {
    /// Used by the program.
    Allocated,
    /// Freed by the program, and waiting for this number of events.
    PendingEvents(usize),
    Free,
}

/// Memory of one allocation of the driver for several blocks.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) used: usize,
}

/// All blocks of pinned memory, and their statistics.
#[derive(Debug, Default)]
pub(super) struct BlockPool {
    pub(super) options: PinnedOptions,
    pub(super) stats: PinnedStats,
    pub(super) recorder: Recorder,
    blocks: BTreeMap<u64, Block>,
    /// Free blocks by size. The block that was freed last is reused first.
    free: BTreeMap<usize, Vec<Address>>,
    /// Has 0 bytes if the driver had too little memory for it.
    segment: Option<Segment>,
}

impl BlockPool {
    /// Allocates a free block for a request of this rounded size, of at most the next power of two if the size was not
    /// rounded.
    pub(super) fn allocate(&mut self, rounded: usize) -> Option<Address> {
        let largest = rounded.checked_next_power_of_two().unwrap_or(rounded);
        let (bytes, free) = self.free.range_mut(rounded..=largest).next()?;
        let (bytes, address) = (*bytes, free.pop()?);
        if free.is_empty() {
            self.free.remove(&bytes);
        }
        self.block_mut(address)?.state = BlockState::Allocated;
        self.stats.on_alloc(bytes);
        self.recorder.trace(TraceAction::Alloc, address, bytes);
        Some(address)
    }

    /// Returns the size of the segment if it has to be allocated.
    pub(super) fn missing_segment(&self) -> Option<usize> {
        let bytes = self.options.reserve_segment_size;
        (bytes > 0 && self.segment.is_none()).then_some(bytes)
    }

    /// Sets the segment that blocks are taken from. If there is one already, returns the new one to be released.
    pub(super) fn set_segment(&mut self, segment: Segment) -> Option<ToFree> {
        if self.segment.is_some() {
            let to_free = ToFree { address: Address(segment.address), bytes: segment.bytes };
            return Some(to_free).filter(|to_free| to_free.bytes > 0);
        }
        if segment.bytes > 0 {
            self.recorder.trace(TraceAction::SegmentAlloc, Address(segment.address), segment.bytes);
        }
        self.segment = Some(segment);
        None
    }

    /// Allocates a new block in the segment; `None` if it has too little room.
    pub(super) fn allocate_in_segment(&mut self, bytes: usize) -> Option<Address> {
        let segment = self.segment.as_mut()?;
        let used = bytes.checked_next_multiple_of(SEGMENT_ALIGNMENT)?.checked_add(segment.used)?;
        if used > segment.bytes {
            return None;
        }
        let address = Address(segment.address + segment.used as u64);
        segment.used = used;
        self.insert(address, bytes, true);
        Some(address)
    }

    /// Adds a block that the driver has allocated, as in use.
    pub(super) fn add_block(&mut self, address: Address, bytes: usize) {
        self.insert(address, bytes, false);
    }

    fn insert(&mut self, address: Address, bytes: usize, in_segment: bool) {
        self.blocks.insert(address.0, Block { bytes, state: BlockState::Allocated, in_segment });
        self.stats.on_segment_alloc(bytes);
        self.stats.on_alloc(bytes);
        if !in_segment {
            self.recorder.trace(TraceAction::SegmentAlloc, address, bytes);
        }
        self.recorder.trace(TraceAction::Alloc, address, bytes);
    }

    /// Frees a block once this number of events has completed.
    pub(super) fn free(&mut self, address: Address, events: usize) -> Option<ToFree> {
        let block = self.block_mut(address)?;
        block.state = BlockState::PendingEvents(events);
        let bytes = block.bytes;
        self.recorder.trace(TraceAction::FreeRequested, address, bytes);
        if events == 0 { self.make_free(address) } else { None }
    }

    /// Counts a completed event of a block, which is free after the last one.
    pub(super) fn complete_event(&mut self, address: Address) -> Option<ToFree> {
        let block = self.block_mut(address)?;
        let BlockState::PendingEvents(events) = &mut block.state else {
            debug_assert!(false, "a block that waits for no event");
            return None;
        };
        debug_assert!(*events > 0, "more events than were recorded");
        *events = events.saturating_sub(1);
        if *events == 0 { self.make_free(address) } else { None }
    }

    /// Caches an unused block, or returns it to be released if it is too large.
    fn make_free(&mut self, address: Address) -> Option<ToFree> {
        let block = self.block_mut(address)?;
        block.state = BlockState::Free;
        let (bytes, in_segment) = (block.bytes, block.in_segment);
        self.stats.on_free(bytes);
        self.recorder.trace(TraceAction::FreeCompleted, address, bytes);
        if bytes > self.options.max_cached_size && !in_segment {
            return Some(self.remove(address, bytes));
        }
        self.free.entry(bytes).or_default().push(address);
        None
    }

    fn block_mut(&mut self, address: Address) -> Option<&mut Block> {
        let block = self.blocks.get_mut(&address.0);
        debug_assert!(block.is_some(), "no block begins at {address:?}");
        block
    }

    fn remove(&mut self, address: Address, bytes: usize) -> ToFree {
        self.blocks.remove(&address.0);
        self.stats.on_segment_free(bytes);
        self.recorder.trace(TraceAction::SegmentFree, address, bytes);
        ToFree { address, bytes }
    }

    /// Removes all free blocks that can be released.
    pub(super) fn release_cached_blocks(&mut self) -> Vec<ToFree> {
        let mut to_free = Vec::new();
        for (bytes, addresses) in std::mem::take(&mut self.free) {
            for address in addresses {
                if self.blocks.get(&address.0).is_some_and(|block| block.in_segment) {
                    self.free.entry(bytes).or_default().push(address);
                } else {
                    to_free.push(self.remove(address, bytes));
                }
            }
        }
        to_free
    }

    /// Returns the state of the cache for the error of a failed request of this rounded size.
    pub(super) fn oom_state(&self, rounded: usize) -> AllocatorState {
        let mut state = AllocatorState::default();
        (state.rounded, state.segment) = (rounded, rounded);
        state.allocated = self.stats.active_bytes.current;
        state.reserved = self.stats.allocated_bytes.current;
        // Blocks are neither merged nor used for much smaller requests.
        let largest = self.free.range(..rounded).next_back();
        state.largest_free = largest.map_or(0, |(bytes, _)| *bytes as u64);
        state
    }

    /// Returns the bytes that the driver has allocated for the pool and that the program does not use.
    #[cfg(feature = "host")]
    pub(super) fn cached_bytes(&self) -> u64 {
        let in_segment = self.segment.as_ref().map_or(0, |segment| segment.bytes);
        let blocks = self.blocks.values();
        let cached = blocks.fold(in_segment, |cached, block| match (block.in_segment, &block.state) {
            (true, BlockState::Allocated) => cached.saturating_sub(block.bytes),
            (true, _) | (false, BlockState::Allocated) => cached,
            (false, _) => cached + block.bytes,
        });
        cached as u64
    }

    /// Returns the blocks, in the order of addresses.
    pub(super) fn block_states(&self) -> Vec<snapshot::BlockState> {
        let state_of = |(&address, block): (&u64, &Block)| {
            let usage = match block.state {
                BlockState::Allocated => BlockUsage::Allocated,
                BlockState::PendingEvents(_) => BlockUsage::AwaitingFree,
                BlockState::Free => BlockUsage::Inactive,
            };
            let bytes = block.bytes as u64;
            let requested_size = if usage == BlockUsage::Inactive { 0 } else { bytes };
            let stack = self.recorder.stack_of(Address(address));
            snapshot::BlockState { address, size: bytes, requested_size, usage, stack }
        };
        self.blocks.iter().map(state_of).collect()
    }

    /// Returns whether an address is in an allocated block.
    pub(super) fn is_allocated(&self, address: u64) -> bool {
        let below = self.blocks.range(..=address).next_back();
        below.is_some_and(|(start, block)| {
            block.state == BlockState::Allocated && address - start < block.bytes as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_round_uses_powers_of_two_up_to_the_thresholds() {
        let all = PinnedOptions::default();
        assert_eq!(
            [1, 2, 3, 512, 513, usize::MAX].map(|bytes| all.round(bytes)),
            [1, 2, 4, 512, 1024, usize::MAX]
        );
        let few = PinnedOptions { max_round_threshold: 1000, ..all };
        assert_eq!([999, 1000, 1001].map(|bytes| few.round(bytes)), [1024, 1024, 1001]);
        let few = PinnedOptions { max_cached_size: 1000, ..all };
        assert_eq!([1000, 1001].map(|bytes| few.round(bytes)), [1024, 1001]);
    }
}
