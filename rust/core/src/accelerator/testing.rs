//! Devices that do nothing but make streams and note which are let go, for tests of what keeps streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::driver::{
    Address, Copy, DeviceIndex, DeviceProperties, Driver, DriverRuntime, EventHandle, EventOptions, Fill,
    MemoryInfo, StreamHandle, WaitTarget,
};
use super::in_use::Accelerator;
use super::{Device, DeviceType, Stream};
use crate::{Error, Result};

/// An accelerator that is not the one in use, so that a test has it for itself.
pub(crate) struct FakeDevices(&'static Accelerator);

impl FakeDevices {
    /// Two devices; `released` is called where a driver is called to let a stream go.
    pub(crate) fn new(released: impl Fn() + Send + Sync + 'static) -> Self {
        let runtime = Arc::new(FakeRuntime { made: AtomicU64::new(0), released: Box::new(released) });
        FakeDevices(Box::leak(Box::new(Accelerator::start(Arc::new(FakeDriver(runtime))).unwrap())))
    }

    /// A stream that is let go with its last clone.
    pub(crate) fn stream(&self, index: DeviceIndex) -> Stream {
        self.0.exclusive_stream(index, 0).unwrap()
    }
}

struct FakeDriver(Arc<FakeRuntime>);

struct FakeRuntime {
    made: AtomicU64,
    released: Box<dyn Fn() + Send + Sync>,
}

fn absent<T>() -> Result<T> {
    Err(Error::Unsupported { operation: "a test", device: Device::of(DeviceType::PrivateUseOne) })
}

impl Driver for FakeDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::PrivateUseOne
    }

    fn unavailable_reason(&self) -> Option<String> {
        None
    }

    fn device_count(&self) -> u32 {
        2
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        Ok(self.0.clone())
    }
}

// SAFETY: it gives out no memory and queues no work.
unsafe impl DriverRuntime for FakeRuntime {
    fn device_type(&self) -> DeviceType {
        DeviceType::PrivateUseOne
    }

    fn device_count(&self) -> u32 {
        2
    }

    fn create_stream(&self, device: DeviceIndex, _: i32) -> Result<StreamHandle> {
        Ok(StreamHandle { device, raw: self.made.fetch_add(1, Ordering::Relaxed) })
    }

    fn destroy_stream(&self, _: StreamHandle) {
        (self.released)();
    }

    fn properties(&self, _: DeviceIndex) -> Result<DeviceProperties> {
        absent()
    }

    fn memory_info(&self, _: DeviceIndex) -> Result<MemoryInfo> {
        absent()
    }

    fn allocate(&self, _: DeviceIndex, _: usize) -> Result<Address> {
        absent()
    }

    unsafe fn free(&self, _: DeviceIndex, _: Address, _: usize) -> Result<()> {
        absent()
    }

    fn allocate_pinned(&self, _: DeviceIndex, _: usize) -> Result<Address> {
        absent()
    }

    unsafe fn free_pinned(&self, _: Address, _: usize) -> Result<()> {
        absent()
    }

    fn default_stream(&self, _: DeviceIndex) -> Result<StreamHandle> {
        absent()
    }

    fn create_event(&self, _: DeviceIndex, _: EventOptions) -> Result<EventHandle> {
        absent()
    }

    fn destroy_event(&self, _: EventHandle) {}

    fn record_event(&self, _: EventHandle, _: StreamHandle) -> Result<()> {
        absent()
    }

    fn wait_event(&self, _: StreamHandle, _: EventHandle) -> Result<()> {
        absent()
    }

    fn check(&self, _: WaitTarget) -> Result<bool> {
        absent()
    }

    fn has_completed(&self, _: EventHandle) -> Result<bool> {
        absent()
    }

    unsafe fn copy(&self, _: StreamHandle, _: Copy) -> Result<()> {
        absent()
    }

    unsafe fn fill(&self, _: StreamHandle, _: Fill) -> Result<()> {
        absent()
    }
}
