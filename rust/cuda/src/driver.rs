//! The CUDA driver before its runtime is started.

use std::sync::Arc;

use once_cell::race::OnceBox;

use interlock_core::device::DeviceType;
use interlock_driver::{Driver, DriverRuntime, Error, Result};

use super::discover::device_count;
use super::runtime::CudaRuntime;

/// The driver of the device type [`DeviceType::Cuda`].
///
/// Streams are created with `CU_STREAM_NON_BLOCKING` and do not synchronize with the default stream. The primary
/// context of a device is retained by the first operation that needs it.
#[derive(Default)]
pub(super) struct CudaDriver {
    runtime: OnceBox<Arc<CudaRuntime>>,
}

impl Driver for CudaDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    fn unavailable_reason(&self) -> Option<String> {
        let is_started = self.runtime.get().is_some_and(|runtime| runtime.is_current_process());
        if is_started { None } else { device_count::count().err().map(|status| status.to_string()) }
    }

    fn device_count(&self) -> u32 {
        match self.runtime.get() {
            Some(runtime) => runtime.device_count(),
            None => device_count::count().unwrap_or(0),
        }
    }

    fn device_count_if_known(&self) -> Option<u32> {
        match self.runtime.get() {
            Some(runtime) if runtime.is_current_process() => Some(runtime.device_count()),
            _ => device_count::device_count_if_known(),
        }
    }

    fn stale_env_warning(&self) -> Option<String> {
        device_count::stale_env_warning()
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        let runtime = self.runtime.get_or_try_init(|| {
            let count = device_count::count_by_starting().map_err(|status| Error::NoAccelerator {
                operation: "the accelerator",
                reason: status.to_string(),
            })?;
            Ok::<_, Error>(Box::new(Arc::new(CudaRuntime::new(count)?)))
        })?;
        if runtime.is_current_process() {
            Ok(runtime.clone())
        } else {
            Err(Error::Forked { what: "NVIDIA's driver" })
        }
    }
}
