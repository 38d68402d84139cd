//! Pools of segments that share free blocks: the default pool, and one for each pool of graphs.

use super::super::arena::{Arena, Key};
use super::super::free_list::FreeList;
use crate::PoolId;

pub(in super::super) type PoolKey = Key<MemPool>;

/// Segments that share free blocks: a `torch.cuda.MemPool`.
#[derive(Debug, Default)]
pub(in super::super) struct MemPool {
    /// `None` for the default pool.
    id: Option<PoolId>,
    small: FreeList,
    large: FreeList,
    segments: usize,
    /// No graph uses it any more.
    is_retired: bool,
    /// Requests that may still add a segment.
    pending_requests: usize,
}

/// All pools of a device.
pub(super) struct MemPools {
    pools: Arena<MemPool>,
    default_pool: PoolKey,
}

impl Default for MemPools {
    fn default() -> Self {
        let mut pools = Arena::default();
        let default_pool = pools.insert(MemPool::default());
        MemPools { pools, default_pool }
    }
}

impl MemPools {
    /// The pool of streams that capture no graph.
    #[inline]
    pub(super) fn default_pool(&self) -> PoolKey {
        self.default_pool
    }

    /// The pool of graphs that has this id and is not retired.
    pub(super) fn find(&self, id: PoolId) -> Option<PoolKey> {
        let found = self.pools.iter().find(|(_, pool)| pool.id == Some(id) && !pool.is_retired);
        found.map(|(key, _)| key)
    }

    /// Like [`find`](MemPools::find), but adds the pool if there is none.
    pub(super) fn find_or_insert(&mut self, id: PoolId) -> PoolKey {
        let new = || MemPool { id: Some(id), ..MemPool::default() };
        self.find(id).unwrap_or_else(|| self.pools.insert(new()))
    }

    pub(super) fn id(&self, key: PoolKey) -> Option<PoolId> {
        self.pools[key].id
    }

    #[inline]
    pub(super) fn list(&self, key: PoolKey, is_small: bool) -> &FreeList {
        let pool = &self.pools[key];
        if is_small { &pool.small } else { &pool.large }
    }

    #[inline]
    pub(super) fn list_mut(&mut self, key: PoolKey, is_small: bool) -> &mut FreeList {
        let pool = &mut self.pools[key];
        if is_small { &mut pool.small } else { &mut pool.large }
    }

    /// The size of the largest free block of all pools.
    pub(super) fn largest_free(&self) -> usize {
        let lists = self.pools.iter().flat_map(|(_, pool)| [&pool.small, &pool.large]);
        lists.map(FreeList::largest).max().unwrap_or(0)
    }

    pub(super) fn add_segment(&mut self, key: PoolKey) {
        self.pools[key].segments += 1;
    }

    pub(super) fn remove_segment(&mut self, key: PoolKey) {
        self.pools[key].segments -= 1;
    }

    pub(super) fn begin_request(&mut self, key: PoolKey) {
        self.pools[key].pending_requests += 1;
    }

    pub(super) fn end_request(&mut self, key: PoolKey) {
        self.pools[key].pending_requests -= 1;
    }

    pub(super) fn has_pending_requests(&self, key: PoolKey) -> bool {
        self.pools[key].pending_requests > 0
    }

    pub(super) fn retire(&mut self, key: PoolKey) {
        self.pools[key].is_retired = true;
    }

    /// Removes a retired pool that has no segments and gets none. Returns its id if no other pool has it: a graph that
    /// is captured again uses its id again.
    pub(super) fn remove_if_unused(&mut self, key: PoolKey) -> Option<Removed> {
        let MemPool { is_retired, pending_requests, segments, .. } = self.pools[key];
        if !is_retired || pending_requests > 0 || segments > 0 {
            return None;
        }
        let id = self.pools.remove(key).id;
        let is_last = self.pools.iter().all(|(_, pool)| pool.id != id);
        Some(Removed { id: id.filter(|_| is_last) })
    }
}

/// A pool that was removed.
pub(super) struct Removed {
    /// Its id, if no pool has it now.
    pub(super) id: Option<PoolId>,
}
