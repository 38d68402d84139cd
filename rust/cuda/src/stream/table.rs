//! The streams of the process.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::CUstream_flags;

use interlock_core::base::mutex::Mutex;
use interlock_core::device::Device;
use interlock_driver::{DeviceIndex, Error, PriorityRange, Result, StreamHandle};

use super::event_pool::EventPool;
use super::progress::Progress;
use super::stream::{DEFAULT, Stream};
use crate::device::device::CudaDevice;
use crate::sys::api;
use crate::sys::context_guard::Context;
use crate::sys::error::{Code, check};

const EXTERNAL: &str = "an external stream";

/// `CU_STREAM_LEGACY`: the default stream of the device.
const LEGACY: u64 = 1;
/// `CU_STREAM_PER_THREAD`: the default stream of each thread.
const PER_THREAD: u64 = 2;

/// The streams of the process by device and handle, and their progress by id.
pub(crate) struct StreamTable {
    devices: Vec<DeviceStreams>,
    /// Includes destroyed streams with unfinished work or an unreported error. Locked after the streams of a device.
    by_id: Mutex<HashMap<u64, Arc<Progress>>>,
    next_id: AtomicU64,
}

/// The streams of a device, with a lock of their own: each operation looks its stream up.
struct DeviceStreams {
    device: Arc<CudaDevice>,
    events: Arc<EventPool>,
    by_handle: Mutex<HashMap<StreamHandle, Arc<Stream>>>,
}

impl DeviceStreams {
    fn new(device: Arc<CudaDevice>) -> Self {
        DeviceStreams { device, events: Arc::default(), by_handle: Mutex::default() }
    }
}

impl StreamTable {
    pub(crate) fn new(devices: &[Arc<CudaDevice>]) -> Self {
        StreamTable {
            devices: devices.iter().cloned().map(DeviceStreams::new).collect(),
            by_id: Mutex::default(),
            next_id: AtomicU64::new(0),
        }
    }

    fn streams(&self, index: DeviceIndex) -> Result<&DeviceStreams> {
        let found = self.devices.get(usize::from(index));
        found.ok_or_else(|| Error::from(Device::invalid_index(index)))
    }

    fn add(
        &self,
        of_device: &DeviceStreams,
        by_handle: &mut HashMap<StreamHandle, Arc<Stream>>,
        handle: StreamHandle,
        is_external: bool,
    ) -> Arc<Stream> {
        let DeviceStreams { device, events, .. } = of_device;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Stream::new(id, handle, is_external, device.clone(), events.clone()));
        self.by_id.lock().insert(id, stream.progress().clone());
        by_handle.insert(handle, stream.clone());
        stream
    }

    /// Returns the stream of a handle. Adds default streams on first use.
    pub(crate) fn find(&self, handle: StreamHandle, operation: &'static str) -> Result<Arc<Stream>> {
        let of_device = self.streams(handle.device)?;
        let mut by_handle = of_device.by_handle.lock();
        if let Some(stream) = by_handle.get(&handle) {
            return Ok(stream.clone());
        }
        if handle.raw == DEFAULT {
            return Ok(self.add(of_device, &mut by_handle, handle, false));
        }
        let given = format!("a stream with the handle {:#x}", handle.raw);
        Err(Error::argument(
            format!("{operation}: stream"),
            given,
            "a stream that was created or wrapped, and not destroyed",
        ))
    }

    /// Returns the progress of the stream of an id, until it was destroyed and reaped.
    pub(crate) fn by_id(&self, id: u64) -> Option<Arc<Progress>> {
        self.by_id.lock().get(&id).cloned()
    }

    /// Returns the progress of all streams of a device.
    pub(crate) fn of_device(&self, index: DeviceIndex) -> Vec<Arc<Progress>> {
        let by_id = self.by_id.lock();
        by_id.values().filter(|stream| stream.device_index() == index).cloned().collect()
    }

    /// Returns the streams of a device that are not destroyed as long as the results are not dropped, and the progress
    /// of those that may be destroyed: destroyed streams with unfinished work, and streams of other libraries, which do
    /// not report destruction.
    pub(crate) fn live_and_destroyed(&self, index: DeviceIndex) -> (Vec<Arc<Stream>>, Vec<Arc<Progress>>) {
        let Ok(of_device) = self.streams(index) else { return Default::default() };
        let by_handle = of_device.by_handle.lock();
        let live: Vec<_> = by_handle.values().filter(|stream| !stream.is_external()).cloned().collect();
        let is_live = |id: u64| live.iter().any(|stream| stream.id() == id);
        let by_id = self.by_id.lock();
        let others = by_id.values().filter(|stream| stream.device_index() == index);
        let others = others.filter(|stream| !is_live(stream.id())).cloned().collect();
        (live, others)
    }

    pub(crate) fn create(
        &self,
        device: &CudaDevice,
        priority: i32,
        operation: &'static str,
    ) -> Result<Arc<Stream>> {
        let (mut stream, flags) = (ptr::null_mut(), CUstream_flags::CU_STREAM_NON_BLOCKING as u32);
        {
            let op = device.begin(operation)?;
            // SAFETY: the pointer is valid.
            op.check(unsafe { api::cuStreamCreateWithPriority(&raw mut stream, flags, priority) })?;
        }
        let handle = StreamHandle { device: device.index(), raw: stream.expose_provenance() as u64 };
        let of_device = self.streams(handle.device)?;
        Ok(self.add(of_device, &mut of_device.by_handle.lock(), handle, false))
    }

    /// Removes a stream, which is destroyed with the last reference to it.
    pub(crate) fn destroy(&self, handle: StreamHandle) {
        // Dropped without the lock.
        let streams = self.streams(handle.device);
        let removed = streams.map(|of_device| of_device.by_handle.lock().remove(&handle));
        drop(removed);
    }

    /// Adds a stream of another library.
    ///
    /// # Errors
    /// Refuses the per-thread default stream and streams of other devices and contexts.
    pub(crate) fn wrap_external(&self, device: &CudaDevice, raw: u64) -> Result<StreamHandle> {
        let raw = if raw == LEGACY { DEFAULT } else { raw };
        let handle = StreamHandle { device: device.index(), raw };
        match raw {
            DEFAULT => {}
            // The handle selects another stream on each thread, so no other thread could wait for this one.
            PER_THREAD => {
                let given = format!("the per-thread default stream ({PER_THREAD})");
                return Err(Error::argument(
                    format!("{EXTERNAL}: stream"),
                    given,
                    "a stream that is the same on every thread",
                ));
            }
            _ if !may_be_pointer(raw) => return Err(not_of_device(device, raw)),
            _ => check_context(device, handle)?,
        }
        let of_device = self.streams(handle.device)?;
        let mut by_handle = of_device.by_handle.lock();
        if !by_handle.contains_key(&handle) {
            self.add(of_device, &mut by_handle, handle, raw != DEFAULT);
        }
        Ok(handle)
    }

    /// Removes destroyed streams whose work has completed. The destructors of retained owners may call the driver.
    pub(crate) fn reap(&self, device: &CudaDevice, operation: &'static str) {
        let (_, others) = self.live_and_destroyed(device.index());
        for stream in others {
            if device.begin(operation).and_then(|op| stream.poll(&op)).is_err() {
                continue;
            }
            let mut by_id = self.by_id.lock();
            // A call that has looked the stream up before, or its wrapper, holds a third reference and may queue work.
            if Arc::strong_count(&stream) == 2 && stream.is_reclaimable() {
                by_id.remove(&stream.id());
            }
        }
    }
}

/// Returns whether a handle can be the address of a stream. The driver dereferences handles, so other numbers must not
/// be passed to it.
fn may_be_pointer(raw: u64) -> bool {
    /// The lowest address that a process can map.
    const FIRST: u64 = 4096;
    raw >= FIRST && raw.is_multiple_of(align_of::<*const ()>() as u64) && i64::try_from(raw).is_ok()
}

fn not_of_device(device: &CudaDevice, raw: u64) -> Error {
    let given = format!("{raw:#x}, which is no stream, or of another device or context");
    Error::argument(
        format!("{EXTERNAL}: stream"),
        given,
        format!("a stream of the primary context of {}", device.device_id()),
    )
}

/// Checks that a stream belongs to a device's primary context.
fn check_context(device: &CudaDevice, handle: StreamHandle) -> Result<()> {
    let mut found = ptr::null_mut();
    let context = device.context(EXTERNAL)?;
    let op = device.begin(EXTERNAL)?;
    let stream = ptr::with_exposed_provenance_mut(handle.raw as usize);
    // SAFETY: the caller guarantees that the stream exists.
    match check(unsafe { api::cuStreamGetCtx(stream, &raw mut found) }) {
        Ok(()) if Context::new(found) == context => Ok(()),
        Ok(()) | Err(Code::INVALID_HANDLE) => Err(not_of_device(device, handle.raw)),
        Err(code) => Err(op.error(code)),
    }
}

pub(crate) fn priority_range(device: &CudaDevice) -> Result<PriorityRange> {
    let (mut least, mut greatest) = (0, 0);
    let op = device.begin("accelerator.stream_priority_range")?;
    // SAFETY: the pointers are valid.
    op.check(unsafe { api::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) })?;
    Ok(PriorityRange { least, greatest })
}
