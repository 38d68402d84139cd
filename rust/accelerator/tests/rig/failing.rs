//! A driver whose calls fail at regular intervals, or are delayed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use interlock_accelerator::memory::OutOfMemory;
use interlock_accelerator::{CaptureMode, Device, DeviceType, HostFn};
use interlock_accelerator::{Error, Result};
use interlock_driver::*;

static KIND: LazyLock<DeviceType> = LazyLock::new(|| DeviceType::from_name("failing").unwrap());

/// Forwards calls to another driver, unless a call is selected to fail. Selected calls that release resources still
/// release them, because real drivers report earlier errors there.
pub struct Failing {
    inner: Arc<dyn Driver>,
    plan: Arc<Plan>,
}

/// The runtime of a [`Failing`] driver.
struct FailingRuntime {
    inner: Arc<dyn DriverRuntime>,
    plan: Arc<Plan>,
}

/// The names of methods and the function that runs before the next call of one of them.
type Interposed = (&'static [&'static str], Box<dyn FnOnce() + Send>);

/// The selection of failing calls.
struct Plan {
    /// The interval of failing calls; 0 for none.
    every: AtomicU64,
    calls: AtomicU64,
    /// The method of one call to fail, and how many calls of it are left until then.
    numbered_call: Mutex<Option<(&'static str, u32)>>,
    numbered: Option<Mutex<Numbered>>,
    hides_memory: AtomicBool,
    interposed: Mutex<Option<Interposed>>,
}

/// Consecutive addresses on each device, mapped to the real ones.
#[derive(Default)]
struct Numbered {
    last: HashMap<DeviceIndex, u64>,
    real: HashMap<(DeviceIndex, u64), Address>,
}

impl Failing {
    pub fn over(inner: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Failing { inner, plan: Arc::new(Plan::new(None)) })
    }

    /// Creates a driver that never fails and returns deterministic addresses. They are not memory, and must not be used
    /// by queued work.
    pub fn numbered(inner: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Failing { inner, plan: Arc::new(Plan::new(Some(Mutex::default()))) })
    }

    /// Reports no memory from now on, like a driver that can't query it.
    pub fn hide_memory(&self) {
        self.plan.hides_memory.store(true, Ordering::SeqCst);
    }

    /// Runs a function before the next call of one of these methods.
    pub fn before(&self, methods: &'static [&'static str], function: impl FnOnce() + Send + 'static) {
        *self.plan.interposed.lock().unwrap() = Some((methods, Box::new(function)));
    }

    /// Makes the `number`th call of a method from now on fail.
    pub fn fail_call(&self, method: &'static str, number: u32) {
        *self.plan.numbered_call.lock().unwrap() = Some((method, number));
    }

    /// Makes later calls fail at an interval, beginning with the call of that number; 0 for none.
    pub fn fail_every(&self, every: u64) {
        self.plan.calls.store(0, Ordering::SeqCst);
        self.plan.every.store(every, Ordering::SeqCst);
    }
}

impl Plan {
    fn new(numbered: Option<Mutex<Numbered>>) -> Self {
        Plan {
            every: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            numbered_call: Mutex::default(),
            numbered,
            hides_memory: AtomicBool::new(false),
            interposed: Mutex::default(),
        }
    }

    fn numbered_as(&self, device: DeviceIndex, real: Address, bytes: usize) -> Address {
        let Some(numbered) = &self.numbered else { return real };
        let mut numbered = numbered.lock().unwrap();
        let last = numbered.last.entry(device).or_insert(512);
        let address = *last;
        *last += bytes as u64;
        numbered.real.insert((device, address), real);
        Address(address)
    }

    fn real(&self, device: DeviceIndex, address: Address) -> Address {
        let Some(numbered) = &self.numbered else { return address };
        numbered.lock().unwrap().real.remove(&(device, address.0)).unwrap()
    }

    fn fails(&self) -> Option<u64> {
        let every = self.every.load(Ordering::SeqCst);
        let call = if every == 0 { return None } else { self.calls.fetch_add(1, Ordering::SeqCst) + 1 };
        call.is_multiple_of(every).then_some(call / every)
    }

    fn try_to(&self, operation: &str, device: DeviceIndex) -> Result<()> {
        // Unlocked before the call, which may call the driver.
        let interposed = self.interposed.lock().unwrap().take_if(|(methods, _)| methods.contains(&operation));
        interposed.into_iter().for_each(|(_, function)| function());
        let fails_once = {
            let mut numbered = self.numbered_call.lock().unwrap();
            let called = numbered.as_mut().filter(|(method, _)| *method == operation);
            called.into_iter().for_each(|(_, left)| *left -= 1);
            numbered.take_if(|(_, left)| *left == 0).is_some()
        };
        match self.fails() {
            None if !fails_once => Ok(()),
            _ => Err(Error::device(device_of(device), operation, "it was its turn")),
        }
    }
}

fn device_of(index: DeviceIndex) -> Device {
    Device::new(*KIND, Some(index.into())).unwrap()
}

macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, on $device:expr;)+) => {
        $(fn $name(&self, $($argument: $type),*) -> Result<$result> {
            self.plan.try_to(stringify!($name), $device)?;
            self.inner.$name($($argument),*)
        })+
    };
}

impl Driver for Failing {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    fn unavailable_reason(&self) -> Option<String> {
        self.inner.unavailable_reason()
    }

    fn device_count(&self) -> u32 {
        self.inner.device_count()
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        Ok(Arc::new(FailingRuntime { inner: self.inner.start()?, plan: self.plan.clone() }))
    }
}

// SAFETY: the inner runtime, which all calls are forwarded to, fulfils the contract.
unsafe impl DriverRuntime for FailingRuntime {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    fn device_count(&self) -> u32 {
        self.inner.device_count()
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        match self.plan.fails() {
            // Alternates between out of memory and a failing device.
            Some(failure) if failure.is_multiple_of(2) => Err(OutOfMemory::error(device_of(device), bytes)),
            Some(_) => Err(Error::device(device_of(device), "allocate", "it was its turn")),
            None => Ok(self.plan.numbered_as(device, self.inner.allocate(device, bytes)?, bytes)),
        }
    }

    passed_on! {
        properties(device: DeviceIndex) -> DeviceProperties, on device;
        allocate_pinned(device: DeviceIndex, bytes: usize) -> Address, on 0;
        priority_range(device: DeviceIndex) -> PriorityRange, on device;
        default_stream(device: DeviceIndex) -> StreamHandle, on device;
        create_stream(device: DeviceIndex, priority: i32) -> StreamHandle, on device;
        create_event(device: DeviceIndex, options: EventOptions) -> EventHandle, on device;
        record_event(event: EventHandle, stream: StreamHandle) -> (), on stream.device;
        wait_event(stream: StreamHandle, event: EventHandle) -> (), on stream.device;
        elapsed(start: EventHandle, end: EventHandle) -> f64, on start.device;
        has_completed(event: EventHandle) -> bool, on event.device;
        begin_capture(stream: StreamHandle, mode: CaptureMode) -> CaptureId, on stream.device;
        capture_id(stream: StreamHandle) -> Option<u64>, on stream.device;
        instantiate(graph: GraphHandle) -> GraphExecHandle, on 0;
        replay(executable: GraphExecHandle, stream: StreamHandle) -> (), on stream.device;
        describe_graph(graph: GraphHandle) -> GraphDump, on 0;
    }

    fn launch_host_fn(&self, stream: StreamHandle, function: HostFn) -> Result<()> {
        self.plan.try_to("launch_host_fn", stream.device)?;
        self.inner.launch_host_fn(stream, function)
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        self.plan.try_to("wrap_external_stream", device)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.wrap_external_stream(device, raw) }
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        self.plan.try_to("memory_info", device)?;
        match self.plan.hides_memory.load(Ordering::SeqCst) {
            true => Ok(MemoryInfo { free: 0, total: 0 }),
            false => self.inner.memory_info(device),
        }
    }

    fn check(&self, awaited: WaitTarget) -> Result<bool> {
        self.inner.check(awaited)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        let graph = self.inner.end_capture(stream)?;
        self.plan.try_to("end_capture", stream.device).inspect_err(|_| self.inner.destroy_graph(graph))?;
        Ok(graph)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.free(device, self.plan.real(device, address), bytes) }?;
        self.plan.try_to("release", device)
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.free_pinned(address, bytes) }?;
        self.plan.try_to("free_pinned", 0)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        self.plan.try_to("copy", stream.device)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.copy(stream, copy) }
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        self.plan.try_to("fill", stream.device)?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.inner.fill(stream, fill) }
    }

    fn is_host_accessible(&self) -> bool {
        self.plan.numbered.is_none() && self.inner.is_host_accessible()
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.inner.destroy_stream(stream);
    }

    fn destroy_event(&self, event: EventHandle) {
        self.inner.destroy_event(event);
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.inner.destroy_graph(graph);
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        self.inner.destroy_graph_exec(executable);
    }
}
