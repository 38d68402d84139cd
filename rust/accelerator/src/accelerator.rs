//! The accelerator in use: its driver, and the streams and allocators of each device.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use once_cell::race::OnceBox;

use interlock_core::base::fork;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{
    CaptureId, DeviceIndex, Driver, DriverRuntime, KeepAlive, PoolId, PriorityRange, StreamHandle,
};

use super::memory::{CachingAllocator, PinnedCache};
use super::private_pools::{PrivatePools, UsedPool};
use super::stream::{Stream, StreamInner, StreamKind};
use super::{Device, DeviceType, Error, Result, registry};

/// A started driver with the streams and allocators of its devices.
pub(crate) struct Accelerator {
    driver: Arc<dyn Driver>,
    kind: DeviceType,
    runtime: Arc<dyn DriverRuntime>,
    /// The fork generation of the process that started the driver.
    generation: u32,
    devices: Vec<Streams>,
    /// The streams that are not in `devices`.
    other_streams: Mutex<OtherStreams>,
    next_id: AtomicI64,
    private_pools: PrivatePools,
    /// One for each device.
    allocators: Vec<CachingAllocator>,
    pinned: PinnedCache,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Accelerator({})", self.kind)
    }
}

/// The dedicated streams that are alive, and the external streams, alive or not.
#[derive(Default)]
struct OtherStreams {
    by_id: HashMap<i64, OtherStream>,
    /// The ids by handle. An external stream has the id of its handle for the rest of the process, because the
    /// allocator caches memory by id: c10 uses the handle for both.
    ids: HashMap<StreamHandle, i64>,
}

struct OtherStream {
    stream: Weak<StreamInner>,
    handle: StreamHandle,
    kind: StreamKind,
}

impl OtherStreams {
    /// Returns the id of an external handle, which is `new_id` for a new one, and its stream if that is alive.
    fn external(&mut self, handle: StreamHandle, new_id: impl FnOnce() -> i64) -> (i64, Option<Stream>) {
        if let Some(id) = self.ids.get(&handle)
            && let Some(found) = self.by_id.get(id)
        {
            let stream = Stream::upgrade(&found.stream);
            // The handle of a dedicated stream that is being destroyed becomes free.
            if stream.is_some() || found.kind == StreamKind::External {
                return (*id, stream);
            }
        }
        let id = new_id();
        self.ids.insert(handle, id);
        self.by_id.insert(id, OtherStream { stream: Weak::new(), handle, kind: StreamKind::External });
        (id, None)
    }

    fn insert(&mut self, stream: &Stream, handle: StreamHandle) {
        self.ids.insert(handle, stream.id());
        self.by_id.insert(stream.id(), OtherStream { stream: stream.weak(), handle, kind: stream.kind() });
    }

    fn remove(&mut self, id: i64) {
        // Another library may have a stream with this handle.
        if let Some(OtherStream { handle, .. }) = self.by_id.remove(&id)
            && self.ids.get(&handle) == Some(&id)
        {
            self.ids.remove(&handle);
        }
    }
}

/// The default and pooled streams of a device.
#[derive(Default)]
struct Streams {
    default: OnceBox<Stream>,
    pools: [StreamPool; StreamPool::PRIORITIES],
}

impl Streams {
    /// Returns the pooled streams that exist.
    fn pooled(&self) -> impl Iterator<Item = &Stream> {
        self.pools.iter().flat_map(|pool| &pool.streams).filter_map(OnceBox::get)
    }
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
            kind: driver.device_type(),
            driver,
            runtime,
            generation: fork::generation(),
            other_streams: Mutex::default(),
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

    /// Returns the captures that are underway and the users of private pools.
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

    /// Ends a use of a pool by a graph, which these streams may still run, or by a lease.
    pub(super) fn release_pool(&'static self, pool: PoolId, streams: &[Stream]) {
        if let Some(streams) = self.private_pools.release(pool, streams) {
            let allocators = self.allocators("a memory pool").into_iter().flatten();
            allocators.for_each(|allocator| allocator.on_pool_released(self, pool, &streams));
        }
    }

    /// Returns the driver's id of the capture of a stream, if any is underway.
    #[inline]
    pub(super) fn capture_of(&self, stream: &Stream) -> Result<Option<CaptureId>> {
        if self.private_pools.captures_underway() {
            self.runtime.capture_id(stream.handle()?)
        } else {
            Ok(None)
        }
    }

    /// Returns the capture of a stream, if it allocates from this pool.
    pub(super) fn capture_from_pool(&self, stream: &Stream, pool: UsedPool) -> Result<Option<CaptureId>> {
        match self.capture_of(stream) {
            Ok(capture) => Ok(capture.filter(|capture| self.private_pools.is_pool_of(*capture, pool))),
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
        self.kind
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
        let turn = |pool: &StreamPool| pool.next.fetch_add(1, Ordering::Relaxed) % StreamPool::SIZE;
        let found = pools.get(level as usize).and_then(|pool| {
            let position = turn(pool);
            Some((position, pool.streams.get(position)?))
        });
        let Some((position, stream)) = found else {
            debug_assert!(false, "no pooled stream of the level {level}");
            return Err(Error::argument("Stream: priority", priority.to_string(), "the priority of a pool"));
        };
        let id = 1 + i64::from(level) * StreamPool::SIZE as i64 + position as i64;
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
        let stream = Stream::of(self, handle, self.new_id(), priority, StreamKind::Dedicated, None);
        self.other_streams().insert(&stream, handle);
        Ok(stream)
    }

    /// Returns the stream with a raw handle: one of this accelerator, or a stream that another library created. While
    /// that is alive, each call with its handle returns the same stream.
    ///
    /// # Safety
    /// As for [`Stream::external`].
    pub(super) unsafe fn external_stream(
        &'static self,
        index: DeviceIndex,
        raw: u64,
        owner: Option<KeepAlive>,
    ) -> Result<Stream> {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { self.runtime.wrap_external_stream(index, raw)? };
        let default = self.default_stream(index)?;
        let mut shared = std::iter::once(&default).chain(self.streams(index)?.pooled());
        if let Some(stream) = shared.find(|stream| stream.handle() == Ok(handle)) {
            return Ok(stream.clone());
        }
        // Another thread that wraps the stream at the same time gets the same id.
        let (id, known) = self.other_streams().external(handle, || self.new_id());
        if let Some(stream) = known {
            stream.set_owner(owner);
            return Ok(stream);
        }
        let new = Stream::of(self, handle, id, 0, StreamKind::External, owner.clone());
        self.allocator(index, "an external stream")?.on_external_stream_wrapped(self, &new)?;
        let mut others = self.other_streams();
        if let (_, Some(stream)) = others.external(handle, || id) {
            // The other thread was first. `new` is dropped without the lock.
            drop(others);
            stream.set_owner(owner);
            return Ok(stream);
        }
        others.insert(&new, handle);
        Ok(new)
    }

    /// Returns the stream with this handle, if it is alive.
    pub(super) fn stream_of_handle(&'static self, handle: StreamHandle) -> Option<Stream> {
        let default = self.default_stream(handle.device).ok()?;
        let has_handle = |stream: &&Stream| stream.handle() == Ok(handle);
        let shared = std::iter::once(&default)
            .chain(self.streams(handle.device).ok()?.pooled())
            .find(has_handle)
            .cloned();
        shared.or_else(|| {
            let others = self.other_streams();
            others
                .ids
                .get(&handle)
                .and_then(|id| others.by_id.get(id))
                .and_then(|found| Stream::upgrade(&found.stream))
        })
    }

    /// Returns the stream with this id, if it is alive.
    pub(super) fn stream_of_id(&'static self, index: DeviceIndex, id: i64) -> Result<Option<Stream>> {
        if id == 0 {
            return self.default_stream(index).map(Some);
        }
        if let Some(stream) = self.streams(index)?.pooled().find(|stream| stream.id() == id) {
            return Ok(Some(stream.clone()));
        }
        let others = self.other_streams();
        let found = others.by_id.get(&id).filter(|found| found.handle.device == index);
        Ok(found.and_then(|found| Stream::upgrade(&found.stream)))
    }

    /// Returns whether this is the id of an external stream, alive or not, or of a dedicated stream that is not
    /// destroyed yet.
    pub(super) fn is_registered(&self, id: i64) -> bool {
        self.other_streams().by_id.contains_key(&id)
    }

    /// Removes the dedicated stream with this id, which is being destroyed.
    pub(super) fn unregister(&self, id: i64) {
        self.other_streams().remove(id);
    }

    fn other_streams(&self) -> MutexGuard<'_, OtherStreams> {
        self.other_streams.lock()
    }

    fn new_id(&self) -> i64 {
        let in_pools = (StreamPool::PRIORITIES * StreamPool::SIZE) as i64;
        in_pools + 1 + self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of pooled streams that exist on all devices.
    #[cfg(feature = "host")]
    pub(super) fn number_of_pooled_streams(&self) -> usize {
        self.devices.iter().map(|streams| streams.pooled().count()).sum()
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
