//! A runtime with the required methods, most of which return an error, for tests of the defaults.

use crate::{
    Address, Copy, Device, DeviceIndex, DeviceProperties, DeviceType, DriverRuntime, Error, EventHandle,
    EventOptions, Fill, MemoryInfo, Result, StreamHandle, WaitTarget,
};

pub(crate) struct MockRuntime;

fn absent<T>() -> Result<T> {
    Err(Error::Unsupported { operation: "a test", device: Device::of(DeviceType::PrivateUseOne) })
}

// SAFETY: it allocates no memory and queues no work.
unsafe impl DriverRuntime for MockRuntime {
    fn device_type(&self) -> DeviceType {
        DeviceType::PrivateUseOne
    }

    fn device_count(&self) -> u32 {
        2
    }

    fn create_stream(&self, device: DeviceIndex, _: i32) -> Result<StreamHandle> {
        Ok(StreamHandle { device, raw: 1 })
    }

    fn destroy_stream(&self, _: StreamHandle) {}

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
