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
use super::stream::{DEFAULT, Stream, raw};
use crate::device::device::CudaDevice;
use crate::sys::api;
use crate::sys::context_guard::Context;
use crate::sys::error::{Code, check};

const EXTERNAL: &str = "an external stream";

/// `CU_STREAM_LEGACY`: the default stream of the device.
const LEGACY: u64 = 1;
/// `CU_STREAM_PER_THREAD`: the default stream of each thread.
const PER_THREAD: u64 = 2;

/// The streams of the process by handle and by id.
pub(crate) struct StreamTable {
    /// The devices, each with the event pool of its streams.
    devices: Vec<(Arc<CudaDevice>, Arc<EventPool>)>,
    streams: Mutex<Streams>,
    next_id: AtomicU64,
}

#[derive(Default)]
struct Streams {
    by_handle: HashMap<StreamHandle, Arc<Stream>>,
    /// Includes destroyed streams with unfinished work or an unreported error.
    by_id: HashMap<u64, Arc<Stream>>,
}

impl StreamTable {
    pub(crate) fn new(devices: &[Arc<CudaDevice>]) -> Self {
        StreamTable {
            devices: devices.iter().map(|device| (device.clone(), Arc::default())).collect(),
            streams: Mutex::default(),
            next_id: AtomicU64::new(0),
        }
    }

    fn add(&self, streams: &mut Streams, handle: StreamHandle, is_external: bool) -> Result<Arc<Stream>> {
        let found = self.devices.get(usize::from(handle.device));
        let (device, events) = found.ok_or_else(|| Error::from(Device::invalid_index(handle.device)))?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Stream::new(id, handle, is_external, device.clone(), events.clone()));
        streams.by_id.insert(id, stream.clone());
        streams.by_handle.insert(handle, stream.clone());
        Ok(stream)
    }

    /// Returns the stream of a handle. Adds default streams on first use.
    pub(crate) fn find(&self, handle: StreamHandle, operation: &'static str) -> Result<Arc<Stream>> {
        let mut streams = self.streams.lock();
        if let Some(stream) = streams.by_handle.get(&handle) {
            return Ok(stream.clone());
        }
        if handle.raw == DEFAULT {
            return self.add(&mut streams, handle, false);
        }
        let given = format!("a stream with the handle {:#x}", handle.raw);
        Err(Error::argument(
            format!("{operation}: stream"),
            given,
            "a stream that was created or wrapped, and not destroyed",
        ))
    }

    /// Returns the stream of an id, until it was destroyed and reaped.
    pub(crate) fn by_id(&self, id: u64) -> Option<Arc<Stream>> {
        self.streams.lock().by_id.get(&id).cloned()
    }

    /// Returns all streams of a device, each with whether it may be destroyed. That is true for destroyed streams with
    /// unfinished work, and for streams of other libraries, which do not report destruction.
    pub(crate) fn of_device(&self, index: DeviceIndex) -> Vec<(Arc<Stream>, bool)> {
        let streams = self.streams.lock();
        let may_be_destroyed = |stream: &Arc<Stream>| {
            let current = streams.by_handle.get(&stream.handle());
            stream.is_external() || current.is_none_or(|current| !Arc::ptr_eq(current, stream))
        };
        let of_device = streams.by_id.values().filter(|stream| stream.handle().device == index);
        of_device.map(|stream| (stream.clone(), may_be_destroyed(stream))).collect()
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
        self.add(&mut self.streams.lock(), handle, false)
    }

    /// Destroys a stream. Its queued work still runs.
    pub(crate) fn destroy(&self, handle: StreamHandle) {
        let Some(stream) = self.streams.lock().by_handle.remove(&handle) else { return };
        // SAFETY: `create` created the stream, and its handle was removed from the table, so no other call uses it.
        stream.device().destroy("destroying a Stream", || unsafe { api::cuStreamDestroy_v2(raw(handle)) });
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
        let mut streams = self.streams.lock();
        if !streams.by_handle.contains_key(&handle) {
            self.add(&mut streams, handle, raw != DEFAULT)?;
        }
        Ok(handle)
    }

    /// Removes destroyed streams whose work has completed. The destructors of retained owners may call the driver.
    pub(crate) fn reap(&self, device: &CudaDevice, operation: &'static str) {
        let destroyed = self.of_device(device.index()).into_iter().filter(|(_, is_destroyed)| *is_destroyed);
        for (stream, _) in destroyed.filter(|(stream, _)| !stream.is_external()) {
            let polled = device.begin(operation).and_then(|op| stream.poll(&op));
            if polled.is_ok() && stream.is_reclaimable() {
                self.streams.lock().by_id.remove(&stream.id());
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
    // SAFETY: the caller guarantees that the stream exists.
    match check(unsafe { api::cuStreamGetCtx(raw(handle), &raw mut found) }) {
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
