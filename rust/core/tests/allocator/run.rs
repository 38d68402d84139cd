//! A program that is run by the allocator and by its model at once.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use interlock::Error;
use interlock::accelerator::driver::DeviceIndex;
use interlock::accelerator::host::Faults;
use interlock::accelerator::memory::{self, DeviceMemory, End, Limit, Scope};
use interlock::accelerator::{CaptureMode, Device, Graph, PoolId, Stream, Work};

use super::counting;
use super::model::Model;
use super::segment::{KIB, StreamKey};
use super::steps::{CAPACITY, DEVICES, GRAPHS, STREAMS, Step};
use crate::rig::Latch;

/// Memory that the program has, which holds a number of its own.
struct Live {
    number: u64,
    memory: DeviceMemory,
    owner: StreamKey,
    pool: Option<PoolId>,
    /// Whether the number has been written, and not only recorded.
    is_written: bool,
}

/// Memory that was freed, and may still be written by streams that latches hold back.
struct Lingering {
    bytes: Range<u64>,
    device: DeviceIndex,
    /// The stream whose later work may use it, and the latch that holds that back.
    owner: (StreamKey, Option<u64>),
    others: Vec<u64>,
}

/// A graph, its device and pool if something was captured, and the streams that it was replayed on.
struct Recorded {
    graph: Graph,
    pool: Option<(DeviceIndex, PoolId)>,
    replayed_on: Vec<StreamKey>,
}

pub struct Run<'a> {
    pub model: Model,
    faults: &'a Faults,
    streams: Vec<Option<Stream>>,
    latches: Vec<Option<Latch>>,
    live: Vec<Live>,
    /// A little memory for each stream, to which it copies what other devices have.
    scratch: Vec<Live>,
    lingering: Vec<Lingering>,
    graphs: Vec<Recorded>,
    capturing: Option<usize>,
    scopes: Vec<(DeviceIndex, u64, Scope)>,
    opened: u64,
    /// What memory held that it should not have held.
    wrong: Arc<Mutex<Vec<String>>>,
}

fn device(index: usize) -> Option<Device> {
    Some(format!("host:{index}").parse().unwrap())
}

fn key(stream: &Stream) -> StreamKey {
    (stream.device_index(), stream.id())
}

/// What is written and looked at of memory: all of a little, and of much the ends and the middle.
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

/// Looks whether memory of the processor holds a number everywhere.
fn look(address: u64, bytes: usize, number: u64) -> Result<(), String> {
    for sample in samples(bytes) {
        let pointer = std::ptr::with_exposed_provenance::<u8>(address as usize + sample.start);
        // SAFETY: the memory is in use, or freed in the order of the stream that looks; nobody writes it now.
        let found = unsafe { std::slice::from_raw_parts(pointer, sample.len()) };
        if let Some(other) = found.iter().find(|byte| **byte != value_of(number)) {
            return Err(format!("allocation {number}: {} was overwritten with {other}", value_of(number)));
        }
    }
    Ok(())
}

impl<'a> Run<'a> {
    pub fn new(faults: &'a Faults) -> Self {
        let made = |_| Recorded { graph: Graph::new(false).unwrap(), pool: None, replayed_on: Vec::new() };
        let mut run = Run {
            model: Model::new(DEVICES as DeviceIndex, CAPACITY as u64),
            faults,
            streams: (0..STREAMS).map(|_| None).collect(),
            latches: vec![None; STREAMS],
            live: Vec::new(),
            scratch: Vec::new(),
            lingering: Vec::new(),
            graphs: (0..GRAPHS).map(made).collect(),
            capturing: None,
            scopes: Vec::new(),
            opened: 0,
            wrong: Arc::default(),
        };
        run.check();
        for slot in 0..STREAMS {
            run.renew(slot);
            run.allocate(slot, 512);
            // Nobody knows what it will hold.
            run.scratch.extend(run.live.drain(..).map(|live| Live { is_written: false, ..live }));
        }
        run
    }

    fn stream(&self, slot: usize) -> Stream {
        self.streams[slot].clone().unwrap()
    }

    fn is_capturing(&self, stream: StreamKey) -> bool {
        self.model.capture.is_some_and(|(capturing, _)| capturing == stream)
    }

    /// Whether memory comes from the pool of what is being captured, for the stream that captures.
    fn is_of_capture(&self, live: &Live) -> bool {
        let used = &self.model.devices[usize::from(live.owner.0)].used[&live.number];
        let segment = &self.model.devices[usize::from(live.owner.0)].segments[&used.segment];
        let is_used = segment.is_open() && segment.going.is_none();
        is_used
            && self.model.capture.map(|(stream, pool)| (stream, Some(pool))) == Some((live.owner, live.pool))
    }

    /// Waits for a stream, unless it is held back or nothing runs there.
    fn finish(&self, slot: usize) {
        let stream = self.stream(slot);
        if self.latches[slot].is_none() && !self.is_capturing(key(&stream)) {
            stream.synchronize().unwrap();
        }
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { stream, bytes } => self.allocate(stream, bytes),
            Step::Free { which } if !self.live.is_empty() => {
                let live = self.live.swap_remove(which % self.live.len());
                self.free(live);
            }
            Step::Use { which, stream } if !self.live.is_empty() => {
                self.use_on(which % self.live.len(), stream)
            }
            Step::Block { stream } => self.block(stream),
            Step::Open { stream } => self.open(stream),
            Step::EmptyCache => self.empty_cache(),
            Step::Limit { device: index, limit } => {
                memory::set_limit(limit.map(Limit::Bytes), device(index)).unwrap();
                self.model.devices[index].limit = limit;
            }
            Step::CacheLimit { device: index, limit } => {
                memory::set_cache_limit(limit.map(Limit::Bytes), device(index)).unwrap();
                self.model.set_cache_limit(index as DeviceIndex, limit);
            }
            Step::ResetPeak { device: index } => {
                memory::reset_peak_statistics(device(index)).unwrap();
                counting::reset_peak(&mut self.model.devices[index].statistics);
            }
            Step::ResetAccumulated { device: index } => {
                memory::reset_accumulated_statistics(device(index)).unwrap();
                counting::reset_accumulated(&mut self.model.devices[index].statistics);
            }
            Step::Renew { stream } => self.renew(stream),
            Step::OpenScope { device: index } if self.scopes.len() < 3 => {
                self.opened += 1;
                self.model.open_scope(index as DeviceIndex, self.opened);
                self.scopes.push((index as DeviceIndex, self.opened, Scope::open(device(index)).unwrap()));
            }
            Step::CloseScope { which } if !self.scopes.is_empty() => {
                let (index, id, scope) = self.scopes.swap_remove(which % self.scopes.len());
                let counted = self.model.devices[usize::from(index)].scopes.remove(&id).unwrap().counted;
                assert_eq!(scope.close().unwrap(), counted);
            }
            Step::Fail { number } => {
                self.faults.fail_allocation(Some(number)).unwrap();
                self.model.failing = Some(number);
            }
            Step::Capture { graph, stream } => self.capture(graph, stream),
            Step::EndCapture => self.end_capture(),
            Step::Replay { graph, stream } => self.replay(graph, stream),
            Step::Reset { graph } => self.reset(graph),
            _ => {}
        }
        self.check();
    }

    fn allocate(&mut self, slot: usize, bytes: usize) {
        let stream = self.stream(slot);
        let key = key(&stream);
        if bytes > 0 && self.model.clone().allocate(key, bytes).retried {
            self.open_all();
        }
        let memory = DeviceMemory::on(&stream, bytes);
        if bytes == 0 {
            assert_eq!(memory.unwrap().address().0, 0);
            return;
        }
        let served = self.model.allocate(key, bytes);
        let memory = match memory {
            Ok(memory) if served.taken => memory,
            Err(Error::OutOfMemory(told)) if !served.taken => {
                let cache = told.cache.unwrap();
                let device = &self.model.devices[usize::from(key.0)];
                assert_eq!((told.requested, cache.stream, cache.limit), (bytes, key.1, device.limit));
                assert_eq!((cache.reserved, cache.largest_free), (device.reserved(), device.kept().0));
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

    /// No memory is handed out that somebody has, or that work still uses which was queued.
    fn check_unused(&self, stream: StreamKey, range: &Range<u64>) {
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
            let is_used = |latch: &u64| !self.model.streams.is_over(Some(*latch));
            assert!(!lingering.others.iter().any(is_used), "another stream still uses it");
            let (owner, latch) = lingering.owner;
            assert!(owner == stream || !latch.as_ref().is_some_and(is_used), "its stream still uses it");
        }
    }

    /// Writes its number on a stream of its device.
    fn fill(&self, live: &mut Live, stream: &Stream) {
        for sample in samples(live.memory.bytes()) {
            let part = live.memory.slice(sample).unwrap();
            part.fill(value_of(live.number), Some(stream)).unwrap();
        }
        let is_recorded = self.is_capturing(key(stream));
        let runs_first = key(stream) == live.owner || self.model.streams.mark(key(stream)).is_none();
        live.is_written |= !is_recorded && runs_first;
    }

    fn use_on(&mut self, which: usize, slot: usize) {
        let stream = self.stream(slot);
        // What a graph owns from then on is freed only when it goes: that is no matter of the allocator.
        if self.is_capturing(key(&stream)) && !self.is_of_capture(&self.live[which]) {
            return;
        }
        let (owner, number) = (self.live[which].owner, self.live[which].number);
        // It would come before what the owner has queued, which may still use the memory for what it was before.
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
            let [to, from] = [scratch, live].map(|end| End::Device(end.memory.slice(0..bytes).unwrap()));
            memory::copy(&to, &from, Some(&stream), false).unwrap();
            self.model.use_on(key(&stream).0, scratch.number, key(&stream));
        }
        self.finish(slot);
    }

    fn free(&mut self, live: Live) {
        let (address, bytes, number) = (live.memory.address().0, live.memory.bytes(), live.number);
        let used = &self.model.devices[usize::from(live.owner.0)].used[&number];
        let others = used.used_on.iter().filter_map(|stream| self.model.streams.mark(*stream)).collect();
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
                    wrong.lock().unwrap().extend(look(address, bytes, number).err());
                    Ok(())
                };
                owner.launch(Work::new("look", look)).unwrap();
            }
            None if live.is_written => assert_eq!(look(address, bytes, number), Ok(())),
            None => {}
        }
        drop(live.memory);
        self.model.release(live.owner.0, number);
    }

    fn block(&mut self, slot: usize) {
        let stream = self.stream(slot);
        if self.latches[slot].is_none() && !self.is_capturing(key(&stream)) {
            let latch = Latch::default();
            stream.launch(latch.work()).unwrap();
            self.latches[slot] = Some(latch);
            self.model.streams.block(key(&stream));
        }
    }

    fn open(&mut self, slot: usize) {
        if let Some(latch) = self.latches[slot].take() {
            latch.open();
            let stream = self.stream(slot);
            stream.synchronize().unwrap();
            self.model.streams.closed.remove(&key(&stream));
        }
    }

    fn open_all(&mut self) {
        (0..STREAMS).for_each(|slot| self.open(slot));
    }

    fn empty_cache(&mut self) {
        if self.capturing.is_none() {
            self.open_all();
        }
        memory::empty_cache().unwrap();
        self.model.empty_cache();
    }

    fn renew(&mut self, slot: usize) {
        if let Some(stream) = self.streams[slot].clone() {
            if self.is_capturing(key(&stream)) {
                return;
            }
            self.open(slot);
            self.streams[slot] = None;
            let gone = key(&stream);
            drop(stream);
            self.model.drop_stream(gone);
        }
        let stream = Stream::exclusive(device(slot / 2), 0).unwrap();
        self.model.keep_stream(key(&stream));
        self.streams[slot] = Some(stream);
    }

    fn capture(&mut self, graph: usize, slot: usize) {
        if self.capturing.is_some() || self.graphs[graph].pool.is_some() {
            return;
        }
        self.open(slot);
        let stream = self.stream(slot);
        let recorded = &mut self.graphs[graph];
        {
            let _current = stream.guard().unwrap();
            recorded.graph.capture_begin(None, CaptureMode::Relaxed).unwrap();
        }
        let pool = recorded.graph.pool(None).unwrap();
        recorded.pool = Some((key(&stream).0, pool));
        self.capturing = Some(graph);
        self.model.begin_capture(key(&stream), pool);
        // The graph has one until the capture is over.
        self.model.keep_stream(key(&stream));
    }

    fn end_capture(&mut self) {
        let Some(graph) = self.capturing.take() else { return };
        self.graphs[graph].graph.capture_end().unwrap();
        let (stream, _) = self.model.capture.unwrap();
        self.model.end_capture();
        self.model.drop_stream(stream);
    }

    fn replay(&mut self, graph: usize, slot: usize) {
        let stream = self.stream(slot);
        let key = key(&stream);
        let recorded = &mut self.graphs[graph];
        let Some((_, pool)) = recorded.pool.filter(|(device, _)| *device == key.0) else { return };
        // Replays come one after the other, whichever streams they are on.
        let is_behind = |other: &StreamKey| *other != key && self.model.streams.mark(*other).is_some();
        if self.capturing.is_some() || recorded.replayed_on.iter().any(is_behind) {
            return;
        }
        {
            let _current = stream.guard().unwrap();
            recorded.graph.replay().unwrap();
        }
        if !recorded.replayed_on.contains(&key) {
            recorded.replayed_on.push(key);
            self.model.keep_stream(key);
        }
        for live in self.live.iter_mut().filter(|live| live.pool == Some(pool)) {
            live.is_written |= live.owner == key || self.latches[slot].is_none();
        }
        self.finish(slot);
    }

    fn reset(&mut self, graph: usize) {
        if self.capturing == Some(graph) {
            return;
        }
        let recorded = &mut self.graphs[graph];
        recorded.graph.reset().unwrap();
        let replayed_on = std::mem::take(&mut recorded.replayed_on);
        if let Some((_, pool)) = recorded.pool.take() {
            self.model.reset_graph(pool, &replayed_on);
        }
    }

    /// The allocator says what the model says.
    fn check(&self) {
        assert_eq!(*self.wrong.lock().unwrap(), [""; 0]);
        for (index, model) in self.model.devices.iter().enumerate() {
            let statistics = memory::statistics(device(index)).unwrap();
            if statistics != model.statistics {
                let [real, model] = [&statistics, &model.statistics].map(|statistics| statistics.named());
                let wrong: Vec<_> = real.iter().zip(&model).filter(|(real, model)| real != model).collect();
                panic!("host:{index} and its model: {wrong:?}, {} and {} numbers", real.len(), model.len());
            }
            let (largest, all) = model.kept();
            assert_eq!(memory::largest_free_block(device(index)).unwrap(), largest);
            let part = if all == 0 { 0.0 } else { 1.0 - largest as f64 / all as f64 };
            assert!((memory::fragmentation(device(index)).unwrap() - part).abs() < 1e-9);
        }
        for (index, id, scope) in &self.scopes {
            let model = &self.model.devices[usize::from(*index)].scopes[id];
            assert_eq!(scope.statistics().unwrap(), model.counted);
        }
    }

    /// Gives everything back, and sees that it is.
    pub fn end(mut self) {
        self.end_capture();
        self.open_all();
        while let Some(live) = self.live.pop().or_else(|| self.scratch.pop()) {
            self.free(live);
            self.check();
        }
        (0..GRAPHS).for_each(|graph| self.reset(graph));
        self.check();
        self.empty_cache();
        self.check();
        for (index, model) in self.model.devices.iter().enumerate() {
            assert!(counting::is_empty(&memory::statistics(device(index)).unwrap()));
            assert!(model.segments.is_empty() && model.used.is_empty());
        }
        assert_eq!(self.faults.live_objects().unwrap().bytes, 0);
    }
}

impl Drop for Run<'_> {
    /// Leaves nothing to the next program, wherever this one has got to.
    fn drop(&mut self) {
        self.graphs.drain(..).for_each(|recorded| drop(recorded.graph.discard()));
        self.latches.drain(..).flatten().for_each(|latch| latch.open());
        self.streams.iter().flatten().for_each(|stream| drop(stream.synchronize()));
        let _ = self.faults.fail_allocation(None);
        self.live.clear();
        self.scratch.clear();
        self.scopes.clear();
        self.streams.clear();
        for index in 0..DEVICES {
            let _ = memory::set_limit(None, device(index));
            let _ = memory::set_cache_limit(None, device(index));
        }
        let _ = memory::empty_cache();
        for index in 0..DEVICES {
            let _ = memory::reset_peak_statistics(device(index));
            let _ = memory::reset_accumulated_statistics(device(index));
        }
    }
}
