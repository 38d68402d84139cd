//! What happened to the memory of devices: recorded for the whole process, read in snapshots.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use interlock_core::base::fork::rank;
use interlock_core::base::sync::{ForkLock, RelaxedBool};

use super::super::driver::DeviceIndex;
use super::super::in_use::Accelerator;
use super::super::{Device, PoolId};
use super::usage;
use crate::Result;

/// A line of a program.
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

/// What happened, by PyTorch's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A piece was handed out.
    Alloc,
    /// Nobody uses a piece any more, apart from work that is queued.
    FreeRequested,
    /// That work has been done too, and the piece can be handed out again.
    FreeCompleted,
    /// The driver gave a segment.
    SegmentAlloc,
    /// The driver got a segment back.
    SegmentFree,
    /// An expandable segment grew.
    SegmentMap,
    /// An expandable segment shrank.
    SegmentUnmap,
    /// A snapshot was taken.
    Snapshot,
    /// A request could not be served.
    OutOfMemory,
}

impl Action {
    /// Every action with PyTorch's name for it.
    const NAMES: [(Action, &str); 9] = [
        (Action::Alloc, "alloc"),
        (Action::FreeRequested, "free_requested"),
        (Action::FreeCompleted, "free_completed"),
        (Action::SegmentAlloc, "segment_alloc"),
        (Action::SegmentFree, "segment_free"),
        (Action::SegmentMap, "segment_map"),
        (Action::SegmentUnmap, "segment_unmap"),
        (Action::Snapshot, "snapshot"),
        (Action::OutOfMemory, "oom"),
    ];

    /// What PyTorch calls it.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(action, _)| *action == self).map_or("", |(_, name)| name)
    }

    /// What PyTorch calls so.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, known)| *known == name).map(|(action, _)| action)
    }
}

/// Why memory went back to the driver, or became free just then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A request could not be served otherwise.
    Shortage,
    /// More was kept than may be.
    Limit,
    /// The program asked for it.
    EmptyCache,
    /// Its stream has gone.
    Stream,
    /// Its pool has gone.
    Pool,
}

impl Cause {
    const NAMES: [(Cause, &str); 5] = [
        (Cause::Shortage, "shortage"),
        (Cause::Limit, "limit"),
        (Cause::EmptyCache, "empty_cache"),
        (Cause::Stream, "stream"),
        (Cause::Pool, "pool"),
    ];

    /// Its name in a snapshot.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(cause, _)| *cause == self).map_or("", |(_, name)| name)
    }

    /// The cause with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, known)| *known == name).map(|(cause, _)| cause)
    }
}

/// Something that happened to memory of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// What.
    pub action: Action,
    /// Where. Of a request that could not be served: the bytes that the driver had left.
    pub address: u64,
    /// How many bytes: of a piece those that were asked for, of a snapshot those that were in use.
    pub size: u64,
    /// The id of the stream.
    pub stream: i64,
    /// When, in microseconds since 1970.
    pub time: u64,
    /// The pool of graphs that it belongs to.
    pub pool: Option<PoolId>,
    /// Why, of memory that went back to the driver.
    pub cause: Option<Cause>,
    /// The lines of the program that asked for the memory, if they are known.
    pub stack: Option<Stack>,
}

/// Microseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// How a history is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// How many entries there are at most for each device: the last ones stay. `None` for any number.
    pub max_entries: Option<usize>,
    /// Whether the host is to tell the lines of the program, with [`with_stack`].
    pub stacks: bool,
}

/// A history that is recorded until it is stopped, or another begins. One for the process.
#[derive(Debug)]
pub struct History(u64);

/// What is recorded now.
static RECORDED: ForkLock<Recorded> =
    ForkLock::new(rank::MEMORY_HISTORY, Recorded { changes: 0, what: None });

static STACKS: RelaxedBool = RelaxedBool::new(false);

#[derive(Clone, Copy)]
pub(crate) struct Recorded {
    /// How often that has changed.
    changes: u64,
    /// How, and of which device if not of all.
    what: Option<(HistoryOptions, Option<DeviceIndex>)>,
}

impl Recorded {
    fn change(&mut self, what: Option<(HistoryOptions, Option<DeviceIndex>)>) -> u64 {
        self.changes += 1;
        self.what = what;
        STACKS.set(what.is_some_and(|(options, _)| options.stacks));
        self.changes
    }
}

impl History {
    /// Begins to record what happens to the memory of a device, or of all. What was recorded before is forgotten.
    /// Starts no driver: it records once there is one.
    pub fn record(options: HistoryOptions, device: Option<Device>) -> Result<Self> {
        let found = usage::in_use(device)?;
        let index = device.map(|device| found.map_or(device.index().unwrap_or(0), |(_, index)| index));
        let number = RECORDED.lock().change(Some((options, index)));
        apply_where_in_use()?;
        Ok(History(number))
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
    usage::in_use(None)?.map_or(Ok(()), |(home, _)| apply(home))
}

/// Has the devices of an accelerator record what is to be recorded now.
pub(crate) fn apply(home: &'static Accelerator) -> Result<()> {
    let Recorded { changes, what } = *RECORDED.lock();
    for cache in home.caches_for("accelerator.memory.history")? {
        let meant = what.filter(|(_, device)| device.is_none_or(|device| device == cache.device()));
        cache.set_history(changes, what.is_some(), meant.map(|(options, _)| options));
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
        for (action, name) in Action::NAMES {
            assert_eq!((action.name(), Action::named(name)), (name, Some(action)));
        }
        for (cause, name) in Cause::NAMES {
            assert_eq!((cause.name(), Cause::named(name)), (name, Some(cause)));
        }
        assert_eq!((Action::named("nap"), Cause::named("")), (None, None));
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
