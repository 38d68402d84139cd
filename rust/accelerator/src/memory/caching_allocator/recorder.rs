//! The recorded history of a device's memory.

use std::collections::{HashMap, VecDeque};

use super::heap::{BlockId, Heap, SegmentId};
use crate::PoolId;
use crate::memory::trace::{
    HistoryConfig, ReleaseReason, Stack, TraceAction, TraceEntry, current_stack, now,
};

/// The last entries of the history, and the stacks of the blocks and segments that exist.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// The last change of the process's configuration that was applied.
    changes: u64,
    config: Option<HistoryConfig>,
    entries: VecDeque<TraceEntry>,
    /// The stacks that allocated the blocks which are not free.
    block_stacks: HashMap<BlockId, Stack>,
    segment_stacks: HashMap<SegmentId, Stack>,
    /// Why segments are released that are about to be.
    release_reasons: HashMap<SegmentId, ReleaseReason>,
    /// Why everything that is unused is released just now.
    release_all_reason: Option<ReleaseReason>,
}

impl Recorder {
    /// Records from now on or no more, unless a later change was applied already. Where that `begins` a history, here
    /// or on other devices, the recorded entries are removed, and returned.
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
        self.release_reasons.clear();
        if begins { std::mem::take(&mut self.entries) } else { VecDeque::new() }
    }

    /// Returns whether nothing is recorded, and nothing recorded is to be forgotten.
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

    /// Notes why a segment is about to be released.
    pub(super) fn note_release(&mut self, id: SegmentId, reason: ReleaseReason) {
        if self.config.is_some() {
            self.release_reasons.insert(id, reason);
        }
    }

    /// Sets the reason of all frees and releases from now on.
    pub(super) fn set_release_reason(&mut self, reason: Option<ReleaseReason>) {
        self.release_all_reason = reason;
    }

    /// Records a request that failed while the driver had this number of bytes free.
    pub(super) fn trace_oom(&mut self, free: u64, size: u64, stream: i64, pool: Option<PoolId>) {
        let (action, address) = (TraceAction::OutOfMemory, free);
        let stack = current_stack();
        self.add(TraceEntry { action, address, size, stream, time: now(), pool, cause: None, stack });
    }

    /// Records a snapshot, taken while this number of bytes is active.
    pub(super) fn trace_snapshot(&mut self, size: u64) {
        let (action, stack) = (TraceAction::Snapshot, current_stack());
        let entry =
            TraceEntry { action, address: 0, size, stream: 0, time: now(), pool: None, cause: None, stack };
        self.add(entry);
    }

    /// Records what happens to a block, while it is as large as it was when it was allocated.
    #[inline]
    pub(super) fn trace_block(&mut self, action: TraceAction, heap: &Heap, id: BlockId) {
        if !self.is_idle() {
            self.record_block(action, heap, id);
        }
    }

    #[cold]
    fn record_block(&mut self, action: TraceAction, heap: &Heap, id: BlockId) {
        let block = heap.block(id);
        let (address, size) = (block.address().0, block.requested() as u64);
        let segment = heap.segment(block.segment());
        let (stream, pool) = (segment.stream(), heap.pool_id(segment.pool()));
        let stack = match action {
            TraceAction::Alloc => {
                let stack = self.config.and_then(|_| current_stack());
                stack.inspect(|stack| drop(self.block_stacks.insert(id, stack.clone())))
            }
            TraceAction::FreeCompleted => self.block_stacks.remove(&id),
            _ => self.stack_of_block(id),
        };
        let cause = self.release_all_reason.filter(|_| action == TraceAction::FreeCompleted);
        self.add(TraceEntry { action, address, size, stream, time: now(), pool, cause, stack });
    }

    /// Records what happens to `size` bytes of a segment.
    #[inline]
    pub(super) fn trace_segment(
        &mut self,
        action: TraceAction,
        heap: &Heap,
        id: SegmentId,
        address: u64,
        size: usize,
    ) {
        if !self.is_idle() {
            self.record_segment(action, heap, id, address, size as u64);
        }
    }

    #[cold]
    fn record_segment(&mut self, action: TraceAction, heap: &Heap, id: SegmentId, address: u64, size: u64) {
        let segment = heap.segment(id);
        let (stream, pool) = (segment.stream(), heap.pool_id(segment.pool()));
        let (cause, stack) = match action {
            TraceAction::SegmentAlloc => {
                let stack = self.config.and_then(|_| current_stack());
                (None, stack.inspect(|stack| drop(self.segment_stacks.insert(id, stack.clone()))))
            }
            TraceAction::SegmentFree => {
                let reason = self.release_reasons.remove(&id);
                (self.release_all_reason.or(reason), self.segment_stacks.remove(&id))
            }
            _ => (None, self.stack_of_segment(id)),
        };
        self.add(TraceEntry { action, address, size, stream, time: now(), pool, cause, stack });
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
