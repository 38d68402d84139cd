//! The recorded history of a device's memory.

use std::collections::{HashMap, VecDeque};

use interlock_driver::Address;

use super::block::{BlockId, SegmentId};
use super::heap::Heap;
use crate::PoolId;
use crate::memory::trace::{
    HistoryConfig, ReleaseReason, Stack, TraceAction, TraceEntry, current_stack, now,
};

/// The last entries of the history, and the stacks of the blocks and segments that exist.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// The number of the last change of the process-wide recording that was applied.
    changes: u64,
    config: Option<HistoryConfig>,
    entries: VecDeque<TraceEntry>,
    /// The allocation stacks of the blocks that are not free.
    block_stacks: HashMap<BlockId, Stack>,
    segment_stacks: HashMap<SegmentId, Stack>,
    /// The reason of frees and releases during a release of all unused memory.
    pub(super) release_reason: Option<ReleaseReason>,
}

impl Recorder {
    /// Begins or ends the recording, unless a later change was applied already. If the change `begins` a history, here
    /// or on other devices, removes and returns the recorded entries.
    pub(super) fn configure(
        &mut self,
        changes: u64,
        begins: bool,
        config: Option<HistoryConfig>,
    ) -> VecDeque<TraceEntry> {
        if changes <= self.changes {
            return VecDeque::new();
        }
        (self.changes, self.config) = (changes, config);
        if begins { std::mem::take(&mut self.entries) } else { VecDeque::new() }
    }

    /// Returns whether there is no recording and no stored stack to be removed.
    #[inline]
    fn is_idle(&self) -> bool {
        self.config.is_none() && self.block_stacks.is_empty() && self.segment_stacks.is_empty()
    }

    pub(super) fn entries(&self) -> Vec<TraceEntry> {
        self.entries.iter().cloned().collect()
    }

    pub(super) fn stack_of_block(&self, id: BlockId) -> Option<Stack> {
        self.block_stacks.get(&id).cloned()
    }

    pub(super) fn stack_of_segment(&self, id: SegmentId) -> Option<Stack> {
        self.segment_stacks.get(&id).cloned()
    }

    /// Records a request that failed while the driver had this number of bytes free.
    pub(super) fn trace_oom(&mut self, free: u64, size: u64, stream: i64, pool: Option<PoolId>) {
        let stack = current_stack();
        self.add(TraceEntry { stream, pool, stack, ..entry(TraceAction::OutOfMemory, free, size) });
    }

    /// Records a snapshot with this number of active bytes.
    pub(super) fn trace_snapshot(&mut self, size: u64) {
        self.add(TraceEntry { stack: current_stack(), ..entry(TraceAction::Snapshot, 0, size) });
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
                let stack = self.config.and_then(|_| current_stack());
                stack.inspect(|stack| drop(self.block_stacks.insert(id, stack.clone())))
            }
            TraceAction::FreeCompleted => self.block_stacks.remove(&id),
            _ => self.stack_of_block(id),
        };
        let cause = self.release_reason.filter(|_| action == TraceAction::FreeCompleted);
        let entry = entry(action, block.address.0, block.requested as u64);
        let pool = heap.pool(segment.pool).id;
        self.add(TraceEntry { stream: segment.stream, pool, cause, stack, ..entry });
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
                entry(action, address.0, size as u64),
            );
        }
    }

    #[cold]
    fn record_segment(&mut self, action: TraceAction, heap: &Heap, id: SegmentId, entry: TraceEntry) {
        let segment = heap.segment(id);
        let (cause, stack) = match action {
            TraceAction::SegmentAlloc => {
                let stack = self.config.and_then(|_| current_stack());
                (None, stack.inspect(|stack| drop(self.segment_stacks.insert(id, stack.clone()))))
            }
            TraceAction::SegmentFree => {
                (self.release_reason.or(segment.release.reason), self.segment_stacks.remove(&id))
            }
            _ => (None, self.stack_of_segment(id)),
        };
        let pool = heap.pool(segment.pool).id;
        self.add(TraceEntry { stream: segment.stream, pool, cause, stack, ..entry });
    }

    fn add(&mut self, entry: TraceEntry) {
        let Some(config) = self.config else { return };
        let max = config.max_entries.unwrap_or(usize::MAX);
        while self.entries.len() >= max.max(1) {
            self.entries.pop_front();
        }
        if max > 0 {
            self.entries.push_back(entry);
        }
    }
}

/// Creates an entry with the current time.
fn entry(action: TraceAction, address: u64, size: u64) -> TraceEntry {
    TraceEntry { action, address, size, stream: 0, time: now(), pool: None, cause: None, stack: None }
}
