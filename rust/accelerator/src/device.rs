//! A device of the driver in use: its streams and the allocator of its memory.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_core::base::fork;
use interlock_driver::{DeviceIndex, DriverRuntime, StreamHandle};

use crate::allocators::CachingAllocator;
use crate::started::{Routes, Started};
use crate::stream::table::StreamTable;
use crate::stream::{Stream, StreamHome};
use crate::{Device, Error, Result};

/// A device with its streams and its memory. It is never freed once its driver is in use.
pub(crate) struct DeviceState {
    started: Arc<Started>,
    index: DeviceIndex,
    streams: StreamTable,
    allocator: CachingAllocator,
    // Parts of `started`, which each allocation reads.
    generation: u32,
    runtime: Arc<dyn DriverRuntime>,
    routes: Arc<Routes>,
}

impl DeviceState {
    pub(crate) fn new(started: &Arc<Started>, index: DeviceIndex) -> Self {
        DeviceState {
            started: started.clone(),
            index,
            streams: StreamTable::default(),
            allocator: CachingAllocator::new(index),
            generation: started.generation(),
            runtime: started.runtime().clone(),
            routes: started.routes().clone(),
        }
    }

    /// Returns the device of a stream.
    #[inline]
    pub(crate) fn of(stream: &Stream) -> Result<&'static Self> {
        let home: &'static dyn Any = stream.home();
        home.downcast_ref().ok_or_else(|| {
            debug_assert!(false, "all streams are made for a `DeviceState`");
            Error::from(Device::invalid_index(stream.device_index()))
        })
    }

    pub(crate) fn started(&self) -> &Started {
        &self.started
    }

    pub(crate) fn index(&self) -> DeviceIndex {
        self.index
    }

    /// Returns the device as the home of its streams.
    pub(crate) fn home(&'static self) -> &'static dyn StreamHome {
        self
    }

    /// Returns the runtime of the driver for `what`, an object that must be of this process.
    #[inline]
    pub(crate) fn driver_for(&self, what: &'static str) -> Result<&dyn DriverRuntime> {
        if self.generation == fork::generation() { Ok(&*self.runtime) } else { Err(Error::Forked { what }) }
    }

    /// Returns the allocator for `what`, an object that must be of this process.
    #[inline]
    pub(crate) fn allocator(&self, what: &'static str) -> Result<&CachingAllocator> {
        self.driver_for(what).map(|_| &self.allocator)
    }

    /// Returns an error if the device is lost.
    #[inline]
    pub(crate) fn check_not_lost(&self, operation: &'static str) -> Result<()> {
        self.runtime.check_not_lost(self.index, operation)
    }

    /// Returns whether a request may be routed to another pool than the default one: a graph is being captured, or a
    /// state contains a scope of a pool.
    #[inline]
    pub(crate) fn routes_requests(&self) -> bool {
        self.routes.load(Ordering::Acquire) != 0
    }
}

impl StreamHome for DeviceState {
    fn started(&self) -> &Started {
        &self.started
    }

    fn index(&self) -> DeviceIndex {
        self.index
    }

    fn streams(&self) -> &StreamTable {
        &self.streams
    }

    fn on_external_stream_wrapped(&'static self, stream: &Stream) -> Result<()> {
        self.allocator("an external stream")?.on_external_stream_wrapped(stream)
    }

    fn on_stream_destroyed(&'static self, id: i64, stream: StreamHandle) {
        self.allocator.on_stream_destroyed(self, id, stream);
    }

    fn on_external_stream_dropped(&'static self, id: i64, stream: StreamHandle) {
        self.allocator.on_external_stream_dropped(self, id, stream);
    }
}

impl std::fmt::Debug for DeviceState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceState({})", self.started.device(self.index))
    }
}
