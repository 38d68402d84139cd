//! All that is known of a device's memory at one moment.

use super::books::Books;
use super::piece::{PieceId, PieceState, SegmentId};
use crate::driver::DeviceIndex;
use crate::memory::history::TraceEntry;
use crate::memory::snapshot::{BlockState, BlockUsage, SegmentState};

impl Books {
    /// The segments in the order of their addresses, and what is recorded, up to this snapshot.
    pub(super) fn snapshot(&mut self, device: DeviceIndex) -> (Vec<SegmentState>, Vec<TraceEntry>) {
        let mut segments: Vec<_> =
            self.segments.iter().flat_map(|(id, _)| self.segment_states(device, id)).collect();
        segments.sort_by_key(|segment| segment.address);
        let active = segments.iter().map(|segment| segment.active_size).sum();
        self.history.note_snapshot(active);
        (segments, self.history.entries())
    }

    /// One for each run of pieces that have memory, as in PyTorch: those that grow are told by what they have.
    fn segment_states(&self, device: DeviceIndex, id: SegmentId) -> Vec<SegmentState> {
        let pieces: Vec<_> = self.pieces_of(id).collect();
        let is_unmapped = |piece: &PieceId| self.pieces[*piece].state == PieceState::Unmapped;
        let runs = pieces.split(is_unmapped).filter(|run| !run.is_empty());
        runs.map(|run| self.segment_state(device, id, run)).collect()
    }

    fn segment_state(&self, device: DeviceIndex, id: SegmentId, pieces: &[PieceId]) -> SegmentState {
        let segment = &self.segments[id];
        let blocks: Vec<_> = pieces.iter().map(|piece| self.block_state(*piece)).collect();
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
            small: segment.small,
            pool: self.pools[segment.pool].id,
            expandable: segment.page.is_some(),
            stack: self.history.stack_of_segment(id),
            blocks,
        }
    }

    fn block_state(&self, id: PieceId) -> BlockState {
        let piece = &self.pieces[id];
        let usage = match piece.state {
            PieceState::InUse => BlockUsage::Allocated,
            PieceState::Awaited(_) => BlockUsage::AwaitingFree,
            PieceState::Free | PieceState::Leaving | PieceState::Unmapped => BlockUsage::Inactive,
        };
        BlockState {
            address: piece.address.0,
            size: piece.bytes as u64,
            requested_size: piece.requested as u64,
            usage,
            stack: self.history.stack_of_piece(id),
        }
    }
}
