//! The last entries of a history.

use std::collections::VecDeque;

use super::trace::{HistoryConfig, Recording, TraceEntry};

/// The last entries of the history of one allocator.
#[derive(Debug, Default)]
pub(super) struct TraceLog {
    /// The number of the last change of the process-wide recording that was applied.
    changes: u64,
    config: Option<HistoryConfig>,
    entries: VecDeque<TraceEntry>,
}

impl TraceLog {
    /// Begins or ends the recording, unless a later change was applied already. If the change begins a history, here
    /// or elsewhere, removes and returns the recorded entries.
    pub(super) fn configure(
        &mut self,
        recording: &Recording,
        config: Option<HistoryConfig>,
    ) -> VecDeque<TraceEntry> {
        if recording.changes() <= self.changes {
            return VecDeque::new();
        }
        (self.changes, self.config) = (recording.changes(), config);
        if recording.begins() { std::mem::take(&mut self.entries) } else { VecDeque::new() }
    }

    /// Returns whether entries are recorded.
    #[inline]
    pub(super) fn is_recording(&self) -> bool {
        self.config.is_some()
    }

    pub(super) fn entries(&self) -> Vec<TraceEntry> {
        self.entries.iter().cloned().collect()
    }

    /// Adds an entry, if entries are recorded.
    pub(super) fn add(&mut self, entry: TraceEntry) {
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
