//! Steps with streams and graphs.

use interlock_accelerator::{CaptureMode, Stream};

use super::{Run, key};
use crate::allocator::devices::device;
use crate::allocator::segment::StreamKey;
use crate::allocator::steps::STREAMS;
use crate::rig::Latch;

impl Run<'_> {
    pub(super) fn block(&mut self, slot: usize) {
        let stream = self.stream(slot);
        if self.latches[slot].is_none() && !self.is_capturing(key(&stream)) {
            let latch = Latch::default();
            stream.launch(latch.work()).unwrap();
            self.latches[slot] = Some(latch);
            self.model.streams.block(key(&stream));
        }
    }

    pub(super) fn open(&mut self, slot: usize) {
        if let Some(latch) = self.latches[slot].take() {
            latch.open();
            let stream = self.stream(slot);
            stream.synchronize().unwrap();
            self.model.streams.closed.remove(&key(&stream));
        }
    }

    pub(super) fn open_all(&mut self) {
        (0..STREAMS).for_each(|slot| self.open(slot));
    }

    pub(super) fn renew(&mut self, slot: usize) {
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
        let stream = Stream::dedicated(device(slot / 2), 0).unwrap();
        self.model.add_handle(key(&stream));
        self.streams[slot] = Some(stream);
    }

    pub(super) fn capture(&mut self, graph: usize, slot: usize) {
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
        // The graph has a handle during the capture.
        self.model.add_handle(key(&stream));
    }

    pub(super) fn end_capture(&mut self) {
        let Some(graph) = self.capturing.take() else { return };
        self.graphs[graph].graph.capture_end().unwrap();
        let (stream, _) = self.model.capture.unwrap();
        self.model.end_capture();
        self.model.drop_stream(stream);
    }

    pub(super) fn replay(&mut self, graph: usize, slot: usize) {
        let stream = self.stream(slot);
        let key = key(&stream);
        let recorded = &mut self.graphs[graph];
        let Some((_, pool)) = recorded.pool.filter(|(device, _)| *device == key.0) else { return };
        // Replays of one graph run one after another, even on different streams.
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
            self.model.add_handle(key);
        }
        for live in self.live.iter_mut().filter(|live| live.pool == Some(pool)) {
            live.is_written |= live.owner == key || self.latches[slot].is_none();
        }
        self.finish(slot);
    }

    pub(super) fn reset(&mut self, graph: usize) {
        if self.capturing == Some(graph) {
            return;
        }
        let recorded = &mut self.graphs[graph];
        recorded.graph.reset().unwrap();
        let replayed_on = std::mem::take(&mut recorded.replayed_on);
        if let Some((_, pool)) = recorded.pool.take() {
            // Content that was only recorded is not written any more.
            let of_pool = self.live.iter_mut().filter(|live| live.pool == Some(pool));
            of_pool.for_each(|live| live.pool = None);
            self.model.reset_graph(pool, &replayed_on);
        }
    }
}
