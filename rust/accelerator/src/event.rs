//! Events, which mark points in streams.

use once_cell::race::OnceBox;

use interlock_core::base::sync::RelaxedU64;
use interlock_driver::{DeviceIndex, DriverRuntime, EventHandle, EventOptions, StreamHandle, WaitTarget};

use crate::started::Started;
use crate::stream::Stream;
use crate::timed_tasks::{self, Timed};
use crate::wait::Wait;
use crate::{Device, Error, Result};

/// No handle of a stream.
const UNKNOWN: u64 = u64::MAX;

/// An event, which marks a point in a stream. Other streams can wait for it, and two events measure the time between
/// them.
///
/// ```
/// use interlock_accelerator::{Event, EventOptions, HostFn, Stream};
///
/// interlock_accelerator::use_named("host")?;
/// let (producer, consumer) = (Stream::new(None, 0)?, Stream::new(None, 0)?);
/// let ready = Event::new(None, EventOptions::default())?;
/// producer.launch(HostFn::new("produce", || Ok(())))?;
/// ready.record(&producer)?;
/// consumer.wait_event(&ready)?;
/// consumer.launch(HostFn::new("consume", || Ok(())))?;
/// consumer.synchronize()?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct Event {
    started: &'static Started,
    options: EventOptions,
    device: Option<DeviceIndex>,
    /// The handle of the stream that has recorded the event last, for traces; [`UNKNOWN`] for none.
    recorded_on: RelaxedU64,
    /// Created on the first record, on the device of that stream unless the event has a device.
    handle: OnceBox<EventHandle>,
}

impl Event {
    /// Creates an event that is not recorded yet. Without a device, it belongs to the device of the stream that records
    /// it first.
    pub(crate) fn of(started: &'static Started, device: Option<DeviceIndex>, options: EventOptions) -> Self {
        Event { started, options, device, recorded_on: RelaxedU64::new(UNKNOWN), handle: OnceBox::new() }
    }

    /// Creates an event of a driver's event that was imported from another process.
    pub(crate) fn imported(started: &'static Started, handle: EventHandle) -> Self {
        let options = EventOptions { interprocess: true, ..EventOptions::default() };
        let (device, handle) = (Some(handle.device), OnceBox::with_value(Box::new(handle)));
        Event { started, options, device, recorded_on: RelaxedU64::new(UNKNOWN), handle }
    }

    /// Exports the event for another process.
    ///
    /// # Errors
    /// Returns [`Error::Device`] if the event was not created with `interprocess`, and errors of the driver.
    pub fn export(&self) -> Result<Vec<u8>> {
        let driver = self.driver()?;
        if !self.options.interprocess {
            return Err(self.misused("Event.ipc_handle", "the event was not made with interprocess"));
        }
        let index = self.device().index().unwrap_or_else(|| self.started.current_index());
        driver.export_event(self.handle_on(index)?)
    }

    fn driver(&self) -> Result<&dyn DriverRuntime> {
        self.started.driver_for("an Event")
    }

    /// Returns the options that the event was created with.
    pub fn options(&self) -> EventOptions {
        self.options
    }

    /// Returns the device of the event, without an index before the device is known.
    pub fn device(&self) -> Device {
        match self.handle.get().map(|handle| handle.device).or(self.device) {
            Some(index) => self.started.device(index),
            None => Device::of(self.started.kind()),
        }
    }

    /// Returns the handle of the driver; `None` before the first record creates it.
    pub fn handle(&self) -> Result<Option<EventHandle>> {
        self.driver().map(|_| self.handle.get().copied())
    }

    /// Returns the handle, creating it on `index` if there is none. An event never changes its device.
    fn handle_on(&self, index: DeviceIndex) -> Result<EventHandle> {
        let driver = self.driver()?;
        if let Some(handle) = self.handle.get() {
            return Ok(*handle);
        }
        let new = driver.create_event(self.device.unwrap_or(index), self.options)?;
        if self.handle.set(Box::new(new)).is_err() {
            // Another thread has created it in the meantime.
            driver.destroy_event(new);
        }
        Ok(self.handle.get().copied().unwrap_or(new))
    }

    /// Creates the event of the driver, which the first record would create. The event must have a device.
    pub(crate) fn created(self) -> Result<Self> {
        if let Some(device) = self.device {
            self.handle_on(device)?;
        }
        Ok(self)
    }

    /// Records the event after all work that is queued on the stream now. It replaces an earlier record.
    ///
    /// # Errors
    /// Returns [`Error::Device`] if the stream is on another device than the event, and errors of the driver.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let driver = stream.driver()?;
        let handle = self.handle_on(stream.device_index()).map_err(|error| error.during("Event.record"))?;
        if handle.device != stream.device_index() {
            let reason = format!("the stream is of {}, and the event of {}", stream.device(), self.device());
            return Err(self.misused("Event.record", &reason));
        }
        let stream = stream.handle()?;
        driver.record_event(handle, stream)?;
        self.recorded_on.set(stream.raw);
        Ok(())
    }

    /// Returns the stream that has recorded the event last, if it is known: another process may have.
    fn recorded_on(&self, handle: EventHandle) -> Option<StreamHandle> {
        let raw = self.recorded_on.get();
        (raw != UNKNOWN).then_some(StreamHandle { device: handle.device, raw })
    }

    /// Makes work that is queued on the stream from now on wait for the current record of the event. Has no effect if
    /// the event was never recorded.
    pub fn block(&self, stream: &Stream) -> Result<()> {
        self.driver()?;
        let driver = stream.driver()?;
        let Some(event) = self.handle.get().copied() else { return Ok(()) };
        let stream = stream.handle()?;
        let wait = || Timed::wait(stream, self.recorded_on(event));
        timed_tasks::timed(driver, wait, || driver.wait_event(stream, event))
    }

    /// Returns whether the event has completed, without blocking; true if it was never recorded.
    ///
    /// # Errors
    /// Returns asynchronous errors of the stream that were not reported yet.
    pub fn query(&self) -> Result<bool> {
        let driver = self.driver()?;
        self.handle.get().map_or(Ok(true), |handle| driver.check(WaitTarget::Event(*handle)))
    }

    /// Begins a wait for the current record of the event; `None` if it was never recorded. A waiting thread sleeps if
    /// the event was created with `blocking`; otherwise it polls.
    pub fn begin_wait(&self) -> Result<Option<Wait>> {
        self.driver()?;
        let begin = |handle: &EventHandle| {
            Wait::begin(self.started, WaitTarget::Event(*handle), self.options.blocking)
        };
        self.handle.get().map(begin).transpose()
    }

    /// Waits until the event has completed.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`] and the errors of [`query`](Event::query).
    pub fn synchronize(&self) -> Result<()> {
        self.begin_wait()?.map_or(Ok(()), |wait| wait.wait())
    }

    /// Returns the milliseconds from this event to `end`.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] unless both were created with `timing` and recorded, and [`Error::Device`] before
    /// both have completed.
    pub fn elapsed(&self, end: &Event) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let driver = self.driver()?;
        end.driver()?;
        let refused = |given: &str, allowed: &str| Error::Argument {
            name: format!("{OPERATION}: both events").into(),
            given: given.to_owned(),
            allowed: allowed.to_owned(),
        };
        if !(self.options.timing && end.options.timing) {
            return Err(refused("an event without timing", "created with EventOptions::timing"));
        }
        let (Some(start), Some(stop)) = (self.handle.get(), end.handle.get()) else {
            return Err(refused("an event that was never recorded", "recorded"));
        };
        if start.device != stop.device {
            let reason = format!("the events are on {} and {}", self.device(), end.device());
            return Err(self.misused(OPERATION, &reason));
        }
        driver.elapsed(*start, *stop)
    }

    fn misused(&self, operation: &'static str, reason: &str) -> Error {
        Error::device(self.device(), operation, reason)
    }
}

/// Events on streams.
impl Stream {
    /// Records an event after all work that is queued now.
    pub fn record_event(&self, event: &Event) -> Result<()> {
        event.record(self).map_err(|error| error.during("Stream.record_event"))
    }

    /// Makes work that is queued on this stream from now on wait for the current record of the event.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        event.block(self)
    }

    /// Makes work that is queued on this stream from now on wait for all work that is queued on `other` now.
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        let wait = || {
            let event = Event::of(other.started(), Some(other.device_index()), EventOptions::default());
            event.record(other)?;
            event.block(self)
        };
        wait().map_err(|error: Error| error.during("Stream.wait_stream"))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // A forked child can't use the events of its parent and does not destroy them.
        if let Ok(driver) = self.driver()
            && let Some(handle) = self.handle.get()
        {
            driver.destroy_event(*handle);
        }
    }
}
