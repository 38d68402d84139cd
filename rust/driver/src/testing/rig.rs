//! A driver with helpers for checks: latches, memory that frees itself, and waits that fail instead of blocking
//! forever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::{
    Address, CaptureMode, Copy, CopyEndpoint, DeviceIndex, DriverRuntime, EventHandle, EventOptions, Fill,
    GraphExecHandle, GraphHandle, HostFn, Owners, StreamHandle, SyncPoint, WaitPolicy, WaitTarget,
};
use crate::{Error, Result};

use super::features::Features;

/// Starts a driver with at least one device and nothing queued.
pub type Make = fn() -> Arc<dyn DriverRuntime>;

/// A timeout that no successful wait reaches.
const TOO_LONG: Duration = Duration::from_secs(60);

pub struct Rig {
    pub driver: Arc<dyn DriverRuntime>,
    /// Pinned memory of [`Rig::read`]. It is freed at the end, because that may wait for work that a latch blocks.
    copies: Mutex<Vec<Arc<Memory>>>,
}

impl Rig {
    pub fn new(make: Make) -> Self {
        Self::of(make())
    }

    pub fn of(driver: Arc<dyn DriverRuntime>) -> Self {
        Rig { driver, copies: Mutex::default() }
    }

    /// Returns a rig, or `None` if the driver does not support captures.
    pub fn with_captures(make: Make) -> Option<Self> {
        Features::of(make).captures.then(|| Self::new(make))
    }

    pub fn stream(&self, device: DeviceIndex) -> StreamHandle {
        self.driver.create_stream(device, 0).unwrap()
    }

    /// Creates an event and records it on a stream.
    pub fn record(&self, stream: StreamHandle) -> EventHandle {
        let event = self.driver.create_event(stream.device, EventOptions::default()).unwrap();
        self.driver.record_event(event, stream).unwrap();
        event
    }

    /// Makes later work of `stream` wait for all work that is queued on `other`.
    pub fn join(&self, stream: StreamHandle, other: StreamHandle) {
        self.driver.wait_event(stream, self.record(other)).unwrap();
    }

    pub fn launch(&self, stream: StreamHandle, work: impl Fn() + Send + Sync + 'static) {
        self.driver.launch_host_fn(stream, named("work", work)).unwrap();
    }

    /// Queues a function that returns once the latch is open.
    pub fn block(&self, stream: StreamHandle) -> Latch {
        let latch = Latch::default();
        self.driver.launch_host_fn(stream, latch.work()).unwrap();
        latch
    }

    /// Queues a function that fails.
    pub fn fail(&self, stream: StreamHandle, name: &str, reason: &'static str) {
        self.driver.launch_host_fn(stream, HostFn::new(name, move || Err(reason.into()))).unwrap();
    }

    pub fn wait(&self, target: WaitTarget) -> Result<bool> {
        self.reach(&self.driver.sync_point(target)?)
    }

    /// Waits for a sync point.
    pub fn reach(&self, sync_point: &SyncPoint) -> Result<bool> {
        self.driver.wait(sync_point, WaitPolicy { timeout: TOO_LONG, blocking: true })
    }

    /// Waits for all work of a stream.
    pub fn finish(&self, stream: StreamHandle) {
        assert_eq!(self.wait(WaitTarget::Stream(stream)), Ok(true));
    }

    pub fn is_done(&self, stream: StreamHandle) -> bool {
        self.driver.check(WaitTarget::Stream(stream)).unwrap()
    }

    pub fn is_capturing(&self, stream: StreamHandle) -> bool {
        self.driver.capture_id(stream).unwrap().is_some()
    }

    pub fn memory(&self, device: DeviceIndex, bytes: usize) -> Arc<Memory> {
        let address = self.driver.allocate(device, bytes).unwrap();
        Arc::new(Memory { driver: self.driver.clone(), device: Some(device), address, bytes })
    }

    pub fn pinned(&self, content: &[u8]) -> Arc<Memory> {
        let address = self.driver.allocate_pinned(0, content.len()).unwrap();
        let memory = Memory { driver: self.driver.clone(), device: None, address, bytes: content.len() };
        // SAFETY: the memory was just allocated and is not shared yet.
        unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), memory.pointer(), content.len()) };
        Arc::new(memory)
    }

    pub fn copy(&self, stream: StreamHandle, to: &Arc<Memory>, from: &Arc<Memory>) {
        let owners = Owners::until_completed(Arc::new((to.clone(), from.clone())));
        let copy = Copy { to: to.endpoint(), from: from.endpoint(), bytes: to.bytes.min(from.bytes), owners };
        // SAFETY: `owners` own both endpoints.
        unsafe { self.driver.copy(stream, copy) }.unwrap();
    }

    pub fn fill(&self, stream: StreamHandle, memory: &Arc<Memory>, value: u8) {
        self.fill_with(stream, memory, value, Owners::until_completed(memory.clone()));
    }

    /// Queues a fill with these owners of the memory.
    pub fn fill_with(&self, stream: StreamHandle, memory: &Memory, value: u8, owners: Owners) {
        let fill = Fill { address: memory.address, bytes: memory.bytes, value, owners };
        // SAFETY: `owners` own the memory, or the check keeps it until the fill has completed.
        unsafe { self.driver.fill(stream, fill) }.unwrap();
    }

    /// Waits for the stream and returns the content of the memory.
    pub fn read(&self, stream: StreamHandle, memory: &Arc<Memory>) -> Vec<u8> {
        let copy = self.pinned(&vec![0; memory.bytes]);
        self.copy(stream, &copy, memory);
        self.finish(stream);
        let content = copy.content();
        self.copies.lock().unwrap().push(copy);
        content
    }

    /// Captures the work that `queue` queues on a stream.
    pub fn capture(&self, stream: StreamHandle, queue: impl FnOnce()) -> Result<GraphHandle> {
        self.driver.begin_capture(stream, CaptureMode::ThreadLocal)?;
        queue();
        self.driver.end_capture(stream)
    }

    /// Captures the work that `queue` queues on a stream, and instantiates the graph.
    pub fn ready(&self, stream: StreamHandle, queue: impl FnOnce()) -> GraphExecHandle {
        let graph = self.capture(stream, queue).unwrap();
        let exec = self.driver.instantiate(graph).unwrap();
        self.driver.destroy_graph(graph);
        exec
    }
}

/// Creates a host function that never fails.
fn named(name: &str, work: impl Fn() + Send + Sync + 'static) -> HostFn {
    HostFn::new(name, move || {
        work();
        Ok(())
    })
}

/// Memory of a device or pinned memory, freed with the last handle.
pub struct Memory {
    driver: Arc<dyn DriverRuntime>,
    /// `None` for pinned memory.
    device: Option<DeviceIndex>,
    pub address: Address,
    pub bytes: usize,
}

impl Memory {
    pub fn endpoint(&self) -> CopyEndpoint {
        self.device
            .map_or(CopyEndpoint::Host(self.address), |device| CopyEndpoint::Device(device, self.address))
    }

    fn pointer(&self) -> *mut u8 {
        assert_eq!(self.device, None, "only pinned memory is accessed without a copy");
        std::ptr::with_exposed_provenance_mut(self.address.0 as usize)
    }

    /// Returns the content of pinned memory, which no queued work may use.
    pub fn content(&self) -> Vec<u8> {
        // SAFETY: this object owns the memory, and no copy runs.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.bytes) }.to_vec()
    }

    /// Sets the content of pinned memory, which no queued work may use.
    pub fn set(&self, content: &[u8]) {
        assert_eq!(content.len(), self.bytes);
        // SAFETY: this object owns the memory, and no copy runs.
        unsafe { std::ptr::copy(content.as_ptr(), self.pointer(), self.bytes) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this object owned the memory, and queued work owns the memory that it uses.
        let released = unsafe {
            match self.device {
                Some(device) => self.driver.free(device, self.address, self.bytes),
                None => self.driver.free_pinned(self.address, self.bytes),
            }
        };
        if !std::thread::panicking() {
            assert_eq!(released, Ok(()));
        }
    }
}

/// A latch that is closed until it is opened.
#[derive(Clone, Default)]
pub struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Creates a host function that waits for the latch.
    pub fn work(&self) -> HostFn {
        let latch = self.clone();
        named("wait", move || latch.wait())
    }

    pub fn wait(&self) {
        let closed = self.0.0.lock().unwrap();
        let (open, _) = self.0.1.wait_timeout_while(closed, TOO_LONG, |open| !*open).unwrap();
        assert!(*open, "the latch was not opened");
    }
}

/// A counter that host functions increment.
#[derive(Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    pub fn increment(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Creates a host function that increments the counter.
    pub fn work(&self) -> HostFn {
        let counter = self.clone();
        named("count", move || counter.increment())
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Returns the operation and the reason of an asynchronous error.
pub fn failure<T: std::fmt::Debug>(result: Result<T>) -> (String, String) {
    match result {
        Err(Error::Device { operation, reason, .. }) => (operation, reason),
        other => panic!("no asynchronous error: {other:?}"),
    }
}

/// Returns whether the result is an error of a capture or graph.
pub fn is_refused<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Graph { .. }))
}
