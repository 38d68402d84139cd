//! The accelerator in use: a started driver, its devices, and what they share.

use std::fmt;
use std::sync::Arc;

use interlock_driver::{CaptureId, DeviceIndex, Driver, DriverRuntime, PoolId};

use crate::allocators::pinned::PinnedCache;
use crate::allocators::{CachingAllocator, trace};
use crate::device::DeviceState;
use crate::private_pools::{PrivatePools, UsedPool};
use crate::started::Started;
use crate::stream::{Stream, StreamHome};
use crate::{Device, Error, Result};

/// A started driver with the state of its devices. It is never freed once it is in use.
pub(crate) struct Accelerator {
    started: Arc<Started>,
    devices: Vec<DeviceState>,
    private_pools: PrivatePools,
    pinned: PinnedCache,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Accelerator({})", self.started.kind())
    }
}

impl Accelerator {
    /// Starts a driver in this process.
    pub(crate) fn start(driver: Arc<dyn Driver>) -> Result<Self> {
        let started = Arc::new(Started::start(driver)?);
        Ok(Accelerator {
            devices: started.indices().map(|index| DeviceState::new(&started, index)).collect(),
            private_pools: PrivatePools::new(started.clone()),
            pinned: PinnedCache::default(),
            started,
        })
    }

    /// Returns the driver with its devices, in whichever process it was started.
    #[inline]
    pub(crate) fn started(&self) -> &Started {
        &self.started
    }

    /// Returns the runtime of the driver for `what`, an object that must be of this process.
    pub(crate) fn driver_for(&self, what: &'static str) -> Result<&dyn DriverRuntime> {
        self.started.driver_for(what)
    }

    /// Returns the device with this index.
    pub(crate) fn device(&self, index: DeviceIndex) -> Result<&DeviceState> {
        self.devices.get(usize::from(index)).ok_or_else(|| Error::from(Device::invalid_index(index)))
    }

    /// Returns the home of the streams of a device.
    pub(crate) fn home(&'static self, index: DeviceIndex) -> Result<&'static dyn StreamHome> {
        self.device(index).map(DeviceState::home)
    }

    /// Returns all devices, for `what`, an object that must be of this process.
    pub(crate) fn devices(&self, what: &'static str) -> Result<&[DeviceState]> {
        self.driver_for(what)?;
        Ok(&self.devices)
    }

    /// Returns the caching allocators of all devices, for `what`, an object that must be of this process.
    pub(crate) fn allocators(&self, what: &'static str) -> Result<impl Iterator<Item = &CachingAllocator>> {
        Ok(self.devices(what)?.iter().filter_map(move |device| device.allocator(what).ok()))
    }

    /// Returns the caching allocator of a device, for `what`, an object that must be of this process.
    pub(crate) fn allocator(&self, index: DeviceIndex, what: &'static str) -> Result<&CachingAllocator> {
        self.driver_for(what)?;
        self.device(index)?.allocator(what)
    }

    /// Returns the captures that are underway and the users of private pools.
    #[inline]
    pub(crate) fn private_pools(&self) -> &PrivatePools {
        &self.private_pools
    }

    /// Returns the cache of pinned memory, which a forked child must not use.
    pub(crate) fn pinned(&self) -> &PinnedCache {
        &self.pinned
    }

    /// Applies the active recording of histories to the devices and to pinned memory.
    pub(crate) fn apply_history(&self) -> Result<()> {
        let recording = trace::recording();
        for allocator in self.allocators("accelerator.memory.history")? {
            allocator.set_history(&recording);
        }
        self.pinned.set_history(&recording);
        Ok(())
    }

    /// Ends a use of a pool by a graph, which these streams may still run, or by a lease.
    pub(crate) fn release_pool(&'static self, pool: PoolId, streams: &[Stream]) {
        if let Some(streams) = self.private_pools.release(pool, streams) {
            for device in self.devices("a memory pool").into_iter().flatten() {
                if let Ok(allocator) = device.allocator("a memory pool") {
                    allocator.on_pool_released(device, pool, &streams);
                }
            }
        }
    }

    /// Returns the capture of a stream, if it allocates from this pool.
    pub(crate) fn capture_from_pool(&self, stream: &Stream, pool: UsedPool) -> Result<Option<CaptureId>> {
        match stream.capture() {
            Ok(capture) => Ok(capture.filter(|capture| self.private_pools.is_pool_of(*capture, pool))),
            // On a lost device the work itself fails with a more specific error.
            Err(Error::DeviceLost { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
