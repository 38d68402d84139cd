//! Injected faults, and counts of live objects that show leaks.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};

use interlock_core::base::fork_local::ForkLocal;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{DeviceIndex, Error, Result};

use crate::exec::command::Task;
use crate::exec::shared::{Locked, Shared};
use crate::object::stream::StreamKind;

/// Injects errors into a host driver. Clones are the same handle; give one to the driver in its
/// [options](super::HostOptions), and keep another.
///
/// The handle is that of the driver made last with it, until one of them is started: that one has it as long as
/// it lives. What was asked for before goes with the driver of which it was asked.
///
/// Every method fails with [`Error::NoAccelerator`] where no driver has been made with it in this process: a
/// forked child's driver is another, which begins without faults.
///
/// ```
/// use interlock_host::{Faults, HostDriver, HostOptions};
///
/// let faults = Faults::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// faults.fail_allocation(Some(1))?;
/// assert!(runtime.allocate(0, 512).is_err());
/// assert!(runtime.allocate(0, 512).is_ok());
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Faults(Arc<ForkLocal<Mutex<Bound>>>);

/// Whose a handle is.
#[derive(Clone, Default)]
struct Bound {
    shared: Weak<Shared>,
    /// It is nobody else's as long as that lives.
    started: bool,
}

/// The number of objects of a driver that have not been released.
///
/// ```
/// use interlock_host::{Faults, HostDriver, HostOptions};
///
/// let faults = Faults::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// let stream = runtime.create_stream(0, 0)?;
/// assert_eq!(faults.live_objects()?.streams, 1);
/// # runtime.destroy_stream(stream);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveObjects {
    /// Streams besides the default ones, with those that still run what is queued.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Recorded graphs.
    pub graphs: usize,
    /// Graphs that are ready to be replayed.
    pub executables: usize,
    /// Streams of executable graphs, with those that still run what is queued.
    pub lanes: usize,
    /// Captures that have not ended.
    pub captures: usize,
    /// Threads that serve streams.
    pub threads: usize,
    /// Commands that are queued and not over.
    pub commands: u64,
    /// Bytes of memory of all devices, with what addresses were given.
    pub bytes: u64,
    /// Bytes of pinned memory.
    pub pinned_bytes: u64,
}

/// Pauses the copies of a driver until it is dropped. A copy that is paused occupies its engine.
///
/// ```
/// use interlock_host::{Faults, HostDriver, HostOptions};
///
/// let faults = Faults::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// let hold = faults.hold_copies()?;
/// // A copy that is queued here does not begin before `step` or `release`.
/// assert!(!hold.step());
/// hold.release();
/// # drop(runtime);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Debug)]
pub struct Hold(Weak<Shared>);

impl Faults {
    /// Nothing goes wrong yet.
    pub fn new() -> Self {
        Faults::default()
    }

    /// Ties the handle to a driver, for good if that is `started`. Fails with [`Error::Argument`] if another has
    /// it that was started.
    pub(crate) fn bind(&self, shared: &Arc<Shared>, started: bool) -> Result<()> {
        let mut bound = self.0.get().lock();
        let same = bound.shared.ptr_eq(&Arc::downgrade(shared));
        if !same && bound.started && bound.shared.strong_count() > 0 {
            let given = "a handle that another driver has, which was started";
            return Err(Error::argument("faults", given, "a handle of its own"));
        }
        let started = started || (same && bound.started);
        *bound = Bound { shared: Arc::downgrade(shared), started };
        Ok(())
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        let bound = self.0.get().lock().clone();
        bound.shared.upgrade().ok_or_else(|| Error::NoAccelerator {
            operation: "a fault",
            reason: "no host driver was made with this handle in this process".into(),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Locked<'_>)) -> Result<()> {
        let shared = self.shared()?;
        change(&mut shared.lock()?);
        Ok(())
    }

    /// The allocation of a device's memory fails that is the `number`th from now; 1 is the next. Giving memory to
    /// addresses is one. `None` takes that back.
    pub fn fail_allocation(&self, number: Option<u64>) -> Result<()> {
        let number = checked("fail_allocation", number)?;
        self.change(|state| state.faults.allocation = number)
    }

    /// As [`fail_allocation`](Faults::fail_allocation), for pinned memory.
    pub fn fail_pinned_allocation(&self, number: Option<u64>) -> Result<()> {
        let number = checked("fail_pinned_allocation", number)?;
        self.change(|state| state.faults.pinned_allocation = number)
    }

    /// The next function that is queued does not run, and fails when it is its turn. Called twice, the next
    /// two do. What is recorded into a graph counts when it is replayed.
    pub fn fail_next_launch(&self, reason: &str) -> Result<()> {
        self.change(|state| state.faults.launches.push_back(reason.into()))
    }

    /// As [`fail_next_launch`](Faults::fail_next_launch), for copies.
    pub fn fail_next_copy(&self, reason: &str) -> Result<()> {
        self.change(|state| state.faults.copies.push_back(reason.into()))
    }

    /// As [`fail_next_launch`](Faults::fail_next_launch), for fills.
    pub fn fail_next_fill(&self, reason: &str) -> Result<()> {
        self.change(|state| state.faults.fills.push_back(reason.into()))
    }

    /// The device is gone for good. From now on every call that concerns it fails with [`Error::DeviceLost`],
    /// and so does what is queued on it or copies from or to it; whoever waits for it is woken. Only a
    /// function or copy that runs already goes on. Fails with [`Error::NoSuchDevice`] for a device that is not
    /// there.
    pub fn lose_device(&self, device: DeviceIndex, reason: &str) -> Result<()> {
        self.shared()?.lock()?.lose_device(device, reason)
    }

    /// No copy begins until the guard, and every other one, is dropped.
    pub fn hold_copies(&self) -> Result<Hold> {
        let shared = self.shared()?;
        shared.lock()?.faults.holds += 1;
        Ok(Hold(Arc::downgrade(&shared)))
    }

    /// What is there now.
    pub fn live_objects(&self) -> Result<LiveObjects> {
        let shared = self.shared()?;
        let state = shared.lock()?;
        let of_kind = |kind| state.streams.values().filter(|stream| stream.kind == kind).count();
        Ok(LiveObjects {
            streams: of_kind(StreamKind::Made),
            events: state.events.len(),
            graphs: state.graphs.len(),
            executables: state.executables.len(),
            lanes: of_kind(StreamKind::Replay),
            captures: state.captures.count(),
            threads: state.streams.values().filter(|stream| stream.worker.is_some()).count(),
            commands: state.streams.values().map(|stream| stream.queued - stream.done).sum(),
            bytes: state.devices.iter().map(|device| device.memory.used()).sum(),
            pinned_bytes: state.pinned.used(),
        })
    }
}

fn checked(name: &'static str, number: Option<u64>) -> Result<Option<u64>> {
    if number == Some(0) {
        return Err(Error::argument(name, "0", "1 or more: 1 is the next allocation"));
    }
    Ok(number)
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Hold {
    /// Lets one copy begin: of those that wait for nothing else the one that has waited for longest. False
    /// where there is none.
    pub fn step(&self) -> bool {
        let Some(shared) = self.0.upgrade() else { return false };
        shared.lock().is_ok_and(|mut state| state.begin_paused_copy())
    }

    /// Lets copies begin again, unless something else holds them.
    pub fn release(self) {}
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(shared) = self.0.upgrade() else { return };
        if let Ok(mut state) = shared.lock() {
            state.faults.holds = state.faults.holds.saturating_sub(1);
            state.advance_all();
        }
    }
}

/// What is to go wrong.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    /// Which allocation from now on fails.
    allocation: Option<u64>,
    /// Which one of pinned memory.
    pinned_allocation: Option<u64>,
    launches: VecDeque<String>,
    copies: VecDeque<String>,
    fills: VecDeque<String>,
    holds: u32,
}

impl FaultPlan {
    /// Counts an allocation, and returns whether it is the one that fails.
    pub(crate) fn allocation_fails(&mut self, is_pinned: bool) -> bool {
        let number = if is_pinned { &mut self.pinned_allocation } else { &mut self.allocation };
        *number = number.map(|left| left - 1);
        number.take_if(|left| *left == 0).is_some()
    }

    /// Why this task fails, which is being queued.
    pub(crate) fn next_for(&mut self, task: &Task) -> Option<String> {
        match task {
            Task::Launch(_) => self.launches.pop_front(),
            Task::Copy(_) => self.copies.pop_front(),
            Task::Fill(_) => self.fills.pop_front(),
        }
    }

    pub(crate) fn copies_are_paused(&self) -> bool {
        self.holds > 0
    }
}
