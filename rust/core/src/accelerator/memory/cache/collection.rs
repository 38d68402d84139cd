//! What is given back although memory is not short yet.

use super::Context;
use super::piece::SegmentId;
use super::state::State;

impl State {
    /// Gives back what is kept beyond what may be, the longest unused first.
    pub(super) fn trim(&mut self, context: &Context) {
        let allowed = if self.books.rules.keeps { self.cache_limit } else { Some(0) };
        let Some(mut excess) = allowed.and_then(|allowed| self.books.kept.checked_sub(allowed)) else {
            return;
        };
        if excess == 0 || context.capturing {
            return;
        }
        let mut unused = self.books.unused_segments();
        unused.sort_by_key(|segment| self.books.pieces[self.books.segments[*segment].first].freed);
        let enough = |segment: &SegmentId| {
            let more = excess > 0;
            excess = excess.saturating_sub(self.books.segments[*segment].bytes as u64);
            more
        };
        let leaving: Vec<_> = unused.into_iter().take_while(enough).collect();
        self.retire(context, leaving);
    }

    /// Gives back large segments that have been unused for longer than others, where more is reserved than the
    /// configured share of the limit: PyTorch's `garbage_collection_threshold`.
    pub(super) fn collect(&mut self, context: &Context) {
        let share = self.books.rules.collection;
        let Some(limit) = self.limit.filter(|_| share > 0.0 && !context.capturing) else { return };
        let threshold = (share * limit as f64) as u64;
        let reserved = self.books.statistics.reserved_bytes.all.current;
        let Some(mut excess) = reserved.checked_sub(threshold) else { return };
        let mut unused = self.books.unused_segments();
        unused.retain(|segment| !self.books.segments[*segment].small);
        let mut leaving = Vec::new();
        // Each round gives back what is at least of average age, which makes the average younger.
        while excess > 0 && !unused.is_empty() {
            let age = |segment: &SegmentId| self.books.requests - self.unused_since(*segment);
            let average = unused.iter().map(age).sum::<u64>() / unused.len() as u64;
            let (old, young): (Vec<_>, Vec<_>) =
                unused.into_iter().partition(|segment| age(segment) >= average);
            for segment in old {
                if excess > 0 {
                    excess = excess.saturating_sub(self.books.segments[segment].bytes as u64);
                    leaving.push(segment);
                }
            }
            unused = young;
        }
        self.retire(context, leaving);
    }

    /// After how many requests the segment was freed.
    fn unused_since(&self, segment: SegmentId) -> u64 {
        self.books.pieces[self.books.segments[segment].first].since
    }
}
