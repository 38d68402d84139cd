//! Waits for queued work.

use std::time::Duration;

use interlock_core::base::backoff::Backoff;
use interlock_core::device::DeviceIndex;

use super::handle::{EventHandle, StreamHandle};
use crate::Result;

/// The target of a wait: all work of a stream or device that was queued before, or the work that an event marks.
///
/// ```
/// use interlock_driver::{DriverRuntime, Result, WaitTarget};
///
/// fn is_idle(runtime: &dyn DriverRuntime) -> Result<bool> {
///     runtime.check(WaitTarget::Device(0))
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// Everything queued on the stream.
    Stream(StreamHandle),
    /// What was queued on the stream before the event was last recorded there; nothing if it never was.
    Event(EventHandle),
    /// Everything queued on any stream of the device.
    Device(DeviceIndex),
}

impl WaitTarget {
    /// Returns the device whose work is waited for.
    pub fn device(self) -> DeviceIndex {
        match self {
            WaitTarget::Stream(stream) => stream.device,
            WaitTarget::Event(event) => event.device,
            WaitTarget::Device(device) => device,
        }
    }
}

/// The work that a wait covers: what [`DriverRuntime::sync_point`](super::DriverRuntime::sync_point) found queued.
/// Work that is queued later is not waited for; a sync point of a device may cover work that is queued right
/// afterwards, where a driver waits for the work of other libraries as well.
///
/// ```
/// use std::time::Duration;
///
/// use interlock_driver::{DriverRuntime, Result, SyncPoint, WaitPolicy, WaitTarget};
///
/// fn wait_a_second(runtime: &dyn DriverRuntime) -> Result<bool> {
///     let point: SyncPoint = runtime.sync_point(WaitTarget::Device(0))?;
///     runtime.wait(&point, WaitPolicy { timeout: Duration::from_secs(1), blocking: true })
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// The target of the wait.
    pub target: WaitTarget,
    /// Points on timelines to be reached, in the driver's own numbers.
    pub points: Vec<(u64, u64)>,
}

/// The longest time of a wait, and whether the thread sleeps or polls.
///
/// ```
/// use std::time::Duration;
///
/// use interlock_driver::WaitPolicy;
///
/// let policy = WaitPolicy { timeout: Duration::from_millis(100), blocking: true };
/// assert!(policy.blocking);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// The longest time to wait.
    pub timeout: Duration,
    /// Sleep until woken, where the driver supports that, instead of polling.
    pub blocking: bool,
}

impl WaitPolicy {
    /// Calls a query until it returns true; returns false on timeout.
    pub fn poll_until(self, mut query: impl FnMut() -> Result<bool>) -> Result<bool> {
        let mut backoff = Backoff::new(self.timeout, self.blocking);
        loop {
            if query()? {
                return Ok(true);
            }
            if !backoff.pause() {
                return Ok(false);
            }
        }
    }
}
