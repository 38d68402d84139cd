//! Streams: queues of work that run in order, independently of each other.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use once_cell::race::OnceBox;

use interlock_core::thread::internal::DeviceObject;
use interlock_core::thread::{ScopeGuard, ThreadState};
use interlock_driver::{
    Copy, DeviceIndex, DriverRuntime, Fill, HostFn, KeepAlive, Owners, PriorityRange, StreamHandle,
    WaitTarget,
};

use super::accelerator::Accelerator;
use super::wait::HostFnScope;
use super::{Device, Error, Event, Result, Wait, current, registry, trace};

/// A stream of the accelerator: a queue of work for one device. Clones refer to the same stream.
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
    accelerator: &'static Accelerator,
    handle: StreamHandle,
    id: i64,
    priority: i32,
    kind: StreamKind,
    /// An object that keeps a stream of another library valid.
    owner: OnceBox<KeepAlive>,
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
pub enum StreamKind {
    /// The default stream of its device.
    Default,
    /// A stream of the pool, which may be shared with other parts of the program.
    Pooled,
    /// Created for the caller alone.
    Dedicated,
    /// Created by another library.
    External,
}

impl Stream {
    /// Returns the next of the 32 pooled streams that a device has for each priority. No device means the current
    /// device.
    ///
    /// `priority` is 0 or less. Streams with smaller numbers run first; numbers below the range of the device mean its
    /// greatest priority.
    pub fn new(device: Option<Device>, priority: i32) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "Stream")?;
        accelerator.pooled_stream(index, priority)
    }

    /// Creates a stream that is in no pool. It is destroyed with its last clone.
    pub fn dedicated(device: Option<Device>, priority: i32) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "Stream")?;
        accelerator.dedicated_stream(index, priority)
    }

    /// Returns the default stream of a device.
    pub fn default_of(device: Option<Device>) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "the default stream")?;
        accelerator.default_stream(index)
    }

    /// Returns the stream with a raw handle (for CUDA a `cudaStream_t`), which another library may have created. While
    /// the stream is alive, each call with its handle returns the same stream; the handle of a stream of this crate
    /// returns that stream.
    ///
    /// Memory that was allocated for the stream contains a clone of it. Freed memory remains cached for the handle, as
    /// in c10, until the allocator releases it: it does not prevent the destruction of the stream. If the driver
    /// creates another stream with the handle of a destroyed one, the other stream gets the cached memory, and first
    /// waits for the work that was queued on the destroyed stream.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if the driver recognizes that `raw` is not a stream of the
    /// device.
    ///
    /// # Safety
    /// `raw` is a stream of this device or one of the special handles of its library. It is valid as long as `owner`
    /// lives; without one, until the last clone of the result and the last buffer that was allocated for it have been
    /// dropped.
    pub unsafe fn external(device: Option<Device>, raw: u64, owner: Option<KeepAlive>) -> Result<Self> {
        let (accelerator, index) = current::resolve(device, "an external stream")?;
        // SAFETY: guaranteed by the caller.
        unsafe { accelerator.external_stream(index, raw, owner) }
    }

    /// Returns the stream with this id on a device, if it is alive.
    pub fn of_id(device: Option<Device>, id: i64) -> Result<Option<Self>> {
        let (accelerator, index) = current::resolve(device, "Stream")?;
        accelerator.stream_of_id(index, id)
    }

    /// Returns the stream with a handle of the driver in use, if it is alive.
    pub fn of_handle(handle: StreamHandle) -> Option<Self> {
        registry::try_accelerator()?.stream_of_handle(handle)
    }

    pub(super) fn of(
        accelerator: &'static Accelerator,
        handle: StreamHandle,
        id: i64,
        priority: i32,
        kind: StreamKind,
        owner: Option<KeepAlive>,
    ) -> Self {
        let stream =
            Stream(Arc::new(StreamInner { accelerator, handle, id, priority, kind, owner: OnceBox::new() }));
        stream.set_owner(owner);
        stream
    }

    /// Sets the owner of a stream that another library created, unless it has one: one is enough.
    pub(super) fn set_owner(&self, owner: Option<KeepAlive>) {
        if let Some(owner) = owner.filter(|_| self.0.kind == StreamKind::External) {
            // The result is the owner if another one was set before.
            let _ = self.0.owner.set(Box::new(owner));
        }
    }

    /// Returns the stream as the thread state stores it.
    pub(super) fn slot(&self) -> Arc<dyn DeviceObject> {
        self.0.clone()
    }

    /// Returns the stream that a slot of the thread state stores.
    pub(super) fn from_slot(slot: Arc<dyn DeviceObject>) -> Option<Self> {
        let slot: Arc<dyn Any + Send + Sync> = slot;
        slot.downcast().ok().map(Stream)
    }

    pub(super) fn upgrade(weak: &Weak<StreamInner>) -> Option<Self> {
        weak.upgrade().map(Stream)
    }

    pub(super) fn weak(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.0)
    }

    pub(super) fn accelerator(&self) -> &'static Accelerator {
        self.0.accelerator
    }

    pub(super) fn driver(&self) -> Result<&dyn DriverRuntime> {
        self.0.accelerator.driver_for("a Stream")
    }

    /// Returns the device of the stream.
    pub fn device(&self) -> Device {
        self.0.accelerator.device(self.0.handle.device)
    }

    /// Returns the index of the stream's device.
    pub fn device_index(&self) -> DeviceIndex {
        self.0.handle.device
    }

    /// Returns the id, which is unique on the device while the stream is alive; 0 for the default stream.
    pub fn id(&self) -> i64 {
        self.0.id
    }

    /// Returns the priority, limited to the range of the device.
    pub fn priority(&self) -> i32 {
        self.0.priority
    }

    /// Returns the origin of the stream.
    pub fn kind(&self) -> StreamKind {
        self.0.kind
    }

    /// Returns the handle of the driver.
    pub fn handle(&self) -> Result<StreamHandle> {
        self.driver().map(|_| self.0.handle)
    }

    /// Returns whether all queued work is done, without blocking.
    ///
    /// # Errors
    /// Returns asynchronous errors of the stream that were not reported yet.
    pub fn query(&self) -> Result<bool> {
        self.driver()?.check(WaitTarget::Stream(self.0.handle))
    }

    /// Begins a wait for all work that is queued now.
    pub fn begin_wait(&self) -> Result<Wait> {
        self.driver()?;
        Wait::begin(self.0.accelerator, WaitTarget::Stream(self.0.handle), true)
    }

    /// Waits for all work that is queued now.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`] and the errors of [`query`](Stream::query).
    pub fn synchronize(&self) -> Result<()> {
        self.begin_wait()?.wait()
    }

    /// Records an event after all work that is queued now.
    pub fn record_event(&self, event: &Event) -> Result<()> {
        event.record(self).map_err(|error| error.during("Stream.record_event"))
    }

    /// Makes work that is queued on this stream from now on wait for the current record of the event.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        event.block(self)
    }

    /// Makes work that is queued on this stream from now on wait for all work that is queued on `other` now.
    pub fn wait_stream(&self, other: &Stream) -> Result<()> {
        let wait = || {
            let event = Event::new(Some(other.device()), Default::default())?;
            event.record(other)?;
            event.block(self)
        };
        wait().map_err(|error: Error| error.during("Stream.wait_stream"))
    }

    /// Returns whether the stream is being captured into a graph.
    pub fn is_capturing(&self) -> Result<bool> {
        self.driver()?.capture_id(self.0.handle).map(|capture| capture.is_some())
    }

    /// Queues a host function, like `cuLaunchHostFunc`. It runs on a thread of the driver with the current thread state
    /// of the caller, and must not wait for this stream. Its error is reported asynchronously, by the next wait for the
    /// stream.
    pub fn launch(&self, work: HostFn) -> Result<()> {
        let driver = self.driver()?;
        let (state, run, stream) = (ThreadState::capture(), work.run.clone(), self.0.handle);
        let run = Arc::new(move || {
            let _scope = HostFnScope::enter(stream);
            state.run(|| run())
        });
        let name = work.name.clone();
        trace::timed(
            driver,
            stream,
            || name.to_string(),
            || driver.launch_host_fn(stream, HostFn { run, ..work }),
        )
    }

    /// Queues a copy.
    ///
    /// # Safety
    /// Both endpoints are valid for the copy's bytes until it has completed and no graph can repeat it, or as long as
    /// its `owners` require.
    pub unsafe fn copy(&self, copy: Copy) -> Result<()> {
        let (driver, stream, bytes) = (self.driver()?, self.0.handle, copy.bytes);
        // SAFETY: guaranteed by the caller.
        trace::timed(
            driver,
            stream,
            || format!("copy of {bytes} bytes"),
            || unsafe { driver.copy(stream, copy) },
        )
    }

    /// Queues a fill.
    ///
    /// # Safety
    /// The bytes are memory of this stream's device until the fill has completed and no graph can repeat it, or as long
    /// as its `owners` require.
    pub unsafe fn fill(&self, fill: Fill) -> Result<()> {
        let (driver, stream, bytes) = (self.driver()?, self.0.handle, fill.bytes);
        // SAFETY: guaranteed by the caller.
        trace::timed(
            driver,
            stream,
            || format!("fill of {bytes} bytes"),
            || unsafe { driver.fill(stream, fill) },
        )
    }

    /// Makes the graph that captures this stream, if any, own the memory of work that another library has queued. The
    /// host function `name`, which does nothing, becomes a part of the graph.
    pub fn retain_in_graph(&self, name: &str, owners: Owners) -> Result<()> {
        let driver = self.driver()?;
        let Some(capture) = driver.capture_id(self.0.handle)? else { return Ok(()) };
        let (owned, _) = owners.split(Some(capture));
        if owned.is_empty() {
            return Ok(());
        }
        let owners = Owners::until_completed(Arc::new(owned));
        driver.launch_host_fn(self.0.handle, HostFn::new(name, || Ok(())).with_owners(owners))
    }

    /// Makes this the current stream of its device, and that device the current one, until the guard is dropped.
    pub fn guard(&self) -> Result<ScopeGuard> {
        self.driver()?;
        Ok(ScopeGuard::from_devices(current::device_slots_of(self)))
    }
}

/// Returns the range of stream priorities of a device. `None` means the current device.
pub fn priority_range(device: Option<Device>) -> Result<PriorityRange> {
    let (accelerator, index) = current::resolve(device, "accelerator.stream_priority_range")?;
    accelerator.driver_for("the accelerator")?.priority_range(index)
}

/// Returns the current streams in a captured thread state, at most one for each device.
pub fn streams_of(state: &ThreadState) -> Vec<Stream> {
    state.streams().iter().cloned().filter_map(Stream::from_slot).collect()
}

impl DeviceObject for StreamInner {
    fn device_index(&self) -> DeviceIndex {
        self.handle.device
    }
}

/// Compares the handles: streams are equal if they queue work on the same stream of the driver.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.accelerator, other.0.accelerator) && self.0.handle == other.0.handle
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
        let device = self.accelerator.device(self.handle.device);
        write!(f, "Stream({} on {device}, {:?})", self.id, self.kind)
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        // A forked child can't use the streams of its parent and does not destroy them.
        let Ok(allocator) = self.accelerator.allocator(self.handle.device, "a Stream") else { return };
        match self.kind {
            StreamKind::Default | StreamKind::Pooled => {}
            StreamKind::Dedicated => {
                allocator.on_stream_destroyed(self.accelerator, self.id, self.handle);
                self.accelerator.runtime().destroy_stream(self.handle);
            }
            StreamKind::External => {
                allocator.on_external_stream_dropped(self.id, self.handle, self.accelerator)
            }
        }
    }
}
