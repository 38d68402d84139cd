//! Waits for queued work.

use std::time::Duration;

use interlock_core::base::backoff::Backoff;
use interlock_core::device::DeviceIndex;

use super::handle::{EventHandle, StreamHandle};
use crate::{Result, races};

/// The target of a wait: a stream, an event or a device.
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
    /// All work that is queued on the stream.
    Stream(StreamHandle),
    /// The work before the last record of the event; no work if it was never recorded.
    Event(EventHandle),
    /// All work that is queued on any stream of the device.
    Device(DeviceIndex),
}

impl WaitTarget {
    /// Returns the device of the target.
    pub fn device(self) -> DeviceIndex {
        match self {
            WaitTarget::Stream(stream) => stream.device,
            WaitTarget::Event(event) => event.device,
            WaitTarget::Device(device) => device,
        }
    }
}

/// The work that a wait covers: the work that was queued when
/// [`DriverRuntime::sync_point`](super::DriverRuntime::sync_point) was called. Later work is not covered, except that a
/// sync point of a device may cover work that is queued right afterwards if the driver also waits for the work of other
/// libraries.
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
    /// The points to be reached.
    pub points: Vec<WaitPoint>,
    /// The point that a wait reaches, for the detection of races; the default of a driver that does not report its work.
    pub order: races::Point,
}

impl SyncPoint {
    /// Describes the work of a driver that does not report its work to the detection of races.
    pub fn new(target: WaitTarget, points: Vec<WaitPoint>) -> Self {
        SyncPoint { target, points, order: races::Point::default() }
    }
}

/// A point that a wait covers.
///
/// ```
/// use interlock_driver::{TimelinePoint, WaitPoint};
///
/// let point = WaitPoint::InStream(TimelinePoint { stream: 7, position: 2 });
/// assert_ne!(point, WaitPoint::Completed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPoint {
    /// A point on the timeline of a stream.
    InStream(TimelinePoint),
    /// The completion of all work of the device, requested from the driver with this ticket.
    OfDevice {
        /// The number of the request.
        ticket: u64,
    },
    /// Work that has completed.
    Completed,
}

impl WaitPoint {
    /// Returns the point on the timeline of a stream, if it is one.
    pub fn in_stream(self) -> Option<TimelinePoint> {
        match self {
            WaitPoint::InStream(point) => Some(point),
            WaitPoint::OfDevice { .. } | WaitPoint::Completed => None,
        }
    }
}

/// A point on the timeline of a stream. Both numbers have a meaning for the driver only.
///
/// ```
/// use interlock_driver::TimelinePoint;
///
/// let point = TimelinePoint { stream: 7, position: 2 };
/// assert_eq!(point.position, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePoint {
    /// The number of the stream.
    pub stream: u64,
    /// The position on its timeline, such as the number of commands before the point.
    pub position: u64,
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
    /// Whether the thread sleeps until it is woken, if the driver supports that, instead of polling.
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
