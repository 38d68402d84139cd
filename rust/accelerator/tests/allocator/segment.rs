//! A segment of the driver, as a list of blocks.

use interlock_accelerator::PoolId;
use interlock_driver::DeviceIndex;

/// The device and the id of a stream.
pub type StreamKey = (DeviceIndex, i64);

/// A point in a stream: after a closed latch, or already reached.
pub type Mark = Option<u64>;

pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;

/// Rounds a request up to a multiple of 512 bytes.
pub fn rounded(requested: usize) -> usize {
    requested.div_ceil(512).max(1) * 512
}

pub fn is_small(bytes: usize) -> bool {
    bytes <= MIB
}

/// Returns the size of the segment for a block.
pub fn segment_for(bytes: usize) -> usize {
    match bytes {
        _ if is_small(bytes) => 2 * MIB,
        _ if bytes < 10 * MIB => 20 * MIB,
        _ => bytes.div_ceil(2 * MIB) * 2 * MIB,
    }
}

#[derive(Clone, Debug)]
pub struct Segment {
    /// The address, once the real allocator has returned a block of it.
    pub base: u64,
    pub small: bool,
    pub stream: StreamKey,
    pub pool: Option<PoolId>,
    /// The number of the release of its pool, if it was released.
    pub pending_pool: Option<u64>,
    pub blocks: Vec<Block>,
    /// The marks after which it is released to the driver.
    pub release_after: Option<Vec<Mark>>,
    /// The marks of a retired segment, which is released when all of its blocks are free.
    pub retired_after: Option<Vec<Mark>>,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub offset: usize,
    pub bytes: usize,
    /// The time of its free, in frees; `None` while it is used.
    pub freed_tick: Option<u64>,
}

impl Segment {
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// Returns whether its free blocks can be allocated.
    pub fn is_active(&self) -> bool {
        self.release_after.is_none() && self.retired_after.is_none()
    }

    /// Returns the time when all of it became free, if it is free.
    pub fn freed_tick(&self) -> Option<u64> {
        if self.blocks.len() == 1 { self.blocks[0].freed_tick } else { None }
    }

    /// Returns the number and the bytes of free blocks, if the segment has several blocks.
    pub fn split(&self) -> (u64, u64) {
        if self.blocks.len() < 2 {
            return (0, 0);
        }
        let free = self.blocks.iter().filter(|block| block.freed_tick.is_some());
        free.fold((0, 0), |(count, bytes), block| (count + 1, bytes + block.bytes as u64))
    }

    pub fn free_blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.freed_tick.is_some())
    }

    fn index_of(&self, offset: usize) -> usize {
        self.blocks.iter().position(|block| block.offset == offset).unwrap()
    }

    /// Allocates the free block at `offset`, split if the rest is large enough. Returns its size.
    pub fn take(&mut self, offset: usize, bytes: usize) -> usize {
        let place = self.index_of(offset);
        let block = &mut self.blocks[place];
        let (tick, left) = (block.freed_tick.take(), block.bytes - bytes);
        assert!(tick.is_some());
        let should_split = if self.small { left >= 512 } else { left > MIB };
        if should_split {
            block.bytes = bytes;
            let rest = Block { offset: offset + bytes, bytes: left, freed_tick: tick };
            self.blocks.insert(place + 1, rest);
        }
        self.blocks[place].bytes
    }

    /// Frees the block at `offset` and merges it with free neighbours.
    pub fn free(&mut self, offset: usize, now: u64) {
        let place = self.index_of(offset);
        assert!(self.blocks[place].freed_tick.is_none());
        self.blocks[place].freed_tick = Some(now);
        let free = |place: usize| self.blocks.get(place).is_some_and(|block| block.freed_tick.is_some());
        let first = if place > 0 && free(place - 1) { place - 1 } else { place };
        let last = if free(place + 1) { place + 1 } else { place };
        let bytes = self.blocks[first..=last].iter().map(|block| block.bytes).sum();
        let merged = Block { offset: self.blocks[first].offset, bytes, freed_tick: Some(now) };
        self.blocks.splice(first..=last, [merged]);
    }
}
