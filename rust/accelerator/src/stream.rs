//! Queues of work: what is put into one runs in order, apart from what is in others.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use interlock_core::thread::{ScopeGuard, StreamSlot, ThreadState};
use interlock_driver::{
    Copy, DeviceIndex, DriverRuntime, Fill, HostFn, KeepAlive, PriorityRange, StreamHandle, WaitTarget,
};

use super::accelerator::Accelerator;
use super::{Device, Error, Event, Result, Serving, Waiting, current};

/// A stream of the accelerator: a queue of work for one device. Clones are the same stream.
///
/// ```
/// # fn main() -> interlock_accelerator::Result<()> {
/// use interlock_accelerator::{self as accelerator, Stream, HostFn};
///
/// accelerator::use_named("host")?;
/// let stream = Stream::new(None, 0)?;
/// stream.launch(HostFn::new("greet", || Ok(())))?;
/// stream.synchronize()
/// # }
/// ```
#[derive(Clone)]
pub struct Stream(Arc<StreamInner>);

pub(crate) struct StreamInner {
    home: &'static Accelerator,
    handle: StreamHandle,
    id: i64,
    priority: i32,
    kind: Kind,
    /// What owns the stream of another library.
    _owner: Option<KeepAlive>,
}

/// The origin of a stream.
///
/// ```
/// use interlock_accelerator::{Stream, StreamKind};
///
/// interlock_accelerator::use_named("host")?;
/// assert_eq!(Stream::default_of(None)?.kind(), StreamKind::Default);
/// assert_eq!(Stream::new(None, 0)?.kind(), StreamKind::Pooled);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The one that its device has from the start.
    Default,
    /// One of those that are handed out in turn, and so perhaps to others as well.
    Pooled,
    /// Made for whoever asked.
    Exclusive,
    /// Made by another library.
    External,
}

impl Stream {
    /// The next stream of the pool of 32 that a device has for each priority; no device is the current one.
    /// `priority` is 0 or less, and a smaller number goes first; numbers below the range of the device count
    /// as its greatest priority.
    pub fn new(device: Option<Device>, priority: i32) -> Result<Self> {
        let (home, index) = current::resolve(device, "Stream")?;
        home.pooled_stream(index, priority)
    }

    /// A stream of its own, which is let go with its last clone.
    pub fn exclusive(device: Option<Device>, priority: i32) -> Result<Self> {
        let (home, index) = current::resolve(device, "Stream")?;
        home.exclusive_stream(index, priority)
    }

    /// The stream that a device has from the start.
    pub fn default_of(device: Option<Device>) -> Result<Self> {
        let (home, index) = current::resolve(device, "the default stream")?;
        home.default_stream(index)
    }

    /// A stream that another library made, by what that library calls it (on NVIDIA's a `cudaStream_t`). Fails with
    /// [`Error::Argument`](crate::Error::Argument) for a number that the driver recognizes as no stream of the device.
    ///
    /// # Safety
    /// `native` is a stream of this device or one of the special handles of its library, and it is not destroyed
    /// before the last clone of the result, and `owner`, have been dropped.
    pub unsafe fn external(device: Option<Device>, raw: u64, owner: Option<KeepAlive>) -> Result<Self> {
        let (home, index) = current::resolve(device, "an external stream")?;
        // SAFETY: as the caller vouches.
        unsafe { home.external_stream(index, raw, owner) }
    }

    /// The stream that has this id on a device, if it is alive.
    pub fn of_id(device: Option<Device>, id: i64) -> Result<Option<Self>> {
        let (home, index) = current::resolve(device, "Stream")?;
        home.stream_of_id(index, id)
    }

    pub(super) fn of(
        home: &'static Accelerator,
        handle: StreamHandle,
        id: i64,
        priority: i32,
        kind: Kind,
        owner: Option<KeepAlive>,
    ) -> Self {
        Stream(Arc::new(StreamInner { home, handle, id, priority, kind, _owner: owner }))
    }

    /// The stream as the state of a thread stores it.
    pub(super) fn slot(&self) -> Arc<dyn StreamSlot> {
        self.0.clone()
    }

    /// The stream that the state of a thread stores.
    pub(super) fn from_slot(slot: Arc<dyn StreamSlot>) -> Option<Self> {
        let slot: Arc<dyn Any + Send + Sync> = slot;
        slot.downcast().ok().map(Stream)
    }

    pub(super) fn upgrade(weak: &Weak<StreamInner>) -> Option<Self> {
        weak.upgrade().map(Stream)
    }

    pub(super) fn weak(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.0)
    }

    pub(super) fn home(&self) -> &'static Accelerator {
        self.0.home
    }

    pub(super) fn driver(&self) -> Result<&dyn DriverRuntime> {
        self.0.home.driver_for("a Stream")
    }

    /// Its device.
    pub fn device(&self) -> Device {
        self.0.home.device(self.0.handle.device)
    }

    /// The index of its device.
    pub fn device_index(&self) -> DeviceIndex {
        self.0.handle.device
    }

    /// A number that no other stream of the device has while this one lives; 0 for the default stream.
    pub fn id(&self) -> i64 {
        self.0.id
    }

    /// Its priority, as the device has it.
    pub fn priority(&self) -> i32 {
        self.0.priority
    }

    /// Where it comes from.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What its driver and other libraries call it.
    pub fn handle(&self) -> Result<StreamHandle> {
        self.driver().map(|_| self.0.handle)
    }

    /// Whether all that was queued has been done. Fails with what failed there and was not told yet.
    pub fn is_done(&self) -> Result<bool> {
        self.driver()?.check(WaitTarget::Stream(self.0.handle))
    }

    /// Begins to wait until all that is queued now has been done.
    pub fn waiting(&self) -> Result<Waiting> {
        self.driver()?;
        Waiting::begin(self.0.home, WaitTarget::Stream(self.0.handle), true)
    }

    /// Waits until all that is queued now has been done. Fails as [`is_done`](Stream::is_done).
    pub fn synchronize(&self) -> Result<()> {
        self.waiting()?.to_the_end()
    }

    /// Marks the place after all that is queued with an event.
    pub fn record_event(&self, event: &Event) -> Result<()> {
        event.record(self).map_err(|error| error.during("Stream.record_event"))
    }

    /// What is queued here from now on waits for what the event marks now.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        event.hold_back(self)
    }

    /// What is queued here from now on waits for all that is queued on the other stream now.
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        let wait = || {
            let event = Event::new(Some(other.device()), Default::default())?;
            event.record(other)?;
            event.hold_back(self)
        };
        wait().map_err(|error: Error| error.during("Stream.wait_stream"))
    }

    /// Whether what is queued is recorded into a graph.
    pub fn is_capturing(&self) -> Result<bool> {
        self.driver()?.capture_id(self.0.handle).map(|capture| capture.is_some())
    }

    /// Queues a function, which a driver runs on a thread of its own, in this thread's state as it is now. It may
    /// not wait for this stream. Why it failed is told late, by whatever next waits for the stream.
    pub fn launch(&self, work: HostFn) -> Result<()> {
        let driver = self.driver()?;
        let (state, run, stream) = (ThreadState::capture(), work.run, self.0.handle);
        let run = Arc::new(move || {
            let _serving = Serving::of(stream);
            state.run(|| run())
        });
        driver.launch_host_fn(self.0.handle, HostFn { name: work.name, run })
    }

    /// Queues a copy.
    ///
    /// # Safety
    /// Both ends are valid for the copy's bytes as long as its keeper lives.
    pub unsafe fn copy(&self, copy: Copy) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.driver()?.copy(self.0.handle, copy) }
    }

    /// Queues a fill.
    ///
    /// # Safety
    /// The bytes are memory of this stream's device as long as the keeper lives.
    pub unsafe fn fill(&self, fill: Fill) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.driver()?.fill(self.0.handle, fill) }
    }

    /// Makes it the current stream of its device, and that device the current one, until the guard is dropped.
    pub fn guard(&self) -> Result<ScopeGuard> {
        self.driver()?;
        Ok(ScopeGuard::of_devices(current::device_slots_of(self)))
    }
}

/// The priorities that streams of a device may have; no device is the current one.
pub fn priority_range(device: Option<Device>) -> Result<PriorityRange> {
    let (home, index) = current::resolve(device, "accelerator.stream_priority_range")?;
    home.driver_for("the accelerator")?.priority_range(index)
}

/// The current streams in a captured state of a thread, at most one for each device.
pub fn streams_of(state: &ThreadState) -> Vec<Stream> {
    state.streams().iter().cloned().filter_map(Stream::from_slot).collect()
}

impl StreamSlot for StreamInner {
    fn device_index(&self) -> DeviceIndex {
        self.handle.device
    }
}

/// Streams are equal if work on one is work on the other.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.home, other.0.home) && self.0.handle == other.0.handle
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.handle.hash(state);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for StreamInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.home.device(self.handle.device);
        write!(f, "Stream({} on {device}, {:?})", self.id, self.kind)
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        // A child can't reach the streams of its parent; they are left alone.
        if !matches!(self.kind, Kind::Exclusive | Kind::External) || !self.home.is_of_this_process() {
            return;
        }
        if let Ok(allocator) = self.home.allocator(self.handle.device, "a Stream") {
            allocator.on_stream_destroyed(self.home, self.id, self.handle);
        }
        if self.kind == Kind::Exclusive
            && let Ok(driver) = self.home.driver_for("a Stream")
        {
            driver.destroy_stream(self.handle);
        }
    }
}
