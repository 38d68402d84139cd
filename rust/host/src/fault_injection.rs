//! Fault injection, and counts of live objects for leak tests.

use std::fmt;
use std::sync::{Arc, Weak};

use interlock_core::base::fork_local::ForkLocal;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{DeviceIndex, Error, Result};

use crate::exec::shared::Shared;
use crate::fault::{Fault, FaultEffect, FaultOperation, PendingFault};

/// Injects faults into a host driver. Clones share one injector: pass one to the driver in its
/// [options](super::HostOptions) and call methods on another.
///
/// The injector is bound to the driver that was created last with it. The first of these drivers that is started owns
/// the injector until the driver is dropped. Faults that were injected before belong to the driver bound at that time.
///
/// Every method returns [`Error::NoAccelerator`] if no driver was created with the injector in this process. A forked
/// child has its own driver, which starts without faults.
///
/// ```
/// use interlock_host::{FaultInjector, HostDriver, HostOptions};
///
/// let faults = FaultInjector::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// faults.fail_allocation(1)?;
/// assert!(runtime.allocate(0, 512).is_err());
/// assert!(runtime.allocate(0, 512).is_ok());
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct FaultInjector(Arc<ForkLocal<Mutex<Bound>>>);

/// The driver to which an injector is bound.
#[derive(Clone, Default)]
struct Bound {
    shared: Weak<Shared>,
    /// A started driver owns the injector as long as it lives.
    started: bool,
}

/// The number of live objects of a driver.
///
/// ```
/// use interlock_host::{FaultInjector, HostDriver, HostOptions};
///
/// let faults = FaultInjector::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// let stream = runtime.create_stream(0, 0)?;
/// assert_eq!(faults.live_objects()?.streams, 1);
/// # runtime.destroy_stream(stream);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveObjects {
    /// Streams other than default ones, including destroyed streams with unfinished work.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Recorded graphs.
    pub graphs: usize,
    /// Executable graphs.
    pub executables: usize,
    /// Internal streams of executable graphs, including destroyed streams with unfinished work.
    pub replay_streams: usize,
    /// Captures that have not ended.
    pub captures: usize,
    /// Worker threads of streams.
    pub threads: usize,
    /// Queued commands that have not completed.
    pub commands: u64,
    /// Allocated and mapped bytes of all devices.
    pub bytes: u64,
    /// Bytes of pinned memory.
    pub pinned_bytes: u64,
}

/// Pauses the copies of a driver until it is dropped. A paused copy occupies its copy engine.
///
/// ```
/// use interlock_host::{FaultInjector, HostDriver, HostOptions};
///
/// let faults = FaultInjector::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// let paused = faults.pause_copies()?;
/// // A copy that is queued here does not start before `step` or `release`.
/// assert!(!paused.step());
/// paused.release();
/// # drop(runtime);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[must_use = "copies resume when this is dropped"]
#[derive(Debug)]
pub struct PausedCopies(Weak<Shared>);

impl FaultInjector {
    /// Creates an injector without faults.
    pub fn new() -> Self {
        FaultInjector::default()
    }

    /// Binds the injector to a driver; permanently if the driver is `started`.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if another started driver owns the injector.
    pub(crate) fn bind(&self, shared: &Arc<Shared>, started: bool) -> Result<()> {
        let mut bound = self.0.get().lock();
        let same = bound.shared.ptr_eq(&Arc::downgrade(shared));
        if !same && bound.started && bound.shared.strong_count() > 0 {
            let given = "the injector of another driver, which was started";
            return Err(Error::argument("HostOptions::faults", given, "an injector of this driver only"));
        }
        let started = started || (same && bound.started);
        *bound = Bound { shared: Arc::downgrade(shared), started };
        Ok(())
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        let bound = self.0.get().lock().clone();
        bound.shared.upgrade().ok_or_else(|| Error::NoAccelerator {
            operation: "FaultInjector",
            reason: "create a HostDriver with this FaultInjector in HostOptions::faults first".into(),
        })
    }

    /// Adds a fault. See [`Fault`] for what it can match and do.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if a value of the fault is not accepted or no operation could match it, and
    /// [`Error::DeviceUnavailable`] if the driver has no device of its index.
    pub fn inject(&self, fault: Fault) -> Result<()> {
        self.inject_all(vec![fault]).map_err(|(_, error)| error)
    }

    /// Injects all of several faults, or none.
    ///
    /// # Errors
    /// Returns the error, and the index of the fault that it is about: see [`inject`](FaultInjector::inject).
    pub fn inject_all(&self, faults: Vec<Fault>) -> Result<(), (Option<usize>, Error)> {
        self.inject_as("inject", faults)
    }

    fn inject_as(&self, function: &str, faults: Vec<Fault>) -> Result<(), (Option<usize>, Error)> {
        let at = |index| move |error| (Some(index), error);
        for (index, fault) in faults.iter().enumerate() {
            fault.check(function).map_err(at(index))?;
        }
        let shared = self.shared().map_err(|error| (None, error))?;
        let mut inner = shared.lock().map_err(|error| (None, error))?;
        for (index, fault) in faults.iter().enumerate() {
            if let Some(device) = fault.device {
                inner.check_exists(device, "FaultInjector.inject").map_err(at(index))?;
            }
        }
        faults.into_iter().for_each(|fault| inner.faults.add(fault));
        Ok(())
    }

    /// Returns the faults that are still to occur, or may occur again, in the order in which they were injected.
    pub fn pending(&self) -> Result<Vec<PendingFault>> {
        Ok(self.shared()?.lock()?.faults.pending())
    }

    /// Returns all faults that were injected since the last [`clear`](FaultInjector::clear), in their order. A program
    /// that queues the same operations gets the same faults if it injects these.
    pub fn injected(&self) -> Result<Vec<Fault>> {
        Ok(self.shared()?.lock()?.faults.injected().to_vec())
    }

    /// Removes all faults. Work that they delay runs, and work that they keep from completing completes. A device that
    /// is lost remains lost, and copies that [`pause_copies`](FaultInjector::pause_copies) pauses remain paused.
    pub fn clear(&self) -> Result<()> {
        let shared = self.shared()?;
        let mut inner = shared.lock()?;
        inner.faults.clear();
        inner.release_faults();
        Ok(())
    }

    /// Fails the `number`th allocation of device memory from now on; 1 is the next. Mapping memory to addresses counts
    /// as an allocation.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if the number is 0.
    pub fn fail_allocation(&self, number: u64) -> Result<()> {
        self.fail_allocations(number, 1)
    }

    /// Fails `times` consecutive allocations of device memory, the `number`th from now on and those that follow. Every
    /// call adds a fault.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if a number is 0.
    pub fn fail_allocations(&self, number: u64, times: u64) -> Result<()> {
        self.fail("fail_allocation", FaultOperation::Allocation, number, times, "")
    }

    /// Fails the `number`th allocation of pinned memory, like [`fail_allocation`](FaultInjector::fail_allocation).
    pub fn fail_pinned_allocation(&self, number: u64) -> Result<()> {
        self.fail_pinned_allocations(number, 1)
    }

    /// Fails consecutive allocations of pinned memory, like [`fail_allocations`](FaultInjector::fail_allocations).
    pub fn fail_pinned_allocations(&self, number: u64, times: u64) -> Result<()> {
        self.fail("fail_pinned_allocation", FaultOperation::PinnedAllocation, number, times, "")
    }

    /// Fails the next host function that is queued, asynchronously and without running it. Every call adds one fault.
    /// Kernels of tensors are host functions, too. A function that a graph recorded counts when the graph is replayed.
    pub fn fail_next_launch(&self, reason: &str) -> Result<()> {
        self.fail("fail_next_launch", FaultOperation::Launch, 1, 1, reason)
    }

    /// Fails the next copy, like [`fail_next_launch`](FaultInjector::fail_next_launch).
    pub fn fail_next_copy(&self, reason: &str) -> Result<()> {
        self.fail("fail_next_copy", FaultOperation::Copy, 1, 1, reason)
    }

    /// Fails the next fill, like [`fail_next_launch`](FaultInjector::fail_next_launch).
    pub fn fail_next_fill(&self, reason: &str) -> Result<()> {
        self.fail("fail_next_fill", FaultOperation::Fill, 1, 1, reason)
    }

    /// Injects a failure for one of the short forms.
    fn fail(
        &self,
        function: &str,
        operation: FaultOperation,
        number: u64,
        times: u64,
        reason: &str,
    ) -> Result<()> {
        let fault = Fault::new(FaultEffect::Fail { reason: reason.into() });
        let fault = Fault { operation: Some(operation), number, times: Some(times), ..fault };
        self.inject_as(function, vec![fault]).map_err(|(_, error)| error)
    }

    /// Marks a device as lost, permanently. Calls that use it return [`Error::DeviceLost`]; so does work that is queued
    /// on it or copies from or to it. Threads that wait for it are woken. A task that is already running continues.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`] if the driver has no device of this index.
    pub fn lose_device(&self, device: DeviceIndex, reason: &str) -> Result<()> {
        self.shared()?.lock()?.lose_device(device, reason)
    }

    /// Pauses copies that have not started, until every returned guard is dropped.
    pub fn pause_copies(&self) -> Result<PausedCopies> {
        let shared = self.shared()?;
        shared.lock()?.faults.pause_copies();
        Ok(PausedCopies(Arc::downgrade(&shared)))
    }

    /// Returns the number of live objects of each kind.
    pub fn live_objects(&self) -> Result<LiveObjects> {
        Ok(self.shared()?.lock()?.live_objects())
    }
}

impl fmt::Debug for FaultInjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultInjector")
    }
}

impl PausedCopies {
    /// Resumes the copy that has been paused for the longest time; returns false if no copy is paused. A copy that
    /// waits for an event, an engine or earlier work is not paused yet.
    pub fn step(&self) -> bool {
        let Some(shared) = self.0.upgrade() else { return false };
        shared.lock().is_ok_and(|mut state| state.begin_paused_copy())
    }

    /// Resumes copies, unless another guard pauses them.
    pub fn release(self) {}
}

impl Drop for PausedCopies {
    fn drop(&mut self) {
        let Some(shared) = self.0.upgrade() else { return };
        if let Ok(mut state) = shared.lock() {
            state.faults.resume_copies();
            state.advance_all();
        }
    }
}
