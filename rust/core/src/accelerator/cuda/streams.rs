//! The streams that there are.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUstream_flags, CUstreamCaptureStatus};

use super::api;
use super::context::Context;
use super::device::CudaDevice;
use super::errors::{Code, check};
use super::stream::{Stream, pointer};
use crate::accelerator::driver::{DeviceIndex, PriorityRange, StreamHandle};
use crate::{Error, Result};

const EXTERNAL: &str = "an external stream";

/// What every library calls the stream that a device has from the start.
pub(super) const DEFAULT: u64 = 0;
/// The same, where a library wants to tell it from the one that each thread has.
const LEGACY: u64 = 1;
/// That one.
const PER_THREAD: u64 = 2;

#[derive(Default)]
pub(super) struct Streams {
    table: Mutex<Table>,
    made: AtomicU64,
}

#[derive(Default)]
struct Table {
    by_handle: HashMap<StreamHandle, Arc<Stream>>,
    /// With those that were let go and still have something to do.
    by_number: HashMap<u64, Arc<Stream>>,
}

impl Streams {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, table: &mut Table, handle: StreamHandle, is_adopted: bool) -> Arc<Stream> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Stream::new(number, handle, is_adopted));
        table.by_number.insert(number, stream.clone());
        table.by_handle.insert(handle, stream.clone());
        stream
    }

    /// The stream of a handle; the default ones are there from the start.
    pub(super) fn find(&self, handle: StreamHandle, operation: &'static str) -> Result<Arc<Stream>> {
        let mut table = self.table();
        if let Some(stream) = table.by_handle.get(&handle) {
            return Ok(stream.clone());
        }
        if is_default(handle) {
            return Ok(self.add(&mut table, handle, false));
        }
        Err(Error::Argument {
            name: operation,
            given: format!("a stream with the handle {:#x}", handle.raw),
            allowed: "a stream that was made or adopted, and not let go".to_owned(),
        })
    }

    /// The stream of a number, as long as anything is to be known of it.
    pub(super) fn of_number(&self, number: u64) -> Option<Arc<Stream>> {
        self.table().by_number.get(&number).cloned()
    }

    /// All of a device, and whether each may be gone for the driver: it was let go and still has something to do, or
    /// is another library's, which lets it go and tells nobody.
    pub(super) fn of_device(&self, index: DeviceIndex) -> Vec<(Arc<Stream>, bool)> {
        let table = self.table();
        let is_gone = |stream: &Arc<Stream>| {
            let named = table.by_handle.get(&stream.handle);
            stream.is_adopted || named.is_none_or(|named| !Arc::ptr_eq(named, stream))
        };
        let of_device = table.by_number.values().filter(|stream| stream.handle.device == index);
        of_device.map(|stream| (stream.clone(), is_gone(stream))).collect()
    }

    pub(super) fn create(
        &self,
        device: &CudaDevice,
        priority: i32,
        operation: &'static str,
    ) -> Result<Arc<Stream>> {
        let (mut stream, flags) = (ptr::null_mut(), CUstream_flags::CU_STREAM_NON_BLOCKING as u32);
        // SAFETY: the pointer is valid.
        let create = || unsafe { api::cuStreamCreateWithPriority(&raw mut stream, flags, priority) };
        device.call(operation, create)?;
        let raw = stream.expose_provenance() as u64;
        let handle = StreamHandle { device: device.index, raw };
        Ok(self.add(&mut self.table(), handle, false))
    }

    /// Lets a stream go; what is queued there still runs.
    pub(super) fn release(&self, device: &CudaDevice, handle: StreamHandle) {
        if self.table().by_handle.remove(&handle).is_none() {
            return;
        }
        // That it fails concerns a device that is of no use any more.
        // SAFETY: the stream was made by `create`, and nobody can name it any more.
        let _ = device.call("a Stream that goes", || unsafe { api::cuStreamDestroy_v2(pointer(handle)) });
    }

    /// A stream of another library.
    pub(super) fn adopt(&self, device: &CudaDevice, raw: u64) -> Result<StreamHandle> {
        let raw = if raw == LEGACY { DEFAULT } else { raw };
        let handle = StreamHandle { device: device.index, raw };
        match raw {
            DEFAULT => {}
            // Another thread that marks a place there, or has memory wait for it, would name another stream.
            PER_THREAD => {
                return Err(Error::Argument {
                    name: EXTERNAL,
                    given: format!("the default stream that each thread has of its own ({PER_THREAD})"),
                    allowed: "a stream that is the same on every thread".to_owned(),
                });
            }
            _ if !may_be_pointer(raw) => return Err(no_stream_of(device, raw)),
            _ => check_context(device, handle)?,
        }
        let mut table = self.table();
        if !table.by_handle.contains_key(&handle) {
            self.add(&mut table, handle, raw != DEFAULT);
        }
        Ok(handle)
    }

    /// Lets go what is over on streams that were let go. What is dropped may call the driver.
    pub(super) fn sweep(&self, device: &CudaDevice, operation: &'static str) {
        let gone = self.of_device(device.index).into_iter().filter(|(_, is_gone)| *is_gone);
        for (stream, _) in gone.filter(|(stream, _)| !stream.is_adopted) {
            if stream.advance(device, operation).is_ok() && stream.is_settled() {
                self.table().by_number.remove(&stream.number);
            }
        }
    }
}

/// Whether a device has had the stream from the start.
pub(super) fn is_default(handle: StreamHandle) -> bool {
    handle.raw == DEFAULT
}

/// Whether a handle can be the address of a stream. The driver dereferences handles, so what cannot be one is refused
/// before it is passed on.
fn may_be_pointer(raw: u64) -> bool {
    /// Processes map nothing below this address.
    const FIRST: u64 = 4096;
    raw >= FIRST && raw.is_multiple_of(align_of::<*const ()>() as u64) && i64::try_from(raw).is_ok()
}

fn no_stream_of(device: &CudaDevice, raw: u64) -> Error {
    Error::Argument {
        name: EXTERNAL,
        given: format!("{raw:#x}, which is none, or of another device or context"),
        allowed: format!("a stream of the primary context of {}", device.named()),
    }
}

/// Fails for what is no stream of a device's primary context.
fn check_context(device: &CudaDevice, handle: StreamHandle) -> Result<()> {
    let mut found = ptr::null_mut();
    let context = device.context(EXTERNAL)?;
    let asked = {
        let _bound = device.bind(EXTERNAL)?;
        // SAFETY: the caller vouches that there is such a stream.
        check(unsafe { api::cuStreamGetCtx(pointer(handle), &raw mut found) })
    };
    match asked {
        Ok(()) if Context::of(found) == context => Ok(()),
        Ok(()) | Err(Code::INVALID_HANDLE) => Err(no_stream_of(device, handle.raw)),
        Err(code) => Err(device.error(EXTERNAL, code)),
    }
}

pub(super) fn priority_range(device: &CudaDevice) -> Result<PriorityRange> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: the pointers are valid.
    let ask = || unsafe { api::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) };
    device.call("accelerator.stream_priority_range", ask)?;
    Ok(PriorityRange { least, greatest })
}

/// Stands for the number of a capture that an error has ended, which the driver does not tell any more.
const ENDED: u64 = 0;

/// The number of the capture that a stream takes part in.
pub(super) fn capture_id(
    device: &CudaDevice,
    handle: StreamHandle,
    operation: &'static str,
) -> Result<Option<u64>> {
    // The driver refuses even the question while a stream captures that is ordered with this one.
    if is_default(handle) {
        return Ok(None);
    }
    let (mut status, mut number) = (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0);
    let nothing = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: two pointers are valid, and the driver leaves out what the others would take.
    let ask = || unsafe {
        api::cuStreamGetCaptureInfo_v2(
            pointer(handle),
            &raw mut status,
            &raw mut number,
            nothing.0,
            nothing.1,
            nothing.2,
        )
    };
    device.call(operation, ask)?;
    Ok(match status {
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => None,
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE => Some(number),
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED => Some(ENDED),
    })
}
