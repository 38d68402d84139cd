//! Captures that are underway, and the pools that graphs allocate from.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::graph::PoolId;

/// The captures and pools of an accelerator.
#[derive(Debug, Default)]
pub(super) struct Captures {
    /// How many are underway, so that nobody takes the lock where there are none.
    underway: AtomicUsize,
    pools: Mutex<Pools>,
}

#[derive(Debug, Default)]
struct Pools {
    /// The pool from which a capture allocates, by the driver's number of the capture.
    of_captures: HashMap<u64, PoolId>,
    /// How many graphs use a pool.
    users: HashMap<PoolId, usize>,
}

impl Captures {
    /// Not taken in a forked child: whoever asks has asked for the driver first.
    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any is underway.
    pub(super) fn any(&self) -> bool {
        self.underway.load(Ordering::Acquire) > 0
    }

    /// A graph captures, and allocates from a pool, which it uses from now on.
    pub(super) fn begin(&self, capture: u64, pool: PoolId) {
        let mut pools = self.pools();
        pools.of_captures.insert(capture, pool);
        *pools.users.entry(pool).or_default() += 1;
        self.underway.store(pools.of_captures.len(), Ordering::Release);
    }

    /// A capture is over.
    pub(super) fn end(&self, capture: u64) {
        let mut pools = self.pools();
        pools.of_captures.remove(&capture);
        self.underway.store(pools.of_captures.len(), Ordering::Release);
    }

    /// A graph uses a pool no more; whether it was the last one.
    pub(super) fn let_go(&self, pool: PoolId) -> bool {
        let mut pools = self.pools();
        let Some(users) = pools.users.get_mut(&pool) else { return false };
        *users -= 1;
        let last = *users == 0;
        if last {
            pools.users.remove(&pool);
        }
        last
    }

    /// The pool from which a capture allocates.
    pub(super) fn pool_of(&self, capture: u64) -> Option<PoolId> {
        self.pools().of_captures.get(&capture).copied()
    }
}
