//! What is behind the lock.

use std::collections::BTreeMap;

use super::books::{Books, Request};
use super::piece::{PieceId, PieceState, PoolIndex, SegmentId};
use super::waits::{Ready, Waits};
use super::{Context, Taken};
use crate::accelerator::PoolId;
use crate::accelerator::driver::{EventHandle, StreamHandle};
use crate::accelerator::stream::Stream;

/// Everything that is known of what is kept of a device's memory.
#[derive(Default)]
pub(super) struct State {
    pub(super) books: Books,
    pub(super) waits: Waits,
    /// How many bytes may be taken from the driver.
    pub(super) limit: Option<u64>,
    /// How many of them may be kept while nobody uses them.
    pub(super) cache_limit: Option<u64>,
    /// Bytes that the driver is being asked for.
    pub(super) asked_for: u64,
    /// Pools that go, with streams that may still run a graph which used them.
    going: Vec<(PoolIndex, Vec<Stream>)>,
    /// Unused segments that nobody gets any more and that can't leave yet, as their streams can't be asked just now.
    stuck: Vec<SegmentId>,
    /// Handles to streams, to be dropped without the lock.
    gone: Vec<Stream>,
}

impl State {
    /// What to drop when the lock is free again.
    pub(super) fn take_gone(&mut self) -> Vec<Stream> {
        std::mem::take(&mut self.gone)
    }

    /// What to ask for; `None` for more than can be counted.
    pub(super) fn request(&mut self, stream: i64, requested: usize, pool: Option<PoolId>) -> Option<Request> {
        let bytes = self.books.rules.rounded(requested)?;
        let pool = pool.map_or(self.books.common, |id| self.books.private_pool(id));
        Some(Request { stream, requested, bytes, pool })
    }

    /// A piece that is kept.
    pub(super) fn take(&mut self, request: &Request) -> Option<Taken> {
        self.books.take(request).map(|piece| self.taken(piece))
    }

    pub(super) fn taken(&self, piece: PieceId) -> Taken {
        Taken { piece, address: self.books.pieces[piece].address }
    }

    pub(super) fn record_stream(&mut self, piece: PieceId, stream: &Stream) {
        let used_on = &mut self.books.pieces[piece].used_on;
        if !used_on.contains(stream) {
            used_on.push(stream.clone());
        }
    }

    /// Nobody uses the piece any more, apart from work that is queued.
    pub(super) fn release(&mut self, context: &Context, piece: PieceId) {
        self.books.end_use(piece);
        if self.books.pieces[piece].used_on.is_empty() {
            self.free(context, piece);
        } else {
            self.await_streams(context, piece);
        }
        self.trim(context);
    }

    /// The piece is free once the other streams that use it have got past all that is queued there.
    fn await_streams(&mut self, context: &Context, piece: PieceId) {
        let streams = std::mem::take(&mut self.books.pieces[piece].used_on);
        let awaited = match context.capturing {
            true => None,
            false => self.waits.wait_for(context.driver, piece, &streams).ok(),
        };
        if let Some(count) = awaited {
            self.books.pieces[piece].state = PieceState::Awaited(count);
            self.gone.extend(streams);
        } else {
            self.books.pieces[piece].state = PieceState::Awaited(0);
            self.books.pieces[piece].used_on = streams;
            self.waits.postpone(piece);
        }
    }

    fn free(&mut self, context: &Context, piece: PieceId) {
        let segment = self.books.free(piece);
        if self.books.is_unused(segment) && self.books.segments[segment].orphaned.is_some() {
            self.let_orphan_go(context, segment);
        }
    }

    /// An unused segment leaves that nobody gets any more. Since its pool went its own stream may have been given more
    /// work that uses it.
    fn let_orphan_go(&mut self, context: &Context, segment: SegmentId) {
        let stream = self.books.segments[segment].stream;
        let lives = context.home.stream_of_id(context.device, stream).is_ok_and(|found| {
            let lives = found.is_some();
            self.gone.extend(found);
            lives
        });
        let own = if lives && !context.capturing { self.event_after(context, stream) } else { None };
        if lives && own.is_none() {
            self.stuck.push(segment);
        } else if let Some(mut after) = self.books.segments[segment].orphaned.take() {
            after.extend(own);
            self.leave(after, &[segment]);
        }
    }

    /// Looks at what waits for streams, which nobody does while a graph is captured.
    pub(super) fn settle(&mut self, context: &Context) {
        let nothing_waits = self.waits.is_empty() && self.going.is_empty() && self.stuck.is_empty();
        if context.capturing || nothing_waits {
            return;
        }
        for piece in self.waits.take_postponed() {
            self.await_streams(context, piece);
        }
        for piece in self.waits.passed(context.driver) {
            if let PieceState::Awaited(count) = &mut self.books.pieces[piece].state {
                *count -= 1;
                if *count == 0 {
                    self.free(context, piece);
                }
            }
        }
        for segment in std::mem::take(&mut self.stuck) {
            self.let_orphan_go(context, segment);
        }
        for (pool, streams) in std::mem::take(&mut self.going) {
            self.let_pool_go(context, pool, streams);
        }
    }

    /// What can be given back to the driver now.
    pub(super) fn ready(&mut self, context: &Context) -> Vec<Ready> {
        if context.capturing { Vec::new() } else { self.waits.ready(context.driver) }
    }

    /// Sets unused segments apart, to be given back once these events have passed.
    fn leave(&mut self, events: Vec<EventHandle>, segments: &[SegmentId]) {
        let pieces: Vec<_> = segments.iter().map(|segment| self.books.segments[*segment].first).collect();
        for piece in &pieces {
            self.books.set_apart(*piece);
        }
        self.waits.leave(events, pieces);
    }

    /// Sets unused segments apart, to be given back once their streams have got past all that is queued there. Those
    /// whose streams can't be asked stay.
    pub(super) fn retire(&mut self, context: &Context, segments: Vec<SegmentId>) {
        let mut by_stream: BTreeMap<i64, Vec<SegmentId>> = BTreeMap::new();
        for segment in segments {
            by_stream.entry(self.books.segments[segment].stream).or_default().push(segment);
        }
        for (stream, segments) in by_stream {
            if let Some(event) = self.event_after(context, stream) {
                self.leave(vec![event], &segments);
            }
        }
    }

    /// An event after all that is queued on a stream; `None` where it can't be asked.
    fn event_after(&mut self, context: &Context, stream: i64) -> Option<EventHandle> {
        let stream = context.home.stream_of_id(context.device, stream).ok().flatten()?;
        let event = stream.handle().and_then(|handle| self.waits.recorded(context.driver, handle));
        self.gone.push(stream);
        event.ok()
    }

    /// A stream goes; what was allocated for it goes back to the driver once nobody uses it, and no graph does.
    pub(super) fn stream_goes(&mut self, context: &Context, id: i64, stream: StreamHandle) {
        for segment in self.books.kept_segments(|segment| segment.stream == id) {
            // What can't be asked, as it is lost or captures, never comes back.
            let Ok(event) = self.waits.recorded(context.driver, stream) else { continue };
            if let Some(after) = &mut self.books.segments[segment].orphaned {
                after.push(event);
            } else if self.books.is_private(self.books.segments[segment].pool) {
                self.books.segments[segment].ended = Some(event);
            } else {
                self.orphan(segment, vec![event]);
            }
        }
    }

    /// A pool goes; its memory goes back to the driver once nobody uses it, and the streams have got past what is
    /// queued there.
    pub(super) fn pool_goes(&mut self, context: &Context, pool: PoolId, streams: &[Stream]) {
        if let Some(index) = self.books.find_private_pool(pool)
            && self.books.end_pool(index)
        {
            self.let_pool_go(context, index, streams.to_vec());
        }
    }

    /// Lets go what a pool has that no graph uses, or tries later: while something is captured, or where a stream
    /// can't be asked.
    fn let_pool_go(&mut self, context: &Context, pool: PoolIndex, streams: Vec<Stream>) {
        let segments = self.books.open_segments(|segment| segment.pool == pool);
        for segment in segments.iter().filter(|_| !context.capturing) {
            let Ok(mut events) = self.waits.recorded_on_all(context.driver, &streams) else { break };
            let ended = self.books.segments[*segment].ended.take();
            match ended.or_else(|| self.event_after(context, self.books.segments[*segment].stream)) {
                Some(own) => {
                    events.push(own);
                    self.orphan(*segment, events);
                }
                None => self.waits.forget(events),
            }
        }
        if self.books.open_segments(|segment| segment.pool == pool).is_empty() {
            self.gone.extend(streams);
        } else {
            self.going.push((pool, streams));
        }
    }

    fn orphan(&mut self, segment: SegmentId, after: Vec<EventHandle>) {
        self.books.orphan(segment, after);
        if self.books.is_unused(segment)
            && let Some(after) = self.books.segments[segment].orphaned.take()
        {
            self.leave(after, &[segment]);
        }
    }
}
