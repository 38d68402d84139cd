//! Conversion of the heap to the public snapshot types.

use interlock_driver::DeviceIndex;

use super::block::{BlockId, BlockState as State, SegmentId};
use super::heap::Heap;
use super::recorder::Recorder;
use crate::allocators::snapshot::{BlockState, BlockUsage, SegmentState};

/// Returns the segments of a device in the order of their addresses.
pub(super) fn segment_states(device: DeviceIndex, heap: &Heap, recorder: &Recorder) -> Vec<SegmentState> {
    let mut segments = Vec::new();
    for (id, _) in heap.segments() {
        let blocks: Vec<_> = heap.blocks_of(id).collect();
        // One segment for each run of mapped blocks, as PyTorch reports expandable segments.
        let runs = blocks.split(|block| heap.block(*block).state == State::Unmapped);
        let runs = runs.filter(|run| !run.is_empty());
        segments.extend(runs.map(|run| segment_state(device, heap, recorder, id, run)));
    }
    segments.sort_by_key(|segment| segment.address);
    segments
}

fn segment_state(
    device: DeviceIndex,
    heap: &Heap,
    recorder: &Recorder,
    id: SegmentId,
    blocks: &[BlockId],
) -> SegmentState {
    let segment = heap.segment(id);
    let blocks: Vec<_> = blocks.iter().map(|block| block_state(heap, recorder, *block)).collect();
    let active = |block: &&BlockState| block.usage != BlockUsage::Inactive;
    let allocated = |block: &&BlockState| block.usage == BlockUsage::Allocated;
    SegmentState {
        device,
        address: blocks.first().map_or(segment.address.0, |block| block.address),
        total_size: blocks.iter().map(|block| block.size).sum(),
        allocated_size: blocks.iter().filter(allocated).map(|block| block.size).sum(),
        active_size: blocks.iter().filter(active).map(|block| block.size).sum(),
        requested_size: blocks.iter().filter(active).map(|block| block.requested_size).sum(),
        stream: segment.stream,
        small: segment.is_small,
        pool: heap.pool(segment.pool).id,
        expandable: segment.is_expandable(),
        stack: recorder.stack_of_segment(id),
        blocks,
    }
}

fn block_state(heap: &Heap, recorder: &Recorder, id: BlockId) -> BlockState {
    let block = heap.block(id);
    let usage = match block.state {
        State::Allocated => BlockUsage::Allocated,
        State::PendingEvents(_) => BlockUsage::AwaitingFree,
        State::Free | State::Releasing | State::Unmapped => BlockUsage::Inactive,
    };
    BlockState {
        address: block.address.0,
        size: block.bytes as u64,
        requested_size: block.requested as u64,
        usage,
        stack: recorder.stack_of_block(id),
    }
}
