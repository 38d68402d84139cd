//! Releases to the driver.

use std::collections::BTreeMap;

use interlock_accelerator::PoolId;

use super::Device;
use crate::allocator::counting::{in_pool, take};
use crate::allocator::model::Streams;
use crate::allocator::segment::{Mark, Segment, StreamKey};

impl Device {
    /// Returns the segments that may be released, the longest unused first.
    pub(super) fn unused(&self) -> Vec<u64> {
        let default_pool =
            self.segments.iter().filter(|(_, segment)| segment.is_active() && segment.pool.is_none());
        let mut unused: Vec<_> =
            default_pool.filter_map(|(id, segment)| Some((segment.freed_tick()?, *id))).collect();
        unused.sort_unstable();
        unused.into_iter().map(|(_, id)| id).collect()
    }

    /// Releases cached segments beyond the limit.
    pub fn trim(&mut self, streams: &Streams) {
        let Some(limit) = self.cache_limit.filter(|_| !streams.capturing) else { return };
        for id in self.unused() {
            if self.cached() > limit {
                self.begin_release(id, streams);
            }
        }
    }

    pub(super) fn begin_release(&mut self, id: u64, streams: &Streams) {
        let segment = self.segments.get_mut(&id).unwrap();
        segment.release_after = Some(vec![streams.mark(segment.stream)]);
    }

    /// Finishes the releases whose streams have passed their marks.
    pub fn release_ready(&mut self, streams: &Streams) {
        let is_reached = |marks: &Vec<Mark>| marks.iter().all(|mark| streams.is_reached(*mark));
        let is_ready =
            |segment: &Segment| !streams.capturing && segment.release_after.as_ref().is_some_and(is_reached);
        let (released, remaining) =
            std::mem::take(&mut self.segments).into_iter().partition(|(_, segment)| is_ready(segment));
        self.segments = remaining;
        for segment in BTreeMap::into_values(released) {
            let (small, bytes) = (segment.small, segment.bytes() as u64);
            in_pool(&mut self.statistics.segment, small, |stat| take(stat, 1));
            self.change_reserved(segment.pool, |reserved| in_pool(reserved, small, |stat| take(stat, bytes)));
            self.statistics.num_device_free += 1;
        }
        self.remove_unused_pools();
    }

    /// Releases all unused segments. All latches are open.
    pub fn empty(&mut self, streams: &Streams) {
        self.statistics.num_sync_all_streams += 1;
        self.process_events(streams);
        for id in self.unused() {
            self.begin_release(id, streams);
        }
        self.release_ready(streams);
    }

    /// Retires the segments of a destroyed stream, except those of graphs.
    pub fn on_stream_destroyed(&mut self, stream: StreamKey, streams: &Streams) {
        let mark = streams.mark(stream);
        self.retire(|segment| segment.stream == stream && segment.pool.is_none(), &[mark]);
        self.release_ready(streams);
    }

    /// Retires the segments of a pool whose last graph was destroyed, which these streams may still replay.
    pub fn on_pool_released(&mut self, pool: PoolId, replayed_on: &[StreamKey], streams: &Streams) {
        self.pools.remove(&pool);
        self.pools_released += 1;
        let is_of_pool = |segment: &&mut Segment| {
            segment.is_active() && segment.pending_pool.is_none() && segment.pool == Some(pool)
        };
        let segments = self.segments.values_mut().filter(is_of_pool);
        if segments.map(|segment| segment.pending_pool = Some(self.pools_released)).count() > 0 {
            self.retire_pool(self.pools_released, replayed_on, streams);
        }
        self.remove_unused_pools();
    }

    pub(super) fn retire_pool(&mut self, number: u64, replayed_on: &[StreamKey], streams: &Streams) {
        if streams.capturing {
            return self.pending_pool.push((number, replayed_on.to_vec()));
        }
        let is_of_pool = |segment: &Segment| segment.pending_pool == Some(number) && segment.is_active();
        let own = self.segments.values().filter(|segment| is_of_pool(segment)).map(|segment| segment.stream);
        let marks: Vec<_> =
            own.chain(replayed_on.iter().copied()).map(|stream| streams.mark(stream)).collect();
        self.retire(is_of_pool, &marks);
    }

    pub(super) fn retire(&mut self, condition: impl Fn(&Segment) -> bool, marks: &[Mark]) {
        for segment in self.segments.values_mut().filter(|segment| segment.is_active() && condition(segment))
        {
            let free = segment.freed_tick().is_some();
            let place = if free { &mut segment.release_after } else { &mut segment.retired_after };
            *place = Some(marks.to_vec());
        }
    }

    /// Releases an unused retired segment after the work that its stream was given since.
    pub(super) fn release_if_unused(&mut self, id: u64, streams: &Streams) {
        if streams.capturing && streams.alive.contains(&self.segments[&id].stream) {
            return self.blocked_segments.push(id);
        }
        let segment = self.segments.get_mut(&id).unwrap();
        let marks = segment.retired_after.take().unwrap();
        segment.release_after = Some(marks.into_iter().chain([streams.mark(segment.stream)]).collect());
    }
}
