//! Waits for queued work of a device.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

use interlock_core::base::fork;
use interlock_driver::{StreamHandle, SyncPoint, WaitPolicy, WaitTarget};

use crate::interrupt::check_interrupts;
use crate::started::Started;
use crate::{Error, Result};

/// A wait that has begun. It covers the work that was queued when it began, and can be continued after a timeout.
///
/// ```
/// use std::time::Duration;
///
/// use interlock_accelerator::{HostFn, Stream};
///
/// interlock_accelerator::use_named("host")?;
/// let stream = Stream::new(None, 0)?;
/// stream.launch(HostFn::new("step", || Ok(())))?;
/// let wait = stream.begin_wait()?;
/// while !wait.wait_timeout(Duration::from_millis(100))? {
///     println!("still running");
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Wait {
    started: &'static Started,
    sync_point: SyncPoint,
    blocking: bool,
}

impl Wait {
    pub(crate) fn begin(started: &'static Started, target: WaitTarget, blocking: bool) -> Result<Self> {
        let driver = started.driver_for("the accelerator")?;
        check_no_self_wait(started, target)?;
        Ok(Wait { started, sync_point: driver.sync_point(target)?, blocking })
    }

    /// Waits until the work is done, or until the [interrupt check](super::set_interrupt_check) returns true.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`] and the errors of [`wait_timeout`](Wait::wait_timeout).
    pub fn wait(&self) -> Result<()> {
        /// The longest time between two interrupt checks.
        const SLICE: Duration = Duration::from_millis(20);
        while !self.wait_timeout(SLICE)? {
            check_interrupts()?;
        }
        Ok(())
    }

    /// Waits for at most `timeout`; returns whether the work is done.
    ///
    /// # Errors
    /// Returns asynchronous errors of the target that were not reported yet.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        let policy = WaitPolicy { timeout, blocking: self.blocking };
        self.started.driver_for("the accelerator")?.wait(&self.sync_point, policy)
    }
}

thread_local! {
    /// The stream whose host function this thread runs, and the fork generation: a child that the function forks does
    /// not have the stream.
    static CURRENT_HOST_FN: Cell<Option<(StreamHandle, u32)>> = const { Cell::new(None) };
}

/// Marks this thread as running a host function of a stream until it is dropped: a wait for that stream is then an error
/// instead of a deadlock. For code that runs host functions on a thread of its own.
///
/// ```
/// use interlock_accelerator::driver::StreamHandle;
/// use interlock_accelerator::{HostFnScope, is_in_host_fn};
///
/// let scope = HostFnScope::enter(StreamHandle { device: 0, raw: 1 });
/// assert!(is_in_host_fn());
/// drop(scope);
/// assert!(!is_in_host_fn());
/// ```
#[must_use = "the mark ends when the scope is dropped"]
#[derive(Debug)]
pub struct HostFnScope {
    previous: Option<(StreamHandle, u32)>,
    /// It belongs to the thread that it marks.
    not_send: PhantomData<*const ()>,
}

impl HostFnScope {
    /// Marks this thread as running a host function of `stream`.
    pub fn enter(stream: StreamHandle) -> Self {
        let current = (stream, fork::generation());
        HostFnScope { previous: CURRENT_HOST_FN.replace(Some(current)), not_send: PhantomData }
    }

    /// Marks this thread as running no host function.
    pub fn clear() {
        CURRENT_HOST_FN.set(None);
    }
}

impl Drop for HostFnScope {
    fn drop(&mut self) {
        // The thread may be ending.
        let _ = CURRENT_HOST_FN.try_with(|current| current.set(self.previous));
    }
}

/// Returns whether this thread runs a host function.
pub fn is_in_host_fn() -> bool {
    current_host_fn().is_some()
}

/// Returns the stream whose host function this thread runs.
pub(crate) fn current_host_fn() -> Option<StreamHandle> {
    let current = CURRENT_HOST_FN.try_with(Cell::get).ok().flatten();
    current.filter(|(_, generation)| *generation == fork::generation()).map(|(stream, _)| stream)
}

/// Returns an error if a host function waits for its own stream, which would deadlock.
fn check_no_self_wait(started: &Started, target: WaitTarget) -> Result<()> {
    let Some(current) = current_host_fn() else { return Ok(()) };
    let operation = match target {
        WaitTarget::Stream(stream) if stream == current => "Stream.synchronize",
        WaitTarget::Device(device) if device == current.device => "accelerator.synchronize",
        _ => return Ok(()),
    };
    Err(Error::SelfWait { device: started.device(current.device), operation: operation.to_owned() })
}
