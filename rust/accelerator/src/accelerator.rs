//! The accelerator in use: its driver, and what is kept once for each of its devices.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use once_cell::race::OnceBox;

use interlock_core::base::fork;
use interlock_core::base::mutex::Mutex;
use interlock_driver::{DeviceIndex, Driver, DriverRuntime, KeepAlive, PriorityRange};

use super::graph_pools::{CapturedPool, Captures};
use super::memory::{CachingAllocator, PinnedCache};
use super::stream::{Kind, Stream, StreamInner};
use super::{Device, DeviceType, Error, Result};

/// A driver that has been started, in the process that started it.
pub(crate) struct Accelerator {
    driver: Arc<dyn Driver>,
    runtime: Arc<dyn DriverRuntime>,
    /// The fork generation of the process.
    generation: u32,
    devices: Vec<Streams>,
    /// Streams that are alive and not in `devices`, by the ids that they were given.
    live_streams: Mutex<LiveStreams>,
    next_id: AtomicI64,
    captures: Captures,
    /// What is kept of the memory of each device.
    allocators: Vec<CachingAllocator>,
    pinned: PinnedCache,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Accelerator({})", self.driver.device_type())
    }
}

type LiveStreams = HashMap<i64, (DeviceIndex, Weak<StreamInner>)>;

/// The streams that a device keeps.
#[derive(Default)]
struct Streams {
    default: OnceBox<Stream>,
    pools: [Pool; Pool::PRIORITIES],
}

/// Streams of one priority that are handed out in turn.
#[derive(Default)]
struct Pool {
    handed_out: AtomicUsize,
    streams: [OnceBox<Stream>; Pool::SIZE],
}

impl Pool {
    /// As many as PyTorch has of each priority.
    const SIZE: usize = 32;
    /// As many priorities as PyTorch tells apart.
    const PRIORITIES: usize = 4;
}

impl Accelerator {
    /// Starts a driver in this process.
    pub(super) fn start(driver: Arc<dyn Driver>) -> Result<Self> {
        let runtime = driver.start()?;
        let count = DeviceIndex::try_from(runtime.device_count()).unwrap_or(DeviceIndex::MAX);
        Ok(Accelerator {
            devices: (0..count).map(|_| Streams::default()).collect(),
            captures: Captures::default(),
            allocators: (0..count).map(CachingAllocator::new).collect(),
            driver,
            runtime,
            generation: fork::generation(),
            live_streams: Mutex::default(),
            next_id: AtomicI64::new(0),
            pinned: PinnedCache::default(),
        })
    }

    /// Whether it was made in this process, and not in one that this was forked from.
    #[inline]
    pub(super) fn is_of_this_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// The driver, wherever it was started.
    pub(super) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Returns the runtime, in whichever process the driver was started.
    pub(super) fn runtime(&self) -> &Arc<dyn DriverRuntime> {
        &self.runtime
    }

    /// The captures that are underway.
    #[inline]
    pub(super) fn captures(&self) -> &Captures {
        &self.captures
    }

    /// What is kept of the memory of a device, for `what`, an object that must be of this process.
    #[inline]
    pub(super) fn allocator(&self, index: DeviceIndex, what: &'static str) -> Result<&CachingAllocator> {
        match self.allocators.get(usize::from(index)) {
            Some(allocator) if self.is_of_this_process() => Ok(allocator),
            _ => Err(self.no_allocator(index, what)),
        }
    }

    #[cold]
    fn no_allocator(&self, index: DeviceIndex, what: &'static str) -> Error {
        let missing = || Error::from(Device::invalid_index(index));
        self.driver_for(what).err().unwrap_or_else(missing)
    }

    /// The same of all devices.
    pub(super) fn allocators(&self, what: &'static str) -> Result<&[CachingAllocator]> {
        self.driver_for(what)?;
        Ok(&self.allocators)
    }

    /// Whether a program has limited the memory of a device.
    pub(super) fn limits_memory(&'static self) -> bool {
        self.allocators
            .iter()
            .any(|allocator| allocator.with_limit(self, |limit| limit.is_some()) == Ok(true))
    }

    /// The pool from which memory for a stream comes while a graph is captured.
    #[inline]
    pub(super) fn pool_for(&self, stream: &Stream) -> Result<Option<CapturedPool>> {
        if self.captures.any() { self.captured_pool_for(stream) } else { Ok(None) }
    }

    #[cold]
    fn captured_pool_for(&self, stream: &Stream) -> Result<Option<CapturedPool>> {
        let capture = self.runtime.capture_id(stream.handle()?)?;
        Ok(capture.and_then(|capture| self.captures.pool_of(capture)))
    }

    /// Returns the runtime of the driver for `what`, an object that must be of this process.
    pub(super) fn driver_for(&self, what: &'static str) -> Result<&dyn DriverRuntime> {
        if self.is_of_this_process() { Ok(&*self.runtime) } else { Err(Error::Forked { what }) }
    }

    /// What is kept of pinned memory; not to be used in a forked child.
    pub(super) fn pinned(&self) -> &PinnedCache {
        &self.pinned
    }

    pub(super) fn kind(&self) -> DeviceType {
        self.driver.device_type()
    }

    pub(super) fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// One of its devices by its index.
    pub(super) fn device(&self, index: DeviceIndex) -> Device {
        Device::with_index(self.kind(), index)
    }

    /// The index of a device that `operation` was given: it must be of this accelerator, and be there. `None`
    /// for a device without an index.
    pub(super) fn index_of(&self, device: Device, operation: &'static str) -> Result<Option<DeviceIndex>> {
        let fits = device.kind() == self.kind()
            && device.index().is_none_or(|index| usize::from(index) < self.devices.len());
        if fits {
            return Ok(device.index());
        }
        let last = self.devices.len().saturating_sub(1);
        let devices = if last == 0 { "0".to_owned() } else { format!("0 to {last}") };
        Err(Error::NoSuchDevice {
            name: operation.to_owned(),
            given: device.to_string(),
            allowed: format!("a device of {} with an index of {devices}", self.kind()),
        })
    }

    /// The stream that a device has from the start.
    pub(super) fn default_stream(&'static self, index: DeviceIndex) -> Result<Stream> {
        let streams = self.streams(index)?;
        streams
            .default
            .get_or_try_init(|| {
                let handle = self.runtime.default_stream(index)?;
                Ok(Box::new(Stream::of(self, handle, 0, 0, Kind::Default, None)))
            })
            .cloned()
    }

    /// The next stream of the pool for a priority. What lies below the greatest priority counts as that, as
    /// in PyTorch: programs ask for -1 whatever the device.
    pub(super) fn pooled_stream(&'static self, index: DeviceIndex, priority: i32) -> Result<Stream> {
        let priority = self.checked_priority(index, priority)?;
        let level = priority.saturating_neg().clamp(0, Pool::PRIORITIES as i32 - 1);
        let pools = &self.streams(index)?.pools;
        let Some(pool) = pools.get(level as usize) else { return self.default_stream(index) };
        let place = pool.handed_out.fetch_add(1, Ordering::Relaxed) % Pool::SIZE;
        let Some(stream) = pool.streams.get(place) else { return self.default_stream(index) };
        let id = 1 + i64::from(level) * Pool::SIZE as i64 + place as i64;
        if let Some(stream) = stream.get() {
            return Ok(stream.clone());
        }
        let handle = self.runtime.create_stream(index, -level)?;
        let made = Stream::of(self, handle, id, -level, Kind::Pooled, None);
        if stream.set(Box::new(made.clone())).is_err() {
            // Another thread was faster.
            self.runtime.destroy_stream(handle);
        }
        Ok(stream.get().cloned().unwrap_or(made))
    }

    /// A stream of its own.
    pub(super) fn exclusive_stream(&'static self, index: DeviceIndex, priority: i32) -> Result<Stream> {
        let priority = self.checked_priority(index, priority)?;
        let handle = self.runtime.create_stream(index, priority)?;
        Ok(self.register(Stream::of(self, handle, self.new_id(), priority, Kind::Exclusive, None)))
    }

    /// A stream that another library made.
    ///
    /// # Safety
    /// As for [`DriverRuntime::wrap_external_stream`]; the stream is valid as long as `owner` lives.
    pub(super) unsafe fn external_stream(
        &'static self,
        index: DeviceIndex,
        raw: u64,
        owner: Option<KeepAlive>,
    ) -> Result<Stream> {
        // SAFETY: as the caller vouches.
        let handle = unsafe { self.runtime.wrap_external_stream(index, raw)? };
        Ok(self.register(Stream::of(self, handle, self.new_id(), 0, Kind::External, owner)))
    }

    /// The stream with this id, if it is alive.
    pub(super) fn stream_of_id(&'static self, index: DeviceIndex, id: i64) -> Result<Option<Stream>> {
        if id == 0 {
            return self.default_stream(index).map(Some);
        }
        let kept = self.streams(index)?.pools.iter().flat_map(|pool| &pool.streams).filter_map(OnceBox::get);
        if let Some(stream) = kept.into_iter().find(|stream| stream.id() == id) {
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

    /// Notes that the stream with this id is destroyed.
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
        let in_pools = (Pool::PRIORITIES * Pool::SIZE) as i64;
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
                name: "the priority of a Stream",
                given: priority.to_string(),
                allowed: format!("{least} or less; a smaller number goes first, down to {greatest}"),
            });
        }
        Ok(priority.max(greatest))
    }
}
