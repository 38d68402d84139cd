//! The piece that was freed last. Programs mostly ask next for what they have just freed: to join it with its
//! neighbours would only mean to cut it off again. So it is joined when somebody looks, and counts as joined before.

use super::books::{Books, Request};
use super::cuts::Inactive;
use super::free_list::CopyEndpoint;
use super::piece::{PieceId, PieceState};

impl Books {
    /// Makes a piece available that was freed, as one with the free pieces on both its sides.
    pub(super) fn list_freed(&mut self, id: PieceId) {
        self.join_last();
        let before = self.pieces[id].before.filter(|before| self.is_free(*before));
        let segment = &self.segments[self.pieces[id].segment];
        let may_wait = segment.orphaned.is_none() && segment.page.is_none() && self.rules.keeps;
        // With a free piece before it, it would be handed out from another place.
        if before.is_some() || !may_wait {
            self.list_with_neighbours(id);
            return;
        }
        let (counted, joined) =
            (self.free_after(id).map(|after| self.inactive(after)), self.inactive_joined(id));
        let small = self.segments[self.pieces[id].segment].small;
        self.change_inactive(small, counted.unwrap_or_default(), joined);
        self.mark_free(id);
        self.kept += self.pieces[id].bytes as u64;
        self.last = Some(id);
    }

    /// Hands out the piece that was freed last, if it is what fits best; otherwise it is joined with its neighbours.
    pub(super) fn take_last(&mut self, request: &Request) -> Option<PieceId> {
        let id = self.last?;
        if !self.is_best(id, request) {
            self.join_last();
            return None;
        }
        self.last = None;
        let after = self.free_after(id);
        let left = after.map_or((0, 0), |after| self.inactive(after));
        self.change_inactive(request.is_small(), self.inactive_joined(id), left);
        self.kept -= self.pieces[id].bytes as u64;
        if let Some(after) = after {
            // As if it had been cut off just now.
            let (since, freed) = (self.pieces[id].since, self.pieces[id].freed);
            (self.pieces[after].since, self.pieces[after].freed) = (since, freed);
        }
        self.mark_used(id, request);
        Some(id)
    }

    /// Joins the piece that was freed last with its neighbours.
    pub(super) fn join_last(&mut self) {
        if let Some(id) = self.last.take() {
            self.kept -= self.pieces[id].bytes as u64;
            self.join_and_list(id);
        }
    }

    /// Whether a request would be served from where the piece lies that was freed last, cut to the same size, had it
    /// been joined.
    fn is_best(&self, id: PieceId, request: &Request) -> bool {
        let piece = &self.pieces[id];
        let segment = &self.segments[piece.segment];
        let fits = piece.bytes == request.bytes
            && (segment.stream, segment.pool, segment.small)
                == (request.stream, request.pool, request.is_small());
        if !fits {
            return false;
        }
        let after = self.free_after(id);
        let rest = after.map_or(0, |after| self.pieces[after].bytes);
        let is_cut_off = rest == 0 || self.rules.splits(piece.bytes, rest, false);
        let joined: (usize, CopyEndpoint) = (piece.bytes + rest, (segment.number, piece.address));
        let list = self.pools[segment.pool].list(segment.small);
        let mut others = list.fitting(request.stream, request.bytes, &self.rules);
        let other =
            others.find(|(_, _, other)| Some(*other) != after).map(|(bytes, place, _)| (bytes, place));
        let may_be_used = self.rules.suits(joined.0, piece.bytes, false);
        is_cut_off && may_be_used && other.is_none_or(|other| joined < other)
    }

    /// The free piece after another.
    fn free_after(&self, id: PieceId) -> Option<PieceId> {
        self.pieces[id].after.filter(|after| self.is_free(*after))
    }

    fn is_free(&self, id: PieceId) -> bool {
        self.pieces[id].state == PieceState::Free
    }

    /// What the piece counts as once it is joined with the free one after it.
    fn inactive_joined(&self, id: PieceId) -> Inactive {
        let Some(after) = self.free_after(id) else { return self.inactive(id) };
        let is_split = self.pieces[id].before.is_some() || self.pieces[after].after.is_some();
        let bytes = self.pieces[id].bytes + self.pieces[after].bytes;
        if is_split { (1, bytes as u64) } else { (0, 0) }
    }
}
