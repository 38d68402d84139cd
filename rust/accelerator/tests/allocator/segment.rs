//! Memory that a driver gave, as a list of blocks.

use interlock_accelerator::PoolId;
use interlock_driver::DeviceIndex;

/// A stream: its device, and its id there.
pub type StreamKey = (DeviceIndex, i64);

/// A place in a stream: behind a closed latch, or where everything is over.
pub type Mark = Option<u64>;

pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;

/// A request is a multiple of 512 bytes, and at least that.
pub fn rounded(requested: usize) -> usize {
    requested.div_ceil(512).max(1) * 512
}

pub fn is_small(bytes: usize) -> bool {
    bytes <= MIB
}

/// What the driver is asked for.
pub fn segment_for(bytes: usize) -> usize {
    match bytes {
        _ if is_small(bytes) => 2 * MIB,
        _ if bytes < 10 * MIB => 20 * MIB,
        _ => bytes.div_ceil(2 * MIB) * 2 * MIB,
    }
}

#[derive(Clone, Debug)]
pub struct Segment {
    /// Where it lies, once the real allocator has told.
    pub base: u64,
    pub small: bool,
    pub stream: StreamKey,
    pub pool: Option<PoolId>,
    /// No graph uses its pool any more; the number of its going.
    pub going: Option<u64>,
    pub blocks: Vec<Block>,
    /// It goes back to the driver once these places have been passed.
    pub leaving: Option<Vec<Mark>>,
    /// Its stream or its pool has gone; when all is free it leaves.
    pub orphaned: Option<Vec<Mark>>,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub offset: usize,
    pub bytes: usize,
    /// When it was freed, in frees; `None` while it is used.
    pub free_since: Option<u64>,
}

impl Segment {
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// Whether its free blocks are handed out.
    pub fn is_open(&self) -> bool {
        self.leaving.is_none() && self.orphaned.is_none()
    }

    /// When all of it became free, if it is.
    pub fn free_since(&self) -> Option<u64> {
        if self.blocks.len() == 1 { self.blocks[0].free_since } else { None }
    }

    /// Free blocks of a segment of several, and their bytes.
    pub fn split(&self) -> (u64, u64) {
        if self.blocks.len() < 2 {
            return (0, 0);
        }
        let free = self.blocks.iter().filter(|block| block.free_since.is_some());
        free.fold((0, 0), |(count, bytes), block| (count + 1, bytes + block.bytes as u64))
    }

    pub fn free_blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.free_since.is_some())
    }

    fn place_of(&self, offset: usize) -> usize {
        self.blocks.iter().position(|block| block.offset == offset).unwrap()
    }

    /// Takes the free block at `offset` into use and cuts off what is worth it. Returns its size.
    pub fn take(&mut self, offset: usize, bytes: usize) -> usize {
        let place = self.place_of(offset);
        let block = &mut self.blocks[place];
        let (since, left) = (block.free_since.take(), block.bytes - bytes);
        assert!(since.is_some());
        let is_worth_it = if self.small { left >= 512 } else { left > MIB };
        if is_worth_it {
            block.bytes = bytes;
            let rest = Block { offset: offset + bytes, bytes: left, free_since: since };
            self.blocks.insert(place + 1, rest);
        }
        self.blocks[place].bytes
    }

    /// Frees the block at `offset`; free neighbours become one.
    pub fn free(&mut self, offset: usize, now: u64) {
        let place = self.place_of(offset);
        assert!(self.blocks[place].free_since.is_none());
        self.blocks[place].free_since = Some(now);
        let free = |place: usize| self.blocks.get(place).is_some_and(|block| block.free_since.is_some());
        let first = if place > 0 && free(place - 1) { place - 1 } else { place };
        let last = if free(place + 1) { place + 1 } else { place };
        let bytes = self.blocks[first..=last].iter().map(|block| block.bytes).sum();
        let joined = Block { offset: self.blocks[first].offset, bytes, free_since: Some(now) };
        self.blocks.splice(first..=last, [joined]);
    }
}
