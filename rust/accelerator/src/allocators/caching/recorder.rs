//! The recorded history of a device's memory.

use std::collections::HashMap;
use std::sync::Arc;

use interlock_driver::{Address, Stack};

use super::block::{BlockId, SegmentId};
use super::heap::Heap;
use crate::PoolId;
use crate::allocators::trace::{ReleaseReason, TraceAction, TraceEntry, current_stack};
use crate::allocators::trace_log::TraceLog;

/// The history, and the stacks of the blocks and segments that exist.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) log: TraceLog,
    /// The allocation stacks of the blocks that are not free.
    block_stacks: HashMap<BlockId, Stack>,
    segment_stacks: HashMap<SegmentId, Stack>,
    /// The reason of frees and releases during a release of all unused memory.
    pub(super) release_reason: Option<ReleaseReason>,
}

impl Recorder {
    /// Returns whether there is no recording and no stored stack to be removed.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        !self.log.is_recording() && self.block_stacks.is_empty() && self.segment_stacks.is_empty()
    }

    pub(super) fn stack_of_block(&self, id: BlockId) -> Option<Stack> {
        self.block_stacks.get(&id).cloned()
    }

    pub(super) fn stack_of_segment(&self, id: SegmentId) -> Option<Stack> {
        self.segment_stacks.get(&id).cloned()
    }

    /// Records a request that failed while the driver had this number of bytes free.
    pub(super) fn trace_oom(
        &mut self,
        free: u64,
        size: u64,
        stream: i64,
        pool: Option<PoolId>,
        capturing: bool,
    ) {
        let entry = TraceEntry::now(TraceAction::OutOfMemory, free, size);
        self.log.add(TraceEntry { stream, pool, capturing, ..entry });
    }

    /// Records a snapshot with this number of active bytes.
    pub(super) fn trace_snapshot(&mut self, size: u64) {
        self.log.add(TraceEntry::now(TraceAction::Snapshot, 0, size));
    }

    /// Records a description of a block.
    pub(super) fn trace_annotation(&mut self, heap: &Heap, id: BlockId, annotation: &Arc<str>) {
        if self.log.is_recording() {
            let block = heap.block(id);
            let segment = heap.segment(block.segment);
            let entry = TraceEntry::now(TraceAction::Annotate, block.address.0, block.requested as u64);
            let (pool, annotation) = (heap.pool(segment.pool).id, Some(annotation.clone()));
            self.log.add(TraceEntry { stream: segment.stream, pool, annotation, ..entry });
        }
    }

    /// Records an event of a block, which must have the size that it was allocated with.
    #[inline]
    pub(super) fn trace_block(&mut self, action: TraceAction, heap: &Heap, id: BlockId) {
        if !self.is_idle() {
            self.record_block(action, heap, id);
        }
    }

    #[cold]
    fn record_block(&mut self, action: TraceAction, heap: &Heap, id: BlockId) {
        let block = heap.block(id);
        let segment = heap.segment(block.segment);
        let stack = match action {
            TraceAction::Alloc => {
                let stack = current_stack().filter(|_| self.log.is_recording());
                stack.inspect(|stack| drop(self.block_stacks.insert(id, stack.clone())))
            }
            TraceAction::FreeCompleted => self.block_stacks.remove(&id),
            _ => self.stack_of_block(id),
        };
        let cause = self.release_reason.filter(|_| action == TraceAction::FreeCompleted);
        let entry = TraceEntry::now(action, block.address.0, block.requested as u64);
        let pool = heap.pool(segment.pool).id;
        self.log.add(TraceEntry { stream: segment.stream, pool, cause, stack, ..entry });
    }

    /// Records an event of `size` bytes of the segment of a block.
    #[inline]
    pub(super) fn trace_segment(
        &mut self,
        action: TraceAction,
        heap: &Heap,
        block: BlockId,
        address: Address,
        size: usize,
    ) {
        if !self.is_idle() {
            self.record_segment(
                action,
                heap,
                heap.block(block).segment,
                TraceEntry::now(action, address.0, size as u64),
            );
        }
    }

    #[cold]
    fn record_segment(&mut self, action: TraceAction, heap: &Heap, id: SegmentId, entry: TraceEntry) {
        let segment = heap.segment(id);
        let released_by = self.release_reason.or(segment.release.reason);
        let (cause, stack) = match action {
            TraceAction::SegmentAlloc => {
                let stack = current_stack().filter(|_| self.log.is_recording());
                (None, stack.inspect(|stack| drop(self.segment_stacks.insert(id, stack.clone()))))
            }
            TraceAction::SegmentFree => (released_by, self.segment_stacks.remove(&id)),
            TraceAction::SegmentUnmap => (released_by, self.stack_of_segment(id)),
            _ => (None, self.stack_of_segment(id)),
        };
        let pool = heap.pool(segment.pool).id;
        self.log.add(TraceEntry { stream: segment.stream, pool, cause, stack, ..entry });
    }
}
