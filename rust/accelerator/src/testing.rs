//! Devices that do nothing but make streams and note which are let go, for tests of what keeps streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::driver::{
    Address, Awaited, CaptureMode, Copy, DeviceIndex, DeviceProperties, Driver, EventHandle, EventOptions,
    ExecutableHandle, Fill, GraphHandle, GraphShape, MemoryInfo, PriorityRange, StreamHandle, Work,
};
use super::in_use::Accelerator;
use super::{Device, DeviceType, Stream};
use crate::{Error, Result};

/// An accelerator that is not the one in use, so that a test has it for itself.
pub(crate) struct FakeDevices(&'static Accelerator);

impl FakeDevices {
    /// Two devices; `released` is called where a driver is called to let a stream go.
    pub(crate) fn new(released: impl Fn() + Send + Sync + 'static) -> Self {
        let driver = FakeDriver { made: AtomicU64::new(0), released: Box::new(released) };
        FakeDevices(Box::leak(Box::new(Accelerator::new(Arc::new(driver)))))
    }

    /// A stream that is let go with its last clone.
    pub(crate) fn stream(&self, index: DeviceIndex) -> Stream {
        self.0.exclusive_stream(index, 0).unwrap()
    }
}

struct FakeDriver {
    made: AtomicU64,
    released: Box<dyn Fn() + Send + Sync>,
}

fn absent<T>() -> Result<T> {
    Err(Error::Unsupported { operation: "a test", device: Device::of(DeviceType::PrivateUseOne) })
}

// SAFETY: it gives out no memory and queues no work.
unsafe impl Driver for FakeDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::PrivateUseOne
    }

    fn unavailable(&self) -> Option<String> {
        None
    }

    fn device_count(&self) -> u32 {
        2
    }

    fn priority_range(&self, _: DeviceIndex) -> Result<PriorityRange> {
        Ok(PriorityRange { least: 0, greatest: 0 })
    }

    fn create_stream(&self, device: DeviceIndex, _: i32) -> Result<StreamHandle> {
        Ok(StreamHandle { device, native: self.made.fetch_add(1, Ordering::Relaxed) })
    }

    fn release_stream(&self, _: StreamHandle) {
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

    unsafe fn release(&self, _: DeviceIndex, _: Address, _: usize) -> Result<()> {
        absent()
    }

    fn allocate_pinned(&self, _: DeviceIndex, _: usize) -> Result<Address> {
        absent()
    }

    unsafe fn release_pinned(&self, _: Address, _: usize) -> Result<()> {
        absent()
    }

    fn default_stream(&self, _: DeviceIndex) -> Result<StreamHandle> {
        absent()
    }

    unsafe fn adopt_stream(&self, _: DeviceIndex, _: u64) -> Result<StreamHandle> {
        absent()
    }

    fn create_event(&self, _: DeviceIndex, _: EventOptions) -> Result<EventHandle> {
        absent()
    }

    fn release_event(&self, _: EventHandle) {}

    fn record_event(&self, _: EventHandle, _: StreamHandle) -> Result<()> {
        absent()
    }

    fn wait_event(&self, _: StreamHandle, _: EventHandle) -> Result<()> {
        absent()
    }

    fn elapsed(&self, _: EventHandle, _: EventHandle) -> Result<f64> {
        absent()
    }

    fn is_done(&self, _: Awaited) -> Result<bool> {
        absent()
    }

    fn is_over(&self, _: EventHandle) -> Result<bool> {
        absent()
    }

    unsafe fn copy(&self, _: StreamHandle, _: Copy) -> Result<()> {
        absent()
    }

    unsafe fn fill(&self, _: StreamHandle, _: Fill) -> Result<()> {
        absent()
    }

    fn launch(&self, _: StreamHandle, _: Work) -> Result<()> {
        absent()
    }

    fn begin_capture(&self, _: StreamHandle, _: CaptureMode) -> Result<()> {
        absent()
    }

    fn capture_of(&self, _: StreamHandle) -> Result<Option<u64>> {
        absent()
    }

    fn end_capture(&self, _: StreamHandle) -> Result<GraphHandle> {
        absent()
    }

    fn instantiate(&self, _: GraphHandle) -> Result<ExecutableHandle> {
        absent()
    }

    fn replay(&self, _: ExecutableHandle, _: StreamHandle) -> Result<()> {
        absent()
    }

    fn shape(&self, _: GraphHandle) -> Result<GraphShape> {
        absent()
    }

    fn release_graph(&self, _: GraphHandle) {}

    fn release_executable(&self, _: ExecutableHandle) {}
}
