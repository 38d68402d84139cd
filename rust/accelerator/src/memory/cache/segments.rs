//! Segments come from the driver and go back to it.

use super::books::{Books, Pool, Request};
use super::piece::{Piece, PieceId, PieceState, PoolIndex, Segment, SegmentId};
use crate::PoolId;
use crate::driver::{Address, EventHandle};
use crate::memory::history::Action;
use crate::memory::statistics::ByPool;

impl Books {
    /// Segments of which something is true, and that are not leaving.
    pub(super) fn kept_segments(&self, is_meant: impl Fn(&Segment) -> bool) -> Vec<SegmentId> {
        let leaves = |segment: &Segment| {
            segment.page.is_none() && self.pieces[segment.first].state == PieceState::Leaving
        };
        let found = self.segments.iter().filter(|(_, segment)| !leaves(segment) && is_meant(segment));
        found.map(|(id, _)| id).collect()
    }

    /// The same, of those whose free pieces are handed out.
    pub(super) fn open_segments(&self, is_meant: impl Fn(&Segment) -> bool) -> Vec<SegmentId> {
        self.kept_segments(|segment| segment.orphaned.is_none() && is_meant(segment))
    }

    /// Whether the pool is one of graphs.
    pub(super) fn is_private(&self, pool: PoolIndex) -> bool {
        self.pools[pool].id.is_some()
    }

    /// A segment that the driver gave, as one free piece.
    pub(super) fn add_segment(&mut self, request: &Request, address: Address, bytes: usize) -> PieceId {
        let small = request.is_small();
        let (segment, piece) = self.insert_segment(request, address, bytes, None);
        self.list(piece);
        self.statistics.segment.add(small, 1);
        self.count_reserved(request.pool, |counted| counted.add(small, bytes as u64));
        self.statistics.num_device_alloc += 1;
        if self.segments[segment].oversize {
            self.statistics.oversize_segments.add(1);
        }
        self.note_segment(Action::SegmentAlloc, segment, address.0, bytes);
        piece
    }

    /// A segment of one piece, which has no memory yet if the segment grows by pages. It is not listed.
    pub(super) fn insert_segment(
        &mut self,
        request: &Request,
        address: Address,
        bytes: usize,
        page: Option<usize>,
    ) -> (SegmentId, PieceId) {
        let piece = self.pieces.insert(Piece {
            segment: self.segments.next_id(),
            address,
            bytes,
            requested: 0,
            state: if page.is_some() { PieceState::Unmapped } else { PieceState::Free },
            before: None,
            after: None,
            used_on: Vec::new(),
            since: self.requests,
            freed: self.frees,
            oversize: false,
        });
        let segment = self.segments.insert(Segment {
            number: self.segments_made,
            address,
            bytes,
            pool: request.pool,
            small: request.is_small(),
            stream: request.stream,
            first: piece,
            page,
            oversize: page.is_none() && bytes >= self.rules.oversize,
            ended: None,
            orphaned: None,
        });
        self.segments_made += 1;
        (segment, piece)
    }

    /// Takes a free piece out of those that are handed out.
    pub(super) fn set_apart(&mut self, id: PieceId) {
        self.unlist(id);
        self.pieces[id].state = PieceState::Leaving;
    }

    /// Takes what can go back to the driver of a free piece out of those that are handed out, and returns it.
    pub(super) fn set_apart_to_go(&mut self, id: PieceId) -> Option<PieceId> {
        match self.segments[self.pieces[id].segment].page {
            Some(page) => self.set_pages_apart(id, page),
            None => {
                self.set_apart(id);
                Some(id)
            }
        }
    }

    /// Forgets a segment whose one piece was set apart.
    pub(super) fn remove_segment(&mut self, id: SegmentId) {
        let Segment { address, bytes, .. } = self.segments[id];
        self.note_segment(Action::SegmentFree, id, address.0, bytes);
        let segment = self.segments.remove(id);
        self.pieces.remove(segment.first);
        self.statistics.segment.take(segment.small, 1);
        self.count_reserved(segment.pool, |counted| counted.take(segment.small, segment.bytes as u64));
        self.statistics.num_device_free += 1;
        if segment.oversize {
            self.statistics.oversize_segments.take(1);
        }
        self.forget_pool_if_empty(segment.pool);
    }

    /// Whether nobody uses any piece of a segment.
    pub(super) fn is_unused(&self, segment: SegmentId) -> bool {
        let unused = |id| matches!(self.pieces[id].state, PieceState::Free | PieceState::Unmapped);
        self.pieces_of(segment).all(unused)
    }

    /// What may go back to the driver: segments of which all is free, and free pieces of those that shrink. Not those
    /// that graphs use, or that go anyway.
    pub(super) fn unused(&self) -> Vec<PieceId> {
        let may_go = |segment: &Segment| self.pools[segment.pool].id.is_none() && segment.orphaned.is_none();
        let segments = self.segments.iter().filter(|(_, segment)| may_go(segment));
        segments.flat_map(|(id, _)| self.unused_of(id)).collect()
    }

    /// The same of one segment.
    pub(super) fn unused_of(&self, id: SegmentId) -> Vec<PieceId> {
        let is_free = |id: &PieceId| self.pieces[*id].state == PieceState::Free;
        let segment = &self.segments[id];
        match segment.page {
            None => Some(segment.first)
                .filter(|first| is_free(first) && !self.pieces[*first].is_split())
                .into_iter()
                .collect(),
            Some(page) => {
                let shrinks = |id: &PieceId| is_free(id) && self.pages_in(*id, page).is_some();
                self.pieces_of(id).filter(shrinks).collect()
            }
        }
    }

    /// The pool with this id that graphs use.
    pub(super) fn find_private_pool(&self, id: PoolId) -> Option<PoolIndex> {
        let found = self.pools.iter().find(|(_, pool)| pool.id == Some(id) && !pool.is_gone);
        found.map(|(index, _)| index)
    }

    /// The same, made if there is none.
    pub(super) fn private_pool(&mut self, id: PoolId) -> PoolIndex {
        match self.find_private_pool(id) {
            Some(index) => index,
            None => self.pools.insert(Pool { id: Some(id), ..Pool::default() }),
        }
    }

    /// A pool that is gone and has no segments any more is forgotten. Returns whether it was.
    pub(super) fn forget_pool_if_empty(&mut self, index: PoolIndex) -> bool {
        let is_empty = self.segments.iter().all(|(_, segment)| segment.pool != index);
        let Pool { is_gone, asked, .. } = self.pools[index];
        if !is_gone || asked > 0 || !is_empty {
            return false;
        }
        let id = self.pools.remove(index).id;
        // Another may have the same id: that of a graph which was captured again.
        if self.pools.iter().all(|(_, pool)| pool.id != id) {
            self.statistics.reserved_bytes_by_private_pools.retain(|(counted, _)| Some(*counted) != id);
        }
        true
    }

    /// No graph uses the pool any more. Whether it has memory; otherwise it is forgotten.
    pub(super) fn end_pool(&mut self, index: PoolIndex) -> bool {
        self.pools[index].is_gone = true;
        !self.forget_pool_if_empty(index)
    }

    /// Hands out no free piece of a segment any more.
    pub(super) fn orphan(&mut self, segment: SegmentId, after: Vec<EventHandle>) {
        self.join_last();
        let free = |id: &PieceId| self.pieces[*id].state == PieceState::Free;
        for id in self.pieces_of(segment).filter(free).collect::<Vec<_>>() {
            self.unlist(id);
        }
        self.segments[segment].orphaned = Some(after);
    }

    /// Counts bytes that are taken from the driver or given back.
    pub(super) fn count_reserved(&mut self, pool: PoolIndex, count: impl Fn(&mut ByPool)) {
        count(&mut self.statistics.reserved_bytes);
        let Some(id) = self.pools[pool].id else { return };
        let private = &mut self.statistics.reserved_bytes_by_private_pools;
        let place = private.binary_search_by_key(&id, |(id, _)| *id).unwrap_or_else(|place| {
            private.insert(place, (id, ByPool::default()));
            place
        });
        if let Some((_, counted)) = private.get_mut(place) {
            count(counted);
        }
    }
}
