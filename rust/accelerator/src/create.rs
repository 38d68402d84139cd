//! Creation of streams and events on a device that the caller names, or on the current one.

use interlock_driver::{KeepAlive, PriorityRange, StreamHandle};

use crate::event::Event;
use crate::stream::Stream;
use crate::{Device, EventOptions, Result, current, registry};

/// Streams of a device.
impl Stream {
    /// Returns the next of the 32 pooled streams that a device has for each priority. No device means the current
    /// device.
    ///
    /// `priority` is 0 or less. Streams with smaller numbers run first; numbers below the range of the device mean its
    /// greatest priority.
    pub fn new(device: Option<Device>, priority: i32) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "Stream")?;
        accelerator.home(index)?.pooled_stream(priority)
    }

    /// Creates a stream that is in no pool. It is destroyed with its last clone.
    pub fn dedicated(device: Option<Device>, priority: i32) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "Stream")?;
        accelerator.home(index)?.dedicated_stream(priority)
    }

    /// Returns the default stream of a device.
    pub fn default_of(device: Option<Device>) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "the default stream")?;
        accelerator.home(index)?.default_stream()
    }

    /// Returns the stream with a raw handle (for CUDA a `cudaStream_t`), which another library may have created. While
    /// the stream is alive, each call with its handle returns the same stream; the handle of a stream of this crate
    /// returns that stream.
    ///
    /// Memory that was allocated for the stream contains a clone of it. Freed memory remains cached for the handle, as
    /// in c10, until the allocator releases it: it does not prevent the destruction of the stream. If the driver
    /// creates another stream with the handle of a destroyed one, the other stream gets the cached memory, and first
    /// waits for the work that was queued on the destroyed stream.
    ///
    /// # Errors
    /// Returns [`Error::Argument`](crate::Error::Argument) if the driver recognizes that `raw` is not a stream of the
    /// device.
    ///
    /// # Safety
    /// `raw` is a stream of this device or one of the special handles of its library. It is valid as long as `owner`
    /// lives; without one, until the last clone of the result and the last buffer that was allocated for it have been
    /// dropped.
    pub unsafe fn external(device: Option<Device>, raw: u64, owner: Option<KeepAlive>) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "an external stream")?;
        // SAFETY: guaranteed by the caller.
        unsafe { accelerator.home(index)?.external_stream(raw, owner) }
    }

    /// Returns the stream with this id on a device, if it is alive.
    pub fn of_id(device: Option<Device>, id: i64) -> Result<Option<Self>> {
        let (accelerator, index) = current::resolve(device, "Stream")?;
        accelerator.home(index)?.stream_of_id(id)
    }

    /// Returns the stream with a handle of the driver in use, if it is alive.
    pub fn of_handle(handle: StreamHandle) -> Option<Self> {
        registry::try_accelerator()?.home(handle.device).ok()?.stream_of_handle(handle)
    }

    /// Returns the id of the dedicated stream that had a handle of the driver in use, if it is among the last 256 of its
    /// device that were destroyed.
    pub fn destroyed_id(handle: StreamHandle) -> Option<i64> {
        registry::try_accelerator()?.home(handle.device).ok()?.streams().destroyed_id(handle)
    }
}

/// Events of a device.
impl Event {
    /// Creates an event that is not recorded yet. Without a device or an index, it belongs to the device of the stream
    /// that records it first.
    pub fn new(device: Option<Device>, options: EventOptions) -> Result<Self> {
        let started = registry::accelerator_for(device, "Event")?.started();
        let index = device.map_or(Ok(None), |device| started.index_of(device, "Event"))?;
        Ok(Event::of(started, index, options))
    }

    /// Imports an event that another process created with `interprocess` and [exported](Event::export).
    pub fn import(device: Option<Device>, exported: &[u8]) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "Event.from_ipc_handle")?;
        let handle = accelerator.driver_for("the accelerator")?.import_event(index, exported)?;
        Ok(Event::imported(accelerator.started(), handle))
    }
}

/// Returns the range of stream priorities of a device. `None` means the current device.
pub fn priority_range(device: Option<Device>) -> Result<PriorityRange> {
    let (accelerator, index) = current::resolve(device, "accelerator.stream_priority_range")?;
    accelerator.driver_for("the accelerator")?.priority_range(index)
}
