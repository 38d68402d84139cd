//! Captures that are underway, and the pools that graphs allocate from.

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::stream::Stream;
use interlock_core::base::mutex::Mutex;
use interlock_driver::PoolId;

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
    /// The pools that graphs use.
    used: HashMap<PoolId, Used>,
    /// How many pools there were.
    made: u64,
}

/// A pool that graphs use.
#[derive(Debug)]
struct Used {
    number: u64,
    graphs: usize,
    /// The streams that may still run graphs which use it no more.
    replayed_on: Vec<Stream>,
}

/// The pool from which a capture allocates. The id may be that of another pool once no graph uses it any more, as of a
/// graph that is captured again; the number may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CapturedPool {
    pub(super) id: PoolId,
    number: u64,
}

impl Captures {
    /// Not taken in a forked child: whoever asks has asked for the driver first.
    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock()
    }

    /// Whether any is underway.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.underway.load(Ordering::Acquire) > 0
    }

    /// A graph captures, and allocates from a pool, which it uses from now on.
    pub(super) fn begin(&self, capture: u64, pool: PoolId) {
        let mut guard = self.pools();
        let pools = &mut *guard;
        pools.of_captures.insert(capture, pool);
        let used = pools.used.entry(pool).or_insert_with(|| {
            pools.made += 1;
            Used { number: pools.made, graphs: 0, replayed_on: Vec::new() }
        });
        used.graphs += 1;
        self.underway.store(pools.of_captures.len(), Ordering::Release);
    }

    /// A capture is over.
    pub(super) fn end(&self, capture: u64) {
        let mut pools = self.pools();
        pools.of_captures.remove(&capture);
        self.underway.store(pools.of_captures.len(), Ordering::Release);
    }

    /// A graph uses a pool no more, and these streams may still run it. After the last one: the streams that may
    /// still run any that did.
    pub(super) fn let_go(&self, pool: PoolId, streams: &[Stream]) -> Option<Vec<Stream>> {
        let mut pools = self.pools();
        let used = pools.used.get_mut(&pool)?;
        used.graphs -= 1;
        let others = streams.iter().filter(|stream| !used.replayed_on.contains(stream)).cloned();
        let others: Vec<_> = others.collect();
        used.replayed_on.extend(others);
        let is_last = used.graphs == 0;
        is_last.then(|| pools.used.remove(&pool)).flatten().map(|used| used.replayed_on)
    }

    /// The pool from which a capture allocates.
    pub(super) fn pool_of(&self, capture: u64) -> Option<CapturedPool> {
        let pools = self.pools();
        let id = *pools.of_captures.get(&capture)?;
        Some(CapturedPool { id, number: pools.used.get(&id)?.number })
    }
}
