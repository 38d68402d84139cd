//! Snapshots of the memory of devices and of its recorded history.

use interlock_core::base::named_enum;
use interlock_driver::{DeviceIndex, Stack};

use super::stats_api::resolve_if_initialized;
use super::trace::TraceEntry;
use crate::{Device, PoolId, Result};

/// The segments of devices and their recorded history, in PyTorch's terms.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffer = DeviceBuffer::new(None, 4096)?;
/// let snapshot = snapshot(None)?;
/// assert_eq!(snapshot.segments.len(), 1);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The segments, in the order of devices and addresses.
    pub segments: Vec<SegmentState>,
    /// The recorded entries of each device, oldest first; empty for devices that were not selected.
    pub traces: Vec<Vec<TraceEntry>>,
    /// The blocks of pinned memory, in the order of addresses; empty unless pinned memory is recorded.
    pub pinned: Vec<BlockState>,
    /// The recorded entries of pinned memory, oldest first.
    pub pinned_trace: Vec<TraceEntry>,
}

/// A segment: contiguous memory that the driver allocated.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffer = DeviceBuffer::new(None, 4096)?;
/// for segment in snapshot(None)?.segments {
///     println!("{:#x}: {} of {} bytes", segment.address, segment.allocated_size, segment.total_size);
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentState {
    /// The index of its device.
    pub device: DeviceIndex,
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub total_size: u64,
    /// Bytes of its allocated blocks.
    pub allocated_size: u64,
    /// Bytes of its allocated blocks and of freed blocks that queued work still uses.
    pub active_size: u64,
    /// Requested bytes of its active blocks.
    pub requested_size: u64,
    /// The id of the stream that it was allocated for.
    pub stream: i64,
    /// Whether it is for small blocks.
    pub small: bool,
    /// The private pool that it belongs to.
    pub pool: Option<PoolId>,
    /// Whether it can grow and shrink.
    pub expandable: bool,
    /// The stack of the allocation that needed it, if it was recorded.
    pub stack: Option<Stack>,
    /// Its blocks, in the order of their addresses.
    pub blocks: Vec<BlockState>,
}

/// A block of a segment.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let _buffer = DeviceBuffer::new(None, 4000)?;
/// for block in snapshot(None)?.segments.iter().flat_map(|segment| &segment.blocks) {
///     println!("{} bytes, {} of them requested: {}", block.size, block.requested_size, block.usage.name());
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockState {
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The requested bytes; 0 for a free block.
    pub requested_size: u64,
    /// Its use.
    pub usage: BlockUsage,
    /// The stack of its allocation, if it was recorded.
    pub stack: Option<Stack>,
}

named_enum! {
    /// The use of a block.
    ///
    /// ```
    /// use interlock_accelerator::memory::{BlockUsage, DeviceBuffer, snapshot};
    ///
    /// interlock_accelerator::use_named("host")?;
    /// drop(DeviceBuffer::new(None, 4096)?);
    /// let segments = snapshot(None)?.segments;
    /// assert_eq!(segments[0].blocks[0].usage, BlockUsage::Inactive);
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BlockUsage {
        /// The program uses it.
        Allocated => "active_allocated",
        /// The program has freed it, and queued work of streams uses it.
        AwaitingFree => "active_awaiting_free",
        /// Nothing uses it.
        Inactive => "inactive",
    }
}

/// Returns the segments of a device, or of all devices, and their [recorded](super::HistoryRecorder) history. Starts no
/// driver.
pub fn snapshot(device: Option<Device>) -> Result<Snapshot> {
    let Some((accelerator, index)) = resolve_if_initialized(device)? else { return Ok(Snapshot::default()) };
    let mut snapshot = Snapshot::default();
    for allocator in accelerator.allocators("accelerator.memory.snapshot")? {
        let (segments, trace) = match device {
            Some(_) if allocator.device() != index => Default::default(),
            _ => allocator.snapshot(),
        };
        snapshot.segments.extend(segments);
        snapshot.traces.push(trace);
    }
    (snapshot.pinned, snapshot.pinned_trace) = accelerator.pinned().snapshot();
    Ok(snapshot)
}
