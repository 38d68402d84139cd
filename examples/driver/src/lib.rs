//! A first driver for devices of interlock. Copy it and replace its devices with yours.
//!
//! The crate depends on `interlock-driver` alone. A driver consists of two objects:
//!
//! - [`ExampleDriver`] implements [`Driver`] (this file): the type and the number of the devices, and how they start.
//! - `ExampleRuntime` implements [`DriverRuntime`] (`runtime.rs`): everything after the start. It has all required
//!   methods and four optional ones (`is_host_accessible`, `sync_point`, `wait`, `launch_host_fn`). The defaults of the
//!   rest report that it does not support virtual memory, times of events, events of other processes, external streams
//!   and graphs.
//!
//! The devices are parts of this program:
//!
//! - Memory (`memory.rs`) is allocated with the allocator of Rust, up to a fixed number of bytes for each device.
//! - A stream (`stream.rs`) is a thread with a queue. The number of commands that the thread has completed is the
//!   timeline of the stream. An event is a position on a timeline, and so is what a thread waits for.
//! - An error of queued work is stored with its position, and reported once, by the next query or wait that covers it.
//!
//! `tests/suite.rs` runs the suite that every driver has to pass. A program chooses the driver before it uses a device
//! (`examples/embed_host` does), or registers it for the case that neither program nor environment chooses one:
//!
//! ```ignore
//! interlock::accelerator::use_driver(ExampleDriver::new(2)?)?;
//! ```
//!
//! A child that is forked from a program which has started the driver lacks the threads of the streams, so the devices
//! can't be used there: [`Driver::driver_for_child`] keeps its default.

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
    /// The runtime, with the id of the process that has started it.
    started: OnceLock<(u32, Result<Arc<ExampleRuntime>>)>,
}

impl ExampleDriver {
    /// Creates a driver with a number of devices.
    ///
    /// # Errors
    /// [`Error::Core`] if the name of the devices is not allowed.
    pub fn new(device_count: u8) -> Result<Arc<Self>> {
        let device_type = DeviceType::named("example")?;
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

/// Locks a mutex. No state is half changed where a panic could occur, so a poisoned one is used further.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
