//! The driver, as the rest of the crate sees it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use interlock_core::base::fork_local::ForkLocal;

use super::command::Task;
use super::options::HostOptions;
use super::shared::Shared;
use super::stream::PRIORITIES;
use crate::DeviceType;
use crate::Result;
use crate::driver::{
    Address, Awaited, CaptureMode, Copy, DeviceIndex, DeviceProperties, Driver, EventHandle, EventOptions,
    ExecutableHandle, Fill, Goal, GraphHandle, GraphShape, MemoryInfo, PriorityRange, StreamHandle,
    WaitPolicy, Work,
};

/// The driver of the type [`DeviceType::Host`].
///
/// Streams have priorities from 0, the least, to -3, the greatest. Each device has two engines that copy and
/// fill; a free one goes to the waiting stream with the greatest priority. Functions need no engine.
///
/// A handle that this driver does not know is an [`Error::Argument`](crate::Error::Argument).
pub struct HostDriver {
    options: HostOptions,
    /// Made in each process that uses it: a child may be forked between the choice of a driver and its use.
    shared: ForkLocal<OnceLock<Arc<Shared>>>,
    /// For a forked child: one as long as anybody there has it, however many threads ask.
    in_child: ForkLocal<Mutex<Weak<HostDriver>>>,
}

impl HostDriver {
    /// A driver of its own. Fails with [`Error::Argument`](crate::Error::Argument) for more than 128 devices,
    /// and for faults that another driver has, which was started.
    #[expect(clippy::new_ret_no_self, reason = "nobody needs more than the trait")]
    pub fn new(options: HostOptions) -> Result<Arc<dyn Driver>> {
        options.check()?;
        Ok(HostDriver::bound(options)?)
    }

    fn bound(options: HostOptions) -> Result<Arc<HostDriver>> {
        let driver = HostDriver { options, shared: ForkLocal::default(), in_child: ForkLocal::default() };
        driver.options.faults.bind(driver.shared(), false)?;
        Ok(Arc::new(driver))
    }

    fn shared(&self) -> &Arc<Shared> {
        self.shared.get().get_or_init(|| {
            let shared = Arc::new(Shared::new(&self.options));
            // Whether another driver has them is checked where this one is made and where it is started.
            let _ = self.options.faults.bind(&shared, false);
            shared
        })
    }
}

impl Drop for HostDriver {
    fn drop(&mut self) {
        if let Some(Ok(mut state)) = self.shared.get().get().map(|shared| shared.lock()) {
            state.close();
        }
    }
}

// SAFETY: memory comes from the heap or the system and is given back only by the release functions, for addresses
// that are on the books (`memory.rs`, `addresses.rs`). A task owns its keeper until it has run or will not run any more
// (`worker.rs`, `schedule.rs`), and so does each node of a graph.
unsafe impl Driver for HostDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::Host
    }

    fn unavailable(&self) -> Option<String> {
        None
    }

    fn device_count(&self) -> u32 {
        self.options.devices
    }

    fn count_at_once(&self) -> Option<u32> {
        Some(self.options.devices)
    }

    fn start(&self) -> Result<()> {
        self.options.faults.bind(self.shared(), true)
    }

    fn in_forked_child(&self) -> Option<Arc<dyn Driver>> {
        let mut kept = self.in_child.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = kept.upgrade() {
            return Some(driver);
        }
        let driver = HostDriver::bound(self.options.clone()).ok()?;
        *kept = Arc::downgrade(&driver);
        Some(driver)
    }

    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties> {
        Ok(self.shared().lock()?.device(device, "accelerator.device_properties")?.properties())
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        self.shared().memory_info(device)
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.shared().allocate(device, bytes)
    }

    unsafe fn release(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.shared().release_memory(device, address, bytes) }
    }

    fn allocate_pinned(&self, _: DeviceIndex, bytes: usize) -> Result<Address> {
        self.shared().allocate_pinned(bytes)
    }

    unsafe fn release_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.shared().release_pinned(address, bytes) }
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.shared().mapping_granularity(device)
    }

    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.shared().reserve_addresses(device, bytes)
    }

    unsafe fn release_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.shared().release_addresses(device, address, bytes)
    }

    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.shared().map(device, address, bytes)
    }

    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.shared().unmap(device, address, bytes) }
    }

    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        self.shared().lock()?.device(device, "accelerator.stream_priority_range")?;
        Ok(PRIORITIES)
    }

    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        self.shared().default_stream(device)
    }

    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        self.shared().create_stream(device, priority)
    }

    fn release_stream(&self, stream: StreamHandle) {
        self.shared().release(stream);
    }

    unsafe fn adopt_stream(&self, device: DeviceIndex, native: u64) -> Result<StreamHandle> {
        self.shared().adopt_stream(device, native)
    }

    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.shared().create_event(device, options)
    }

    fn release_event(&self, event: EventHandle) {
        self.shared().release_event(event);
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.shared().record_event(event, stream)
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.shared().wait_event(stream, event)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        self.shared().elapsed(start, end)
    }

    fn is_done(&self, awaited: Awaited) -> Result<bool> {
        self.shared().is_done(awaited)
    }

    fn is_over(&self, event: EventHandle) -> Result<bool> {
        self.shared().is_over(event)
    }

    fn goal(&self, awaited: Awaited) -> Result<Goal> {
        self.shared().goal(awaited)
    }

    fn wait(&self, goal: &Goal, policy: WaitPolicy) -> Result<bool> {
        self.shared().wait(goal, policy)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        self.shared().queue(stream, Task::Copy(copy), "a copy")
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        self.shared().queue(stream, Task::Fill(fill), "a fill")
    }

    fn launch(&self, stream: StreamHandle, work: Work) -> Result<()> {
        self.shared().queue(stream, Task::Launch(work), "Stream.launch")
    }

    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<()> {
        self.shared().begin_capture(stream, mode)
    }

    fn capture_of(&self, stream: StreamHandle) -> Result<Option<u64>> {
        self.shared().capture_of(stream)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        self.shared().end_capture(stream)
    }

    fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle> {
        self.shared().instantiate(graph)
    }

    fn replay(&self, executable: ExecutableHandle, stream: StreamHandle) -> Result<()> {
        self.shared().replay(executable, stream)
    }

    fn shape(&self, graph: GraphHandle) -> Result<GraphShape> {
        self.shared().shape(graph)
    }

    fn release_graph(&self, graph: GraphHandle) {
        self.shared().release_graph(graph);
    }

    fn release_executable(&self, executable: ExecutableHandle) {
        self.shared().release_executable(executable);
    }
}
