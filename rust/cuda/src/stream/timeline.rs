//! The timeline of a stream: submitted and completed points, and the owners retained for queued work.

use std::collections::VecDeque;
use std::sync::Arc;

use interlock_driver::KeepAlive;

use super::completion::Completion;
use super::event_pool::PooledEvent;
use crate::sys::context_guard::Context;

/// The timeline of a stream: points are increasing numbers, like the values of a Vulkan timeline semaphore.
#[derive(Default)]
pub(crate) struct Timeline {
    submitted: u64,
    completed: u64,
    /// Points in order.
    signals: VecDeque<Signal>,
    /// Owners of memory and functions of queued work, each with a point after the work.
    retained: VecDeque<(u64, Vec<KeepAlive>)>,
}

/// A point and the event that signals it.
struct Signal {
    point: u64,
    event: Arc<PooledEvent>,
    /// Present once a thread has waited for the event.
    completion: Option<Arc<Completion>>,
}

impl Timeline {
    /// Returns the point of the work that was queued last.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Adds a point after all others and returns it.
    pub(crate) fn advance(&mut self) -> u64 {
        self.submitted += 1;
        self.submitted
    }

    /// Adds a point for an event that was recorded after all queued work, and returns it.
    pub(crate) fn signal(&mut self, event: PooledEvent) -> u64 {
        let point = self.advance();
        self.signals.push_back(Signal { point, event: Arc::new(event), completion: None });
        point
    }

    /// Keeps owners alive until a signaled point completes.
    pub(crate) fn retain(&mut self, point: u64, owners: Vec<KeepAlive>) {
        self.retained.push_back((point, owners));
    }

    pub(crate) fn has_completed(&self, point: u64) -> bool {
        point <= self.completed
    }

    /// Returns the number of signaled points that are not known to have completed.
    pub(crate) fn pending(&self) -> usize {
        self.signals.len()
    }

    /// Returns the last signaled point.
    pub(crate) fn last_signaled(&self) -> u64 {
        self.signals.back().map_or(self.completed, |signal| signal.point)
    }

    /// Returns the wait for the first event at or after a point. The first call begins it.
    pub(crate) fn completion(&mut self, point: u64, context: Context) -> Option<Arc<Completion>> {
        let first = self.signals.partition_point(|signal| signal.point < point);
        let Signal { event, completion, .. } = self.signals.get_mut(first)?;
        Some(completion.get_or_insert_with(|| Completion::begin(event.clone(), context)).clone())
    }

    /// Returns whether a thread has begun to wait for the first event at or after a point.
    pub(crate) fn is_awaited(&self, point: u64) -> bool {
        let first = self.signals.partition_point(|signal| signal.point < point);
        self.signals.get(first).is_some_and(|signal| signal.completion.is_some())
    }

    /// Returns the event of the first pending point.
    pub(crate) fn first_pending(&self) -> Option<&PooledEvent> {
        self.signals.front().map(|signal| &*signal.event)
    }

    /// Completes the first pending point.
    pub(crate) fn complete_first(&mut self) {
        if let Some(signal) = self.signals.pop_front() {
            debug_assert!(signal.point > self.completed, "points complete in order");
            self.completed = signal.point;
        }
    }

    /// Removes and returns the owners that were retained for completed points.
    pub(crate) fn drain_completed(&mut self) -> Vec<KeepAlive> {
        let count = self.retained.iter().take_while(|(point, _)| *point <= self.completed).count();
        self.retained.drain(..count).flat_map(|(_, owners)| owners).collect()
    }
}
