//! What goes back to the driver.

use std::collections::BTreeMap;

use interlock_accelerator::PoolId;

use super::Device;
use crate::allocator::counting::{in_pool, take};
use crate::allocator::model::Streams;
use crate::allocator::segment::{Mark, Segment, StreamKey};

impl Device {
    /// Segments that may go back to the driver, the longest unused first.
    pub(super) fn unused(&self) -> Vec<u64> {
        let common = self.segments.iter().filter(|(_, segment)| segment.is_open() && segment.pool.is_none());
        let mut unused: Vec<_> =
            common.filter_map(|(id, segment)| Some((segment.free_since()?, *id))).collect();
        unused.sort_unstable();
        unused.into_iter().map(|(_, id)| id).collect()
    }

    /// What is kept beyond the limit leaves.
    pub fn trim(&mut self, streams: &Streams) {
        let Some(limit) = self.cache_limit.filter(|_| !streams.capturing) else { return };
        for id in self.unused() {
            if self.kept().1 > limit {
                self.leave(id, streams);
            }
        }
    }

    pub(super) fn leave(&mut self, id: u64, streams: &Streams) {
        let segment = self.segments.get_mut(&id).unwrap();
        segment.leaving = Some(vec![streams.mark(segment.stream)]);
    }

    /// What leaves and whose streams have got far enough goes back to the driver.
    pub fn give_back(&mut self, streams: &Streams) {
        let is_over = |marks: &Vec<Mark>| marks.iter().all(|mark| streams.is_over(*mark));
        let goes = |segment: &Segment| !streams.capturing && segment.leaving.as_ref().is_some_and(is_over);
        let (gone, stay) =
            std::mem::take(&mut self.segments).into_iter().partition(|(_, segment)| goes(segment));
        self.segments = stay;
        for segment in BTreeMap::into_values(gone) {
            let (small, bytes) = (segment.small, segment.bytes() as u64);
            in_pool(&mut self.statistics.segment, small, |stat| take(stat, 1));
            self.change_reserved(segment.pool, |reserved| in_pool(reserved, small, |stat| take(stat, bytes)));
            self.statistics.num_device_free += 1;
        }
        self.forget_pools();
    }

    /// Everything unused goes back to the driver. All latches are open.
    pub fn empty(&mut self, streams: &Streams) {
        self.statistics.num_sync_all_streams += 1;
        self.settle(streams);
        for id in self.unused() {
            self.leave(id, streams);
        }
        self.give_back(streams);
    }

    /// What was allocated for a stream goes with it, apart from what a graph still uses.
    pub fn stream_goes(&mut self, stream: StreamKey, streams: &Streams) {
        let mark = streams.mark(stream);
        self.orphan(|segment| segment.stream == stream && segment.pool.is_none(), &[mark]);
        self.give_back(streams);
    }

    /// No graph uses a pool any more, apart from replays that these streams may not have got to yet.
    pub fn pool_goes(&mut self, pool: PoolId, replayed_on: &[StreamKey], streams: &Streams) {
        self.pools.remove(&pool);
        self.gone += 1;
        let is_of_pool = |segment: &&mut Segment| {
            segment.is_open() && segment.going.is_none() && segment.pool == Some(pool)
        };
        let segments = self.segments.values_mut().filter(is_of_pool);
        if segments.map(|segment| segment.going = Some(self.gone)).count() > 0 {
            self.let_pool_go(self.gone, replayed_on, streams);
        }
        self.forget_pools();
    }

    pub(super) fn let_pool_go(&mut self, number: u64, replayed_on: &[StreamKey], streams: &Streams) {
        if streams.capturing {
            return self.going.push((number, replayed_on.to_vec()));
        }
        let goes = |segment: &Segment| segment.going == Some(number) && segment.is_open();
        let own = self.segments.values().filter(|segment| goes(segment)).map(|segment| segment.stream);
        let marks: Vec<_> =
            own.chain(replayed_on.iter().copied()).map(|stream| streams.mark(stream)).collect();
        self.orphan(goes, &marks);
    }

    pub(super) fn orphan(&mut self, goes: impl Fn(&Segment) -> bool, marks: &[Mark]) {
        for segment in self.segments.values_mut().filter(|segment| segment.is_open() && goes(segment)) {
            let free = segment.free_since().is_some();
            let place = if free { &mut segment.leaving } else { &mut segment.orphaned };
            *place = Some(marks.to_vec());
        }
    }

    /// A segment whose stream or pool has gone leaves once its stream has got past what it was given since.
    pub(super) fn let_orphan_go(&mut self, id: u64, streams: &Streams) {
        if streams.capturing && streams.alive.contains(&self.segments[&id].stream) {
            return self.stuck.push(id);
        }
        let segment = self.segments.get_mut(&id).unwrap();
        let marks = segment.orphaned.take().unwrap();
        segment.leaving = Some(marks.into_iter().chain([streams.mark(segment.stream)]).collect());
    }
}
