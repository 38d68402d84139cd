//! What happened to a device's memory, as far as it is recorded.

use std::collections::{HashMap, VecDeque};

use super::books::Books;
use super::piece::{PieceId, SegmentId};
use crate::PoolId;
use crate::memory::history::{Action, Cause, HistoryOptions, Stack, TraceEntry, current_stack, now};

/// The last entries, and the stacks of what is there.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The change of the process's history that was last obeyed.
    changes: u64,
    recorded: Option<HistoryOptions>,
    entries: VecDeque<TraceEntry>,
    /// The stacks for which pieces were handed out, as long as these are not free.
    of_pieces: HashMap<PieceId, Stack>,
    of_segments: HashMap<SegmentId, Stack>,
    /// Why segments go back that are about to.
    leaving: HashMap<SegmentId, Cause>,
    /// What all that can be given back is given back for just now.
    awaited_for: Option<Cause>,
}

impl History {
    /// Records from now on or no more, unless a later change has been obeyed already. Where that `begins` a history,
    /// here or on other devices, what was recorded is forgotten, and returned.
    pub(super) fn set(
        &mut self,
        changes: u64,
        begins: bool,
        options: Option<HistoryOptions>,
    ) -> VecDeque<TraceEntry> {
        if changes <= self.changes {
            return VecDeque::new();
        }
        (self.changes, self.recorded) = (changes, options);
        self.leaving.clear();
        if begins { std::mem::take(&mut self.entries) } else { VecDeque::new() }
    }

    /// Whether there is nothing to be done when something happens.
    fn is_idle(&self) -> bool {
        self.recorded.is_none() && self.of_pieces.is_empty() && self.of_segments.is_empty()
    }

    pub(super) fn entries(&self) -> Vec<TraceEntry> {
        self.entries.iter().cloned().collect()
    }

    pub(super) fn stack_of_piece(&self, id: PieceId) -> Option<Stack> {
        self.of_pieces.get(&id).cloned()
    }

    pub(super) fn stack_of_segment(&self, id: SegmentId) -> Option<Stack> {
        self.of_segments.get(&id).cloned()
    }

    /// A segment is about to go back to the driver.
    pub(super) fn leaves(&mut self, id: SegmentId, cause: Cause) {
        if self.recorded.is_some() {
            self.leaving.insert(id, cause);
        }
    }

    /// What is free, or goes back, from now on is so for a reason.
    pub(super) fn awaits(&mut self, cause: Option<Cause>) {
        self.awaited_for = cause;
    }

    /// A request could not be served although the driver had so many bytes left.
    pub(super) fn note_oom(&mut self, free: u64, size: u64, stream: i64, pool: Option<PoolId>) {
        let (action, address) = (Action::OutOfMemory, free);
        let stack = current_stack();
        self.add(TraceEntry { action, address, size, stream, time: now(), pool, cause: None, stack });
    }

    /// A snapshot is taken while so many bytes are active.
    pub(super) fn note_snapshot(&mut self, size: u64) {
        let (action, stack) = (Action::Snapshot, current_stack());
        let entry =
            TraceEntry { action, address: 0, size, stream: 0, time: now(), pool: None, cause: None, stack };
        self.add(entry);
    }

    fn add(&mut self, entry: TraceEntry) {
        let Some(options) = self.recorded else { return };
        let max = options.max_entries.unwrap_or(usize::MAX);
        while self.entries.len() >= max.max(1) {
            self.entries.pop_front();
        }
        if max > 0 {
            self.entries.push_back(entry);
        }
    }
}

impl Books {
    /// Something happens to a piece, which is as it was handed out.
    #[inline]
    pub(super) fn note_piece(&mut self, action: Action, id: PieceId) {
        if !self.history.is_idle() {
            self.record_piece(action, id);
        }
    }

    #[cold]
    fn record_piece(&mut self, action: Action, id: PieceId) {
        let piece = &self.pieces[id];
        let (address, size) = (piece.address.0, piece.requested as u64);
        let segment = &self.segments[piece.segment];
        let (stream, pool) = (segment.stream, self.pools[segment.pool].id);
        let history = &mut self.history;
        let stack = match action {
            Action::Alloc => {
                let stack = history.recorded.and_then(|_| current_stack());
                stack.inspect(|stack| drop(history.of_pieces.insert(id, stack.clone())))
            }
            Action::FreeCompleted => history.of_pieces.remove(&id),
            _ => history.stack_of_piece(id),
        };
        let cause = history.awaited_for.filter(|_| action == Action::FreeCompleted);
        history.add(TraceEntry { action, address, size, stream, time: now(), pool, cause, stack });
    }

    /// Something happens to `size` bytes of a segment.
    #[inline]
    pub(super) fn note_segment(&mut self, action: Action, id: SegmentId, address: u64, size: usize) {
        if !self.history.is_idle() {
            self.record_segment(action, id, address, size as u64);
        }
    }

    #[cold]
    fn record_segment(&mut self, action: Action, id: SegmentId, address: u64, size: u64) {
        let segment = &self.segments[id];
        let (stream, pool) = (segment.stream, self.pools[segment.pool].id);
        let history = &mut self.history;
        let (cause, stack) = match action {
            Action::SegmentAlloc => {
                let stack = history.recorded.and_then(|_| current_stack());
                (None, stack.inspect(|stack| drop(history.of_segments.insert(id, stack.clone()))))
            }
            Action::SegmentFree => {
                let leaving = history.leaving.remove(&id);
                (history.awaited_for.or(leaving), history.of_segments.remove(&id))
            }
            _ => (None, history.stack_of_segment(id)),
        };
        history.add(TraceEntry { action, address, size, stream, time: now(), pool, cause, stack });
    }
}
