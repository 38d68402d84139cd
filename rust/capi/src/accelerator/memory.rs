//! Memory of devices.

use std::ptr::{NonNull, null};

use super::{Device, Stream, with_device};
use crate::Result;
use crate::error::check;
use crate::import::api;
use crate::raw::handle;
use crate::sys::*;

/// Uninitialized memory of a device, from interlock's caching allocator. It is freed when it is dropped; work that is
/// queued on the stream of the allocation may still use it.
///
/// ```no_run
/// use interlock_capi::accelerator::current_stream;
/// use interlock_capi::accelerator::memory::DeviceBuffer;
///
/// let stream = current_stream(None)?;
/// let buffer = DeviceBuffer::on(&stream, 1 << 20)?;
/// println!("{:#x}", buffer.address()?);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceBuffer(NonNull<InterlockBuffer>);

// SAFETY: the contract of the handle.
unsafe impl Send for DeviceBuffer {}
// SAFETY: the contract of the handle.
unsafe impl Sync for DeviceBuffer {}

impl DeviceBuffer {
    /// Allocates `bytes` bytes on a device for its current stream. `None` means the current device.
    pub fn new(device: Option<Device>, bytes: u64) -> Result<Self> {
        with_device(device, |device| DeviceBuffer::allocate(device, null(), bytes))
    }

    /// Allocates `bytes` bytes for a stream, on its device.
    pub fn on(stream: &Stream, bytes: u64) -> Result<Self> {
        DeviceBuffer::allocate(null(), stream.0.as_ptr(), bytes)
    }

    fn allocate(device: *const InterlockDevice, stream: *const InterlockStream, bytes: u64) -> Result<Self> {
        // SAFETY: device and stream are null or valid, and both places are valid.
        let allocate = |place, error| unsafe { (api().buffer_allocate)(device, stream, bytes, place, error) };
        handle(allocate).map(DeviceBuffer)
    }

    fn info(&self) -> Result<InterlockBufferInfo> {
        let mut info = InterlockBufferInfo {
            size: size_of::<InterlockBufferInfo>() as u32,
            reserved: 0,
            device: Device::CPU.raw(),
            address: 0,
            host: std::ptr::null_mut(),
            bytes: 0,
        };
        // SAFETY: the handle and both places are valid.
        check(|error| unsafe { (api().buffer_info)(self.0.as_ptr(), &raw mut info, error) })?;
        Ok(info)
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> Result<u64> {
        self.info().map(|info| info.bytes)
    }

    /// Returns the device of the bytes.
    pub fn device(&self) -> Result<Device> {
        self.info().map(|info| Device::of_raw(info.device))
    }

    /// Returns the device address of the first byte; 0 if there are no bytes.
    pub fn address(&self) -> Result<u64> {
        self.info().map(|info| info.address)
    }

    /// Returns a CPU pointer to the first byte, if the CPU can access memory of the device. While the caller uses it, no
    /// queued work may use the bytes.
    pub fn pointer(&self) -> Result<Option<NonNull<u8>>> {
        self.info().map(|info| NonNull::new(info.host.cast::<u8>()))
    }

    /// Records that work on `stream` uses the bytes: when they are freed, they are reused only after the work that is
    /// queued there. Has no effect for the stream that they were allocated for.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        // SAFETY: the handles and the place are valid.
        check(|error| unsafe { (api().buffer_record_stream)(self.0.as_ptr(), stream.0.as_ptr(), error) })
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle.
        unsafe { (api().buffer_free)(self.0.as_ptr()) };
    }
}
