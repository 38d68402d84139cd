//! The driver, as the rest of the crate sees it.

use once_cell::race::OnceBox;

use super::counting;
use super::probe;
use crate::accelerator::driver::{
    Address, Awaited, CaptureMode, Copy, DeviceIndex, DeviceProperties, Driver, EventHandle, EventOptions,
    ExecutableHandle, Fill, GraphHandle, GraphShape, MemoryInfo, PriorityRange, StreamHandle, Work,
};
use crate::accelerator::{Device, DeviceType};
use crate::{Error, Result};

/// The driver of the type [`DeviceType::Cuda`].
#[derive(Default)]
pub(super) struct CudaDriver {
    /// How many devices there were when it was started.
    started: OnceBox<u32>,
}

fn absent<T>() -> Result<T> {
    Err(Error::Unsupported { operation: "this", device: Device::CUDA })
}

// SAFETY: it gives out no memory and queues no work.
unsafe impl Driver for CudaDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    fn unavailable(&self) -> Option<String> {
        match self.started.get() {
            Some(_) => None,
            None => counting::count().err().map(|status| status.to_string()),
        }
    }

    fn device_count(&self) -> u32 {
        self.started.get().copied().unwrap_or_else(|| counting::count().unwrap_or(0))
    }

    fn changed_too_late(&self) -> Option<String> {
        counting::changed_too_late()
    }

    fn start(&self) -> Result<()> {
        let _ = probe::start();
        absent()
    }

    fn priority_range(&self, _: DeviceIndex) -> Result<PriorityRange> {
        absent()
    }

    fn create_stream(&self, _: DeviceIndex, _: i32) -> Result<StreamHandle> {
        absent()
    }

    fn release_stream(&self, _: StreamHandle) {}

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

    fn allocate_pinned(&self, _: usize) -> Result<Address> {
        absent()
    }

    unsafe fn release_pinned(&self, _: Address, _: usize) -> Result<()> {
        absent()
    }

    fn default_stream(&self, _: DeviceIndex) -> Result<StreamHandle> {
        absent()
    }

    fn adopt_stream(&self, _: DeviceIndex, _: u64) -> Result<StreamHandle> {
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
