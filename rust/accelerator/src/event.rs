//! Marks in streams.

use once_cell::race::OnceBox;

use interlock_driver::{DeviceIndex, DriverRuntime, EventHandle, EventOptions, WaitTarget};

use super::accelerator::Accelerator;
use super::{Device, Error, Result, Stream, Waiting, current, registry};

/// An event: a mark in a stream. Other streams wait for it, and two events measure the time between them.
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
    home: &'static Accelerator,
    options: EventOptions,
    device: Option<DeviceIndex>,
    /// Made when it is first recorded, on the device of that stream, unless it was made for a device.
    made: OnceBox<EventHandle>,
}

impl Event {
    /// An event that is recorded nowhere. Without a device, or an index, it belongs to the device of the stream
    /// that records it first.
    pub fn new(device: Option<Device>, options: EventOptions) -> Result<Self> {
        let home = registry::in_use("Event")?;
        let device = device.map_or(Ok(None), |device| home.index_of(device, "Event"))?;
        Ok(Event { home, options, device, made: OnceBox::new() })
    }

    /// One that another process made with `interprocess`, from what [`export`](Event::export) gave there.
    pub fn import(device: Option<Device>, exported: &[u8]) -> Result<Self> {
        let (home, index) = current::resolve(device, "Event.from_ipc_handle")?;
        let handle = home.driver_for("the accelerator")?.import_event(index, exported)?;
        let options = EventOptions { interprocess: true, ..EventOptions::default() };
        Ok(Event { home, options, device: Some(index), made: OnceBox::with_value(Box::new(handle)) })
    }

    /// What another process opens it with.
    pub fn export(&self) -> Result<Vec<u8>> {
        let driver = self.driver()?;
        if !self.options.interprocess {
            return Err(self.misused("Event.ipc_handle", "the event was not made with interprocess"));
        }
        let (_, index) = current::resolve(Some(self.device()), "Event.ipc_handle")?;
        driver.export_event(self.handle_on(index)?)
    }

    fn driver(&self) -> Result<&dyn DriverRuntime> {
        self.home.driver_for("an Event")
    }

    /// What it was made for.
    pub fn options(&self) -> EventOptions {
        self.options
    }

    /// Its device; without an index where it has none yet.
    pub fn device(&self) -> Device {
        match self.made.get().map(|handle| handle.device).or(self.device) {
            Some(index) => self.home.device(index),
            None => Device::of(self.home.kind()),
        }
    }

    /// What its driver and other libraries call it; `None` before it is made.
    pub fn handle(&self) -> Result<Option<EventHandle>> {
        self.driver().map(|_| self.made.get().copied())
    }

    /// The handle, made now if there is none; an event stays on one device.
    fn handle_on(&self, index: DeviceIndex) -> Result<EventHandle> {
        let driver = self.driver()?;
        if let Some(handle) = self.made.get() {
            return Ok(*handle);
        }
        let made = driver.create_event(self.device.unwrap_or(index), self.options)?;
        if self.made.set(Box::new(made)).is_err() {
            // Another thread was faster.
            driver.destroy_event(made);
        }
        Ok(self.made.get().copied().unwrap_or(made))
    }

    /// Marks the place after all that is queued on the stream, in place of what it marked before. The stream
    /// must be of the device of the event.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let driver = stream.driver()?;
        let handle = self.handle_on(stream.device_index()).map_err(|error| error.during("Event.record"))?;
        if handle.device != stream.device_index() {
            let reason = format!("the stream is of {}, and the event of {}", stream.device(), self.device());
            return Err(self.misused("Event.record", &reason));
        }
        driver.record_event(handle, stream.handle()?)
    }

    /// What is queued on the stream from now on waits for what the event marks now; for nothing if it was never
    /// recorded.
    pub fn hold_back(&self, stream: &Stream) -> Result<()> {
        self.driver()?;
        let driver = stream.driver()?;
        match self.made.get() {
            Some(handle) => driver.wait_event(stream.handle()?, *handle),
            None => Ok(()),
        }
    }

    /// Whether all before the mark has been done; true if it was never recorded. Fails with what failed there
    /// and was not told yet.
    pub fn is_done(&self) -> Result<bool> {
        let driver = self.driver()?;
        self.made.get().map_or(Ok(true), |handle| driver.check(WaitTarget::Event(*handle)))
    }

    /// Begins to wait until all before the mark, where it is now, has been done; `None` if it was never recorded.
    /// A thread that waits sleeps if the event was made with `blocking`, else it asks again and again.
    pub fn waiting(&self) -> Result<Option<Waiting>> {
        self.driver()?;
        let begin = |handle: &EventHandle| {
            Waiting::begin(self.home, WaitTarget::Event(*handle), self.options.blocking)
        };
        self.made.get().map(begin).transpose()
    }

    /// Waits until all before the mark has been done. Fails as [`is_done`](Event::is_done).
    pub fn synchronize(&self) -> Result<()> {
        self.waiting()?.map_or(Ok(()), |waiting| waiting.to_the_end())
    }

    /// Returns the milliseconds from this event to `end`. Fails with [`Error::Argument`] unless both were made with `timing`
    /// and recorded, and with [`Error::Device`] before both are reached.
    pub fn elapsed(&self, end: &Event) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let driver = self.driver()?;
        end.driver()?;
        let refused = |given: &str, allowed: &str| Error::Argument {
            name: OPERATION,
            given: given.to_owned(),
            allowed: allowed.to_owned(),
        };
        if !(self.options.timing && end.options.timing) {
            return Err(refused("an event made without timing", "events made with enable_timing=True"));
        }
        let (Some(start), Some(stop)) = (self.made.get(), end.made.get()) else {
            return Err(refused("an event that was never recorded", "recorded events"));
        };
        if start.device != stop.device {
            let reason = format!("the events are of {} and {}", self.device(), end.device());
            return Err(self.misused(OPERATION, &reason));
        }
        driver.elapsed(*start, *stop)
    }

    fn misused(&self, operation: &'static str, reason: &str) -> Error {
        Error::Device {
            device: self.device(),
            operation: operation.into(),
            reason: reason.into(),
            code: None,
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // A child can't reach the events of its parent; they are left alone.
        if let Ok(driver) = self.driver()
            && let Some(handle) = self.made.get()
        {
            driver.destroy_event(*handle);
        }
    }
}
