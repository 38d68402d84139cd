//! Unmapped blocks, sorted for searches: the addresses into which expandable segments can grow.

use std::collections::BTreeMap;

use interlock_driver::Address;

use super::block::BlockId;

/// The unmapped blocks of a pool, sorted by the requests that they serve and then by address, as c10's
/// `BlockPool::unmapped` is. A search reads the few blocks that its request may use, and no other blocks.
#[derive(Debug, Default)]
pub(super) struct UnmappedBlocks(BTreeMap<Key, BlockId>);

/// The requests that a block serves, which have a size class and a stream, and its address.
type Key = (bool, i64, Address);

impl UnmappedBlocks {
    /// Inserts a block.
    pub(super) fn insert(&mut self, (is_small, stream): (bool, i64), address: Address, block: BlockId) {
        let replaced = self.0.insert((is_small, stream, address), block);
        debug_assert!(replaced.is_none(), "two unmapped blocks at {address:?}");
    }

    /// Removes the block at an address.
    pub(super) fn remove(&mut self, (is_small, stream): (bool, i64), address: Address) {
        let removed = self.0.remove(&(is_small, stream, address));
        debug_assert!(removed.is_some(), "no unmapped block at {address:?}");
    }

    /// Returns the blocks that requests of a size class and a stream may use, in the order of their addresses.
    pub(super) fn of(&self, (is_small, stream): (bool, i64)) -> impl Iterator<Item = BlockId> {
        let all = (is_small, stream, Address(0))..=(is_small, stream, Address(u64::MAX));
        self.0.range(all).map(|(_, block)| *block)
    }

    /// Returns whether a block is in the set, for checks.
    #[cfg(any(debug_assertions, test))]
    pub(super) fn contains(&self, (is_small, stream): (bool, i64), address: Address, block: BlockId) -> bool {
        self.0.get(&(is_small, stream, address)) == Some(&block)
    }

    /// Returns the number of blocks, for checks.
    #[cfg(any(debug_assertions, test))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmapped_blocks_of_a_request_are_sorted_by_address() {
        let mut blocks = UnmappedBlocks::default();
        for (number, (is_small, stream, address)) in
            [(false, 0, 9), (true, 0, 2), (false, 1, 3), (false, 0, 4)].into_iter().enumerate()
        {
            blocks.insert((is_small, stream), Address(address), number.into());
        }
        let of = |blocks: &UnmappedBlocks, key| blocks.of(key).collect::<Vec<BlockId>>();
        assert_eq!(of(&blocks, (false, 0)), [3.into(), 0.into()]);
        assert_eq!(of(&blocks, (true, 1)), []);
        blocks.remove((false, 0), Address(4));
        assert_eq!((of(&blocks, (false, 0)), blocks.len()), (vec![0.into()], 3));
        assert!(blocks.contains((false, 1), Address(3), 2.into()));
    }
}
