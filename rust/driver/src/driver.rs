//! The interface of a driver before it is started.

use std::sync::Arc;

use interlock_core::device::DeviceType;

use super::runtime::DriverRuntime;
use crate::Result;

/// A driver for devices of one type: reports whether they are available and how many there are, and starts them.
///
/// Every method may be called from every thread. Only [`start`](Driver::start),
/// [`unavailable_reason`](Driver::unavailable_reason) and [`device_count`](Driver::device_count) may block.
///
/// ```
/// use std::sync::Arc;
///
/// use interlock_driver::{DeviceType, Driver, DriverRuntime, Error, Result};
///
/// /// A driver for devices that are not connected.
/// struct Unplugged;
///
/// impl Driver for Unplugged {
///     fn device_type(&self) -> DeviceType {
///         DeviceType::PrivateUseOne
///     }
///
///     fn unavailable_reason(&self) -> Option<String> {
///         Some("the cable is not connected".into())
///     }
///
///     fn device_count(&self) -> u32 {
///         0
///     }
///
///     fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
///         Err(Error::NoAccelerator { operation: "start", reason: "the cable is not connected".into() })
///     }
/// }
///
/// assert!(Unplugged.start().is_err());
/// ```
pub trait Driver: Send + Sync {
    /// Returns the type of the devices. Each type has one driver.
    fn device_type(&self) -> DeviceType;

    /// Returns the reason why the devices are not available, in one sentence, or `None` if they are. Does not start the
    /// driver.
    fn unavailable_reason(&self) -> Option<String>;

    /// Returns the number of devices, 0 if they are not available. Does not start the driver. The number is constant
    /// once the driver is started.
    fn device_count(&self) -> u32;

    /// Returns the number of devices if it is known without blocking, 0 if they are not available; `None` if
    /// [`unavailable_reason`](Driver::unavailable_reason) and [`device_count`](Driver::device_count) have to be called.
    /// Not called in a process that uses the driver, because the number is constant there.
    fn device_count_if_known(&self) -> Option<u32> {
        None
    }

    /// Returns whether the first device has virtual memory management, as far as that is known before the start. Never
    /// blocks.
    fn has_virtual_memory(&self) -> bool {
        false
    }

    /// Returns a warning, in one sentence, if the environment has changed since the driver read it and the change has
    /// no effect; otherwise `None`. Never blocks.
    fn stale_env_warning(&self) -> Option<String> {
        None
    }

    /// Starts the driver in this process. Later calls in the same process return the same runtime.
    ///
    /// # Errors
    /// Returns [`Error::NoAccelerator`](crate::Error::NoAccelerator) if the devices are not available, and
    /// [`Error::Forked`](crate::Error::Forked) if a parent process has used them and this process can't.
    fn start(&self) -> Result<Arc<dyn DriverRuntime>>;

    /// Returns the driver for a process that was forked from one that had started this driver; `None` if the devices
    /// can't be used there. Called in the child, so it must not wait for another thread.
    fn driver_for_child(&self) -> Option<Arc<dyn Driver>> {
        None
    }
}
