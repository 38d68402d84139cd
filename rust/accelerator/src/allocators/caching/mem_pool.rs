//! Pools of segments that share free lists: the default pool, and private pools.

use super::arena::{Arena, Key};
use super::free_list::FreeLists;
use super::unmapped::UnmappedBlocks;
use crate::PoolId;

pub(super) type PoolKey = Key<MemPool>;

/// The behaviour of a [`MemPool`](crate::MemPool).
///
/// ```
/// use interlock_accelerator::{MemPool, MemPoolOptions};
///
/// interlock_accelerator::use_named("host")?;
/// let reserve = MemPool::new(None, MemPoolOptions { use_on_oom: true, ..MemPoolOptions::default() })?;
/// # let _ = reserve;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemPoolOptions {
    /// Whether a request outside of private pools uses a free block of the pool before it fails with
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub use_on_oom: bool,
    /// Whether each block occupies a whole segment, so that the driver allocates it on its own. The pool then has no
    /// expandable segments.
    pub no_split: bool,
}

/// A pool of segments that share free lists, c10's `PrivatePool`.
#[derive(Debug, Default)]
pub(super) struct MemPool {
    /// `None` for the default pool.
    pub(super) id: Option<PoolId>,
    pub(super) options: MemPoolOptions,
    pub(super) free: FreeLists,
    pub(super) unmapped: UnmappedBlocks,
    pub(super) segments: usize,
    /// Whether it has no user left.
    pub(super) is_retired: bool,
}

/// The requests that a free block may serve, and its size.
pub(super) struct FreeBlockInfo {
    pub(super) pool: PoolKey,
    pub(super) is_small: bool,
    pub(super) stream: i64,
    pub(super) bytes: usize,
}

impl MemPool {
    /// Creates a private pool.
    pub(super) fn private(id: PoolId, options: MemPoolOptions) -> Self {
        MemPool { id: Some(id), options, ..MemPool::default() }
    }

    /// Returns whether it is retired and has no segments.
    pub(super) fn is_unused(&self) -> bool {
        self.is_retired && self.segments == 0
    }
}

impl Arena<MemPool> {
    /// Returns the private pool that has this id and is not retired.
    pub(super) fn find(&self, id: PoolId) -> Option<PoolKey> {
        let found = self.iter().find(|(_, pool)| pool.id == Some(id) && !pool.is_retired);
        found.map(|(key, _)| key)
    }

    /// Returns the private pools from which a request of the default pool allocates before it fails.
    pub(super) fn reserves(&self) -> impl Iterator<Item = PoolKey> {
        let found = self.iter().filter(|(_, pool)| pool.options.use_on_oom && !pool.is_retired);
        found.map(|(key, _)| key)
    }

    /// Returns all free blocks.
    pub(super) fn free_blocks(&self) -> impl Iterator<Item = FreeBlockInfo> {
        let lists = self
            .iter()
            .flat_map(|(key, pool)| [true, false].map(|is_small| (key, is_small, pool.free.of(is_small))));
        lists.flat_map(|(pool, is_small, list)| {
            list.iter().map(move |(stream, bytes)| FreeBlockInfo { pool, is_small, stream, bytes })
        })
    }
}
