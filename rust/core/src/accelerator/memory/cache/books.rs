//! Who has which piece of a device's memory. Nothing here asks a driver for anything.

use super::free_list::{Entry, FreeList};
use super::piece::{Piece, PieceId, PieceState, PoolIndex, Segment, SegmentId};
use super::scopes::Scopes;
use super::sizes::Rules;
use super::table::Table;
use crate::accelerator::PoolId;
use crate::accelerator::driver::{Address, EventHandle};
use crate::accelerator::memory::statistics::{ByPool, Statistics};

/// All segments of a device and their pieces.
pub(super) struct Books {
    pub(super) rules: Rules,
    pub(super) statistics: Statistics,
    pub(super) scopes: Scopes,
    pub(super) pieces: Table<Piece>,
    pub(super) segments: Table<Segment>,
    pub(super) pools: Table<Pool>,
    /// The pool of everybody who captures no graph.
    pub(super) common: PoolIndex,
    /// How many requests there were.
    pub(super) requests: u64,
    /// How often a piece became free.
    frees: u64,
    /// Bytes of free pieces that can be handed out.
    pub(super) kept: u64,
}

/// Segments that share free pieces.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Of graphs; `None` for the one of everybody else.
    pub(super) id: Option<PoolId>,
    pub(super) small: FreeList,
    pub(super) large: FreeList,
    /// No graph uses it any more.
    is_gone: bool,
}

impl Pool {
    pub(super) fn list(&self, small: bool) -> &FreeList {
        if small { &self.small } else { &self.large }
    }

    fn list_mut(&mut self, small: bool) -> &mut FreeList {
        if small { &mut self.small } else { &mut self.large }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The stream whose work uses the memory first.
    pub(super) stream: i64,
    /// How many bytes.
    pub(super) requested: usize,
    /// The size of a piece for them.
    pub(super) bytes: usize,
    pub(super) pool: PoolIndex,
}

impl Request {
    pub(super) fn is_small(&self) -> bool {
        Rules::is_small(self.bytes)
    }
}

/// Free pieces that share their segment with others: how many, and their bytes.
type Split = (u64, u64);

impl Books {
    /// The largest free piece, in bytes.
    pub(super) fn largest_free(&self) -> u64 {
        let lists = self.pools.iter().flat_map(|(_, pool)| [&pool.small, &pool.large]);
        lists.map(FreeList::largest).max().unwrap_or(0) as u64
    }

    /// Counts from now on for a block of a program.
    pub(super) fn open_scope(&mut self) -> u64 {
        self.scopes.open(self.requests)
    }

    fn new() -> Self {
        let mut pools = Table::default();
        let common = pools.insert(Pool::default());
        Books {
            rules: Rules::default(),
            statistics: Statistics::new(),
            scopes: Scopes::default(),
            pieces: Table::default(),
            segments: Table::default(),
            pools,
            common,
            requests: 0,
            frees: 0,
            kept: 0,
        }
    }

    /// Hands out the free piece that fits best, cut to size; `None` where there is none.
    pub(super) fn take(&mut self, request: &Request) -> Option<PieceId> {
        let list = self.pools[request.pool].list(request.is_small());
        let piece = list.best_fit(request.stream, request.bytes, &self.rules)?;
        self.hand_out(piece, request);
        Some(piece)
    }

    /// Hands out a free piece that is large enough.
    pub(super) fn hand_out(&mut self, id: PieceId, request: &Request) {
        let before = self.split_as_free(id);
        self.unlist(id);
        let rest = self.cut(id, request.bytes);
        let after = rest.map_or((0, 0), |rest| self.split_as_free(rest));
        let small = self.segments[self.pieces[id].segment].small;
        self.requests += 1;
        let piece = &mut self.pieces[id];
        (piece.state, piece.requested, piece.since) = (PieceState::InUse, request.requested, self.requests);
        let (bytes, requested) = (piece.bytes as u64, piece.requested as u64);
        self.change_inactive(small, before, after);
        self.statistics.allocation.add(small, 1);
        self.statistics.allocated_bytes.add(small, bytes);
        self.statistics.active.add(small, 1);
        self.statistics.active_bytes.add(small, bytes);
        self.statistics.requested_bytes.add(small, requested);
        if bytes >= self.rules.oversize as u64 {
            self.statistics.oversize_allocations.add(1);
        }
        self.scopes.add(bytes);
    }

    /// The piece is used by nobody any more, apart from work that is queued.
    pub(super) fn end_use(&mut self, id: PieceId) {
        let piece = &self.pieces[id];
        let (bytes, since, small) = (piece.bytes as u64, piece.since, self.segments[piece.segment].small);
        self.statistics.allocation.take(small, 1);
        self.statistics.allocated_bytes.take(small, bytes);
        if bytes >= self.rules.oversize as u64 {
            self.statistics.oversize_allocations.take(1);
        }
        self.scopes.take(since, bytes);
    }

    /// The piece is free, and one with the free pieces on both its sides. Returns its segment.
    pub(super) fn free(&mut self, id: PieceId) -> SegmentId {
        let (segment, bytes, requested) = {
            let piece = &mut self.pieces[id];
            piece.state = PieceState::Free;
            (piece.segment, piece.bytes as u64, piece.requested as u64)
        };
        let small = self.segments[segment].small;
        self.statistics.active.take(small, 1);
        self.statistics.active_bytes.take(small, bytes);
        self.statistics.requested_bytes.take(small, requested);
        let neighbours = [self.pieces[id].before, self.pieces[id].after];
        let free = neighbours.map(|side| side.filter(|side| self.pieces[*side].state == PieceState::Free));
        let before = free.into_iter().flatten().fold((0, 0), |sum, side| {
            let split = self.split_as_free(side);
            (sum.0 + split.0, sum.1 + split.1)
        });
        let [left, right] = free;
        if let Some(right) = right {
            self.unlist(right);
            self.join(id, right);
        }
        let id = match left {
            Some(left) => {
                self.unlist(left);
                self.join(left, id);
                left
            }
            None => id,
        };
        self.pieces[id].requested = 0;
        self.frees += 1;
        (self.pieces[id].since, self.pieces[id].freed) = (self.requests, self.frees);
        self.list(id);
        let after = self.split_as_free(id);
        self.change_inactive(small, before, after);
        segment
    }

    /// A segment that the driver gave, as one free piece.
    pub(super) fn add_segment(&mut self, request: &Request, address: Address, bytes: usize) -> PieceId {
        let small = request.is_small();
        let piece = self.pieces.insert(Piece {
            segment: self.segments.next_id(),
            address,
            bytes,
            requested: 0,
            state: PieceState::Free,
            before: None,
            after: None,
            used_on: Vec::new(),
            since: self.requests,
            freed: self.frees,
        });
        self.segments.insert(Segment {
            address,
            bytes,
            pool: request.pool,
            small,
            stream: request.stream,
            first: piece,
            ended: None,
            orphaned: None,
        });
        self.list(piece);
        self.statistics.segment.add(small, 1);
        self.count_reserved(request.pool, |counted| counted.add(small, bytes as u64));
        self.statistics.num_device_alloc += 1;
        if bytes >= self.rules.oversize {
            self.statistics.oversize_segments.add(1);
        }
        piece
    }

    /// Takes a free piece out of those that are handed out.
    pub(super) fn set_apart(&mut self, id: PieceId) {
        self.unlist(id);
        self.pieces[id].state = PieceState::Leaving;
    }

    /// Forgets a segment whose one piece was set apart.
    pub(super) fn remove_segment(&mut self, id: SegmentId) {
        let segment = self.segments.remove(id);
        self.pieces.remove(segment.first);
        self.statistics.segment.take(segment.small, 1);
        self.count_reserved(segment.pool, |counted| counted.take(segment.small, segment.bytes as u64));
        self.statistics.num_device_free += 1;
        if segment.bytes >= self.rules.oversize {
            self.statistics.oversize_segments.take(1);
        }
        self.forget_pool_if_empty(segment.pool);
    }

    /// Whether all of a segment is one free piece.
    pub(super) fn is_unused(&self, segment: SegmentId) -> bool {
        let first = &self.pieces[self.segments[segment].first];
        first.state == PieceState::Free && !first.is_split()
    }

    /// Segments of which all is free, and may go back to the driver: no graph uses them.
    pub(super) fn unused_segments(&self) -> Vec<SegmentId> {
        let may_go = |segment: &Segment| self.pools[segment.pool].id.is_none() && segment.orphaned.is_none();
        let found = self.segments.iter().filter(|(id, segment)| may_go(segment) && self.is_unused(*id));
        found.map(|(id, _)| id).collect()
    }

    /// Segments of which something is true, and that are not leaving.
    pub(super) fn kept_segments(&self, is_meant: impl Fn(&Segment) -> bool) -> Vec<SegmentId> {
        let is_kept = |segment: &Segment| self.pieces[segment.first].state != PieceState::Leaving;
        let found = self.segments.iter().filter(|(_, segment)| is_kept(segment) && is_meant(segment));
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
    fn forget_pool_if_empty(&mut self, index: PoolIndex) -> bool {
        let is_empty = self.segments.iter().all(|(_, segment)| segment.pool != index);
        if !self.pools[index].is_gone || !is_empty {
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
        let mut next = Some(self.segments[segment].first);
        while let Some(id) = next {
            next = self.pieces[id].after;
            if self.pieces[id].state == PieceState::Free {
                self.unlist(id);
            }
        }
        self.segments[segment].orphaned = Some(after);
    }

    /// Cuts a piece to size, if what is left is worth a piece of its own, which is returned and free.
    fn cut(&mut self, id: PieceId, bytes: usize) -> Option<PieceId> {
        let piece = &self.pieces[id];
        let left = piece.bytes - bytes;
        if !self.rules.splits(bytes, left, false) {
            return None;
        }
        let (segment, after) = (piece.segment, piece.after);
        let address = Address(piece.address.0 + bytes as u64);
        let rest = self.pieces.insert(Piece {
            segment,
            address,
            bytes: left,
            requested: 0,
            state: PieceState::Free,
            before: Some(id),
            after,
            used_on: Vec::new(),
            since: self.requests,
            freed: self.frees,
        });
        if let Some(after) = after {
            self.pieces[after].before = Some(rest);
        }
        let piece = &mut self.pieces[id];
        (piece.bytes, piece.after) = (bytes, Some(rest));
        self.list(rest);
        Some(rest)
    }

    /// Makes one piece of two that lie side by side; neither is listed.
    fn join(&mut self, left: PieceId, right: PieceId) {
        let right = self.pieces.remove(right);
        if let Some(after) = right.after {
            self.pieces[after].before = Some(left);
        }
        let piece = &mut self.pieces[left];
        (piece.bytes, piece.after) = (piece.bytes + right.bytes, right.after);
    }

    /// Makes a free piece available.
    fn list(&mut self, id: PieceId) {
        let piece = &self.pieces[id];
        let segment = &self.segments[piece.segment];
        if segment.orphaned.is_none() {
            let list = self.pools[segment.pool].list_mut(segment.small);
            list.insert(segment.stream, piece.bytes, piece.address, Entry { piece: id, expandable: false });
            self.kept += piece.bytes as u64;
        }
    }

    /// Takes a free piece out of those that are handed out.
    fn unlist(&mut self, id: PieceId) {
        let piece = &self.pieces[id];
        let segment = &self.segments[piece.segment];
        let list = self.pools[segment.pool].list_mut(segment.small);
        if list.remove(segment.stream, piece.bytes, piece.address) {
            self.kept -= piece.bytes as u64;
        }
    }

    /// What a free piece counts as, if its segment has others.
    fn split_as_free(&self, id: PieceId) -> Split {
        let piece = &self.pieces[id];
        if piece.is_split() { (1, piece.bytes as u64) } else { (0, 0) }
    }

    fn change_inactive(&mut self, small: bool, before: Split, after: Split) {
        self.statistics.inactive_split.change(small, before.0, after.0);
        self.statistics.inactive_split_bytes.change(small, before.1, after.1);
    }

    /// Counts bytes that are taken from the driver or given back.
    fn count_reserved(&mut self, pool: PoolIndex, count: impl Fn(&mut ByPool)) {
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

impl Default for Books {
    fn default() -> Self {
        Books::new()
    }
}
