//! The entries for memory of devices.

use std::ptr::NonNull;

use interlock::accelerator::memory::DeviceBuffer;
use interlock_capi::sys::*;

use super::devices;
use crate::arguments::{Handle, Sized32, write_sized};
use crate::entry::{Failure, run, run_infallible};
use crate::hooks::detached;

// SAFETY: `allocate` alone makes these handles.
unsafe impl Handle for InterlockBuffer {
    type Target = DeviceBuffer;
}

// SAFETY: `size` is the first field, and the rest is plain data.
unsafe impl Sized32 for InterlockBufferInfo {
    const FIRST_SIZE: usize = 40;
}

pub(crate) unsafe extern "C" fn allocate(
    device: *const InterlockDevice,
    stream: *const InterlockStream,
    bytes: u64,
    buffer: *mut *mut InterlockBuffer,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let (device, stream) =
                (devices::optional_from_c("buffer_allocate", device)?, Handle::optional_target(stream));
            let bytes = usize::try_from(bytes)
                .map_err(|_| Failure::argument("buffer_allocate: bytes", "a size in memory", bytes))?;
            let allocate = || match stream {
                Some(stream) => DeviceBuffer::on(stream, bytes),
                None => DeviceBuffer::new(device, bytes),
            };
            Handle::store("buffer_allocate: buffer", buffer, detached(allocate)?)
        })
    }
}

pub(crate) unsafe extern "C" fn info(
    buffer: *const InterlockBuffer,
    info: *mut InterlockBufferInfo,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let buffer = Handle::target("buffer_info: buffer", buffer)?;
            buffer.check_process()?;
            let facts = InterlockBufferInfo {
                size: size_of::<InterlockBufferInfo>() as u32,
                reserved: 0,
                device: devices::to_c(buffer.device()),
                address: buffer.address().0,
                host: buffer.pointer().map_or(std::ptr::null_mut(), NonNull::as_ptr).cast(),
                bytes: buffer.bytes() as u64,
            };
            write_sized("buffer_info: info", info, &facts)
        })
    }
}

pub(crate) unsafe extern "C" fn record_stream(
    buffer: *const InterlockBuffer,
    stream: *const InterlockStream,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let buffer = Handle::target("buffer_record_stream: buffer", buffer)?;
            let stream = Handle::target("buffer_record_stream: stream", stream)?;
            Ok(detached(|| buffer.record_stream(stream))?)
        })
    }
}

pub(crate) unsafe extern "C" fn free(buffer: *mut InterlockBuffer) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free_detached(buffer) });
}
