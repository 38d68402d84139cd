//! Replays of recorded histories: repeats the allocations and frees of a trace.

use std::collections::HashMap;

use super::snapshot::Snapshot;
use crate::allocators::stats::Statistics;
use crate::allocators::trace::{ReleaseReason, TraceAction, TraceEntry};
use crate::allocators::{BlockId, CachingAllocator};
use crate::device::DeviceState;
use crate::private_pools::new_pool;
use crate::stream::Stream;
use crate::{Device, Error, PoolId, Result, current};

const OPERATION: &str = "accelerator.memory.replay";

/// Repeats on a device the allocations and frees of its trace in a snapshot; returns the statistics afterwards. No
/// device means the current device.
///
/// The statistics equal those of the recorded program if the trace and the device begin without allocations, limits and
/// configuration are the same, and the program's threads allocated one at a time. The default stream represents itself,
/// and a new stream each other one. Releases of the allocator itself are not repeated: they happen here as they did
/// there. All memory is freed at the end.
///
/// # Errors
/// Returns [`Error::OutOfMemory`] if an allocation that succeeded in the trace fails here, and [`Error::Argument`] if
/// the snapshot has no trace of the device.
pub fn replay(snapshot: &Snapshot, device: Option<Device>) -> Result<Statistics> {
    let (accelerator, index) = current::resolve(device, OPERATION)?;
    let trace = snapshot.traces.get(usize::from(index)).filter(|trace| !trace.is_empty());
    let trace = trace.ok_or_else(|| Error::Argument {
        name: format!("{OPERATION}: snapshot").into(),
        given: "a snapshot without one".to_owned(),
        allowed: format!(
            "created while a history was recorded and have a trace of {}",
            accelerator.started().device(index)
        ),
    })?;
    let device = accelerator.device(index)?;
    let allocator = device.allocator(OPERATION)?;
    let mut replay = Replay {
        device,
        allocator,
        streams: HashMap::new(),
        pools: HashMap::new(),
        in_use: HashMap::new(),
        held: HashMap::new(),
        empties: false,
    };
    for (index, entry) in trace.iter().enumerate() {
        replay.apply(entry, trace.get(index + 1))?;
    }
    replay.empty()?;
    Ok(allocator.with_stats(|stats| stats.clone()))
}

/// The objects that a replay has created so far, by their ids and addresses in the trace.
struct Replay {
    device: &'static DeviceState,
    allocator: &'static CachingAllocator,
    streams: HashMap<i64, Stream>,
    pools: HashMap<PoolId, PoolId>,
    in_use: HashMap<u64, BlockId>,
    /// Freed blocks that queued work still uses in the trace.
    held: HashMap<u64, BlockId>,
    /// The trace is within a call of `empty_cache`.
    empties: bool,
}

impl Replay {
    fn apply(&mut self, entry: &TraceEntry, next: Option<&TraceEntry>) -> Result<()> {
        if entry.cause == Some(ReleaseReason::EmptyCache) {
            self.empties = true;
        } else {
            self.empty()?;
        }
        match entry.action {
            TraceAction::Alloc => {
                let block = self.allocate(entry)?;
                let replaced = self.in_use.insert(entry.address, block);
                // The trace does not contain the free of an earlier block at this address.
                replaced.into_iter().for_each(|block| self.allocator.free(self.device, block));
            }
            TraceAction::OutOfMemory => match self.allocate(entry) {
                Ok(block) => self.allocator.free(self.device, block),
                Err(Error::OutOfMemory(_)) => {}
                Err(other) => return Err(other),
            },
            TraceAction::FreeRequested => self.free(entry.address, next),
            TraceAction::FreeCompleted => {
                if let Some(block) = self.held.remove(&entry.address) {
                    self.allocator.complete(self.device, block, entry.cause.is_some());
                }
            }
            TraceAction::SegmentFree | TraceAction::SegmentUnmap => self.release_owner(entry),
            // Consequences of the other entries.
            TraceAction::SegmentAlloc
            | TraceAction::SegmentMap
            | TraceAction::Snapshot
            | TraceAction::Annotate => {}
        }
        Ok(())
    }

    fn allocate(&mut self, entry: &TraceEntry) -> Result<BlockId> {
        let stream = self.stream(entry.stream)?;
        let pool = entry.pool.map(|pool| *self.pools.entry(pool).or_insert_with(new_pool));
        let bytes = usize::try_from(entry.size.max(1)).unwrap_or(usize::MAX);
        let block = if entry.capturing {
            self.allocator.allocate_as_captured(&stream, bytes, pool)
        } else {
            self.allocator.allocate(&stream, bytes, pool)
        };
        block.map(|block| block.id)
    }

    fn stream(&mut self, id: i64) -> Result<Stream> {
        if id == 0 {
            return self.device.home().default_stream();
        }
        if let Some(stream) = self.streams.get(&id) {
            return Ok(stream.clone());
        }
        let stream = self.device.home().dedicated_stream(0)?;
        self.streams.insert(id, stream.clone());
        Ok(stream)
    }

    /// Frees a block, or holds it until the trace completes its free. A block that was free at once has its completion
    /// as the next entry, without a reason.
    fn free(&mut self, address: u64, next: Option<&TraceEntry>) {
        let at_once = |next: &TraceEntry| {
            next.action == TraceAction::FreeCompleted && next.address == address && next.cause.is_none()
        };
        let Some(block) = self.in_use.remove(&address) else { return };
        if next.is_some_and(at_once) {
            self.allocator.free(self.device, block);
        } else {
            self.allocator.hold(block);
            self.held.insert(address, block);
        }
    }

    /// Empties the cache, after all entries of a call of `empty_cache`.
    fn empty(&mut self) -> Result<()> {
        if std::mem::take(&mut self.empties) {
            self.allocator.release_cached_blocks(self.device)
        } else {
            Ok(())
        }
    }

    /// Releases the stream or the pool whose end released a segment.
    fn release_owner(&mut self, entry: &TraceEntry) {
        if entry.cause == Some(ReleaseReason::Stream) {
            self.streams.remove(&entry.stream);
        } else if entry.cause == Some(ReleaseReason::Pool)
            && let Some(pool) = entry.pool.and_then(|pool| self.pools.remove(&pool))
        {
            self.allocator.on_pool_released(self.device, pool, &[]);
        }
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        for block in self.in_use.drain().map(|(_, block)| block) {
            self.allocator.free(self.device, block);
        }
        for block in self.held.drain().map(|(_, block)| block) {
            self.allocator.complete(self.device, block, false);
        }
        self.allocator.complete_all(self.device);
        for pool in self.pools.drain().map(|(_, pool)| pool) {
            self.allocator.on_pool_released(self.device, pool, &[]);
        }
    }
}
