//! The history of the memory of devices and of pinned memory: recorded for the whole process, and read with snapshots.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;
use interlock_core::named_enum;
use interlock_driver::{DeviceIndex, Stack, StackUser};

use crate::PoolId;

named_enum! {
    /// The kind of a [`TraceEntry`], under PyTorch's name.
    ///
    /// ```
    /// use interlock_accelerator::memory::TraceAction;
    ///
    /// assert_eq!(TraceAction::SegmentAlloc.name(), "segment_alloc");
    /// assert_eq!("oom".parse(), Ok(TraceAction::OutOfMemory));
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
    /// let _history = HistoryRecorder::record(HistoryConfig::default(), None)?;
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
/// let _history = HistoryRecorder::record(HistoryConfig { max_entries: Some(100), ..HistoryConfig::default() }, None)?;
/// drop(DeviceBuffer::new(None, 512)?);
/// for entry in &snapshot(None)?.traces[0] {
///     println!("{} {:#x}: {} bytes", entry.action, entry.address, entry.size);
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
    /// For a failed request: whether a capture was underway, which prevents releases to the driver.
    pub capturing: bool,
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
        TraceEntry {
            action,
            address,
            size,
            stream,
            time,
            pool: None,
            cause: None,
            capturing: false,
            stack,
            annotation: None,
        }
    }
}

/// Returns the time in microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Options of [`HistoryRecorder::record`](crate::memory::HistoryRecorder::record).
///
/// ```
/// use interlock_accelerator::memory::{HistoryConfig, HistoryRecorder, stacks_are_recorded};
///
/// interlock_accelerator::use_named("host")?;
/// let options = HistoryConfig { max_entries: Some(10_000), stacks: true, ..HistoryConfig::default() };
/// let _history = HistoryRecorder::record(options, None)?;
/// assert!(stacks_are_recorded());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The largest number of entries for each device; older entries are dropped. `None` for no limit.
    pub max_entries: Option<usize>,
    /// Whether the embedding program should record call stacks with [`with_stack`](interlock_driver::with_stack).
    pub stacks: bool,
    /// Whether pinned memory is recorded as well.
    pub pinned: bool,
}

/// The active recording of the process.
static RECORDING: ForkLock<Recording> =
    ForkLock::new(rank::MEMORY_HISTORY, Recording { changes: 0, active: None });

/// What is recorded.
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
        StackUser::History.set_active(active.is_some_and(|(options, _)| options.stacks));
        self.changes
    }

    /// Returns the number of changes so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the number of the change that began the history, if one is recorded.
    pub(crate) fn active_change(&self) -> Option<u64> {
        self.active.map(|_| self.changes)
    }

    /// Returns whether the last change began a history, here or on other devices.
    pub(super) fn begins(&self) -> bool {
        self.active.is_some()
    }

    /// Returns the options for a device, if it is recorded.
    pub(super) fn of_device(&self, index: DeviceIndex) -> Option<HistoryConfig> {
        let active = self.active.filter(|(_, device)| device.is_none_or(|device| device == index));
        active.map(|(options, _)| options)
    }

    /// Returns the options for pinned memory, if it is recorded.
    pub(super) fn of_pinned(&self) -> Option<HistoryConfig> {
        self.active.map(|(options, _)| options).filter(|options| options.pinned)
    }
}

/// Returns what is recorded now.
pub(crate) fn recording() -> Recording {
    *RECORDING.lock()
}

/// Begins to record a device, or all; returns the number of the change.
pub(crate) fn begin(options: HistoryConfig, device: Option<DeviceIndex>) -> u64 {
    RECORDING.lock().change(Some((options, device)))
}

/// Ends the recording of a change, unless there was a later one; returns whether it has ended.
pub(crate) fn end(change: u64) -> bool {
    let mut recording = RECORDING.lock();
    let is_last = recording.changes == change;
    if is_last {
        recording.change(None);
    }
    is_last
}

/// Returns whether a history with call stacks is recorded.
#[inline]
pub fn stacks_are_recorded() -> bool {
    StackUser::History.is_active()
}

/// Returns the stack that allocations of this thread are attributed to, if a history records stacks.
pub(super) fn current_stack() -> Option<Stack> {
    if stacks_are_recorded() { interlock_driver::current_stack() } else { None }
}
