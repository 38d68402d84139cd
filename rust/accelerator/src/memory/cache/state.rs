//! What is behind the lock.

use std::collections::BTreeMap;

use super::books::{Books, Request};
use super::piece::{PieceId, PieceState, PoolIndex, SegmentId};
use super::waits::{Ready, Waits};
use super::{Context, Taken};
use crate::PoolId;
use crate::driver::{EventHandle, StreamHandle};
use crate::memory::config::AllocatorConfig;
use crate::memory::history::Cause;
use crate::stream::Stream;

/// Everything that is known of what is kept of a device's memory.
pub(super) struct State {
    pub(super) books: Books,
    pub(super) waits: Waits,
    /// The number of the configuration, and the part of the device's memory that it leaves.
    pub(super) configured: (u64, f64),
    /// How many bytes the device has; 0 where that is not known.
    total: u64,
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
    /// Held pieces that become free when everything unused is given back.
    free_later: Vec<PieceId>,
    /// Handles to streams, to be dropped without the lock.
    gone: Vec<Stream>,
}

impl Default for State {
    fn default() -> Self {
        State {
            total: 0,
            books: Books::default(),
            waits: Waits::default(),
            configured: (0, 1.0),
            limit: None,
            cache_limit: None,
            asked_for: 0,
            going: Vec::new(),
            stuck: Vec::new(),
            free_later: Vec::new(),
            gone: Vec::new(),
        }
    }
}

impl State {
    /// What to drop when the lock is free again.
    pub(super) fn take_gone(&mut self) -> Vec<Stream> {
        std::mem::take(&mut self.gone)
    }

    /// Takes over a configuration, unless a later one has been, for a device of so many bytes. The limit stays what
    /// the program made it unless the configuration says something new about it.
    pub(super) fn configure(&mut self, number: u64, config: &AllocatorConfig, total: u64) {
        let (before, fraction) = self.configured;
        self.total = total;
        if number <= before {
            return;
        }
        self.books.configure(config);
        let wanted = config.per_process_memory_fraction;
        if wanted != fraction {
            self.limit = (wanted < 1.0).then_some((wanted * total as f64) as u64);
        }
        self.configured = (number, wanted);
    }

    /// Whether so many bytes more stay within the memory of the device and the limit of the process.
    pub(super) fn has_room_for(&self, bytes: u64) -> bool {
        let reserved = self.books.statistics.reserved_bytes.all.current.saturating_add(self.asked_for);
        let wanted = reserved.saturating_add(bytes);
        let is_there = self.total == 0 || wanted <= self.total;
        is_there && self.limit.is_none_or(|limit| wanted <= limit)
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

    /// As [`release`](State::release), while work is said to use the piece until it is [complete](State::complete).
    pub(super) fn hold(&mut self, piece: PieceId) {
        self.books.end_use(piece);
        self.books.pieces[piece].state = PieceState::Awaited(1);
    }

    /// A held piece is free, or will be when everything unused is given back.
    pub(super) fn complete(&mut self, context: &Context, piece: PieceId, later: bool) {
        if later { self.free_later.push(piece) } else { self.free(context, piece) }
    }

    /// All held pieces are free that have waited for it.
    pub(super) fn complete_all(&mut self, context: &Context) {
        std::mem::take(&mut self.free_later).into_iter().for_each(|piece| self.free(context, piece));
    }

    fn free(&mut self, context: &Context, piece: PieceId) {
        let segment = self.books.free(piece);
        self.leave_if_orphaned(context, segment);
    }

    /// Sets a segment apart that nobody gets pieces of any more, if nobody has one. Since its pool went its own stream
    /// may have been given more work that uses it.
    pub(super) fn leave_if_orphaned(&mut self, context: &Context, segment: SegmentId) {
        self.stuck.retain(|stuck| *stuck != segment);
        if self.books.segments[segment].orphaned.is_none() || !self.books.is_unused(segment) {
            return;
        }
        self.books.join_last();
        let stream = self.books.segments[segment].stream;
        let found = context.home.stream_of_id(context.device, stream).ok().flatten();
        // A stream that is about to go can't be asked any more, and says so itself in a moment.
        let lives = found.is_some() || context.home.remembers(stream);
        self.gone.extend(found);
        let own = if lives && !context.capturing { self.event_after(context, stream) } else { None };
        if lives && own.is_none() {
            self.stuck.push(segment);
        } else if let Some(after) = &mut self.books.segments[segment].orphaned {
            // It stays one that nobody gets pieces of: pages leave one by one.
            let mut after = std::mem::take(after);
            after.extend(own);
            let pieces = self.books.unused_of(segment);
            self.leave(after, pieces);
        }
    }

    /// Looks at what waits for streams, which nobody does while a graph is captured.
    pub(super) fn settle(&mut self, context: &Context) {
        let nothing_waits = self.waits.is_empty() && self.going.is_empty() && self.stuck.is_empty();
        if context.capturing || nothing_waits {
            return;
        }
        self.books.join_last();
        for piece in self.waits.take_postponed() {
            self.await_streams(context, piece);
        }
        for piece in self.waits.passed(context.driver, context.device) {
            if let PieceState::Awaited(count) = &mut self.books.pieces[piece].state {
                *count -= 1;
                if *count == 0 {
                    self.free(context, piece);
                }
            }
        }
        for segment in std::mem::take(&mut self.stuck) {
            self.leave_if_orphaned(context, segment);
        }
        for (pool, streams) in std::mem::take(&mut self.going) {
            self.let_pool_go(context, pool, streams);
        }
    }

    /// What can be given back to the driver now.
    pub(super) fn ready(&mut self, context: &Context) -> Vec<Ready> {
        if context.capturing { Vec::new() } else { self.waits.ready(context.driver) }
    }

    /// Sets free pieces apart, to be given back once these events have passed.
    fn leave(&mut self, events: Vec<EventHandle>, pieces: Vec<PieceId>) {
        debug_assert_eq!(self.books.last, None, "who looks for pieces has joined all");
        let pieces: Vec<_> =
            pieces.into_iter().filter_map(|piece| self.books.set_apart_to_go(piece)).collect();
        self.waits.leave(events, pieces);
    }

    /// Sets free pieces apart, to be given back once their streams have got past all that is queued there. Those whose
    /// streams can't be asked stay.
    pub(super) fn retire(&mut self, context: &Context, pieces: Vec<PieceId>) {
        let mut by_stream: BTreeMap<i64, Vec<PieceId>> = BTreeMap::new();
        for piece in pieces {
            let segment = self.books.pieces[piece].segment;
            by_stream.entry(self.books.segments[segment].stream).or_default().push(piece);
        }
        for (stream, pieces) in by_stream {
            if let Some(event) = self.event_after(context, stream) {
                for piece in &pieces {
                    self.books.history.leaves(self.books.pieces[*piece].segment, Cause::Limit);
                }
                self.leave(vec![event], pieces);
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
        // Not before: as long as it is remembered, its memory waits for it.
        context.home.forget(id);
        for segment in self.books.kept_segments(|segment| segment.stream == id) {
            // What can't be asked, as it is lost or captures, never comes back.
            let Ok(event) = self.waits.recorded(context.driver, stream) else { continue };
            if let Some(after) = &mut self.books.segments[segment].orphaned {
                after.push(event);
            } else if self.books.is_private(self.books.segments[segment].pool) {
                self.books.segments[segment].ended = Some(event);
            } else {
                self.orphan(context, segment, vec![event], Cause::Stream);
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

    /// A request is over that could have added memory to a pool. It may have gone meanwhile.
    pub(super) fn end_request(&mut self, context: &Context, pool: PoolIndex) {
        self.books.pools[pool].asked -= 1;
        if self.books.pools[pool].asked == 0
            && let Some(place) = self.going.iter().position(|(going, _)| *going == pool)
        {
            let (_, streams) = self.going.swap_remove(place);
            self.let_pool_go(context, pool, streams);
            self.books.forget_pool_if_empty(pool);
        }
    }

    /// Lets go what a pool has that no graph uses, or tries later: while something is captured or a request may add
    /// to it, or where a stream can't be asked.
    fn let_pool_go(&mut self, context: &Context, pool: PoolIndex, streams: Vec<Stream>) {
        let segments = self.books.open_segments(|segment| segment.pool == pool);
        for segment in segments.iter().filter(|_| !context.capturing) {
            let Ok(mut events) = self.waits.recorded_on_all(context.driver, &streams) else { break };
            let ended = self.books.segments[*segment].ended.take();
            match ended.or_else(|| self.event_after(context, self.books.segments[*segment].stream)) {
                Some(own) => {
                    events.push(own);
                    self.orphan(context, *segment, events, Cause::Pool);
                }
                None => self.waits.forget(events),
            }
        }
        let is_asked = self.books.pools[pool].asked > 0;
        if !is_asked && self.books.open_segments(|segment| segment.pool == pool).is_empty() {
            self.gone.extend(streams);
        } else {
            self.going.push((pool, streams));
        }
    }

    fn orphan(&mut self, context: &Context, segment: SegmentId, after: Vec<EventHandle>, cause: Cause) {
        self.books.history.leaves(segment, cause);
        self.books.orphan(segment, after);
        self.leave_if_orphaned(context, segment);
    }
}
