//! Pieces are cut and joined, and made available.

use super::books::Books;
use super::free_list::Entry;
use super::piece::{Piece, PieceId, PieceState};
use crate::driver::Address;

/// Free pieces that share their segment with others: how many, and their bytes.
pub(super) type Inactive = (u64, u64);

impl Books {
    /// Cuts a piece to size, if what is left is worth a piece of its own, which is returned and free.
    pub(super) fn cut_to_size(&mut self, id: PieceId, bytes: usize) -> Option<PieceId> {
        let piece = &self.pieces[id];
        if !self.rules.splits(bytes, piece.bytes - bytes, self.is_expandable(id)) {
            return None;
        }
        let rest = self.cut(id, bytes);
        self.list(rest);
        Some(rest)
    }

    /// Cuts a piece in two; returns the second, which is in the same state. Neither is listed.
    pub(super) fn cut(&mut self, id: PieceId, bytes: usize) -> PieceId {
        let piece = &self.pieces[id];
        let (segment, after) = (piece.segment, piece.after);
        let address = Address(piece.address.0 + bytes as u64);
        let rest = self.pieces.insert(Piece {
            segment,
            address,
            bytes: piece.bytes - bytes,
            requested: 0,
            state: piece.state,
            before: Some(id),
            after,
            used_on: Vec::new(),
            since: piece.since,
            freed: piece.freed,
            oversize: false,
        });
        if let Some(after) = after {
            self.pieces[after].before = Some(rest);
        }
        let piece = &mut self.pieces[id];
        (piece.bytes, piece.after) = (bytes, Some(rest));
        rest
    }

    /// Makes one piece of two that lie side by side; neither is listed.
    pub(super) fn join(&mut self, left: PieceId, right: PieceId) {
        let right = self.pieces.remove(right);
        if let Some(after) = right.after {
            self.pieces[after].before = Some(left);
        }
        let piece = &mut self.pieces[left];
        (piece.bytes, piece.after) = (piece.bytes + right.bytes, right.after);
    }

    /// Makes a free piece available.
    pub(super) fn list(&mut self, id: PieceId) {
        let piece = &self.pieces[id];
        let segment = &self.segments[piece.segment];
        if segment.orphaned.is_none() {
            let list = self.pools[segment.pool].list_mut(segment.small);
            let place = (segment.number, piece.address);
            list.insert(
                segment.stream,
                piece.bytes,
                place,
                Entry { piece: id, expandable: segment.page.is_some() },
            );
            self.kept += piece.bytes as u64;
        }
    }

    /// Takes a free piece out of those that are handed out.
    pub(super) fn unlist(&mut self, id: PieceId) {
        let piece = &self.pieces[id];
        let segment = &self.segments[piece.segment];
        let list = self.pools[segment.pool].list_mut(segment.small);
        if list.remove(segment.stream, piece.bytes, (segment.number, piece.address)) {
            self.kept -= piece.bytes as u64;
        }
    }

    /// Makes a piece available, as one with the free pieces on both its sides. Returns that one.
    pub(super) fn list_with_neighbours(&mut self, id: PieceId) -> PieceId {
        let is_free = |side: &PieceId| self.pieces[*side].state == PieceState::Free;
        let left = self.pieces[id].before.filter(is_free);
        let right = self.pieces[id].after.filter(is_free);
        let [on_left, on_right] = [left, right].map(|side| side.map_or((0, 0), |side| self.inactive(side)));
        self.mark_free(id);
        let id = self.join_and_list(id);
        let small = self.segments[self.pieces[id].segment].small;
        let before = (on_left.0 + on_right.0, on_left.1 + on_right.1);
        self.change_inactive(small, before, self.inactive(id));
        id
    }

    /// Nobody has the piece any more.
    pub(super) fn mark_free(&mut self, id: PieceId) {
        self.frees += 1;
        let piece = &mut self.pieces[id];
        (piece.state, piece.requested) = (PieceState::Free, 0);
        (piece.since, piece.freed) = (self.requests, self.frees);
    }

    /// Joins a piece that is free and not available with the free pieces on both its sides, and makes that available.
    /// Returns it.
    pub(super) fn join_and_list(&mut self, id: PieceId) -> PieceId {
        let is_free = |side: &PieceId| self.pieces[*side].state == PieceState::Free;
        let left = self.pieces[id].before.filter(is_free);
        let right = self.pieces[id].after.filter(is_free);
        let (since, freed) = (self.pieces[id].since, self.pieces[id].freed);
        if let Some(right) = right {
            self.unlist(right);
            self.join(id, right);
        }
        if let Some(left) = left {
            self.unlist(left);
            self.join(left, id);
        }
        let id = left.unwrap_or(id);
        (self.pieces[id].since, self.pieces[id].freed) = (since, freed);
        self.list(id);
        id
    }

    pub(super) fn is_expandable(&self, id: PieceId) -> bool {
        self.segments[self.pieces[id].segment].page.is_some()
    }

    /// What a free piece counts as where its segment has others. Those of expandable segments go back to the driver
    /// page by page, whatever lies beside them, and count as nothing.
    pub(super) fn inactive(&self, id: PieceId) -> Inactive {
        let piece = &self.pieces[id];
        if piece.is_split() && !self.is_expandable(id) { (1, piece.bytes as u64) } else { (0, 0) }
    }

    pub(super) fn change_inactive(&mut self, small: bool, before: Inactive, after: Inactive) {
        self.statistics.inactive_split.change(small, before.0, after.0);
        self.statistics.inactive_split_bytes.change(small, before.1, after.1);
    }
}
