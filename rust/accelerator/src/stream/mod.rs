//! Streams: queues of work that run in order, independently of each other.

pub(crate) mod table;

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use once_cell::race::OnceBox;

use interlock_core::binding::thread::{self as binding, DeviceObject, DeviceSlots};
use interlock_core::named_enum;
use interlock_core::thread::ThreadState;
use interlock_driver::{
    CaptureId, Copy, DeviceIndex, DriverRuntime, Fill, HostFn, KeepAlive, Owners, StreamHandle, WaitTarget,
};

use crate::started::Started;
use crate::timed_tasks::{self, Timed};
use crate::wait::{HostFnScope, Wait};
use crate::{Device, Result};
use table::StreamTable;

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
    home: &'static dyn StreamHome,
    started: &'static Started,
    handle: StreamHandle,
    id: i64,
    priority: i32,
    kind: StreamKind,
    /// An object that keeps a stream of another library valid.
    owner: OnceBox<KeepAlive>,
}

/// The device of a stream, with the streams of the device and the memory that is cached for them.
pub(crate) trait StreamHome: Any + fmt::Debug + Send + Sync {
    /// Returns the driver of the device.
    fn started(&self) -> &Started;

    /// Returns the index of the device.
    fn index(&self) -> DeviceIndex;

    /// Returns the streams of the device.
    fn streams(&self) -> &StreamTable;

    /// Ends the uses of a new external stream's memory by the last stream with its handle.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn on_external_stream_wrapped(&'static self, stream: &Stream) -> Result<()>;

    /// Ends the uses of memory by a dedicated stream, which is about to be destroyed.
    fn on_stream_destroyed(&'static self, id: i64, stream: StreamHandle);

    /// Ends the uses of memory by an external stream, of which no handle is left.
    fn on_external_stream_dropped(&'static self, id: i64, stream: StreamHandle);
}

named_enum! {
    /// The origin of a stream.
    ///
    /// ```
    /// use interlock_accelerator::{Stream, StreamKind};
    ///
    /// interlock_accelerator::use_named("host")?;
    /// assert_eq!(Stream::default_of(None)?.kind(), StreamKind::Default);
    /// assert_eq!(Stream::new(None, 0)?.kind().name(), "pooled");
    /// # Ok::<(), interlock_accelerator::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StreamKind {
        /// The default stream of its device.
        Default => "default",
        /// A stream of the pool, which may be shared with other parts of the program.
        Pooled => "pooled",
        /// Created for the caller alone.
        Dedicated => "dedicated",
        /// Created by another library.
        External => "external",
    }
}

impl Stream {
    pub(crate) fn of(
        home: &'static dyn StreamHome,
        handle: StreamHandle,
        id: i64,
        priority: i32,
        kind: StreamKind,
        owner: Option<KeepAlive>,
    ) -> Self {
        let (started, owned) = (home.started(), OnceBox::new());
        let stream =
            Stream(Arc::new(StreamInner { home, started, handle, id, priority, kind, owner: owned }));
        stream.set_owner(owner);
        stream
    }

    /// Sets the owner of a stream that another library created, unless it has one: one is enough.
    pub(crate) fn set_owner(&self, owner: Option<KeepAlive>) {
        if let Some(owner) = owner.filter(|_| self.0.kind == StreamKind::External) {
            // The result is the owner if another one was set before.
            let _ = self.0.owner.set(Box::new(owner));
        }
    }

    /// Returns the stream that a slot of the thread state stores.
    pub(crate) fn from_slot(slot: Arc<dyn DeviceObject>) -> Option<Self> {
        let slot: Arc<dyn Any + Send + Sync> = slot;
        slot.downcast().ok().map(Stream)
    }

    pub(crate) fn upgrade(weak: &Weak<StreamInner>) -> Option<Self> {
        weak.upgrade().map(Stream)
    }

    pub(crate) fn weak(&self) -> Weak<StreamInner> {
        Arc::downgrade(&self.0)
    }

    #[inline]
    pub(crate) fn home(&self) -> &'static dyn StreamHome {
        self.0.home
    }

    pub(crate) fn started(&self) -> &'static Started {
        self.0.started
    }

    pub(crate) fn driver(&self) -> Result<&dyn DriverRuntime> {
        self.0.started.driver_for("a Stream")
    }

    /// Returns the device of the stream.
    pub fn device(&self) -> Device {
        self.0.started.device(self.0.handle.device)
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
        Wait::begin(self.0.started, WaitTarget::Stream(self.0.handle), true)
    }

    /// Waits for all work that is queued now.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`](crate::Error::Interrupted) and the errors of [`query`](Stream::query).
    pub fn synchronize(&self) -> Result<()> {
        self.begin_wait()?.wait()
    }

    /// Returns whether the stream is being captured into a graph.
    pub fn is_capturing(&self) -> Result<bool> {
        self.driver()?.capture_id(self.0.handle).map(|capture| capture.is_some())
    }

    /// Returns the driver's id of the capture that this process has begun and that contains the stream, if any.
    #[inline]
    pub(crate) fn capture(&self) -> Result<Option<CaptureId>> {
        if self.0.started.captures_underway() { self.driver()?.capture_id(self.0.handle) } else { Ok(None) }
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
        let launch = || driver.launch_host_fn(stream, HostFn { run, ..work });
        timed_tasks::timed(driver, || Timed::task(stream, &*name), launch)
    }

    /// Queues a copy.
    ///
    /// # Safety
    /// Both endpoints are valid for the copy's bytes until it has completed and no graph can repeat it, or as long as
    /// its `owners` require.
    pub unsafe fn copy(&self, copy: Copy) -> Result<()> {
        let (driver, stream, bytes) = (self.driver()?, self.0.handle, copy.bytes);
        let task = || Timed::task(stream, format!("copy of {bytes} bytes"));
        // SAFETY: guaranteed by the caller.
        timed_tasks::timed(driver, task, || unsafe { driver.copy(stream, copy) })
    }

    /// Queues a copy that the caller will wait for.
    ///
    /// # Errors
    /// Returns [`Error::Graph`](crate::Error::Graph) if the stream is captured, and errors of the driver.
    ///
    /// # Safety
    /// The contract of [`copy`](Stream::copy).
    pub(crate) unsafe fn copy_awaited(&self, copy: Copy) -> Result<()> {
        let (driver, stream, bytes) = (self.driver()?, self.0.handle, copy.bytes);
        let task = || Timed::task(stream, format!("copy of {bytes} bytes"));
        // SAFETY: guaranteed by the caller.
        timed_tasks::timed(driver, task, || unsafe { driver.copy_awaited(stream, copy) })
    }

    /// Queues a fill.
    ///
    /// # Safety
    /// The bytes are memory of this stream's device until the fill has completed and no graph can repeat it, or as long
    /// as its `owners` require.
    pub unsafe fn fill(&self, fill: Fill) -> Result<()> {
        let (driver, stream, bytes) = (self.driver()?, self.0.handle, fill.bytes);
        let task = || Timed::task(stream, format!("fill of {bytes} bytes"));
        // SAFETY: guaranteed by the caller.
        timed_tasks::timed(driver, task, || unsafe { driver.fill(stream, fill) })
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

    /// Returns the slots of a state in which this is the current stream.
    pub(crate) fn device_slots(&self) -> DeviceSlots {
        DeviceSlots::from_stream(self.0.clone())
    }
}

/// Returns the current streams in a captured thread state, at most one for each device.
pub fn streams_of(state: &ThreadState) -> Vec<Stream> {
    binding::streams_of(state).iter().cloned().filter_map(Stream::from_slot).collect()
}

impl DeviceObject for StreamInner {
    fn device_index(&self) -> DeviceIndex {
        self.handle.device
    }
}

/// Compares the handles: streams are equal if they queue work on the same stream of the driver.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.started, other.0.started) && self.0.handle == other.0.handle
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
        let device = self.started.device(self.handle.device);
        write!(f, "Stream({} on {device}, {})", self.id, self.kind)
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        // A forked child can't use the streams of its parent and does not destroy them.
        if !self.started.is_current_process() {
            return;
        }
        match self.kind {
            StreamKind::Default | StreamKind::Pooled => {}
            StreamKind::Dedicated => {
                self.home.on_stream_destroyed(self.id, self.handle);
                self.started.runtime().destroy_stream(self.handle);
            }
            StreamKind::External => self.home.on_external_stream_dropped(self.id, self.handle),
        }
    }
}
