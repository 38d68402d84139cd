//! The memory of devices at one moment, and what happened to it before.

use super::super::driver::DeviceIndex;
use super::super::{Device, PoolId};
use super::history::{Stack, TraceEntry};
use super::usage;
use crate::Result;

/// What is kept of the memory of devices, and what happened to it as far as that is recorded. As PyTorch tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// What the driver gave, in the order of devices and addresses.
    pub segments: Vec<SegmentState>,
    /// What happened to the memory of each device, the first of all first; empty for devices that were not asked for.
    pub traces: Vec<Vec<TraceEntry>>,
}

/// What the driver gave at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentState {
    /// The index of its device.
    pub device: DeviceIndex,
    /// The address of its first byte.
    pub address: u64,
    /// How many bytes it has.
    pub total_size: u64,
    /// Bytes of its pieces that somebody uses.
    pub allocated_size: u64,
    /// The same and bytes of freed pieces that work of streams still uses.
    pub active_size: u64,
    /// Bytes that were asked for, of active pieces.
    pub requested_size: u64,
    /// The id of the stream that it was allocated for.
    pub stream: i64,
    /// Whether it is for small pieces.
    pub small: bool,
    /// The pool of graphs that it belongs to.
    pub pool: Option<PoolId>,
    /// Whether it can grow and shrink.
    pub expandable: bool,
    /// The lines of the program for which the driver was asked, if they are known.
    pub stack: Option<Stack>,
    /// Its pieces, in the order of their addresses.
    pub blocks: Vec<BlockState>,
}

/// A piece of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockState {
    /// The address of its first byte.
    pub address: u64,
    /// How many bytes it has.
    pub size: u64,
    /// How many were asked for; 0 of a piece that is free.
    pub requested_size: u64,
    /// Who has it.
    pub usage: BlockUsage,
    /// The lines of the program that asked for it, if they are known.
    pub stack: Option<Stack>,
}

/// Who has a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUsage {
    /// Somebody.
    Allocated,
    /// Work that streams have queued.
    AwaitingFree,
    /// Nobody.
    Inactive,
}

impl BlockUsage {
    /// What PyTorch calls it.
    pub fn name(self) -> &'static str {
        match self {
            BlockUsage::Allocated => "active_allocated",
            BlockUsage::AwaitingFree => "active_awaiting_free",
            BlockUsage::Inactive => "inactive",
        }
    }
}

/// What is kept of the memory of a device, or of all, and what happened to it as far as that is
/// [recorded](super::History). Starts no driver.
pub fn snapshot(device: Option<Device>) -> Result<Snapshot> {
    let Some((home, index)) = usage::in_use(device)? else { return Ok(Snapshot::default()) };
    let mut snapshot = Snapshot::default();
    for cache in home.caches_for("accelerator.memory.snapshot")? {
        let (segments, trace) = match device {
            Some(_) if cache.device() != index => Default::default(),
            _ => cache.snapshot(),
        };
        snapshot.segments.extend(segments);
        snapshot.traces.push(trace);
    }
    Ok(snapshot)
}
