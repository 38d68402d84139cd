//! The accelerator in use: its driver, and the streams and allocators of each device.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use once_cell::race::OnceBox;

use interlock_core::base::fork;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{CaptureId, DeviceIndex, Driver, DriverRuntime, KeepAlive, PriorityRange};

use super::graph_pools::{CapturePool, PrivatePools};
use super::memory::{CachingAllocator, PinnedCache};
use super::stream::{Stream, StreamInner, StreamKind};
use super::{Device, DeviceType, Error, Result, registry};

/// A started driver with the streams and allocators of its devices.
pub(crate) struct Accelerator {
    driver: Arc<dyn Driver>,
    runtime: Arc<dyn DriverRuntime>,
    /// The fork generation of the process that started the driver.
    generation: u32,
    devices: Vec<Streams>,
    /// Live streams that are not in `devices`, by id.
    live_streams: Mutex<LiveStreams>,
    next_id: AtomicI64,
    private_pools: PrivatePools,
    /// One for each device.
    allocators: Vec<CachingAllocator>,
    pinned: PinnedCache,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Accelerator({})", self.driver.device_type())
    }
}

type LiveStreams = HashMap<i64, (DeviceIndex, Weak<StreamInner>)>;

/// The default and pooled streams of a device.
#[derive(Default)]
struct Streams {
    default: OnceBox<Stream>,
    pools: [StreamPool; StreamPool::PRIORITIES],
}

/// Streams of one priority, returned in turn as c10's `getStreamFromPool` does.
#[derive(Default)]
struct StreamPool {
    next: AtomicUsize,
    streams: [OnceBox<Stream>; StreamPool::SIZE],
}

impl StreamPool {
    /// PyTorch's number of streams of each priority.
    const SIZE: usize = 32;
    /// PyTorch's number of priorities.
    const PRIORITIES: usize = 4;
}

impl Accelerator {
    /// Starts a driver in this process.
    pub(super) fn start(driver: Arc<dyn Driver>) -> Result<Self> {
        let runtime = driver.start()?;
        let count = DeviceIndex::try_from(runtime.device_count()).unwrap_or(DeviceIndex::MAX);
        Ok(Accelerator {
            devices: (0..count).map(|_| Streams::default()).collect(),
            private_pools: PrivatePools::default(),
            allocators: (0..count).map(CachingAllocator::new).collect(),
            driver,
            runtime,
            generation: fork::generation(),
            live_streams: Mutex::default(),
            next_id: AtomicI64::new(0),
            pinned: PinnedCache::default(),
        })
    }

    /// Returns whether this process started the driver, and not a process that it was forked from.
    #[inline]
    pub(super) fn is_current_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Returns the driver, in whichever process it was started.
    pub(super) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Returns the runtime, in whichever process the driver was started.
    pub(super) fn runtime(&self) -> &Arc<dyn DriverRuntime> {
        &self.runtime
    }

    /// Returns the captures that are underway and their memory pools.
    #[inline]
    pub(super) fn private_pools(&self) -> &PrivatePools {
        &self.private_pools
    }

    /// Returns the caching allocator of a device, for `what`, an object that must be of this process.
    #[inline]
    pub(super) fn allocator(&self, index: DeviceIndex, what: &'static str) -> Result<&CachingAllocator> {
        match self.allocators.get(usize::from(index)) {
            Some(allocator) if self.is_current_process() => Ok(allocator),
            _ => Err(self.no_allocator(index, what)),
        }
    }

    #[cold]
    fn no_allocator(&self, index: DeviceIndex, what: &'static str) -> Error {
        let missing = || Error::from(Device::invalid_index(index));
        self.driver_for(what).err().unwrap_or_else(missing)
    }

    /// Returns the caching allocators of all devices, for `what`, an object that must be of this process.
    pub(super) fn allocators(&self, what: &'static str) -> Result<&[CachingAllocator]> {
        self.driver_for(what)?;
        Ok(&self.allocators)
    }

    /// Returns whether the program has limited the memory of a device.
    pub(super) fn limits_memory(&'static self) -> bool {
        self.allocators
            .iter()
            .any(|allocator| allocator.with_limit(self, |limit| limit.is_some()) == Ok(true))
    }

    /// Returns the pool from which a stream allocates while a graph is captured on it.
    #[inline]
    pub(super) fn pool_for(&self, stream: &Stream) -> Result<Option<CapturePool>> {
        if self.private_pools.captures_underway() { self.capture_pool_for(stream) } else { Ok(None) }
    }

    #[cold]
    fn capture_pool_for(&self, stream: &Stream) -> Result<Option<CapturePool>> {
        let capture = self.runtime.capture_id(stream.handle()?)?;
        Ok(capture.and_then(|capture| self.private_pools.pool_of(capture)))
    }

    /// Returns the capture of a stream, if it allocates from this pool.
    pub(super) fn capture_from_pool(&self, stream: &Stream, pool: CapturePool) -> Result<Option<CaptureId>> {
        if !self.private_pools.captures_underway() {
            return Ok(None);
        }
        match self.runtime.capture_id(stream.handle()?) {
            Ok(capture) => Ok(capture.filter(|capture| self.private_pools.pool_of(*capture) == Some(pool))),
            // On a lost device the work itself fails with a more specific error.
            Err(Error::DeviceLost { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the runtime of the driver for `what`, an object that must be of this process.
    pub(super) fn driver_for(&self, what: &'static str) -> Result<&dyn DriverRuntime> {
        if self.is_current_process() { Ok(&*self.runtime) } else { Err(Error::Forked { what }) }
    }

    /// Returns the cache of pinned memory, which a forked child must not use.
    pub(super) fn pinned(&self) -> &PinnedCache {
        &self.pinned
    }

    pub(super) fn kind(&self) -> DeviceType {
        self.driver.device_type()
    }

    pub(super) fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Returns the device with this index.
    pub(super) fn device(&self, index: DeviceIndex) -> Device {
        Device::with_index(self.kind(), index)
    }

    /// Returns the index of a device that was passed to `operation`, `None` for a device without an index.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`] for a device that this accelerator does not have.
    pub(super) fn index_of(&self, device: Device, operation: &'static str) -> Result<Option<DeviceIndex>> {
        let fits = device.kind() == self.kind()
            && device.index().is_none_or(|index| usize::from(index) < self.devices.len());
        if fits {
            return Ok(device.index());
        }
        let reason = registry::available_devices(self.kind(), self.devices.len());
        Err(Error::DeviceUnavailable { operation: operation.to_owned(), device, reason })
    }

    /// Returns the default stream of a device.
    pub(super) fn default_stream(&'static self, index: DeviceIndex) -> Result<Stream> {
        let streams = self.streams(index)?;
        streams
            .default
            .get_or_try_init(|| {
                let handle = self.runtime.default_stream(index)?;
                Ok(Box::new(Stream::of(self, handle, 0, 0, StreamKind::Default, None)))
            })
            .cloned()
    }

    /// Returns the next stream of the pool for a priority. Numbers below the greatest priority mean the greatest one,
    /// as in PyTorch: programs request -1 on any device.
    pub(super) fn pooled_stream(&'static self, index: DeviceIndex, priority: i32) -> Result<Stream> {
        let priority = self.checked_priority(index, priority)?;
        let level = priority.saturating_neg().clamp(0, StreamPool::PRIORITIES as i32 - 1);
        let pools = &self.streams(index)?.pools;
        let Some(pool) = pools.get(level as usize) else { return self.default_stream(index) };
        let place = pool.next.fetch_add(1, Ordering::Relaxed) % StreamPool::SIZE;
        let Some(stream) = pool.streams.get(place) else { return self.default_stream(index) };
        let id = 1 + i64::from(level) * StreamPool::SIZE as i64 + place as i64;
        if let Some(stream) = stream.get() {
            return Ok(stream.clone());
        }
        let handle = self.runtime.create_stream(index, -level)?;
        let new = Stream::of(self, handle, id, -level, StreamKind::Pooled, None);
        if stream.set(Box::new(new.clone())).is_err() {
            // Another thread has created it in the meantime.
            self.runtime.destroy_stream(handle);
        }
        Ok(stream.get().cloned().unwrap_or(new))
    }

    /// Creates a stream that is in no pool.
    pub(super) fn dedicated_stream(&'static self, index: DeviceIndex, priority: i32) -> Result<Stream> {
        let priority = self.checked_priority(index, priority)?;
        let handle = self.runtime.create_stream(index, priority)?;
        Ok(self.register(Stream::of(self, handle, self.new_id(), priority, StreamKind::Dedicated, None)))
    }

    /// Wraps a stream that another library created.
    ///
    /// # Safety
    /// As for [`DriverRuntime::wrap_external_stream`]; the stream is valid as long as `owner` lives.
    pub(super) unsafe fn external_stream(
        &'static self,
        index: DeviceIndex,
        raw: u64,
        owner: Option<KeepAlive>,
    ) -> Result<Stream> {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { self.runtime.wrap_external_stream(index, raw)? };
        Ok(self.register(Stream::of(self, handle, self.new_id(), 0, StreamKind::External, owner)))
    }

    /// Returns the stream with this id, if it is alive.
    pub(super) fn stream_of_id(&'static self, index: DeviceIndex, id: i64) -> Result<Option<Stream>> {
        if id == 0 {
            return self.default_stream(index).map(Some);
        }
        let pooled =
            self.streams(index)?.pools.iter().flat_map(|pool| &pool.streams).filter_map(OnceBox::get);
        if let Some(stream) = pooled.into_iter().find(|stream| stream.id() == id) {
            return Ok(Some(stream.clone()));
        }
        let live_streams = self.live_streams();
        let found = live_streams.get(&id).filter(|(device, _)| *device == index);
        Ok(found.and_then(|(_, stream)| Stream::upgrade(stream)))
    }

    /// Returns whether there is a stream with this id that is not in a pool, or that is being destroyed.
    pub(super) fn is_registered(&self, id: i64) -> bool {
        self.live_streams().contains_key(&id)
    }

    /// Removes the stream with this id, which is destroyed.
    pub(super) fn unregister(&self, id: i64) {
        self.live_streams().remove(&id);
    }

    fn register(&self, stream: Stream) -> Stream {
        self.live_streams().insert(stream.id(), (stream.device_index(), stream.weak()));
        stream
    }

    fn live_streams(&self) -> MutexGuard<'_, LiveStreams> {
        self.live_streams.lock()
    }

    fn new_id(&self) -> i64 {
        let in_pools = (StreamPool::PRIORITIES * StreamPool::SIZE) as i64;
        in_pools + 1 + self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn streams(&self, index: DeviceIndex) -> Result<&Streams> {
        self.devices.get(usize::from(index)).ok_or_else(|| Error::from(Device::invalid_index(index)))
    }

    fn checked_priority(&self, index: DeviceIndex, priority: i32) -> Result<i32> {
        let range = self.runtime.priority_range(index).map_err(|error| error.during("Stream"));
        let PriorityRange { least, greatest } = range?;
        if priority > least {
            return Err(Error::Argument {
                name: "Stream: priority".into(),
                given: priority.to_string(),
                allowed: format!("from {greatest}, the first to run, to {least}"),
            });
        }
        Ok(priority.max(greatest))
    }
}
