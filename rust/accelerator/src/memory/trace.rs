//! The history of device memory: recorded for the whole process, read in snapshots.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use interlock_core::base::fork::rank;
use interlock_core::base::named_enum;
use interlock_core::base::sync::{ForkLock, RelaxedBool};
use interlock_driver::DeviceIndex;

use super::stats_api::resolve_if_initialized;
use crate::accelerator::Accelerator;
use crate::{Device, PoolId, Result};

/// A source line in the stack of an allocation.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, Frame, with_stack};
///
/// interlock_accelerator::use_named("host")?;
/// let frame = Frame { file: "train.py".into(), line: 12, name: "step".into() };
/// let _buffer = with_stack(Some([frame].into()), || DeviceBuffer::new(None, 512))?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The file.
    pub file: Arc<str>,
    /// The number of the line, from 1.
    pub line: u32,
    /// The function.
    pub name: Arc<str>,
}

/// The lines of a program that called each other, the innermost first.
pub type Stack = Arc<[Frame]>;

named_enum! {
    /// The kind of a [`TraceEntry`], under PyTorch's name.
    ///
    /// ```
    /// use interlock_accelerator::memory::TraceAction;
    ///
    /// assert_eq!(TraceAction::SegmentAlloc.name(), "segment_alloc");
    /// assert_eq!(TraceAction::named("oom"), Some(TraceAction::OutOfMemory));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TraceAction {
        /// A block was allocated.
        Alloc => "alloc",
        /// The program freed a block, which queued work may still use.
        FreeRequested => "free_requested",
        /// That work is done, and the block can be reused.
        FreeCompleted => "free_completed",
        /// The driver returned a segment.
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
    }
}

named_enum! {
    /// The reason why memory was released to the driver, or became free just then.
    ///
    /// ```
    /// use interlock_accelerator::memory::{
    ///     DeviceBuffer, HistoryConfig, HistoryRecorder, ReleaseReason, empty_cache, snapshot,
    /// };
    ///
    /// interlock_accelerator::use_named("host")?;
    /// let _history = HistoryRecorder::record(HistoryConfig { max_entries: None, stacks: false }, None)?;
    /// drop(DeviceBuffer::new(None, 512)?);
    /// empty_cache()?;
    /// let entries = &snapshot(None)?.traces[0];
    /// assert!(entries.iter().any(|entry| entry.cause == Some(ReleaseReason::EmptyCache)));
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ReleaseReason {
        /// A request would have failed otherwise.
        Shortage => "shortage",
        /// More was cached than the limit permits.
        Limit => "limit",
        /// The program asked for it.
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
/// let _history = HistoryRecorder::record(HistoryConfig { max_entries: Some(100), stacks: false }, None)?;
/// drop(DeviceBuffer::new(None, 512)?);
/// for entry in &snapshot(None)?.traces[0] {
///     println!("{} {:#x}: {} bytes", entry.action.name(), entry.address, entry.size);
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// What.
    pub action: TraceAction,
    /// Where. Of a request that could not be served: the bytes that the driver had left.
    pub address: u64,
    /// Bytes: the requested ones of a block, the active ones of a snapshot.
    pub size: u64,
    /// The id of the stream.
    pub stream: i64,
    /// When, in microseconds since 1970.
    pub time: u64,
    /// The pool of graphs that it belongs to.
    pub pool: Option<PoolId>,
    /// Why, of memory that went back to the driver.
    pub cause: Option<ReleaseReason>,
    /// The lines of the program that asked for the memory, if they are known.
    pub stack: Option<Stack>,
}

/// Microseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Options of [`HistoryRecorder::record`].
///
/// ```
/// use interlock_accelerator::memory::{HistoryConfig, HistoryRecorder, stacks_are_recorded};
///
/// interlock_accelerator::use_named("host")?;
/// let options = HistoryConfig { max_entries: Some(10_000), stacks: true };
/// let _history = HistoryRecorder::record(options, None)?;
/// assert!(stacks_are_recorded());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// How many entries there are at most for each device: the last ones stay. `None` for any number.
    pub max_entries: Option<usize>,
    /// Whether the host is to tell the lines of the program, with [`with_stack`].
    pub stacks: bool,
}

/// Records the history of device memory until it is stopped, or another recorder begins.
///
/// ```
/// use interlock_accelerator::memory::{DeviceBuffer, HistoryConfig, HistoryRecorder, snapshot};
///
/// interlock_accelerator::use_named("host")?;
/// let history = HistoryRecorder::record(HistoryConfig { max_entries: None, stacks: false }, None)?;
/// drop(DeviceBuffer::new(None, 512)?);
/// history.stop()?;
/// assert!(!snapshot(None)?.traces[0].is_empty());
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct HistoryRecorder(u64);

/// What is recorded now.
static RECORDED: ForkLock<Recorded> =
    ForkLock::new(rank::MEMORY_HISTORY, Recorded { changes: 0, what: None });

static STACKS: RelaxedBool = RelaxedBool::new(false);

#[derive(Clone, Copy)]
pub(crate) struct Recorded {
    /// How often that has changed.
    changes: u64,
    /// How, and of which device if not of all.
    what: Option<(HistoryConfig, Option<DeviceIndex>)>,
}

impl Recorded {
    fn change(&mut self, what: Option<(HistoryConfig, Option<DeviceIndex>)>) -> u64 {
        self.changes += 1;
        self.what = what;
        STACKS.set(what.is_some_and(|(options, _)| options.stacks));
        self.changes
    }
}

impl HistoryRecorder {
    /// Begins to record what happens to the memory of a device, or of all. What was recorded before is forgotten.
    /// Starts no driver: it records once there is one.
    pub fn record(options: HistoryConfig, device: Option<Device>) -> Result<Self> {
        let found = resolve_if_initialized(device)?;
        let index = device.map(|device| found.map_or(device.index().unwrap_or(0), |(_, index)| index));
        let number = RECORDED.lock().change(Some((options, index)));
        apply_where_in_use()?;
        Ok(HistoryRecorder(number))
    }

    /// Records no more, unless another history has begun already. What is recorded stays for snapshots.
    pub fn stop(&self) -> Result<()> {
        let mut recorded = RECORDED.lock();
        if recorded.changes != self.0 {
            return Ok(());
        }
        recorded.change(None);
        drop(recorded);
        apply_where_in_use()
    }
}

fn apply_where_in_use() -> Result<()> {
    resolve_if_initialized(None)?.map_or(Ok(()), |(accelerator, _)| apply(accelerator))
}

/// Has the devices of an accelerator record what is to be recorded now.
pub(crate) fn apply(accelerator: &'static Accelerator) -> Result<()> {
    let Recorded { changes, what } = *RECORDED.lock();
    for allocator in accelerator.allocators("accelerator.memory.history")? {
        let meant = what.filter(|(_, device)| device.is_none_or(|device| device == allocator.device()));
        allocator.set_history(changes, what.is_some(), meant.map(|(options, _)| options));
    }
    Ok(())
}

/// Whether a history is recorded that wants to know the lines of the program.
#[inline]
pub fn stacks_are_recorded() -> bool {
    STACKS.get()
}

thread_local! {
    static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
}

/// Calls a function; what it allocates on this thread was asked for by these lines of the program.
pub fn with_stack<T>(stack: Option<Stack>, act: impl FnOnce() -> T) -> T {
    struct Before(Option<Stack>);
    impl Drop for Before {
        fn drop(&mut self) {
            STACK.set(self.0.take());
        }
    }
    let Some(stack) = stack else { return act() };
    let _before = Before(STACK.replace(Some(stack)));
    act()
}

/// The lines of the program that allocates on this thread, if they were told.
pub(super) fn current_stack() -> Option<Stack> {
    // A thread that ends has none any more.
    let taken = STACK.try_with(|stack| {
        let taken = stack.take();
        stack.set(taken.clone());
        taken
    });
    taken.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_they_name_are_one_to_one() {
        for action in TraceAction::ALL {
            assert_eq!(TraceAction::named(action.name()), Some(action));
        }
        for reason in ReleaseReason::ALL {
            assert_eq!(ReleaseReason::named(reason.name()), Some(reason));
        }
        assert_eq!((TraceAction::named("nap"), ReleaseReason::named("")), (None, None));
    }

    #[test]
    fn a_stack_is_that_of_the_innermost_call() {
        let stack = |line| Stack::from([Frame { file: "a.py".into(), line, name: "f".into() }]);
        with_stack(Some(stack(1)), || {
            with_stack(Some(stack(2)), || assert_eq!(current_stack(), Some(stack(2))));
            with_stack(None, || assert_eq!(current_stack(), Some(stack(1))));
        });
        assert_eq!(current_stack(), None);
    }
}
