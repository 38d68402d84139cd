//! A driver that fails every so many calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use interlock_accelerator::driver::*;
use interlock_accelerator::memory::OutOfMemory;
use interlock_accelerator::{CaptureMode, Device, DeviceType, Work};
use interlock_accelerator::{Error, Result};

static KIND: LazyLock<DeviceType> = LazyLock::new(|| DeviceType::named("failing").unwrap());

/// Passes everything on to another driver, unless it is a call's turn to fail. What gives something back does so all
/// the same: real drivers tell there what has failed before.
pub struct Failing {
    inner: Arc<dyn Driver>,
    /// Every so many calls one fails; 0 is none.
    every: AtomicU64,
    calls: AtomicU64,
    numbered: Option<Mutex<Numbered>>,
}

/// Addresses that are counted up on each device, with those that they stand for.
#[derive(Default)]
struct Numbered {
    last: HashMap<DeviceIndex, u64>,
    real: HashMap<(DeviceIndex, u64), Address>,
}

impl Failing {
    pub fn over(inner: Arc<dyn Driver>) -> Arc<Self> {
        let (every, calls) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Failing { inner, every, calls, numbered: None })
    }

    /// Never fails, and gives addresses that are the same each time: they are no memory, and nothing may be queued
    /// that uses them.
    pub fn numbered(inner: Arc<dyn Driver>) -> Arc<Self> {
        let (every, calls) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Failing { inner, every, calls, numbered: Some(Mutex::default()) })
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

    /// From now on every so many calls one fails, beginning with the one of that number; 0 is none.
    pub fn fail_every(&self, every: u64) {
        self.calls.store(0, Ordering::SeqCst);
        self.every.store(every, Ordering::SeqCst);
    }

    fn fails(&self) -> Option<u64> {
        let every = self.every.load(Ordering::SeqCst);
        let call = if every == 0 { return None } else { self.calls.fetch_add(1, Ordering::SeqCst) + 1 };
        call.is_multiple_of(every).then_some(call / every)
    }

    fn try_to(&self, operation: &str, device: DeviceIndex) -> Result<()> {
        match self.fails() {
            None => Ok(()),
            Some(_) => Err(Error::Device {
                device: device_of(device),
                operation: operation.to_owned(),
                reason: "it was its turn".to_owned(),
                code: None,
            }),
        }
    }
}

fn device_of(index: DeviceIndex) -> Device {
    Device::new(*KIND, Some(index.into())).unwrap()
}

macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, on $device:expr;)+) => {
        $(fn $name(&self, $($argument: $type),*) -> Result<$result> {
            self.try_to(stringify!($name), $device)?;
            self.inner.$name($($argument),*)
        })+
    };
}

// SAFETY: the driver that it passes everything to keeps what is asked for.
unsafe impl Driver for Failing {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    fn unavailable(&self) -> Option<String> {
        self.inner.unavailable()
    }

    fn device_count(&self) -> u32 {
        self.inner.device_count()
    }

    fn start(&self) -> Result<()> {
        self.inner.start()
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        match self.fails() {
            // In turn: a device that has no room, and one that does not answer.
            Some(failure) if failure.is_multiple_of(2) => Err(OutOfMemory::error(device_of(device), bytes)),
            Some(_) => Err(Error::Device {
                device: device_of(device),
                operation: "allocate".to_owned(),
                reason: "it was its turn".to_owned(),
                code: None,
            }),
            None => Ok(self.numbered_as(device, self.inner.allocate(device, bytes)?, bytes)),
        }
    }

    passed_on! {
        properties(device: DeviceIndex) -> DeviceProperties, on device;
        memory_info(device: DeviceIndex) -> MemoryInfo, on device;
        allocate_pinned(near: DeviceIndex, bytes: usize) -> Address, on 0;
        priority_range(device: DeviceIndex) -> PriorityRange, on device;
        default_stream(device: DeviceIndex) -> StreamHandle, on device;
        create_stream(device: DeviceIndex, priority: i32) -> StreamHandle, on device;
        create_event(device: DeviceIndex, options: EventOptions) -> EventHandle, on device;
        record_event(event: EventHandle, stream: StreamHandle) -> (), on stream.device;
        wait_event(stream: StreamHandle, event: EventHandle) -> (), on stream.device;
        elapsed(start: EventHandle, end: EventHandle) -> f64, on start.device;
        is_over(event: EventHandle) -> bool, on event.device;
        launch(stream: StreamHandle, work: Work) -> (), on stream.device;
        begin_capture(stream: StreamHandle, mode: CaptureMode) -> (), on stream.device;
        capture_of(stream: StreamHandle) -> Option<u64>, on stream.device;
        instantiate(graph: GraphHandle) -> ExecutableHandle, on 0;
        replay(executable: ExecutableHandle, stream: StreamHandle) -> (), on stream.device;
        shape(graph: GraphHandle) -> GraphShape, on 0;
    }

    unsafe fn adopt_stream(&self, device: DeviceIndex, native: u64) -> Result<StreamHandle> {
        self.try_to("adopt_stream", device)?;
        // SAFETY: as the caller vouches.
        unsafe { self.inner.adopt_stream(device, native) }
    }

    fn is_done(&self, awaited: Awaited) -> Result<bool> {
        self.inner.is_done(awaited)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        let graph = self.inner.end_capture(stream)?;
        self.try_to("end_capture", stream.device).inspect_err(|_| self.inner.release_graph(graph))?;
        Ok(graph)
    }

    unsafe fn release(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.inner.release(device, self.real(device, address), bytes) }?;
        self.try_to("release", device)
    }

    unsafe fn release_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.inner.release_pinned(address, bytes) }?;
        self.try_to("release_pinned", 0)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        self.try_to("copy", stream.device)?;
        // SAFETY: as the caller vouches.
        unsafe { self.inner.copy(stream, copy) }
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        self.try_to("fill", stream.device)?;
        // SAFETY: as the caller vouches.
        unsafe { self.inner.fill(stream, fill) }
    }

    fn shares_memory(&self) -> bool {
        self.numbered.is_none() && self.inner.shares_memory()
    }

    fn release_stream(&self, stream: StreamHandle) {
        self.inner.release_stream(stream);
    }

    fn release_event(&self, event: EventHandle) {
        self.inner.release_event(event);
    }

    fn release_graph(&self, graph: GraphHandle) {
        self.inner.release_graph(graph);
    }

    fn release_executable(&self, executable: ExecutableHandle) {
        self.inner.release_executable(executable);
    }
}
