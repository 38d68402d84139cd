//! Free lists, sorted for best-fit searches.

use interlock_driver::Address;

use super::block::BlockId;
use super::size_policy::SizePolicy;

/// Free blocks of one kind of segments, sorted by stream, size and position.
///
/// A sorted list of chunks. Most lists have one chunk, in which a search takes a few comparisons and a replacement
/// moves nothing; a `BTreeMap` takes four times as long there.
#[derive(Debug, Default)]
pub(super) struct FreeList {
    /// Sorted chunks in sorted order. Only the first may be empty, and only if it is the only one.
    chunks: Vec<Vec<FreeBlock>>,
}

/// The free lists of a pool, one for each size class.
#[derive(Debug, Default)]
pub(super) struct FreeLists {
    small: FreeList,
    large: FreeList,
}

impl FreeLists {
    #[inline]
    pub(super) fn of(&self, is_small: bool) -> &FreeList {
        if is_small { &self.small } else { &self.large }
    }

    #[inline]
    pub(super) fn of_mut(&mut self, is_small: bool) -> &mut FreeList {
        if is_small { &mut self.small } else { &mut self.large }
    }
}

/// An entry of a free list.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeBlock {
    key: FreeKey,
    pub(super) block: BlockId,
    is_expandable: bool,
}

/// The sort key of an entry. Blocks of one size are sorted by the number of their segment before their address:
/// addresses of the driver differ between runs, and a program should get the same layout of blocks in each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FreeKey {
    stream: i64,
    bytes: usize,
    segment_number: u64,
    address: Address,
}

impl FreeBlock {
    /// Returns the entry of `block`, which has `bytes` bytes for `stream`.
    #[inline]
    pub(super) fn new(
        block: BlockId,
        stream: i64,
        bytes: usize,
        (segment_number, address): (u64, Address),
        is_expandable: bool,
    ) -> Self {
        FreeBlock { key: FreeKey { stream, bytes, segment_number, address }, block, is_expandable }
    }

    /// Returns whether it may serve a request of a stream for `bytes` bytes, which it contains.
    #[inline]
    fn fits(&self, stream: i64, bytes: usize, policy: &SizePolicy) -> bool {
        self.key.stream == stream && policy.accepts(self.key.bytes, bytes, self.is_expandable)
    }
}

/// The position of an entry in a list, valid until the list changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    chunk: usize,
    offset: usize,
}

impl FreeList {
    const CHUNK: usize = 64;

    /// Inserts an entry, which must not be in the list.
    pub(super) fn insert(&mut self, entry: FreeBlock) {
        let index = self.chunk_of(&entry.key).min(self.chunks.len().saturating_sub(1));
        let Some(chunk) = self.chunks.get_mut(index) else {
            self.chunks.push(vec![entry]);
            return;
        };
        chunk.insert(lower_bound(chunk, &entry.key), entry);
        if chunk.len() > Self::CHUNK {
            let upper = chunk.split_off(chunk.len() / 2);
            self.chunks.insert(index + 1, upper);
        }
    }

    /// Returns the position of an entry; `None` if it is not in the list.
    #[inline]
    pub(super) fn position(&self, entry: &FreeBlock) -> Option<Position> {
        let chunk = self.chunk_of(&entry.key);
        let offset = lower_bound(self.chunks.get(chunk)?, &entry.key);
        let found = self.entry_at(chunk, offset)?;
        (found.block == entry.block).then_some(Position { chunk, offset })
    }

    /// Removes the entry at a position.
    pub(super) fn remove(&mut self, Position { chunk: index, offset }: Position) {
        let Some(chunk) = self.chunks.get_mut(index).filter(|chunk| offset < chunk.len()) else {
            debug_assert!(false, "no entry at {index}, {offset}");
            return;
        };
        chunk.remove(offset);
        if chunk.is_empty() && self.chunks.len() > 1 {
            self.chunks.remove(index);
        }
    }

    /// Replaces the entry at a position with `new`. Moves no other entry if `new` has the same position, which is usual
    /// for the remainder of a split block.
    #[inline(always)]
    pub(super) fn replace(&mut self, position: Position, new: FreeBlock) {
        let Position { chunk, offset } = position;
        let prev = match offset.checked_sub(1) {
            Some(prev) => self.entry_at(chunk, prev),
            None => chunk.checked_sub(1).and_then(|prev| self.chunks.get(prev)).and_then(|prev| prev.last()),
        };
        let next = self.entry_at(chunk, offset + 1).or_else(|| self.entry_at(chunk + 1, 0));
        let fits = prev.is_none_or(|prev| prev.key < new.key) && next.is_none_or(|next| new.key < next.key);
        let entry = self.chunks.get_mut(chunk).and_then(|chunk| chunk.get_mut(offset));
        match entry.filter(|_| fits) {
            Some(entry) => *entry = new,
            None => {
                self.remove(position);
                self.insert(new);
            }
        }
    }

    /// Returns the position and the block of the first entry of [`fitting`](FreeList::fitting).
    #[inline]
    pub(super) fn best_fit(
        &self,
        stream: i64,
        bytes: usize,
        policy: &SizePolicy,
    ) -> Option<(Position, BlockId)> {
        let least = FreeKey { stream, bytes, segment_number: 0, address: Address(0) };
        let chunk = self.chunk_of(&least);
        let offset = lower_bound(self.chunks.get(chunk)?, &least);
        match self.entry_at(chunk, offset) {
            Some(first) if first.fits(stream, bytes, policy) => {
                Some((Position { chunk, offset }, first.block))
            }
            // The policy rejects it, or the first entry is in a later chunk.
            _ => {
                let found = self.fitting(stream, bytes, policy).next()?;
                Some((self.position(found)?, found.block))
            }
        }
    }

    /// Returns the blocks of a stream that have at least `bytes` bytes and that the policy accepts, in sorted order.
    ///
    /// Rejected blocks are skipped, because accepted ones may follow.
    #[inline]
    pub(super) fn fitting(
        &self,
        stream: i64,
        bytes: usize,
        policy: &SizePolicy,
    ) -> impl Iterator<Item = &FreeBlock> {
        let least = FreeKey { stream, bytes, segment_number: 0, address: Address(0) };
        let chunks = self.chunks.get(self.chunk_of(&least)..).unwrap_or_default();
        let (first, others) = chunks.split_first().map_or((&[][..], chunks), |(first, others)| {
            (first.get(lower_bound(first, &least)..).unwrap_or_default(), others)
        });
        let of_stream =
            first.iter().chain(others.iter().flatten()).take_while(move |entry| entry.key.stream == stream);
        of_stream.filter(move |entry| entry.fits(stream, bytes, policy))
    }

    /// Returns the streams and the sizes of all blocks.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, usize)> {
        self.chunks.iter().flatten().map(|entry| (entry.key.stream, entry.key.bytes))
    }

    #[inline]
    fn entry_at(&self, chunk: usize, offset: usize) -> Option<&FreeBlock> {
        self.chunks.get(chunk).and_then(|chunk| chunk.get(offset))
    }

    /// Returns the first chunk that may contain a key.
    #[inline]
    fn chunk_of(&self, key: &FreeKey) -> usize {
        match self.chunks.len() {
            // The usual case needs no search.
            0 | 1 => 0,
            _ => self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| last.key < *key)),
        }
    }
}

/// Returns the index of a key in a chunk, or the index to insert it at.
#[inline]
fn lower_bound(chunk: &[FreeBlock], key: &FreeKey) -> usize {
    chunk.partition_point(|entry| entry.key < *key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn entry(block: usize, stream: i64, bytes: usize, position: (u64, u64), expandable: bool) -> FreeBlock {
        FreeBlock::new(block.into(), stream, bytes, (position.0, Address(position.1)), expandable)
    }

    fn list(blocks: &[(i64, usize, u64, bool)]) -> FreeList {
        let mut list = FreeList::default();
        for (block, &(stream, bytes, address, expandable)) in blocks.iter().enumerate() {
            list.insert(entry(block, stream, bytes, (0, address), expandable));
        }
        list
    }

    fn best(list: &FreeList, stream: i64, bytes: usize, policy: &SizePolicy) -> Option<BlockId> {
        list.fitting(stream, bytes, policy).next().map(|entry| entry.block)
    }

    #[test]
    fn fitting_returns_the_smallest_block_that_is_large_enough() {
        let list = list(&[(0, 4096, 1, false), (0, 1024, 9, false), (0, 1024, 2, false), (1, 512, 3, false)]);
        let policy = SizePolicy::default();
        assert_eq!(best(&list, 0, 512, &policy), Some(2.into()));
        assert_eq!(best(&list, 0, 1025, &policy), Some(0.into()));
        assert_eq!(best(&list, 1, 512, &policy), Some(3.into()));
        assert_eq!(best(&list, 0, 4097, &policy), None);
        assert!(list.iter().eq([(0, 1024), (0, 1024), (0, 4096), (1, 512)]));
    }

    #[test]
    fn fitting_returns_the_oldest_segment_first_for_one_size() {
        let mut list = FreeList::default();
        for (number, address) in [(2, 1), (1, 9), (1, 8)] {
            list.insert(entry(address as usize, 0, 512, (number, address), false));
        }
        assert_eq!(best(&list, 0, 512, &SizePolicy::default()), Some(8.into()));
    }

    #[test]
    fn fitting_skips_blocks_that_the_policy_rejects() {
        let list = list(&[(0, 4096, 1, false), (0, 8192, 2, true)]);
        assert_eq!(best(&list, 0, 512, &SizePolicy::with_max_split_size(4096)), Some(1.into()));
    }

    #[test]
    fn free_list_agrees_with_a_sorted_set() {
        let (mut list, mut model) = (FreeList::default(), BTreeSet::new());
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let policy = SizePolicy::default();
        let number = |key: FreeKey| {
            (key.stream as usize * 20 + key.bytes) * 40 + (key.segment_number * 10 + key.address.0) as usize
        };
        let of_key = |key: FreeKey| FreeBlock { key, block: number(key).into(), is_expandable: true };
        for step in 0..6000 {
            let key = FreeKey {
                stream: draw(3) as i64,
                bytes: draw(20) as usize,
                segment_number: draw(4),
                address: Address(draw(10)),
            };
            let is_listed = model.contains(&key);
            match draw(4) {
                0 => {
                    let position = list.position(&of_key(key));
                    assert_eq!(position.is_some(), model.remove(&key));
                    position.into_iter().for_each(|position| list.remove(position));
                }
                1 if !is_listed && !model.is_empty() => {
                    let old = *model.range(key..).next().or(model.first()).unwrap();
                    model.remove(&old);
                    model.insert(key);
                    list.replace(list.position(&of_key(old)).unwrap(), of_key(key));
                }
                _ if !is_listed => {
                    model.insert(key);
                    list.insert(of_key(key));
                }
                _ => {}
            }
            if step % 50 == 0 {
                assert!(list.chunks.iter().flatten().map(|entry| entry.key).eq(model.iter().copied()));
                let found = list.fitting(1, 7, &policy).map(|entry| entry.key);
                let fits = |key: &&FreeKey| key.stream == 1 && key.bytes >= 7;
                assert!(found.eq(model.iter().filter(fits).copied()));
                let best = list.best_fit(1, 7, &policy).map(|(_, block)| block);
                assert_eq!(best, list.fitting(1, 7, &policy).next().map(|entry| entry.block));
                assert!(list.chunks.len() == 1 || list.chunks.iter().all(|chunk| !chunk.is_empty()));
            }
        }
        assert!(model.len() > 4 * FreeList::CHUNK);
    }
}
