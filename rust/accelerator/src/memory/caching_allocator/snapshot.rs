//! The state of a device's memory at one moment.

use interlock_driver::DeviceIndex;

use super::heap::{BlockId, BlockState as State, Heap, SegmentId};
use super::recorder::Recorder;
use crate::memory::snapshot::{BlockState, BlockUsage, SegmentState};

/// The segments of a device in the order of their addresses.
pub(super) fn segment_states(device: DeviceIndex, heap: &Heap, recorder: &Recorder) -> Vec<SegmentState> {
    let view = View { device, heap, recorder };
    let mut segments: Vec<_> = heap.segments().flat_map(|(id, _)| view.mapped_runs(id)).collect();
    segments.sort_by_key(|segment| segment.address);
    segments
}

struct View<'a> {
    device: DeviceIndex,
    heap: &'a Heap,
    recorder: &'a Recorder,
}

impl View<'_> {
    /// One state for each run of blocks that have memory, as PyTorch reports expandable segments.
    fn mapped_runs(&self, id: SegmentId) -> Vec<SegmentState> {
        let blocks: Vec<_> = self.heap.blocks_of(id).collect();
        let is_unmapped = |block: &BlockId| self.heap.block(*block).state() == State::Unmapped;
        let runs = blocks.split(is_unmapped).filter(|run| !run.is_empty());
        runs.map(|run| self.segment_state(id, run)).collect()
    }

    fn segment_state(&self, id: SegmentId, blocks: &[BlockId]) -> SegmentState {
        let segment = self.heap.segment(id);
        let blocks: Vec<_> = blocks.iter().map(|block| self.block_state(*block)).collect();
        let active = |block: &&BlockState| block.usage != BlockUsage::Inactive;
        let allocated = |block: &&BlockState| block.usage == BlockUsage::Allocated;
        SegmentState {
            device: self.device,
            address: blocks.first().map_or(segment.address().0, |block| block.address),
            total_size: blocks.iter().map(|block| block.size).sum(),
            allocated_size: blocks.iter().filter(allocated).map(|block| block.size).sum(),
            active_size: blocks.iter().filter(active).map(|block| block.size).sum(),
            requested_size: blocks.iter().filter(active).map(|block| block.requested_size).sum(),
            stream: segment.stream(),
            small: segment.is_small(),
            pool: self.heap.pool_id(segment.pool()),
            expandable: segment.is_expandable(),
            stack: self.recorder.stack_of_segment(id),
            blocks,
        }
    }

    fn block_state(&self, id: BlockId) -> BlockState {
        let block = self.heap.block(id);
        let usage = match block.state() {
            State::Allocated => BlockUsage::Allocated,
            State::PendingEvents(_) => BlockUsage::AwaitingFree,
            State::Free | State::Releasing | State::Unmapped => BlockUsage::Inactive,
        };
        BlockState {
            address: block.address().0,
            size: block.bytes() as u64,
            requested_size: block.requested() as u64,
            usage,
            stack: self.recorder.stack_of_block(id),
        }
    }
}
