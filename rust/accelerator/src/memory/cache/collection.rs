//! What is given back although memory is not short yet.

use super::Context;
use super::piece::PieceId;
use super::state::State;

impl State {
    /// Gives back what is kept beyond what may be, the longest unused first.
    pub(super) fn trim(&mut self, context: &Context) {
        let allowed = if self.books.rules.keeps { self.cache_limit } else { Some(0) };
        let excess = allowed.map_or(0, |allowed| self.books.kept.saturating_sub(allowed));
        if excess == 0 || context.capturing {
            return;
        }
        self.books.join_last();
        let mut unused = self.books.unused();
        unused.sort_by_key(|piece| self.books.pieces[*piece].freed);
        let leaving = self.enough(unused, excess);
        self.retire(context, leaving);
    }

    /// Gives back large segments that have been unused for longer than others, where more is reserved than the
    /// configured share of the limit: PyTorch's `garbage_collection_threshold`.
    pub(super) fn collect(&mut self, context: &Context) {
        let share = self.books.rules.collection;
        let Some(limit) = self.limit.filter(|_| share > 0.0 && !context.capturing) else { return };
        let threshold = (share * limit as f64) as u64;
        let mut excess = self.books.statistics.reserved_bytes.all.current.saturating_sub(threshold);
        let mut unused = self.books.unused();
        unused.retain(|piece| {
            let segment = &self.books.segments[self.books.pieces[*piece].segment];
            !segment.small && segment.page.is_none()
        });
        let mut leaving = Vec::new();
        // Each round gives back what is at least of average age, which makes the average younger.
        while excess > 0 && !unused.is_empty() {
            let age = |piece: &PieceId| self.books.requests - self.books.pieces[*piece].since;
            let average = unused.iter().map(age).sum::<u64>() / unused.len() as u64;
            let (old, young) = unused.into_iter().partition(|piece| age(piece) >= average);
            let old = self.enough(old, excess);
            excess = excess.saturating_sub(self.bytes_of(&old));
            leaving.extend(old);
            unused = young;
        }
        self.retire(context, leaving);
    }

    /// As many of the first pieces as have so many bytes.
    fn enough(&self, pieces: Vec<PieceId>, bytes: u64) -> Vec<PieceId> {
        let mut left = bytes;
        let needed = |piece: &PieceId| {
            let more = left > 0;
            left = left.saturating_sub(self.books.pieces[*piece].bytes as u64);
            more
        };
        pieces.into_iter().take_while(needed).collect()
    }

    fn bytes_of(&self, pieces: &[PieceId]) -> u64 {
        pieces.iter().map(|piece| self.books.pieces[*piece].bytes as u64).sum()
    }
}
