//! Devices of one type, before they are used.

use std::sync::Arc;

use interlock_core::device::DeviceType;

use super::runtime::DriverRuntime;
use crate::Result;

/// Devices of one type: whether they can be used, how many there are, and how to start.
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

    /// Returns why the devices can't be used, in one sentence, or `None` if they can. Does not start the driver.
    fn unavailable_reason(&self) -> Option<String>;

    /// Returns the number of devices; 0 if they can't be used. Does not start the driver, and does not change once
    /// the driver is started.
    fn device_count(&self) -> u32;

    /// Returns the number of devices if that is known without blocking: 0 where they can't be used, `None` where
    /// [`unavailable_reason`](Driver::unavailable_reason) and [`device_count`](Driver::device_count) have to be called.
    /// These are not called in a process that uses the driver: it has the devices that it had at the start.
    fn device_count_if_known(&self) -> Option<u32> {
        None
    }

    /// Returns whether the first device has virtual memory, as far as that is known before the start. It does not
    /// block.
    fn has_virtual_memory(&self) -> bool {
        false
    }

    /// Returns a sentence about a change of the environment that the started driver does not follow, or `None`. It
    /// does not block.
    fn stale_env_warning(&self) -> Option<String> {
        None
    }

    /// Starts the driver in this process. Later calls in the same process return the same runtime.
    ///
    /// # Errors
    /// [`Error::NoAccelerator`](crate::Error::NoAccelerator) where the devices can't be used, and
    /// [`Error::Forked`](crate::Error::Forked) where a parent process has used them and this one can't.
    fn start(&self) -> Result<Arc<dyn DriverRuntime>>;

    /// Returns the driver for a process that was forked from one in which this driver was started; `None` if the
    /// devices can't be used there. It is called in the child, so it must not wait for another thread.
    fn driver_for_child(&self) -> Option<Arc<dyn Driver>> {
        None
    }
}
