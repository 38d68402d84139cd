//! Who has which piece of a device's memory. Nothing here asks a driver for anything.

use super::free_list::FreeList;
use super::history::History;
use super::piece::{Piece, PieceId, PieceState, PoolIndex, Segment, SegmentId};
use super::scopes::Scopes;
use super::sizes::Rules;
use super::table::Table;
use crate::PoolId;
use crate::memory::config::AllocatorConfig;
use crate::memory::history::Action;
use crate::memory::statistics::Statistics;

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
    /// How many segments there were.
    pub(super) segments_made: u64,
    /// How many requests there were.
    pub(super) requests: u64,
    /// How often a piece became free.
    pub(super) frees: u64,
    /// Bytes of free pieces that can be handed out.
    pub(super) kept: u64,
    /// The piece that was freed last, if it is not joined with its neighbours yet.
    pub(super) last: Option<PieceId>,
    pub(super) history: History,
}

/// Segments that share free pieces.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Of graphs; `None` for the one of everybody else.
    pub(super) id: Option<PoolId>,
    pub(super) small: FreeList,
    pub(super) large: FreeList,
    /// No graph uses it any more.
    pub(super) is_gone: bool,
    /// Requests that may still add memory to it.
    pub(super) asked: usize,
}

impl Pool {
    pub(super) fn list(&self, small: bool) -> &FreeList {
        if small { &self.small } else { &self.large }
    }

    pub(super) fn list_mut(&mut self, small: bool) -> &mut FreeList {
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

impl Books {
    /// The largest free piece, in bytes.
    pub(super) fn largest_free(&self) -> u64 {
        let lists = self.pools.iter().flat_map(|(_, pool)| [&pool.small, &pool.large]);
        lists.map(FreeList::largest).max().unwrap_or(0) as u64
    }

    /// Takes over a configuration, for what is handed out and taken from the driver from now on.
    pub(super) fn configure(&mut self, config: &AllocatorConfig) {
        self.rules = Rules::of(config);
        self.statistics.max_split_size =
            config.max_split_size_mb.map_or(-1, |_| i64::try_from(self.rules.oversize).unwrap_or(i64::MAX));
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
            segments_made: 0,
            requests: 0,
            frees: 0,
            kept: 0,
            last: None,
            history: History::default(),
        }
    }

    /// Hands out the free piece that fits best, cut to size; `None` where there is none.
    pub(super) fn take(&mut self, request: &Request) -> Option<PieceId> {
        if let Some(last) = self.take_last(request) {
            return Some(last);
        }
        let piece = self.best_fit(request)?;
        self.hand_out(piece, request);
        Some(piece)
    }

    /// The smallest free piece that is large enough. One that can still grow counts as what it can grow to: the end of
    /// a segment is spared for what needs it.
    fn best_fit(&self, request: &Request) -> Option<PieceId> {
        let list = self.pools[request.pool].list(request.is_small());
        let mut fitting = list.fitting(request.stream, request.bytes, &self.rules).map(|(_, _, piece)| piece);
        let mut best = fitting.next()?;
        if self.is_expandable(best) {
            for next in fitting {
                if self.bytes_if_grown(next) >= self.bytes_if_grown(best) {
                    break;
                }
                best = next;
            }
        }
        Some(best)
    }

    /// Hands out a free piece that is large enough.
    pub(super) fn hand_out(&mut self, id: PieceId, request: &Request) {
        let before = self.inactive(id);
        self.unlist(id);
        let rest = self.cut_to_size(id, request.bytes);
        let after = rest.map_or((0, 0), |rest| self.inactive(rest));
        let small = self.segments[self.pieces[id].segment].small;
        self.change_inactive(small, before, after);
        self.mark_used(id, request);
    }

    /// A piece that is cut to size is somebody's from now on.
    pub(super) fn mark_used(&mut self, id: PieceId, request: &Request) {
        let small = request.is_small();
        self.requests += 1;
        let oversize = self.pieces[id].bytes >= self.rules.oversize;
        let piece = &mut self.pieces[id];
        (piece.state, piece.requested, piece.since) = (PieceState::InUse, request.requested, self.requests);
        piece.oversize = oversize;
        let (bytes, requested) = (piece.bytes as u64, piece.requested as u64);
        self.statistics.allocation.add(small, 1);
        self.statistics.allocated_bytes.add(small, bytes);
        self.statistics.active.add(small, 1);
        self.statistics.active_bytes.add(small, bytes);
        self.statistics.requested_bytes.add(small, requested);
        if oversize {
            self.statistics.oversize_allocations.add(1);
        }
        self.scopes.add(bytes);
        self.note_piece(Action::Alloc, id);
    }

    /// The piece is used by nobody any more, apart from work that is queued.
    pub(super) fn end_use(&mut self, id: PieceId) {
        let piece = &self.pieces[id];
        let (bytes, since, small) = (piece.bytes as u64, piece.since, self.segments[piece.segment].small);
        self.statistics.allocation.take(small, 1);
        self.statistics.allocated_bytes.take(small, bytes);
        if piece.oversize {
            self.statistics.oversize_allocations.take(1);
        }
        self.scopes.take(since, bytes);
        self.note_piece(Action::FreeRequested, id);
    }

    /// No work uses the piece any more: it is free, and one with the free pieces on both its sides. Returns its
    /// segment.
    pub(super) fn free(&mut self, id: PieceId) -> SegmentId {
        self.note_piece(Action::FreeCompleted, id);
        let Piece { segment, bytes, requested, .. } = self.pieces[id];
        let (bytes, requested) = (bytes as u64, requested as u64);
        let small = self.segments[segment].small;
        self.statistics.active.take(small, 1);
        self.statistics.active_bytes.take(small, bytes);
        self.statistics.requested_bytes.take(small, requested);
        self.list_freed(id);
        segment
    }
}

impl Default for Books {
    fn default() -> Self {
        Books::new()
    }
}
