//! Random programs with pinned memory, and the model of their statistics.

use std::collections::BTreeMap;

use interlock_accelerator::memory::{PinnedStats, Stat};
use proptest::prelude::*;

pub const SLOTS: usize = 6;
pub const STREAMS: usize = 3;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Allocates into a slot, which is freed first.
    Allocate {
        slot: usize,
        bytes: usize,
    },
    /// Requests more memory than exists.
    AllocateTooMuch,
    Free {
        slot: usize,
    },
    /// Queues work on a stream that reads the block of a slot.
    Use {
        slot: usize,
        stream: usize,
    },
    /// Blocks later work of a stream.
    Hold {
        stream: usize,
    },
    /// Waits for all work of a stream.
    Release {
        stream: usize,
    },
    Empty,
    /// Makes the next allocation of the driver fail.
    Fail,
}

pub fn program() -> impl Strategy<Value = Vec<Step>> {
    let (slot, stream) = (0..SLOTS, 0..STREAMS);
    let bytes = prop_oneof![8..40usize, 8..300usize];
    let step = prop_oneof![
        8 => (slot.clone(), bytes).prop_map(|(slot, bytes)| Step::Allocate { slot, bytes }),
        1 => Just(Step::AllocateTooMuch),
        5 => slot.clone().prop_map(|slot| Step::Free { slot }),
        6 => (slot, stream.clone()).prop_map(|(slot, stream)| Step::Use { slot, stream }),
        3 => stream.clone().prop_map(|stream| Step::Hold { stream }),
        3 => stream.prop_map(|stream| Step::Release { stream }),
        1 => Just(Step::Empty),
        1 => Just(Step::Fail),
    ];
    prop::collection::vec(step, 1..80)
}

/// A set of streams, one bit for each.
type Streams = u8;

#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    used_on: Streams,
}

/// The model of the cache.
#[derive(Debug, Default)]
pub struct Model {
    slots: [Option<Block>; SLOTS],
    /// The sizes of freed blocks, and the streams whose events they wait for.
    marked: Vec<(u64, Streams)>,
    /// The number of free blocks of each size.
    free: BTreeMap<u64, u64>,
    blocked: Streams,
    fails: bool,
    /// The statistics, without durations.
    pub counted: PinnedStats,
}

fn add(stat: &mut Stat, amount: u64) {
    stat.current += amount;
    stat.allocated += amount;
    stat.peak = stat.peak.max(stat.current);
}

fn take(stat: &mut Stat, amount: u64) {
    stat.current -= amount;
    stat.freed += amount;
}

impl Model {
    pub fn is_blocked(&self, stream: usize) -> bool {
        self.blocked >> stream & 1 == 1
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { slot, bytes } => {
                self.free(slot);
                self.process_events();
                let bytes = bytes.next_power_of_two() as u64;
                match self.free.get_mut(&bytes).filter(|count| **count > 0) {
                    Some(count) => *count -= 1,
                    None => self.add_block(bytes),
                }
                add(&mut self.counted.active_requests, 1);
                add(&mut self.counted.active_bytes, bytes);
                self.slots[slot] = Some(Block { bytes, used_on: 0 });
            }
            Step::AllocateTooMuch => {
                self.fails = false;
                self.empty();
            }
            Step::Free { slot } => self.free(slot),
            Step::Use { slot, stream } => {
                if let Some(block) = &mut self.slots[slot] {
                    block.used_on |= 1 << stream;
                }
            }
            Step::Hold { stream } => self.blocked |= 1 << stream,
            Step::Release { stream } => {
                self.blocked &= !(1 << stream);
                self.marked.iter_mut().for_each(|(_, left)| *left &= !(1 << stream));
            }
            Step::Empty => self.empty(),
            Step::Fail => self.fails = true,
        }
    }

    fn add_block(&mut self, bytes: u64) {
        if std::mem::take(&mut self.fails) {
            self.empty();
        }
        add(&mut self.counted.allocations, 1);
        add(&mut self.counted.allocated_bytes, bytes);
        self.counted.host_alloc_time.count += 1;
    }

    fn free(&mut self, slot: usize) {
        match self.slots[slot].take() {
            Some(Block { bytes, used_on: 0 }) => self.on_free(bytes),
            Some(Block { bytes, used_on }) => self.marked.push((bytes, used_on & self.blocked)),
            None => {}
        }
    }

    fn on_free(&mut self, bytes: u64) {
        take(&mut self.counted.active_requests, 1);
        take(&mut self.counted.active_bytes, bytes);
        *self.free.entry(bytes).or_default() += 1;
    }

    /// Frees the blocks whose events have completed.
    fn process_events(&mut self) {
        let marked = std::mem::take(&mut self.marked);
        let (passed, left): (Vec<_>, Vec<_>) = marked.into_iter().partition(|(_, left)| *left == 0);
        self.marked = left;
        passed.into_iter().for_each(|(bytes, _)| self.on_free(bytes));
    }

    fn empty(&mut self) {
        self.process_events();
        for (bytes, count) in std::mem::take(&mut self.free) {
            take(&mut self.counted.allocations, count);
            take(&mut self.counted.allocated_bytes, bytes * count);
            self.counted.host_free_time.count += count;
        }
    }
}
