//! The driver in use.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use interlock_core::base::fork;
use interlock_core::binding::thread as binding;
use interlock_driver::{DeviceIndex, Driver, DriverRuntime};

use crate::{Device, DeviceType, Error, Result};

/// A started driver, its devices, and what all objects on them share.
pub(crate) struct Started {
    driver: Arc<dyn Driver>,
    kind: DeviceType,
    runtime: Arc<dyn DriverRuntime>,
    /// The fork generation of the process that started the driver.
    generation: u32,
    device_count: usize,
    routes: Arc<Routes>,
    last_stream_id: AtomicI64,
}

/// The number of captures that are underway, times [`CAPTURE`], and the number of scopes of memory pools that any state
/// contains. In one word, because each allocation reads it: at 0 no request uses another pool than the default one.
pub(crate) type Routes = AtomicU64;

const CAPTURE: u64 = 1 << 32;

impl Started {
    /// Starts a driver in this process.
    pub(crate) fn start(driver: Arc<dyn Driver>) -> Result<Self> {
        let runtime = driver.start()?;
        let count = DeviceIndex::try_from(runtime.device_count()).unwrap_or(DeviceIndex::MAX);
        Ok(Started {
            kind: driver.device_type(),
            driver,
            runtime,
            generation: fork::generation(),
            device_count: count.into(),
            routes: Arc::default(),
            last_stream_id: AtomicI64::new(0),
        })
    }

    /// Returns whether this process started the driver, and not a process that it was forked from.
    #[inline]
    pub(crate) fn is_current_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Returns the fork generation of the process that started the driver.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the driver, in whichever process it was started.
    pub(crate) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Returns the runtime, in whichever process the driver was started.
    pub(crate) fn runtime(&self) -> &Arc<dyn DriverRuntime> {
        &self.runtime
    }

    /// Returns the runtime of the driver for `what`, an object that must be of this process.
    pub(crate) fn driver_for(&self, what: &'static str) -> Result<&dyn DriverRuntime> {
        if self.is_current_process() { Ok(&*self.runtime) } else { Err(Error::Forked { what }) }
    }

    pub(crate) fn kind(&self) -> DeviceType {
        self.kind
    }

    pub(crate) fn device_count(&self) -> usize {
        self.device_count
    }

    /// Returns the indices of all devices.
    pub(crate) fn indices(&self) -> impl Iterator<Item = DeviceIndex> + use<> {
        (0..self.device_count).filter_map(|index| DeviceIndex::try_from(index).ok())
    }

    /// Returns the device with this index.
    pub(crate) fn device(&self, index: DeviceIndex) -> Device {
        Device::with_index(self.kind, index)
    }

    /// Returns the index of a device that was passed to `operation`, `None` for a device without an index.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`] for a device that this driver does not have.
    pub(crate) fn index_of(&self, device: Device, operation: &'static str) -> Result<Option<DeviceIndex>> {
        let fits = device.kind() == self.kind
            && device.index().is_none_or(|index| usize::from(index) < self.device_count);
        if fits {
            return Ok(device.index());
        }
        let reason = available_devices(self.kind, self.device_count);
        Err(Error::DeviceUnavailable { operation: operation.to_owned(), device, reason })
    }

    /// Returns the index of this thread's current device, 0 if the driver does not have that device.
    pub(crate) fn current_index(&self) -> DeviceIndex {
        current_index_or_zero(self.device_count)
    }

    /// Returns the word that is 0 while no request is routed to another pool than the default one.
    pub(crate) fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// Returns whether a graph is being captured.
    #[inline]
    pub(crate) fn captures_underway(&self) -> bool {
        self.routes.load(Ordering::Acquire) >= CAPTURE
    }

    /// Counts a capture that begins.
    pub(crate) fn begin_capture(&self) {
        self.routes.fetch_add(CAPTURE, Ordering::Release);
    }

    /// Counts a capture that ends.
    pub(crate) fn end_capture(&self) {
        self.routes.fetch_sub(CAPTURE, Ordering::Release);
    }

    /// Counts a scope of a memory pool that begins.
    pub(crate) fn begin_pool_scope(&self) {
        self.routes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a scope of a memory pool that no state contains any more.
    pub(crate) fn end_pool_scope(&self) {
        self.routes.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the number of a new stream that is in no pool, from 1.
    pub(crate) fn next_stream_id(&self) -> i64 {
        self.last_stream_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Started({})", self.kind)
    }
}

/// Returns the index of this thread's current device, 0 if it is not below `count`.
pub(crate) fn current_index_or_zero(count: usize) -> DeviceIndex {
    // A state that was inherited by a fork, or captured, may name a device of an accelerator that had more.
    binding::current_device().filter(|index| usize::from(*index) < count).unwrap_or(0)
}

/// Describes the devices of the driver of this process, for an error.
pub(crate) fn available_devices(kind: DeviceType, count: usize) -> String {
    let devices = match count {
        0..=4 => (0..count).map(|index| format!("{kind}:{index}")).collect::<Vec<_>>().join(", "),
        _ => format!("{kind}:0 to {kind}:{}", count - 1),
    };
    format!("this process uses the driver {:?} ({devices})", kind.name())
}
