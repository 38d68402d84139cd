//! The buffers of the program and their contents.

use std::ops::Range;

use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, CopyOperand, DeviceBuffer};
use interlock_accelerator::{HostFn, PoolId, Stream};
use interlock_driver::DeviceIndex;

use super::{Run, key};
use crate::allocator::segment::{KIB, StreamKey, is_small, rounded};

/// A buffer of the program, filled with its own number.
pub(super) struct Live {
    pub(super) number: u64,
    pub(super) memory: DeviceBuffer,
    pub(super) owner: StreamKey,
    pub(super) pool: Option<PoolId>,
    /// Whether the number was written, and not only recorded into a graph.
    pub(super) is_written: bool,
}

/// Freed memory that may still be written by streams that a latch blocks.
pub(super) struct Lingering {
    pub(super) bytes: Range<u64>,
    pub(super) device: DeviceIndex,
    /// The stream whose later work may use it, and the latch that blocks the stream.
    pub(super) owner: (StreamKey, Option<u64>),
    pub(super) others: Vec<u64>,
}

/// Returns the ranges that are written and checked: all of small buffers, the ends and the middle of large ones.
fn samples(bytes: usize) -> Vec<Range<usize>> {
    let sample = 4 * KIB;
    if bytes <= 4 * sample {
        return Vec::from([Range { start: 0, end: bytes }]);
    }
    vec![0..sample, bytes / 2..bytes / 2 + sample, bytes - sample..bytes]
}

fn value_of(number: u64) -> u8 {
    (number % 251) as u8 + 1
}

/// Checks that CPU memory contains a number everywhere.
fn check_content(address: u64, bytes: usize, number: u64) -> Result<(), String> {
    for sample in samples(bytes) {
        let pointer = std::ptr::with_exposed_provenance::<u8>(address as usize + sample.start);
        // SAFETY: the memory is in use, or freed in the order of the checking stream, and is not written now.
        let found = unsafe { std::slice::from_raw_parts(pointer, sample.len()) };
        if let Some(other) = found.iter().find(|byte| **byte != value_of(number)) {
            return Err(format!("allocation {number}: {} was overwritten with {other}", value_of(number)));
        }
    }
    Ok(())
}

impl Run<'_> {
    pub(super) fn allocate(&mut self, slot: usize, bytes: usize) {
        let stream = self.stream(slot);
        let key = key(&stream);
        if bytes > 0 && self.model.clone().allocate(key, bytes).retried {
            self.open_all();
        }
        let memory = DeviceBuffer::on(&stream, bytes);
        if bytes == 0 {
            assert_eq!(memory.unwrap().address().0, 0);
            return;
        }
        let served = self.model.allocate(key, bytes);
        let memory = match memory {
            Ok(memory) if served.succeeded => memory,
            Err(Error::OutOfMemory(oom)) if !served.succeeded => {
                let cache = oom.cache.unwrap();
                let device = &self.model.devices[usize::from(key.0)];
                assert_eq!((oom.requested, cache.stream, cache.limit), (bytes, key.1, device.limit));
                let too_small = device.free_for(key, self.pool_for(key));
                let too_small = too_small.filter(|(small, _)| *small == is_small(rounded(bytes)));
                let (largest, all) =
                    too_small.fold((0, 0), |(largest, all), (_, bytes)| (bytes.max(largest), all + bytes));
                assert_eq!((cache.largest_free, cache.free_too_small), (largest, all));
                assert_eq!(cache.reserved, device.reserved());
                return;
            }
            other => panic!("the model says {served:?}, and here is {other:?}"),
        };
        let number = self.model.requests;
        let device = &mut self.model.devices[usize::from(key.0)];
        let used = &device.used[&number];
        let segment = device.segments.get_mut(&used.segment).unwrap();
        if segment.base == 0 {
            segment.base = memory.address().0;
        }
        assert_eq!(memory.address().0, segment.base + used.offset as u64, "another place than the model's");
        let pool = segment.pool;
        let range = memory.address().0..memory.address().0 + bytes as u64;
        self.check_unused(key, &range);
        let mut live = Live { number, memory, owner: key, pool, is_written: false };
        self.fill(&mut live, &stream);
        self.live.push(live);
        self.finish(slot);
    }

    /// Checks that new memory is used by neither the program nor queued work.
    pub(super) fn check_unused(&self, stream: StreamKey, range: &Range<u64>) {
        let overlaps = |device, other: &Range<u64>| {
            device == stream.0 && range.start < other.end && other.start < range.end
        };
        for live in self.live.iter().chain(&self.scratch) {
            let start = live.memory.address().0;
            assert!(!overlaps(live.owner.0, &(start..start + live.memory.bytes() as u64)));
        }
        for lingering in
            self.lingering.iter().filter(|lingering| overlaps(lingering.device, &lingering.bytes))
        {
            let is_used = |latch: &u64| !self.model.streams.is_reached(Some(*latch));
            assert!(!lingering.others.iter().any(is_used), "another stream still uses it");
            let (owner, latch) = lingering.owner;
            assert!(owner == stream || !latch.as_ref().is_some_and(is_used), "its stream still uses it");
        }
    }

    /// Writes the number on a stream of its device.
    pub(super) fn fill(&self, live: &mut Live, stream: &Stream) {
        for sample in samples(live.memory.bytes()) {
            let part = live.memory.slice(sample).unwrap();
            part.fill(value_of(live.number), Some(stream)).unwrap();
        }
        let is_recorded = self.is_capturing(key(stream));
        let runs_first = key(stream) == live.owner || self.model.streams.mark(key(stream)).is_none();
        live.is_written |= !is_recorded && runs_first;
    }

    pub(super) fn use_on(&mut self, which: usize, slot: usize) {
        let stream = self.stream(slot);
        // A graph that owns the memory frees it when it is destroyed, which the model does not include.
        if self.is_capturing(key(&stream)) && !self.is_from_capture_pool(&self.live[which]) {
            return;
        }
        let (owner, number) = (self.live[which].owner, self.live[which].number);
        // It would run before earlier work of the owner, which may still use the previous content of the memory.
        if owner != key(&stream) && self.model.streams.mark(owner).is_some() {
            return;
        }
        self.model.use_on(owner.0, number, key(&stream));
        if owner.0 == key(&stream).0 {
            let mut live = self.live.swap_remove(which);
            self.fill(&mut live, &stream);
            self.live.push(live);
        } else {
            let (scratch, live) = (&self.scratch[slot], &self.live[which]);
            let bytes = live.memory.bytes().min(scratch.memory.bytes());
            let [to, from] =
                [scratch, live].map(|end| CopyOperand::Device(end.memory.slice(0..bytes).unwrap()));
            memory::copy(&to, &from, Some(&stream), false).unwrap();
            self.model.use_on(key(&stream).0, scratch.number, key(&stream));
        }
        self.finish(slot);
    }

    pub(super) fn free(&mut self, live: Live) {
        let (address, bytes, number) = (live.memory.address().0, live.memory.bytes(), live.number);
        let used = &self.model.devices[usize::from(live.owner.0)].used[&number];
        let others = used.stream_uses.iter().filter_map(|stream| self.model.streams.mark(*stream)).collect();
        let own = self.model.streams.mark(live.owner);
        let range = address..address + bytes as u64;
        self.lingering.push(Lingering {
            bytes: range,
            device: live.owner.0,
            owner: (live.owner, own),
            others,
        });
        let owner = self.streams.iter().flatten().find(|stream| key(stream) == live.owner);
        match owner.filter(|_| own.is_some() && live.is_written) {
            Some(owner) => {
                let wrong = self.wrong.clone();
                let look = move || {
                    wrong.lock().unwrap().extend(check_content(address, bytes, number).err());
                    Ok(())
                };
                owner.launch(HostFn::new("look", look)).unwrap();
            }
            None if live.is_written => assert_eq!(check_content(address, bytes, number), Ok(())),
            None => {}
        }
        drop(live.memory);
        self.model.release(live.owner.0, number);
    }

    /// Returns whether memory is from the pool of the current capture, for the capturing stream.
    pub(super) fn is_from_capture_pool(&self, live: &Live) -> bool {
        let used = &self.model.devices[usize::from(live.owner.0)].used[&live.number];
        let segment = &self.model.devices[usize::from(live.owner.0)].segments[&used.segment];
        let is_used = segment.is_active() && segment.pending_pool.is_none();
        is_used
            && self.model.capture.map(|(stream, pool)| (stream, Some(pool))) == Some((live.owner, live.pool))
    }
}
