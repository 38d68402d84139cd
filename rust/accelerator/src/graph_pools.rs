//! Captures that are underway, and the memory pools that graphs allocate from: c10's `captures_underway` and
//! `graph_pools`.

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::accelerator::Accelerator;
use super::stream::Stream;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{CaptureId, PoolId};

/// The captures that are underway on an accelerator, and the pools of its graphs.
#[derive(Debug, Default)]
pub(super) struct PrivatePools {
    /// The number of captures that are underway, so that allocations take no lock while there are none.
    underway: AtomicUsize,
    pools: Mutex<Pools>,
}

#[derive(Debug, Default)]
struct Pools {
    /// The pools of the captures that are underway, by the driver's id of the capture.
    by_capture: HashMap<CaptureId, PoolId>,
    /// The pools that graphs and allocations use.
    used: HashMap<PoolId, PoolUse>,
    /// The number of the pool that was used first most recently.
    last_number: u64,
}

/// The use of a pool by graphs, and by allocations that are underway.
#[derive(Debug)]
struct PoolUse {
    number: u64,
    users: usize,
    /// The streams that may still run graphs which have released the pool.
    replayed_on: Vec<Stream>,
}

/// The pool from which a capture allocates. Once no graph uses the pool, a later one may have the same id, as when a
/// graph is captured again; the number is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CapturePool {
    pub(super) id: PoolId,
    number: u64,
}

/// The use of a pool by an allocation. Another thread may destroy the last graph of the pool in the meantime.
pub(super) struct PoolLease {
    accelerator: &'static Accelerator,
    pub(super) pool: CapturePool,
}

impl PoolLease {
    /// Begins the use of the pool of a capture, `None` if the capture has ended.
    pub(super) fn new(accelerator: &'static Accelerator, capture: CaptureId) -> Option<Self> {
        let pool = accelerator.private_pools().acquire(capture)?;
        Some(PoolLease { accelerator, pool })
    }
}

impl Drop for PoolLease {
    fn drop(&mut self) {
        self.accelerator.release_pool(self.pool.id, &[]);
    }
}

impl PrivatePools {
    /// Locks the pools. Not called in a forked child: callers get the driver first, which fails there.
    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock()
    }

    /// Returns whether any capture is underway.
    #[inline]
    pub(super) fn captures_underway(&self) -> bool {
        self.underway.load(Ordering::Acquire) > 0
    }

    /// Registers a capture and the pool from which it allocates. The graph is a user of the pool until
    /// [`release`](PrivatePools::release).
    pub(super) fn begin(&self, capture: CaptureId, pool: PoolId) {
        let mut guard = self.pools();
        let pools = &mut *guard;
        pools.by_capture.insert(capture, pool);
        let used = pools.used.entry(pool).or_insert_with(|| {
            pools.last_number += 1;
            PoolUse { number: pools.last_number, users: 0, replayed_on: Vec::new() }
        });
        used.users += 1;
        self.underway.store(pools.by_capture.len(), Ordering::Release);
    }

    /// Unregisters a capture that has ended.
    pub(super) fn end(&self, capture: CaptureId) {
        let mut pools = self.pools();
        pools.by_capture.remove(&capture);
        self.underway.store(pools.by_capture.len(), Ordering::Release);
    }

    /// Releases a pool that a graph used, which these streams may still run, or an allocation. Returns all streams that
    /// may still run graphs of the pool if this was the last user.
    pub(super) fn release(&self, pool: PoolId, streams: &[Stream]) -> Option<Vec<Stream>> {
        let mut pools = self.pools();
        let used = pools.used.get_mut(&pool)?;
        used.users -= 1;
        let new = streams.iter().filter(|stream| !used.replayed_on.contains(stream)).cloned();
        let new: Vec<_> = new.collect();
        used.replayed_on.extend(new);
        let is_last = used.users == 0;
        is_last.then(|| pools.used.remove(&pool)).flatten().map(|used| used.replayed_on)
    }

    /// Returns the pool from which a capture allocates.
    pub(super) fn pool_of(&self, capture: CaptureId) -> Option<CapturePool> {
        let pools = self.pools();
        let id = *pools.by_capture.get(&capture)?;
        Some(CapturePool { id, number: pools.used.get(&id)?.number })
    }

    /// Returns the pool from which a capture allocates, with a new user.
    fn acquire(&self, capture: CaptureId) -> Option<CapturePool> {
        let mut guard = self.pools();
        let pools = &mut *guard;
        let id = *pools.by_capture.get(&capture)?;
        let used = pools.used.get_mut(&id)?;
        used.users += 1;
        Some(CapturePool { id, number: used.number })
    }
}
