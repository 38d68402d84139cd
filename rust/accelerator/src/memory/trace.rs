//! The history of the memory of devices and of pinned memory: recorded for the whole process, and read with snapshots.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use interlock_core::base::fork::rank;
use interlock_core::base::named_enum;
use interlock_core::base::sync::{ForkLock, RelaxedBool};
use interlock_driver::{DeviceIndex, Stack};

use super::stats_api::resolve_if_initialized;
use crate::accelerator::Accelerator;
use crate::{Device, PoolId, Result};

named_enum! {
    /// The kind of a [`TraceEntry`], under PyTorch's name.
    ///
    /// ```
    /// use interlock_accelerator::memory::TraceAction;
    ///
    /// assert_eq!(TraceAction::SegmentAlloc.name(), "segment_alloc");
    /// assert_eq!(TraceAction::from_name("oom"), Some(TraceAction::OutOfMemory));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TraceAction {
        /// A block was allocated.
        Alloc => "alloc",
        /// The program freed a block, which queued work may still use.
        FreeRequested => "free_requested",
        /// Queued work is done with a freed block, which can be reused.
        FreeCompleted => "free_completed",
        /// The driver allocated a segment.
        SegmentAlloc => "segment_alloc",
        /// A segment was released to the driver.
        SegmentFree => "segment_free",
        /// An expandable segment grew.
        SegmentMap => "segment_map",
        /// An expandable segment shrank.
        SegmentUnmap => "segment_unmap",
        /// A snapshot was taken.
        Snapshot => "snapshot",
        /// A request failed.
        OutOfMemory => "oom",
        /// The program described memory that it uses.
        Annotate => "annotate",
    }
}

named_enum! {
    /// The reason why memory was released to the driver, or why a block became free during such a release.
    ///
    /// ```
    /// use interlock_accelerator::memory::{
    ///     DeviceBuffer, HistoryConfig, HistoryRecorder, ReleaseReason, empty_cache, snapshot,
    /// };
    ///
    /// interlock_accelerator::use_named("host")?;
    /// let _history = HistoryRecorder::record(HistoryConfig { max_entries: None, stacks: false, pinned: false }, None)?;
    /// drop(DeviceBuffer::new(None, 512)?);
    /// empty_cache()?;
    /// let entries = &snapshot(None)?.traces[0];
    /// assert!(entries.iter().any(|entry| entry.cause == Some(ReleaseReason::EmptyCache)));
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ReleaseReason {
        /// A request found too little memory.
        Shortage => "shortage",
        /// The cached bytes exceeded the limit.
        Limit => "limit",
        /// The program called `empty_cache`.
        EmptyCache => "empty_cache",
        /// Its stream was destroyed.
        Stream => "stream",
        /// Its pool was released.
        Pool => "pool",
    }
}

/// An entry in the history of a device's memory.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, HistoryConfig, HistoryRecorder, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let _history = HistoryRecorder::record(HistoryConfig { max_entries: Some(100), stacks: false, pinned: false }, None)?;
/// drop(DeviceBuffer::new(None, 512)?);
/// for entry in &snapshot(None)?.traces[0] {
///     println!("{} {:#x}: {} bytes", entry.action.name(), entry.address, entry.size);
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The recorded event.
    pub action: TraceAction,
    /// The address of the memory. For a failed request: the free bytes of the driver.
    pub address: u64,
    /// Bytes: requested bytes of a block, active bytes for a snapshot.
    pub size: u64,
    /// The id of the stream.
    pub stream: i64,
    /// The time in microseconds since 1970.
    pub time: u64,
    /// The private pool that the memory belongs to.
    pub pool: Option<PoolId>,
    /// The reason of a release to the driver.
    pub cause: Option<ReleaseReason>,
    /// The stack that allocated the memory, or that described it, if it was recorded.
    pub stack: Option<Stack>,
    /// The description of an annotated block.
    pub annotation: Option<Arc<str>>,
}

impl TraceEntry {
    /// Creates an entry with the current time and the stack of the caller.
    pub(super) fn now(action: TraceAction, address: u64, size: u64) -> Self {
        let stack = current_stack();
        let (stream, time) = (0, now());
        TraceEntry { action, address, size, stream, time, pool: None, cause: None, stack, annotation: None }
    }
}

/// Returns the time in microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Options of [`HistoryRecorder::record`].
///
/// ```
/// use interlock_accelerator::memory::{HistoryConfig, HistoryRecorder, stacks_are_recorded};
///
/// interlock_accelerator::use_named("host")?;
/// let options = HistoryConfig { max_entries: Some(10_000), stacks: true, pinned: false };
/// let _history = HistoryRecorder::record(options, None)?;
/// assert!(stacks_are_recorded());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The largest number of entries for each device; older entries are dropped. `None` for no limit.
    pub max_entries: Option<usize>,
    /// Whether the embedding program should record call stacks with [`with_stack`].
    pub stacks: bool,
    /// Whether pinned memory is recorded as well.
    pub pinned: bool,
}

/// A recording of the history of device memory, until it is stopped or another one begins.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, HistoryConfig, HistoryRecorder, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let history = HistoryRecorder::record(HistoryConfig { max_entries: None, stacks: false, pinned: false }, None)?;
/// drop(DeviceBuffer::new(None, 512)?);
/// history.stop()?;
/// assert!(!snapshot(None)?.traces[0].is_empty());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct HistoryRecorder(u64);

/// The active recording of the process.
static RECORDING: ForkLock<Recording> =
    ForkLock::new(rank::MEMORY_HISTORY, Recording { changes: 0, active: None });

static STACKS: RelaxedBool = RelaxedBool::new(false);

#[derive(Clone, Copy)]
pub(crate) struct Recording {
    /// The number of changes so far.
    changes: u64,
    /// The options, and the device unless all devices are recorded; `None` if nothing is recorded.
    active: Option<(HistoryConfig, Option<DeviceIndex>)>,
}

impl Recording {
    fn change(&mut self, active: Option<(HistoryConfig, Option<DeviceIndex>)>) -> u64 {
        self.changes += 1;
        self.active = active;
        STACKS.set(active.is_some_and(|(options, _)| options.stacks));
        self.changes
    }
}

impl HistoryRecorder {
    /// Begins to record allocations and releases of a device, or of all devices. Discards earlier entries. Starts no
    /// driver: recording begins with the first one.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`](crate::Error::DeviceUnavailable).
    pub fn record(options: HistoryConfig, device: Option<Device>) -> Result<Self> {
        let found = resolve_if_initialized(device)?;
        let index = device.map(|device| found.map_or(device.index().unwrap_or(0), |(_, index)| index));
        let number = RECORDING.lock().change(Some((options, index)));
        apply_if_initialized()?;
        Ok(HistoryRecorder(number))
    }

    /// Stops recording, unless another recording has begun. Snapshots still contain the recorded entries.
    pub fn stop(&self) -> Result<()> {
        let mut recording = RECORDING.lock();
        if recording.changes != self.0 {
            return Ok(());
        }
        recording.change(None);
        drop(recording);
        apply_if_initialized()
    }
}

fn apply_if_initialized() -> Result<()> {
    resolve_if_initialized(None)?.map_or(Ok(()), |(accelerator, _)| apply(accelerator))
}

/// Applies the active recording to the devices of an accelerator.
pub(crate) fn apply(accelerator: &'static Accelerator) -> Result<()> {
    let Recording { changes, active } = *RECORDING.lock();
    for allocator in accelerator.allocators("accelerator.memory.history")? {
        let selected = active.filter(|(_, device)| device.is_none_or(|device| device == allocator.device()));
        allocator.set_history(changes, active.is_some(), selected.map(|(options, _)| options));
    }
    let pinned = active.map(|(options, _)| options).filter(|options| options.pinned);
    accelerator.pinned().set_history(changes, active.is_some(), pinned);
    Ok(())
}

/// Returns whether a history with call stacks is recorded.
#[inline]
pub fn stacks_are_recorded() -> bool {
    STACKS.get()
}

/// Returns the stack that allocations of this thread are attributed to, if a history records stacks.
pub(super) fn current_stack() -> Option<Stack> {
    if stacks_are_recorded() { interlock_driver::current_stack() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_actions_and_release_reasons_are_found_by_their_names() {
        for action in TraceAction::ALL {
            assert_eq!(TraceAction::from_name(action.name()), Some(action));
        }
        for reason in ReleaseReason::ALL {
            assert_eq!(ReleaseReason::from_name(reason.name()), Some(reason));
        }
        assert_eq!((TraceAction::from_name("nap"), ReleaseReason::from_name("")), (None, None));
    }
}
