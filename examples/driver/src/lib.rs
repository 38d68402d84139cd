//! A minimal driver for devices of interlock. Copy it and replace its devices with yours.
//!
//! The crate depends on `interlock-driver` alone. A driver consists of two objects:
//!
//! - [`ExampleDriver`] implements [`Driver`] (this file): the type and the number of the devices, and how they start.
//! - `ExampleRuntime` implements [`DriverRuntime`] (`runtime.rs`): all operations after the start. It implements the
//!   required methods and four optional ones (`is_host_accessible`, `sync_point`, `wait`, `launch_host_fn`). The
//!   default methods report that virtual memory, event timing, interprocess events, external streams and graphs are
//!   unsupported.
//!
//! The devices are emulated with CPU threads and CPU memory:
//!
//! - Memory (`memory.rs`) comes from Rust's global allocator, up to a fixed number of bytes for each device.
//! - A stream (`stream.rs`) is a thread with a queue. The number of commands that the thread has completed is the
//!   timeline of the stream. Events and sync points are positions on timelines.
//! - An error of queued work is stored with its position and reported once, by the next query or wait that covers it.
//!
//! `tests/suite.rs` runs the suite that every driver has to pass. A program selects the driver before it uses a device
//! (`examples/embed_host` does), or registers it as a default for programs that select none:
//!
//! ```ignore
//! interlock::accelerator::use_driver(ExampleDriver::new(2)?)?;
//! ```
//!
//! A forked child of a process that has started the driver lacks the threads of the streams, so it can't use the
//! devices: [`Driver::driver_for_child`] keeps its default.

mod memory;
mod runtime;
mod stream;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use interlock_driver::{DeviceType, Driver, DriverRuntime, Error, Result};

use runtime::ExampleRuntime;

/// The driver of the devices `example:0`, `example:1` and so on.
pub struct ExampleDriver {
    device_type: DeviceType,
    device_count: u8,
    /// The id of the process that started the driver, and the runtime.
    started: OnceLock<(u32, Result<Arc<ExampleRuntime>>)>,
}

impl ExampleDriver {
    /// Creates a driver with a number of devices.
    ///
    /// # Errors
    /// Returns [`Error::Core`] if the name of the device type is invalid.
    pub fn new(device_count: u8) -> Result<Arc<Self>> {
        let device_type = DeviceType::from_name("example")?;
        Ok(Arc::new(ExampleDriver { device_type, device_count, started: OnceLock::new() }))
    }
}

impl Driver for ExampleDriver {
    fn device_type(&self) -> DeviceType {
        self.device_type
    }

    fn unavailable_reason(&self) -> Option<String> {
        None
    }

    fn device_count(&self) -> u32 {
        self.device_count.into()
    }

    fn device_count_if_known(&self) -> Option<u32> {
        Some(self.device_count())
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        let process = std::process::id();
        let start = || (process, ExampleRuntime::new(self.device_type, self.device_count).map(Arc::new));
        match self.started.get_or_init(start) {
            (starter, _) if *starter != process => Err(Error::Forked { what: "the example driver" }),
            (_, Ok(runtime)) => Ok(runtime.clone()),
            (_, Err(error)) => Err(error.clone()),
        }
    }
}

/// Locks a mutex. Ignores poisoning, because no code that can panic leaves the state inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
