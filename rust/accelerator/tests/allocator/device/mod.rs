//! The model of the memory of one device.

mod release;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use interlock_accelerator::PoolId;
use interlock_accelerator::memory::{StatArray, Statistics, TrackerStats};

use super::counting::{add, change, in_pool, take};
use super::model::Streams;
use super::segment::{Block, Mark, Segment, StreamKey, is_small, rounded, segment_for};

#[derive(Clone, Debug)]
pub struct Device {
    pub segments: BTreeMap<u64, Segment>,
    pub used: BTreeMap<u64, Used>,
    pub statistics: Statistics,
    pub trackers: BTreeMap<u64, Tracker>,
    pub limit: Option<u64>,
    pub cache_limit: Option<u64>,
    /// Freed blocks that wait for other streams, in the order of their frees.
    freed: BTreeMap<StreamKey, VecDeque<(Mark, u64)>>,
    /// Blocks that were freed during a capture.
    deferred: Vec<u64>,
    /// Retired segments that became free during a capture.
    blocked_segments: Vec<u64>,
    /// Pools that were released during a capture.
    pending_pool: Vec<(u64, Vec<StreamKey>)>,
    /// Pools of graphs that have allocated on this device.
    pub pools: BTreeSet<PoolId>,
    /// The numbers of released pools, of added segments and of frees.
    pools_released: u64,
    segments_added: u64,
    frees: u64,
}

/// A block that the program or queued work uses.
#[derive(Clone, Debug)]
pub struct Used {
    pub segment: u64,
    pub offset: usize,
    pub bytes: usize,
    pub requested: usize,
    pub stream_uses: Vec<StreamKey>,
    pending_events: usize,
}

#[derive(Clone, Debug)]
pub struct Tracker {
    /// The last allocation before the tracker was opened.
    pub since: u64,
    pub counted: TrackerStats,
}

impl Device {
    pub fn new() -> Self {
        Device {
            segments: BTreeMap::new(),
            used: BTreeMap::new(),
            statistics: Statistics { max_split_size: -1, ..Statistics::default() },
            trackers: BTreeMap::new(),
            limit: None,
            cache_limit: None,
            freed: BTreeMap::new(),
            deferred: Vec::new(),
            blocked_segments: Vec::new(),
            pending_pool: Vec::new(),
            pools: BTreeSet::new(),
            pools_released: 0,
            segments_added: 0,
            frees: 0,
        }
    }

    pub fn reserved(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes() as u64).sum()
    }

    /// Returns the streams that this device has handles of.
    pub fn streams(&self) -> impl Iterator<Item = StreamKey> {
        let used = self.used.values().flat_map(|used| &used.stream_uses);
        used.chain(self.pending_pool.iter().flat_map(|(_, streams)| streams)).copied()
    }

    /// Returns the bytes of all free blocks.
    pub fn cached(&self) -> u64 {
        let open = self.segments.values().filter(|segment| segment.is_active());
        open.flat_map(Segment::free_blocks).map(|block| block.bytes as u64).sum()
    }

    /// Returns the sizes of the free blocks that requests of a stream may use, each with whether it is for small ones.
    pub fn free_for(&self, stream: StreamKey, pool: Option<PoolId>) -> impl Iterator<Item = (bool, u64)> {
        let fits = move |segment: &&Segment| {
            let for_it = (segment.stream, segment.pool) == (stream, pool);
            for_it && segment.is_active() && segment.pending_pool.is_none()
        };
        let segments = self.segments.values().filter(fits);
        segments.flat_map(|segment| segment.free_blocks().map(|block| (segment.small, block.bytes as u64)))
    }

    /// Allocates the best-fitting free block: the smallest one, in the oldest segment, at the lowest address.
    pub fn allocate_cached(
        &mut self,
        number: u64,
        requested: usize,
        stream: StreamKey,
        pool: Option<PoolId>,
    ) -> bool {
        let bytes = rounded(requested);
        let fits = |segment: &Segment| {
            let for_it = (segment.stream, segment.pool) == (stream, pool) && segment.small == is_small(bytes);
            for_it && segment.is_active() && segment.pending_pool.is_none()
        };
        let segments = self.segments.iter().filter(|(_, segment)| fits(segment));
        let blocks = segments.flat_map(|(id, segment)| {
            let large_enough = segment.free_blocks().filter(|block| block.bytes >= bytes);
            large_enough.map(|block| (block.bytes, *id, block.offset))
        });
        let Some((_, segment, offset)) = blocks.min() else { return false };
        self.allocate_block(number, requested, segment, offset);
        true
    }

    /// Adds a segment of the driver and allocates a block from it.
    pub fn allocate_segment(
        &mut self,
        number: u64,
        requested: usize,
        stream: StreamKey,
        pool: Option<PoolId>,
    ) {
        let (small, bytes) = (is_small(rounded(requested)), segment_for(rounded(requested)));
        self.segments_added += 1;
        let block = Block { offset: 0, bytes, freed_tick: Some(self.frees) };
        let (release_after, retired_after, blocks) = (None, None, vec![block]);
        let (base, pending_pool) = (0, None);
        let segment =
            Segment { base, small, stream, pool, pending_pool, blocks, release_after, retired_after };
        self.segments.insert(self.segments_added, segment);
        in_pool(&mut self.statistics.segment, small, |stat| add(stat, 1));
        self.change_reserved(pool, |reserved| in_pool(reserved, small, |stat| add(stat, bytes as u64)));
        self.statistics.num_device_alloc += 1;
        self.allocate_block(number, requested, self.segments_added, 0);
    }

    fn allocate_block(&mut self, number: u64, requested: usize, id: u64, offset: usize) {
        let segment = self.segments.get_mut(&id).unwrap();
        let (small, split) = (segment.small, segment.split());
        let bytes = segment.take(offset, rounded(requested));
        let after = segment.split();
        self.change_split(small, split, after);
        let statistics = &mut self.statistics;
        for count in [&mut statistics.allocation, &mut statistics.active] {
            in_pool(count, small, |stat| add(stat, 1));
        }
        for count in [&mut statistics.allocated_bytes, &mut statistics.active_bytes] {
            in_pool(count, small, |stat| add(stat, bytes as u64));
        }
        in_pool(&mut statistics.requested_bytes, small, |stat| add(stat, requested as u64));
        for Tracker { counted, .. } in self.trackers.values_mut() {
            counted.current += bytes as u64;
            counted.peak = counted.peak.max(counted.current);
            counted.total += bytes as u64;
            counted.allocations += 1;
        }
        let used = Used { segment: id, offset, bytes, requested, stream_uses: Vec::new(), pending_events: 0 };
        self.used.insert(number, used);
    }

    /// Frees a block of the program, which queued work may still use.
    pub fn release(&mut self, number: u64, streams: &Streams) {
        let used = &self.used[&number];
        let (bytes, small) = (used.bytes as u64, self.segments[&used.segment].small);
        in_pool(&mut self.statistics.allocation, small, |stat| take(stat, 1));
        in_pool(&mut self.statistics.allocated_bytes, small, |stat| take(stat, bytes));
        for tracker in self.trackers.values_mut().filter(|tracker| tracker.since < number) {
            tracker.counted.current -= bytes;
        }
        if self.used[&number].stream_uses.is_empty() {
            self.free(number, streams);
        } else if streams.capturing {
            self.deferred.push(number);
        } else {
            self.await_streams(number, streams);
        }
        self.trim(streams);
        self.release_ready(streams);
    }

    fn await_streams(&mut self, number: u64, streams: &Streams) {
        let used = self.used.get_mut(&number).unwrap();
        let pending_events = std::mem::take(&mut used.stream_uses);
        used.pending_events = pending_events.len();
        for stream in pending_events {
            self.freed.entry(stream).or_default().push_back((streams.mark(stream), number));
        }
    }

    fn free(&mut self, number: u64, streams: &Streams) {
        let used = self.used.remove(&number).unwrap();
        self.frees += 1;
        let segment = self.segments.get_mut(&used.segment).unwrap();
        let (small, before) = (segment.small, segment.split());
        segment.free(used.offset, self.frees);
        let after = segment.split();
        let is_left = segment.freed_tick().is_some() && segment.retired_after.is_some();
        self.change_split(small, before, after);
        in_pool(&mut self.statistics.active, small, |stat| take(stat, 1));
        in_pool(&mut self.statistics.active_bytes, small, |stat| take(stat, used.bytes as u64));
        in_pool(&mut self.statistics.requested_bytes, small, |stat| take(stat, used.requested as u64));
        if is_left {
            self.release_if_unused(used.segment, streams);
        }
    }

    /// Frees the blocks whose streams have passed their marks, and releases cached segments beyond the limit.
    pub fn process_events(&mut self, streams: &Streams) {
        if streams.capturing {
            return;
        }
        for number in std::mem::take(&mut self.deferred) {
            self.await_streams(number, streams);
        }
        for (stream, mut queue) in std::mem::take(&mut self.freed) {
            while let Some((mark, number)) = queue.front().copied()
                && streams.is_reached(mark)
            {
                queue.pop_front();
                let used = self.used.get_mut(&number).unwrap();
                used.pending_events -= 1;
                if used.pending_events == 0 {
                    self.free(number, streams);
                }
            }
            if !queue.is_empty() {
                self.freed.insert(stream, queue);
            }
        }
        for segment in std::mem::take(&mut self.blocked_segments) {
            self.release_if_unused(segment, streams);
        }
        for (pool, replayed_on) in std::mem::take(&mut self.pending_pool) {
            self.retire_pool(pool, &replayed_on, streams);
        }
        self.trim(streams);
    }

    fn change_split(&mut self, small: bool, before: (u64, u64), after: (u64, u64)) {
        in_pool(&mut self.statistics.inactive_split, small, |stat| change(stat, before.0, after.0));
        in_pool(&mut self.statistics.inactive_split_bytes, small, |stat| change(stat, before.1, after.1));
    }

    fn change_reserved(&mut self, pool: Option<PoolId>, count: impl Fn(&mut StatArray)) {
        count(&mut self.statistics.reserved_bytes);
        let Some(pool) = pool else { return };
        let private = &mut self.statistics.reserved_bytes_by_private_pools;
        if !private.iter().any(|(id, _)| *id == pool) {
            private.push((pool, StatArray::default()));
            private.sort_by_key(|(id, _)| *id);
        }
        private.iter_mut().filter(|(id, _)| *id == pool).for_each(|(_, reserved)| count(reserved));
    }

    /// Removes the statistics of pools that neither graphs nor memory use.
    fn remove_unused_pools(&mut self) {
        let has_memory = |pool| self.segments.values().any(|segment| segment.pool == Some(pool));
        let is_known = |pool| self.pools.contains(&pool) || has_memory(pool);
        self.statistics.reserved_bytes_by_private_pools.retain(|(pool, _)| is_known(*pool));
    }
}
