//! Captures that are underway, and the users of private memory pools: c10's `captures_underway` and `graph_pools`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use interlock_core::base::mutex::Mutex;
use interlock_driver::{CaptureId, PoolId};

use crate::started::Started;
use crate::stream::Stream;

/// The captures that are underway on an accelerator, and the users of its private pools.
#[derive(Debug)]
pub(crate) struct PrivatePools {
    /// Counts the captures, so that allocations take no lock while there are none.
    started: Arc<Started>,
    /// The number of captures and scopes of pools that have begun.
    begun: AtomicU64,
    pools: Mutex<Pools>,
}

#[derive(Debug, Default)]
struct Pools {
    /// The captures that are underway, by the driver's id.
    captures: HashMap<CaptureId, Capture>,
    /// The pools that have users.
    used: HashMap<PoolId, PoolUse>,
    /// The number of the pool that was used first most recently.
    last_number: u64,
}

/// A capture that is underway.
#[derive(Debug)]
struct Capture {
    pool: PoolId,
    /// Its position in the order in which captures and scopes of pools began.
    begun: u64,
    /// The pools of scopes from which the captured streams have allocated. The graph is a user of each.
    scoped: Vec<PoolId>,
}

/// The use of a pool by graphs, by [`MemPool`](crate::MemPool) objects and their scopes, and by allocations that are
/// underway.
#[derive(Debug)]
struct PoolUse {
    number: u64,
    users: usize,
    /// The streams that may still run graphs which have released the pool.
    replayed_on: Vec<Stream>,
}

/// A pool in use. Once a pool has no user, a later one may have the same id, as when a graph is captured again; the number
/// is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsedPool {
    pub(crate) id: PoolId,
    number: u64,
}

impl Pools {
    fn add_user(&mut self, id: PoolId) -> UsedPool {
        let used = self.used.entry(id).or_insert_with(|| {
            self.last_number += 1;
            PoolUse { number: self.last_number, users: 0, replayed_on: Vec::new() }
        });
        used.users += 1;
        UsedPool { id, number: used.number }
    }
}

impl PrivatePools {
    pub(crate) fn new(started: Arc<Started>) -> Self {
        PrivatePools { started, begun: AtomicU64::new(0), pools: Mutex::default() }
    }

    /// Locks the pools. Not called in a forked child: callers get the driver first, which fails there.
    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock()
    }

    /// Returns the next position in the order in which captures and scopes of pools begin. Positions begin at 1.
    pub(crate) fn next_begun(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers a capture and the pool from which it allocates, outside of scopes that begin later. The graph is a user of the pool until
    /// [`release`](PrivatePools::release).
    pub(crate) fn begin(&self, capture: CaptureId, pool: PoolId) {
        let mut pools = self.pools();
        let new = Capture { pool, begun: self.next_begun(), scoped: Vec::new() };
        if pools.captures.insert(capture, new).is_none() {
            self.started.begin_capture();
        }
        pools.add_user(pool);
    }

    /// Unregisters a capture that has ended. Returns the pools of scopes of which the graph is a user until
    /// [`release`](PrivatePools::release).
    pub(crate) fn end(&self, capture: CaptureId) -> Vec<PoolId> {
        let mut pools = self.pools();
        let Some(ended) = pools.captures.remove(&capture) else { return Vec::new() };
        self.started.end_capture();
        ended.scoped
    }

    /// Ends a use of a pool by a graph, which these streams may still run, or by a lease. Returns all streams that may
    /// still run graphs of the pool if this was the last user.
    pub(crate) fn release(&self, pool: PoolId, streams: &[Stream]) -> Option<Vec<Stream>> {
        let mut pools = self.pools();
        let used = pools.used.get_mut(&pool)?;
        used.users -= 1;
        let new = streams.iter().filter(|stream| !used.replayed_on.contains(stream)).cloned();
        let new: Vec<_> = new.collect();
        used.replayed_on.extend(new);
        let is_last = used.users == 0;
        is_last.then(|| pools.used.remove(&pool)).flatten().map(|used| used.replayed_on)
    }

    /// Returns whether a capture allocates from a pool.
    pub(crate) fn is_pool_of(&self, capture: CaptureId, pool: UsedPool) -> bool {
        let pools = self.pools();
        let is_of = |capture: &Capture| capture.pool == pool.id;
        pools.captures.get(&capture).is_some_and(is_of)
            && pools.used.get(&pool.id).is_some_and(|used| used.number == pool.number)
    }

    /// Begins a use of a pool.
    pub(crate) fn add_user(&self, pool: PoolId) -> UsedPool {
        self.pools().add_user(pool)
    }

    /// Begins a use of the pool of a capture; `None` if the capture has ended. If a `scope` of another pool began after
    /// the capture, also returns `None`, and the graph of the capture becomes a user of the pool of the scope: it may
    /// contain work that uses the memory.
    pub(crate) fn add_user_in(&self, capture: CaptureId, scope: Option<(PoolId, u64)>) -> Option<UsedPool> {
        let mut pools = self.pools();
        let capture = pools.captures.get_mut(&capture)?;
        let is_scoped = |(pool, begun): &(PoolId, u64)| *pool != capture.pool && *begun > capture.begun;
        let Some((scoped, _)) = scope.filter(is_scoped) else {
            let id = capture.pool;
            return Some(pools.add_user(id));
        };
        if !capture.scoped.contains(&scoped) {
            capture.scoped.push(scoped);
            pools.add_user(scoped);
        }
        None
    }

    /// Returns the number of users of a pool.
    pub(crate) fn users(&self, pool: PoolId) -> usize {
        self.pools().used.get(&pool).map_or(0, |used| used.users)
    }
}

/// Returns the id of a new memory pool.
pub fn new_pool() -> PoolId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    (0, LAST.fetch_add(1, Ordering::Relaxed) + 1)
}
