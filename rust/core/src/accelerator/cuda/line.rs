//! Places in a stream, which of them have been reached, and what is kept until then.

use std::collections::VecDeque;

use super::pooled_event::PooledEvent;
use crate::accelerator::driver::KeepAlive;

/// What is known of a stream's order. Places are numbers that rise.
#[derive(Default)]
pub(super) struct Line {
    queued: u64,
    reached: u64,
    /// Events by the places that they mark, in order.
    marks: VecDeque<(u64, PooledEvent)>,
    /// What queued work reaches, by a place behind the work.
    kept: VecDeque<(u64, KeepAlive)>,
}

impl Line {
    /// The place of what was queued last.
    pub(super) fn queued(&self) -> u64 {
        self.queued
    }

    /// A place behind all others.
    pub(super) fn next(&mut self) -> u64 {
        self.queued += 1;
        self.queued
    }

    /// An event was recorded behind all that is queued. Returns its place.
    pub(super) fn mark(&mut self, event: PooledEvent) -> u64 {
        let place = self.next();
        self.marks.push_back((place, event));
        place
    }

    /// Keeps something until a place is reached that is marked already.
    pub(super) fn keep(&mut self, place: u64, keeper: KeepAlive) {
        self.kept.push_back((place, keeper));
    }

    pub(super) fn is_reached(&self, place: u64) -> bool {
        place <= self.reached
    }

    /// How many places are marked and not known to be reached.
    pub(super) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// The last place that was marked.
    pub(super) fn marked(&self) -> u64 {
        self.marks.back().map_or(self.reached, |(place, _)| *place)
    }

    /// The event of the first of them.
    pub(super) fn first_mark(&self) -> Option<&PooledEvent> {
        self.marks.front().map(|(_, event)| event)
    }

    /// It has been reached.
    pub(super) fn reach_first(&mut self) {
        if let Some((place, _)) = self.marks.pop_front() {
            self.reached = place;
        }
    }

    /// What need not be kept any longer.
    pub(super) fn take_over(&mut self) -> Vec<KeepAlive> {
        let over = self.kept.iter().take_while(|(place, _)| *place <= self.reached).count();
        self.kept.drain(..over).map(|(_, keeper)| keeper).collect()
    }
}
