//! Snapshots of the memory of devices and of its recorded history.

use super::stats_api::resolve_if_initialized;
use crate::allocators::snapshot::{BlockState, SegmentState};
use crate::allocators::trace::TraceEntry;
use crate::{Device, Result};

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
