//! The host driver before its runtime is started.

use std::sync::{Arc, Weak};

use interlock_core::base::fork_local::ForkLocal;
use interlock_core::base::mutex::Mutex;
use interlock_core::device::DeviceType;
use interlock_driver::{Driver, DriverRuntime, Result};
use once_cell::race::OnceBox;

use crate::options::HostOptions;
use crate::runtime::HostRuntime;

/// A driver whose devices run on CPU threads. They have the type [`DeviceType::Host`].
///
/// Stream priorities range from 0, the least, to -3, the greatest. Each device has two copy engines, which run copies
/// and fills; a free engine serves the waiting stream with the greatest priority. Host functions need no engine.
///
/// Calls with a handle that does not belong to this driver return
/// [`Error::Argument`](interlock_driver::Error::Argument).
///
/// ```
/// use std::time::Duration;
///
/// use interlock_driver::{HostFn, WaitPolicy, WaitTarget};
/// use interlock_host::{HostDriver, HostOptions};
///
/// let runtime = HostDriver::new(HostOptions::default())?.start()?;
/// let stream = runtime.default_stream(0)?;
/// runtime.launch_host_fn(stream, HostFn::new("greet", || Ok(())))?;
/// let point = runtime.sync_point(WaitTarget::Stream(stream))?;
/// assert!(runtime.wait(&point, WaitPolicy { timeout: Duration::from_secs(60), blocking: true })?);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
pub struct HostDriver {
    options: HostOptions,
    /// Built separately in each process: a child may be forked between the selection of a driver and its start.
    runtime: ForkLocal<OnceBox<Arc<HostRuntime>>>,
    /// The driver for a forked child. Threads of the child that request it concurrently share one.
    in_child: ForkLocal<Mutex<Weak<HostDriver>>>,
}

impl HostDriver {
    /// Creates a driver.
    ///
    /// # Errors
    /// Returns [`Error::Argument`](interlock_driver::Error::Argument) for more than 128 devices, and for a fault
    /// injector that is bound to another started driver.
    #[expect(clippy::new_ret_no_self, reason = "callers need only the trait")]
    pub fn new(options: HostOptions) -> Result<Arc<dyn Driver>> {
        options.check()?;
        Ok(HostDriver::bound(options)?)
    }

    fn bound(options: HostOptions) -> Result<Arc<HostDriver>> {
        let driver = HostDriver { options, runtime: ForkLocal::default(), in_child: ForkLocal::default() };
        driver.options.faults.bind(driver.runtime().shared(), false)?;
        Ok(Arc::new(driver))
    }

    /// Returns the runtime of this process. Faults are injected into it even before it is started.
    fn runtime(&self) -> &Arc<HostRuntime> {
        self.runtime.get().get_or_init(|| Box::new(Arc::new(HostRuntime::new(&self.options))))
    }
}

impl Driver for HostDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::Host
    }

    fn unavailable_reason(&self) -> Option<String> {
        None
    }

    fn device_count(&self) -> u32 {
        self.options.devices
    }

    fn device_count_if_known(&self) -> Option<u32> {
        Some(self.options.devices)
    }

    fn has_virtual_memory(&self) -> bool {
        self.options.devices > 0
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        let runtime = self.runtime();
        self.options.faults.bind(runtime.shared(), true)?;
        Ok(runtime.clone())
    }

    fn driver_for_child(&self) -> Option<Arc<dyn Driver>> {
        let mut cached = self.in_child.get().lock();
        if let Some(driver) = cached.upgrade() {
            return Some(driver);
        }
        let driver = HostDriver::bound(self.options.clone()).ok()?;
        *cached = Arc::downgrade(&driver);
        Some(driver)
    }
}
