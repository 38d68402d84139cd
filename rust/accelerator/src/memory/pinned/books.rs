//! Which blocks there are, and which of them nothing uses.

use std::collections::BTreeMap;

use super::super::super::driver::Address;
use super::super::CacheState;
use super::options::PinnedOptions;
use super::statistics::HostStatistics;

/// A block that goes back to the driver.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Surplus {
    pub(super) address: Address,
    pub(super) bytes: usize,
}

#[derive(Debug)]
struct Block {
    bytes: usize,
    state: State,
    /// It lies in the segment and is never given back.
    in_segment: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Somebody has it.
    Held,
    /// Nobody has it any more, and so many marks in streams are to be passed before another gets it.
    Marked(usize),
    Free,
}

/// What was taken from the driver at once.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) address: u64,
    pub(super) bytes: usize,
    used: usize,
}

/// All blocks of a cache.
#[derive(Debug, Default)]
pub(super) struct Books {
    pub(super) options: PinnedOptions,
    pub(super) statistics: HostStatistics,
    blocks: BTreeMap<u64, Block>,
    /// Free blocks by their size. The one that came back last goes first.
    free: BTreeMap<usize, Vec<Address>>,
    /// Without bytes where the driver had none.
    segment: Option<Segment>,
}

impl Segment {
    const ALIGNMENT: usize = 4096;

    pub(super) fn new(address: Address, bytes: usize) -> Self {
        Segment { address: address.0, bytes, used: 0 }
    }
}

impl Books {
    /// A free block for a request of this rounded size, from now on held. Without rounding one of up to the next
    /// power of two serves as well.
    pub(super) fn take(&mut self, rounded: usize) -> Option<Address> {
        let largest = rounded.checked_next_power_of_two().unwrap_or(rounded);
        let (bytes, kept) = self.free.range_mut(rounded..=largest).next()?;
        let (bytes, address) = (*bytes, kept.pop()?);
        if kept.is_empty() {
            self.free.remove(&bytes);
        }
        self.blocks.get_mut(&address.0)?.state = State::Held;
        self.statistics.handed_out(bytes);
        Some(address)
    }

    /// The size of the segment that is still to be taken from the driver.
    pub(super) fn missing_segment(&self) -> Option<usize> {
        let bytes = self.options.reserve_segment_size;
        (bytes > 0 && self.segment.is_none()).then_some(bytes)
    }

    /// Blocks come from this segment from now on. Another one is not needed.
    pub(super) fn set_segment(&mut self, segment: Segment) -> Option<Surplus> {
        if self.segment.is_some() {
            return Some(Surplus { address: Address(segment.address), bytes: segment.bytes });
        }
        self.segment = Some(segment);
        None
    }

    /// A new block of the segment, held; `None` where it has no room.
    pub(super) fn carve(&mut self, bytes: usize) -> Option<Address> {
        let segment = self.segment.as_mut()?;
        let used = bytes.checked_next_multiple_of(Segment::ALIGNMENT)?.checked_add(segment.used)?;
        if used > segment.bytes {
            return None;
        }
        let address = Address(segment.address + segment.used as u64);
        segment.used = used;
        self.add(address, bytes, true);
        Some(address)
    }

    /// A new block, held.
    pub(super) fn add(&mut self, address: Address, bytes: usize, in_segment: bool) {
        self.blocks.insert(address.0, Block { bytes, state: State::Held, in_segment });
        self.statistics.made(bytes);
        self.statistics.handed_out(bytes);
    }

    /// Nobody has a block any more, which is free once so many marks are passed.
    pub(super) fn let_go(&mut self, address: Address, marks: usize) -> Option<Surplus> {
        self.blocks.get_mut(&address.0)?.state = State::Marked(marks);
        if marks == 0 { self.keep(address) } else { None }
    }

    /// A mark of a block is passed.
    pub(super) fn pass(&mut self, address: Address) -> Option<Surplus> {
        let block = self.blocks.get_mut(&address.0)?;
        let State::Marked(marks) = &mut block.state else { return None };
        *marks = marks.saturating_sub(1);
        if *marks == 0 { self.keep(address) } else { None }
    }

    /// Nothing uses a block any more: it is free, unless it is too large to be kept.
    fn keep(&mut self, address: Address) -> Option<Surplus> {
        let block = self.blocks.get_mut(&address.0)?;
        block.state = State::Free;
        let bytes = block.bytes;
        self.statistics.come_back(bytes);
        if bytes > self.options.max_cached_size && !block.in_segment {
            return Some(self.remove(address, bytes));
        }
        self.free.entry(bytes).or_default().push(address);
        None
    }

    fn remove(&mut self, address: Address, bytes: usize) -> Surplus {
        self.blocks.remove(&address.0);
        self.statistics.given_back(bytes);
        Surplus { address, bytes }
    }

    /// All free blocks that can be given back.
    pub(super) fn empty(&mut self) -> Vec<Surplus> {
        let mut surplus = Vec::new();
        for (bytes, kept) in std::mem::take(&mut self.free) {
            for address in kept {
                if self.blocks.get(&address.0).is_some_and(|block| block.in_segment) {
                    self.free.entry(bytes).or_default().push(address);
                } else {
                    surplus.push(self.remove(address, bytes));
                }
            }
        }
        surplus
    }

    /// How things stand, for a request that could not be served.
    pub(super) fn told(&self, rounded: usize) -> CacheState {
        CacheState {
            rounded,
            segment: rounded,
            allocated: self.statistics.active_bytes.current,
            reserved: self.statistics.allocated_bytes.current,
            largest_free: self.free.keys().next_back().map_or(0, |bytes| *bytes as u64),
            limit: None,
            free: None,
            stream: 0,
            pool: None,
        }
    }

    /// Whether an address lies in a block that somebody has.
    pub(super) fn is_held(&self, address: u64) -> bool {
        let below = self.blocks.range(..=address).next_back();
        below.is_some_and(|(start, block)| block.state == State::Held && address - start < block.bytes as u64)
    }
}
