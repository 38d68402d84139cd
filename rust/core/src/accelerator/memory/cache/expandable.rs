//! Segments that grow where they are: addresses are reserved once, and get memory page by page. So what is freed in
//! pieces of one size serves requests of another, and whole pages go back to the driver from between pieces in use.

use super::books::{Books, Request};
use super::piece::{Piece, PieceId, PieceState, Segment, SegmentId};
use super::state::State;
use super::{Cache, Context, Taken};
use crate::accelerator::driver::Address;
use crate::accelerator::memory::history::Action;
use crate::{Error, Result};

/// Memory that a segment is about to get.
#[derive(Clone, Copy)]
struct Growth {
    /// Without memory so far.
    piece: PieceId,
    /// The free piece before it, which was set apart for it. What lies there otherwise is somebody else's.
    before: Option<PieceId>,
    address: Address,
    bytes: usize,
    page: usize,
}

impl Cache {
    /// A piece of a segment that grows; `None` where there is no room. `granularity` is the driver's.
    pub(super) fn expand(
        &self,
        context: &Context,
        request: &Request,
        granularity: usize,
    ) -> Result<Option<Taken>> {
        if !self.locked(|state| state.books.has_room_to_grow(request)) {
            let page = self.locked(|state| state.books.rules.page(request.is_small(), granularity));
            let Some(bytes) = self.addresses(context, request, page)? else { return Ok(None) };
            let address = context.driver.reserve_addresses(context.device, bytes)?;
            self.locked(|state| state.books.insert_segment(request, address, bytes, Some(page)));
        }
        let Some(growth) = self.locked(|state| state.books.begin_growth(request)) else { return Ok(None) };
        let mapped = match self.may_ask_for(context, growth.bytes) {
            true => self.map(context, growth),
            false => Ok(false),
        };
        if mapped == Ok(true) {
            return self.locked(|state| {
                state.asked_for -= growth.bytes as u64;
                let piece = state.books.end_growth(growth);
                state.books.hand_out(piece, request);
                Ok(Some(state.taken(piece)))
            });
        }
        let addresses = self.locked(|state| state.books.abandon_growth(growth));
        self.free_addresses(context, addresses);
        mapped.map(|_| None)
    }

    /// How many addresses to reserve for a segment that serves a request: an eighth more than the device has memory,
    /// so that it can grow around pieces in use. `None` for what no memory of the device can serve.
    fn addresses(&self, context: &Context, request: &Request, page: usize) -> Result<Option<usize>> {
        let total = usize::try_from(context.driver.memory_info(context.device)?.total).unwrap_or(usize::MAX);
        if request.bytes > total {
            return Ok(None);
        }
        Ok((total / 8 * 9).max(request.bytes).checked_next_multiple_of(page))
    }

    /// Has the driver give memory to all pages, or to none: false where it has no room.
    fn map(&self, context: &Context, growth: Growth) -> Result<bool> {
        let pages = (growth.address.0..growth.address.0 + growth.bytes as u64).step_by(growth.page);
        for address in pages.clone() {
            let Err(error) = context.driver.map(context.device, Address(address), growth.page) else {
                continue;
            };
            for address in pages.take_while(|mapped| *mapped < address) {
                // SAFETY: it was mapped just now, and nobody knows of it yet.
                let _ = unsafe { context.driver.unmap(context.device, Address(address), growth.page) };
            }
            self.locked(|state| state.asked_for -= growth.bytes as u64);
            return if matches!(error, Error::OutOfMemory(_)) { Ok(false) } else { Err(error) };
        }
        Ok(true)
    }

    /// Takes the memory of a piece away that nobody uses and no stream will, and the addresses of its segment where
    /// none has memory any more.
    pub(super) fn unmap(&self, context: &Context, piece: PieceId, page: usize) {
        let (address, bytes) = self.locked(|state| {
            let piece = &state.books.pieces[piece];
            (piece.address.0, piece.bytes as u64)
        });
        for address in (address..address + bytes).step_by(page) {
            // SAFETY: `map` mapped page by page, nobody uses the piece, and the streams that did have got past all
            // that was queued there. A device that is lost refuses, and has nothing to be given back.
            let _ = unsafe { context.driver.unmap(context.device, Address(address), page) };
        }
        let addresses = self.locked(|state| state.end_shrinking(context, piece));
        self.free_addresses(context, addresses);
    }

    /// Gives back the addresses of a segment that was forgotten, if one was.
    fn free_addresses(&self, context: &Context, addresses: Option<(Address, usize)>) {
        if let Some((address, bytes)) = addresses {
            // SAFETY: the driver reserved them for this device and size, and none has memory.
            let _ = unsafe { context.driver.free_addresses(context.device, address, bytes) };
        }
    }
}

impl State {
    /// The pages of a piece have no memory any more. Returns the addresses of its segment where none has, which is
    /// forgotten then.
    fn end_shrinking(&mut self, context: &Context, piece: PieceId) -> Option<(Address, usize)> {
        let segment = self.books.pieces[piece].segment;
        let unneeded = self.books.segments[segment].orphaned.clone();
        let addresses = self.books.end_shrinking(piece);
        if addresses.is_none() {
            self.leave_if_orphaned(context, segment);
        } else {
            self.waits.forget(unneeded.unwrap_or_default());
        }
        addresses
    }
}

impl Books {
    /// The addresses without memory that, with the free piece before them, are enough for a request; those that need
    /// the least new memory come from the segment that is fullest there.
    fn room_to_grow(&self, request: &Request) -> Option<PieceId> {
        let fits = |segment: &Segment| {
            segment.page.is_some()
                && segment.orphaned.is_none()
                && (segment.pool, segment.small, segment.stream)
                    == (request.pool, request.is_small(), request.stream)
        };
        let segments = self.segments.iter().filter(|(_, segment)| fits(segment));
        let unmapped = segments.flat_map(|(id, _)| self.pieces_of(id)).filter(|id| {
            let piece = &self.pieces[*id];
            piece.state == PieceState::Unmapped && self.free_before(*id) + piece.bytes >= request.bytes
        });
        unmapped
            .into_iter()
            .max_by_key(|id| (self.free_before(*id), std::cmp::Reverse(self.pieces[*id].address)))
    }

    fn has_room_to_grow(&self, request: &Request) -> bool {
        self.room_to_grow(request).is_some()
    }

    /// The bytes that a free piece has, or could have if the segment grew behind it.
    pub(super) fn bytes_if_grown(&self, id: PieceId) -> usize {
        let after = self.pieces[id].after.map(|after| &self.pieces[after]);
        let room = after.filter(|after| after.state == PieceState::Unmapped).map_or(0, |after| after.bytes);
        self.pieces[id].bytes + room
    }

    /// The bytes of the free piece before another.
    fn free_before(&self, id: PieceId) -> usize {
        let before = self.pieces[id].before.map(|before| &self.pieces[before]);
        before.filter(|before| before.state == PieceState::Free).map_or(0, |before| before.bytes)
    }

    /// Sets addresses apart that get memory for a request, and the free piece before them.
    fn begin_growth(&mut self, request: &Request) -> Option<Growth> {
        let piece = self.room_to_grow(request)?;
        let page = self.segments[self.pieces[piece].segment].page?;
        // Others may have freed enough meanwhile.
        let bytes =
            request.bytes.saturating_sub(self.free_before(piece)).max(1).checked_next_multiple_of(page)?;
        let before = self.pieces[piece].before.filter(|_| self.free_before(piece) > 0);
        if let Some(before) = before {
            self.set_apart(before);
        }
        if self.pieces[piece].bytes > bytes {
            self.cut(piece, bytes);
        }
        self.pieces[piece].state = PieceState::Leaving;
        Some(Growth { piece, before, address: self.pieces[piece].address, bytes, page })
    }

    /// The addresses have memory: returns the free piece that they are now.
    fn end_growth(&mut self, growth: Growth) -> PieceId {
        let Piece { segment, .. } = self.pieces[growth.piece];
        let Segment { pool, small, .. } = self.segments[segment];
        self.statistics.num_device_alloc += 1;
        self.count_reserved(pool, |counted| counted.add(small, growth.bytes as u64));
        self.note_segment(Action::SegmentMap, segment, growth.address.0, growth.bytes);
        if let Some(before) = growth.before {
            self.list_with_neighbours(before);
        }
        self.list_with_neighbours(growth.piece)
    }

    /// The addresses got no memory. Returns those of the segment where none has, which is forgotten then.
    fn abandon_growth(&mut self, growth: Growth) -> Option<(Address, usize)> {
        let piece = self.unmapped(growth.piece);
        if let Some(before) = growth.before {
            self.list_with_neighbours(before);
        }
        self.forget_if_unmapped(piece)
    }

    /// Addresses have no memory, and are one with those on both sides. Returns that piece.
    fn unmapped(&mut self, id: PieceId) -> PieceId {
        let is_unmapped = |side: &PieceId| self.pieces[*side].state == PieceState::Unmapped;
        let left = self.pieces[id].before.filter(is_unmapped);
        let right = self.pieces[id].after.filter(is_unmapped);
        self.pieces[id].state = PieceState::Unmapped;
        if let Some(right) = right {
            self.join(id, right);
        }
        if let Some(left) = left {
            self.join(left, id);
        }
        left.unwrap_or(id)
    }

    /// Where in a piece its whole pages begin, and how many bytes they have; `None` where there are none.
    pub(super) fn pages_in(&self, id: PieceId, page: usize) -> Option<(usize, usize)> {
        let Piece { segment, address, bytes, .. } = self.pieces[id];
        let start = (address.0 - self.segments[segment].address.0) as usize;
        let (first, end) = (start.next_multiple_of(page), (start + bytes) / page * page);
        let length = end.checked_sub(first).filter(|length| *length > 0)?;
        Some((first - start, length))
    }

    /// Cuts the whole pages out of a free piece of an expandable segment and sets them apart; `None` where there are
    /// none.
    pub(super) fn set_pages_apart(&mut self, id: PieceId, page: usize) -> Option<PieceId> {
        let (start, length) = self.pages_in(id, page)?;
        self.unlist(id);
        let pages = if start > 0 { self.cut(id, start) } else { id };
        if self.pieces[pages].bytes > length {
            let tail = self.cut(pages, length);
            self.list(tail);
        }
        if pages != id {
            self.list(id);
        }
        self.pieces[pages].state = PieceState::Leaving;
        Some(pages)
    }

    /// See [`State::end_shrinking`].
    fn end_shrinking(&mut self, id: PieceId) -> Option<(Address, usize)> {
        let Piece { segment: segment_id, address, bytes, .. } = self.pieces[id];
        let Segment { pool, small, .. } = self.segments[segment_id];
        self.statistics.num_device_free += 1;
        self.count_reserved(pool, |counted| counted.take(small, bytes as u64));
        self.note_segment(Action::SegmentUnmap, segment_id, address.0, bytes);
        let unmapped = self.unmapped(id);
        self.forget_if_unmapped(unmapped)
    }

    /// Forgets the segment of a piece without memory where it has no other; returns its addresses.
    fn forget_if_unmapped(&mut self, id: PieceId) -> Option<(Address, usize)> {
        if self.pieces[id].is_split() {
            return None;
        }
        let segment = self.segments.remove(self.pieces[id].segment);
        self.pieces.remove(id);
        self.forget_pool_if_empty(segment.pool);
        Some((segment.address, segment.bytes))
    }

    /// The pieces of a segment, in their order.
    pub(super) fn pieces_of(&self, segment: SegmentId) -> impl Iterator<Item = PieceId> {
        std::iter::successors(Some(self.segments[segment].first), |id| self.pieces[*id].after)
    }
}
