//! What is kept of the memory of one device.

mod leaving;

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
    pub scopes: BTreeMap<u64, Scope>,
    pub limit: Option<u64>,
    pub cache_limit: Option<u64>,
    /// Freed, and waiting for other streams: in the order in which they were freed.
    freed: BTreeMap<StreamKey, VecDeque<(Mark, u64)>>,
    /// Freed while something was captured.
    postponed: Vec<u64>,
    /// Segments that became free while something was captured, and that nobody gets any more.
    stuck: Vec<u64>,
    /// Pools that went while something was captured.
    going: Vec<(u64, Vec<StreamKey>)>,
    /// Pools that graphs use which have allocated here.
    pub pools: BTreeSet<PoolId>,
    /// How many pools went, how many segments there were, and how often something was freed.
    gone: u64,
    made: u64,
    frees: u64,
}

/// What somebody has, or has freed while other streams use it.
#[derive(Clone, Debug)]
pub struct Used {
    pub segment: u64,
    pub offset: usize,
    pub bytes: usize,
    pub requested: usize,
    pub used_on: Vec<StreamKey>,
    awaited: usize,
}

#[derive(Clone, Debug)]
pub struct Scope {
    /// The allocations that it counts have greater numbers.
    pub since: u64,
    pub counted: TrackerStats,
}

impl Device {
    pub fn new() -> Self {
        Device {
            segments: BTreeMap::new(),
            used: BTreeMap::new(),
            statistics: Statistics { max_split_size: -1, ..Statistics::default() },
            scopes: BTreeMap::new(),
            limit: None,
            cache_limit: None,
            freed: BTreeMap::new(),
            postponed: Vec::new(),
            stuck: Vec::new(),
            going: Vec::new(),
            pools: BTreeSet::new(),
            gone: 0,
            made: 0,
            frees: 0,
        }
    }

    pub fn reserved(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes() as u64).sum()
    }

    /// The streams of which this has handles.
    pub fn streams(&self) -> impl Iterator<Item = StreamKey> {
        let used = self.used.values().flat_map(|used| &used.used_on);
        used.chain(self.going.iter().flat_map(|(_, streams)| streams)).copied()
    }

    /// The largest free block that can be handed out, and the bytes of all.
    pub fn kept(&self) -> (u64, u64) {
        let open = self.segments.values().filter(|segment| segment.is_open());
        let free = open.flat_map(Segment::free_blocks).map(|block| block.bytes as u64);
        free.fold((0, 0), |(largest, all), bytes| (bytes.max(largest), all + bytes))
    }

    /// Hands out the free block that fits best: the smallest, and of those the first in the oldest segment.
    pub fn take_kept(
        &mut self,
        number: u64,
        requested: usize,
        stream: StreamKey,
        pool: Option<PoolId>,
    ) -> bool {
        let bytes = rounded(requested);
        let fits = |segment: &Segment| {
            let for_it = (segment.stream, segment.pool) == (stream, pool) && segment.small == is_small(bytes);
            for_it && segment.is_open() && segment.going.is_none()
        };
        let segments = self.segments.iter().filter(|(_, segment)| fits(segment));
        let blocks = segments.flat_map(|(id, segment)| {
            let large_enough = segment.free_blocks().filter(|block| block.bytes >= bytes);
            large_enough.map(|block| (block.bytes, *id, block.offset))
        });
        let Some((_, segment, offset)) = blocks.min() else { return false };
        self.hand_out(number, requested, segment, offset);
        true
    }

    /// A segment that the driver gave, of which the first part is handed out.
    pub fn take_new(&mut self, number: u64, requested: usize, stream: StreamKey, pool: Option<PoolId>) {
        let (small, bytes) = (is_small(rounded(requested)), segment_for(rounded(requested)));
        self.made += 1;
        let block = Block { offset: 0, bytes, free_since: Some(self.frees) };
        let (leaving, orphaned, blocks) = (None, None, vec![block]);
        let (base, going) = (0, None);
        let segment = Segment { base, small, stream, pool, going, blocks, leaving, orphaned };
        self.segments.insert(self.made, segment);
        in_pool(&mut self.statistics.segment, small, |stat| add(stat, 1));
        self.change_reserved(pool, |reserved| in_pool(reserved, small, |stat| add(stat, bytes as u64)));
        self.statistics.num_device_alloc += 1;
        self.hand_out(number, requested, self.made, 0);
    }

    fn hand_out(&mut self, number: u64, requested: usize, id: u64, offset: usize) {
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
        for Scope { counted, .. } in self.scopes.values_mut() {
            counted.current += bytes as u64;
            counted.peak = counted.peak.max(counted.current);
            counted.total += bytes as u64;
            counted.allocations += 1;
        }
        let used = Used { segment: id, offset, bytes, requested, used_on: Vec::new(), awaited: 0 };
        self.used.insert(number, used);
    }

    /// Nobody uses it any more, apart from work that is queued.
    pub fn release(&mut self, number: u64, streams: &Streams) {
        let used = &self.used[&number];
        let (bytes, small) = (used.bytes as u64, self.segments[&used.segment].small);
        in_pool(&mut self.statistics.allocation, small, |stat| take(stat, 1));
        in_pool(&mut self.statistics.allocated_bytes, small, |stat| take(stat, bytes));
        for scope in self.scopes.values_mut().filter(|scope| scope.since < number) {
            scope.counted.current -= bytes;
        }
        if self.used[&number].used_on.is_empty() {
            self.free(number, streams);
        } else if streams.capturing {
            self.postponed.push(number);
        } else {
            self.await_streams(number, streams);
        }
        self.trim(streams);
        self.give_back(streams);
    }

    fn await_streams(&mut self, number: u64, streams: &Streams) {
        let used = self.used.get_mut(&number).unwrap();
        let awaited = std::mem::take(&mut used.used_on);
        used.awaited = awaited.len();
        for stream in awaited {
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
        let is_left = segment.free_since().is_some() && segment.orphaned.is_some();
        self.change_split(small, before, after);
        in_pool(&mut self.statistics.active, small, |stat| take(stat, 1));
        in_pool(&mut self.statistics.active_bytes, small, |stat| take(stat, used.bytes as u64));
        in_pool(&mut self.statistics.requested_bytes, small, |stat| take(stat, used.requested as u64));
        if is_left {
            self.let_orphan_go(used.segment, streams);
        }
    }

    /// Looks at what waits for streams, at the head of each queue.
    pub fn settle(&mut self, streams: &Streams) {
        if streams.capturing {
            return;
        }
        for number in std::mem::take(&mut self.postponed) {
            self.await_streams(number, streams);
        }
        for (stream, mut queue) in std::mem::take(&mut self.freed) {
            while let Some((mark, number)) = queue.front().copied()
                && streams.is_over(mark)
            {
                queue.pop_front();
                let used = self.used.get_mut(&number).unwrap();
                used.awaited -= 1;
                if used.awaited == 0 {
                    self.free(number, streams);
                }
            }
            if !queue.is_empty() {
                self.freed.insert(stream, queue);
            }
        }
        for segment in std::mem::take(&mut self.stuck) {
            self.let_orphan_go(segment, streams);
        }
        for (pool, replayed_on) in std::mem::take(&mut self.going) {
            self.let_pool_go(pool, &replayed_on, streams);
        }
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

    /// A pool is told of as long as a graph uses it, or it has memory.
    fn forget_pools(&mut self) {
        let has_memory = |pool| self.segments.values().any(|segment| segment.pool == Some(pool));
        let is_known = |pool| self.pools.contains(&pool) || has_memory(pool);
        self.statistics.reserved_bytes_by_private_pools.retain(|(pool, _)| is_known(*pool));
    }
}
