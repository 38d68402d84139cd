//! A recorded history, allocated and freed once more.

use std::collections::HashMap;

use super::super::driver::DeviceIndex;
use super::super::in_use::Accelerator;
use super::super::{Device, PoolId, Stream, current, new_pool};
use super::cache::{Cache, PieceId};
use super::history::{Action, Cause, TraceEntry};
use super::snapshot::Snapshot;
use super::statistics::Statistics;
use crate::{Error, Result};

const OPERATION: &str = "accelerator.memory.replay";

/// Allocates and frees on a device what its trace in a snapshot says that a program did; returns what is counted then.
/// No device is the current one.
///
/// Where the trace begins with nothing allocated, and here nothing was, under the same limits and configuration, the
/// numbers are those of that program, as far as its threads allocated one at a time. The default stream stands for
/// itself and a stream of its own for each other one. What frees memory by itself in the trace does so here. At the
/// end all is freed. Fails with [`Error::OutOfMemory`] where the trace allocated and here is no room, and with
/// [`Error::Argument`] where there is no trace of the device.
pub fn replay(snapshot: &Snapshot, device: Option<Device>) -> Result<Statistics> {
    let (home, index) = current::resolve(device, OPERATION)?;
    let trace = snapshot.traces.get(usize::from(index)).filter(|trace| !trace.is_empty());
    let trace = trace.ok_or_else(|| Error::Argument {
        name: OPERATION,
        given: format!("a snapshot without a trace of {}", home.device(index)),
        allowed: "a snapshot with one, as it is taken while a history is recorded".to_owned(),
    })?;
    let cache = home.cache_for(index, OPERATION)?;
    let mut replay = Replay {
        home,
        index,
        cache,
        streams: HashMap::new(),
        pools: HashMap::new(),
        in_use: HashMap::new(),
        held: HashMap::new(),
        empties: false,
    };
    for (place, entry) in trace.iter().enumerate() {
        replay.repeat(entry, trace.get(place + 1))?;
    }
    replay.empty()?;
    Ok(cache.statistics())
}

/// What there is of a trace so far, by what the trace calls it.
struct Replay {
    home: &'static Accelerator,
    index: DeviceIndex,
    cache: &'static Cache,
    streams: HashMap<i64, Stream>,
    pools: HashMap<PoolId, PoolId>,
    in_use: HashMap<u64, PieceId>,
    /// Freed pieces that work still uses.
    held: HashMap<u64, PieceId>,
    /// The program empties the cache.
    empties: bool,
}

impl Replay {
    fn repeat(&mut self, entry: &TraceEntry, next: Option<&TraceEntry>) -> Result<()> {
        if entry.cause == Some(Cause::EmptyCache) {
            self.empties = true;
        } else {
            self.empty()?;
        }
        match entry.action {
            Action::Alloc => {
                let piece = self.allocate(entry)?;
                let replaced = self.in_use.insert(entry.address, piece);
                // A trace that says nothing of its end.
                replaced.into_iter().for_each(|piece| self.cache.release(self.home, piece));
            }
            Action::OutOfMemory => match self.allocate(entry) {
                Ok(piece) => self.cache.release(self.home, piece),
                Err(Error::OutOfMemory(_)) => {}
                Err(other) => return Err(other),
            },
            Action::FreeRequested => self.free(entry.address, next),
            Action::FreeCompleted => {
                if let Some(piece) = self.held.remove(&entry.address) {
                    self.cache.complete(self.home, piece, entry.cause.is_some());
                }
            }
            Action::SegmentFree => self.give_back(entry),
            // What the allocator does by itself.
            Action::SegmentAlloc | Action::SegmentMap | Action::SegmentUnmap | Action::Snapshot => {}
        }
        Ok(())
    }

    fn allocate(&mut self, entry: &TraceEntry) -> Result<PieceId> {
        let stream = self.stream(entry.stream)?;
        let pool = entry.pool.map(|pool| *self.pools.entry(pool).or_insert_with(new_pool));
        let bytes = usize::try_from(entry.size.max(1)).unwrap_or(usize::MAX);
        self.cache.allocate(&stream, bytes, pool).map(|taken| taken.piece)
    }

    fn stream(&mut self, id: i64) -> Result<Stream> {
        if id == 0 {
            return self.home.default_stream(self.index);
        }
        if let Some(stream) = self.streams.get(&id) {
            return Ok(stream.clone());
        }
        let stream = self.home.exclusive_stream(self.index, 0)?;
        self.streams.insert(id, stream.clone());
        Ok(stream)
    }

    /// What is free at once is told so in the next entry, and without a reason.
    fn free(&mut self, address: u64, next: Option<&TraceEntry>) {
        let at_once = |next: &TraceEntry| {
            next.action == Action::FreeCompleted && next.address == address && next.cause.is_none()
        };
        let Some(piece) = self.in_use.remove(&address) else { return };
        if next.is_some_and(at_once) {
            self.cache.release(self.home, piece);
        } else {
            self.cache.hold(piece);
            self.held.insert(address, piece);
        }
    }

    /// Empties the cache, after all that the trace says of it.
    fn empty(&mut self) -> Result<()> {
        if std::mem::take(&mut self.empties) { self.cache.empty(self.home) } else { Ok(()) }
    }

    /// What the program let go where that gave back a segment.
    fn give_back(&mut self, entry: &TraceEntry) {
        match entry.cause {
            Some(Cause::Stream) => drop(self.streams.remove(&entry.stream)),
            Some(Cause::Pool) => {
                let gone = entry.pool.and_then(|pool| self.pools.remove(&pool));
                gone.into_iter().for_each(|pool| self.cache.pool_goes(self.home, pool, &[]));
            }
            _ => {}
        }
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        for piece in self.in_use.drain().map(|(_, piece)| piece) {
            self.cache.release(self.home, piece);
        }
        for piece in self.held.drain().map(|(_, piece)| piece) {
            self.cache.complete(self.home, piece, false);
        }
        self.cache.complete_all(self.home);
        for pool in self.pools.drain().map(|(_, pool)| pool) {
            self.cache.pool_goes(self.home, pool, &[]);
        }
    }
}
