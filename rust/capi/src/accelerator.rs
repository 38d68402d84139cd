//! Devices and their streams.

use std::fmt;
use std::ptr::{NonNull, null};
use std::str::FromStr;

use crate::error::check;
use crate::import::api;
use crate::raw::{self, handle, text};
use crate::state::ScopeGuard;
use crate::sys::*;
use crate::{Error, Result};

/// A device: the number of its type, as PyTorch's `c10::DeviceType` numbers it, and its index.
///
/// ```no_run
/// use interlock_capi::accelerator::Device;
/// use interlock_capi::sys::INTERLOCK_DEVICE_CUDA;
///
/// let device: Device = "cuda:1".parse()?;
/// assert_eq!((device.kind(), device.index()), (INTERLOCK_DEVICE_CUDA, Some(1)));
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    kind: u32,
    index: Option<u8>,
}

impl Device {
    /// The CPU.
    pub const CPU: Device = Device { kind: INTERLOCK_DEVICE_CPU, index: None };

    /// Creates a device. No index means the current device of the type.
    pub const fn new(kind: u32, index: Option<u8>) -> Self {
        Device { kind, index }
    }

    /// Returns the number of the type.
    pub const fn kind(self) -> u32 {
        self.kind
    }

    /// Returns the index.
    pub const fn index(self) -> Option<u8> {
        self.index
    }

    fn from_raw(raw: InterlockDevice) -> Self {
        Device { kind: raw.kind, index: u8::try_from(raw.index).ok() }
    }

    fn raw(self) -> InterlockDevice {
        InterlockDevice { kind: self.kind, index: self.index.map_or(-1, i32::from) }
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        device(|out, error| {
            // SAFETY: the text and both places are valid.
            unsafe { (api().device_parse)(text(name), out, error) }
        })
    }
}

fn device(read: impl FnOnce(*mut InterlockDevice, *mut InterlockError) -> i32) -> Result<Device> {
    let mut raw = Device::CPU.raw();
    check(|error| read(&raw mut raw, error))?;
    Ok(Device::from_raw(raw))
}

/// Calls `receive` with the address of a device, or null.
fn with_device<R>(device: Option<Device>, receive: impl FnOnce(*const InterlockDevice) -> R) -> R {
    let raw = device.map(Device::raw);
    receive(raw.as_ref().map_or(null(), |raw| raw))
}

/// Returns the current device of this thread.
pub fn current_device() -> Result<Device> {
    // SAFETY: both places are valid.
    device(|out, error| unsafe { (api().device_current)(out, error) })
}

/// Makes a device the current one of this thread until the guard is dropped.
pub fn device_guard(device: Device) -> Result<ScopeGuard> {
    // SAFETY: both places are valid.
    ScopeGuard::new(|guard, error| unsafe { (api().device_enter)(device.raw(), guard, error) })
}

/// Waits for all work that is queued on a device now. `None` means the current device.
pub fn synchronize(device: Option<Device>) -> Result<()> {
    // SAFETY: the device and the out pointer are valid.
    with_device(device, |device| check(|error| unsafe { (api().device_synchronize)(device, error) }))
}

/// Returns the current stream of a device on this thread. `None` means the current device.
pub fn current_stream(device: Option<Device>) -> Result<Stream> {
    // SAFETY: the device and both places are valid.
    let current = |device| handle(|out, error| unsafe { (api().stream_current)(device, out, error) });
    with_device(device, current).map(Stream)
}

/// A stream: a queue of work for one device.
///
/// ```no_run
/// use interlock_capi::accelerator::current_stream;
///
/// let stream = current_stream(None)?;
/// stream.launch("greet", || Ok(println!("hello")))?;
/// stream.synchronize()?;
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream(NonNull<InterlockStream>);

// SAFETY: the contract of the handle.
unsafe impl Send for Stream {}
// SAFETY: the contract of the handle.
unsafe impl Sync for Stream {}

impl Stream {
    fn info(&self) -> Result<InterlockStreamInfo> {
        let mut info = InterlockStreamInfo {
            size: size_of::<InterlockStreamInfo>() as u32,
            priority: 0,
            device: Device::CPU.raw(),
            id: 0,
            native: 0,
        };
        // SAFETY: the handle and both places are valid.
        check(|error| unsafe { (api().stream_info)(self.0.as_ptr(), &raw mut info, error) })?;
        Ok(info)
    }

    /// Returns the device of the stream.
    pub fn device(&self) -> Result<Device> {
        self.info().map(|info| Device::from_raw(info.device))
    }

    /// Returns the id, which is unique on the device while the stream is alive; 0 for the default stream.
    pub fn id(&self) -> Result<i64> {
        self.info().map(|info| info.id)
    }

    /// Returns the priority; smaller numbers run first.
    pub fn priority(&self) -> Result<i32> {
        self.info().map(|info| info.priority)
    }

    /// Returns the handle that the vendor's libraries use: for CUDA a `cudaStream_t`.
    pub fn native(&self) -> Result<u64> {
        self.info().map(|info| info.native)
    }

    /// Waits for all work that is queued now. Reports asynchronous errors.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle and the out pointer are valid.
        check(|error| unsafe { (api().stream_synchronize)(self.0.as_ptr(), error) })
    }

    /// Queues a function of the CPU, like `cuLaunchHostFunc`. It runs on a thread of the driver with the current thread
    /// state of the caller, and must not wait for this stream. Its error is reported asynchronously, by the next wait
    /// for the stream.
    pub fn launch(
        &self,
        name: &str,
        run: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<()> {
        let work = raw::work(Box::new(run));
        // SAFETY: the handle, the text and the out pointer are valid, and the closure may be called on any thread.
        check(|error| unsafe { (api().stream_launch)(self.0.as_ptr(), text(name), work, error) })
    }

    /// Makes this the current stream of its device, and that device the current one, until the guard is dropped.
    pub fn guard(&self) -> Result<ScopeGuard> {
        // SAFETY: the handle and both places are valid.
        ScopeGuard::new(|guard, error| unsafe { (api().stream_enter)(self.0.as_ptr(), guard, error) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle.
        unsafe { (api().stream_free)(self.0.as_ptr()) };
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "device {index} of type {}", self.kind),
            None => write!(f, "device of type {}", self.kind),
        }
    }
}
