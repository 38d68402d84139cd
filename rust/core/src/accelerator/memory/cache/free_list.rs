//! Free pieces by size.

use std::collections::BTreeMap;

use super::piece::PieceId;
use super::sizes::Rules;
use crate::accelerator::driver::Address;

/// Free pieces of one kind of segments, in the order of streams, sizes and places.
#[derive(Debug, Default)]
pub(super) struct FreeList(BTreeMap<(i64, usize, CopyEndpoint), Entry>);

/// How many segments came before that of a piece, and its address in it. Addresses of segments tell nothing: where a
/// driver finds room differs from run to run, and what a program allocates is to be laid out the same in each.
pub(super) type CopyEndpoint = (u64, Address);

/// A free piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) piece: PieceId,
    /// Its segment can grow and shrink.
    pub(super) expandable: bool,
}

impl FreeList {
    pub(super) fn insert(&mut self, stream: i64, bytes: usize, place: CopyEndpoint, entry: Entry) {
        self.0.insert((stream, bytes, place), entry);
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, stream: i64, bytes: usize, place: CopyEndpoint) -> bool {
        self.0.remove(&(stream, bytes, place)).is_some()
    }

    /// The pieces of a stream that are large enough and may be used, the smallest first and of those of one size the
    /// first one, with their sizes and places.
    ///
    /// Pieces that may not be used are passed over, as others that may be can come later.
    pub(super) fn fitting(
        &self,
        stream: i64,
        bytes: usize,
        rules: &Rules,
    ) -> impl Iterator<Item = (usize, CopyEndpoint, PieceId)> {
        let (first, last) = ((0, Address(0)), (u64::MAX, Address(u64::MAX)));
        let candidates = self.0.range((stream, bytes, first)..=(stream, usize::MAX, last));
        let suits = move |size: usize, entry: &Entry| rules.suits(size, bytes, entry.expandable);
        let suitable = candidates.filter(move |((_, size, _), entry)| suits(*size, entry));
        suitable.map(|((_, size, place), entry)| (*size, *place, entry.piece))
    }

    /// The size of the largest piece, 0 where there is none.
    pub(super) fn largest(&self) -> usize {
        self.0.keys().map(|(_, bytes, _)| *bytes).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pieces: &[(i64, usize, u64, bool)]) -> FreeList {
        let mut list = FreeList::default();
        for (piece, &(stream, bytes, address, expandable)) in pieces.iter().enumerate() {
            list.insert(stream, bytes, (0, Address(address)), Entry { piece: piece.into(), expandable });
        }
        list
    }

    fn best(list: &FreeList, stream: i64, bytes: usize, rules: &Rules) -> Option<PieceId> {
        list.fitting(stream, bytes, rules).next().map(|(_, _, piece)| piece)
    }

    #[test]
    fn the_smallest_piece_that_is_large_enough_is_found() {
        let list = list(&[(0, 4096, 1, false), (0, 1024, 9, false), (0, 1024, 2, false), (1, 512, 3, false)]);
        let rules = Rules::default();
        assert_eq!(best(&list, 0, 512, &rules), Some(2.into()));
        assert_eq!(best(&list, 0, 1025, &rules), Some(0.into()));
        assert_eq!(best(&list, 1, 512, &rules), Some(3.into()));
        assert_eq!(best(&list, 0, 4097, &rules), None);
        assert_eq!(list.largest(), 4096);
    }

    #[test]
    fn of_pieces_of_one_size_the_one_in_the_oldest_segment_is_found() {
        let mut list = FreeList::default();
        for (number, address) in [(2, 1), (1, 9), (1, 8)] {
            let entry = Entry { piece: (address as usize).into(), expandable: false };
            list.insert(0, 512, (number, Address(address)), entry);
        }
        assert_eq!(best(&list, 0, 512, &Rules::default()), Some(8.into()));
    }

    #[test]
    fn a_piece_that_may_not_be_used_hides_none_that_may() {
        let list = list(&[(0, 4096, 1, false), (0, 8192, 2, true)]);
        let rules = Rules { oversize: 4096, ..Rules::default() };
        assert_eq!(best(&list, 0, 512, &rules), Some(1.into()));
    }
}
