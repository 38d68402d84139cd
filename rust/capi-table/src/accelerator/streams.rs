//! The entries for streams.

use interlock::accelerator::{self, HostFn, Stream};
use interlock_core::base::quote::one_line;
use interlock_sys::*;

use super::devices;
use crate::arguments::{Handle, Sized32, Work, optional_text, write_sized};
use crate::entry::{run, run_infallible};
use crate::hooks::detached;
use crate::scopes::store_guard;

// SAFETY: `current` alone makes these handles.
unsafe impl Handle for InterlockStream {
    type Target = Stream;
}

// SAFETY: `size` is the first field, and the rest is plain data.
unsafe impl Sized32 for InterlockStreamInfo {
    const FIRST_SIZE: usize = 32;
}

pub(crate) unsafe extern "C" fn current(
    device: *const InterlockDevice,
    stream: *mut *mut InterlockStream,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let device = devices::optional_from_c("stream_current", device)?;
            let current = devices::if_started_attached(|| accelerator::current_stream(device))?;
            Handle::store("stream_current: stream", stream, current)
        })
    }
}

pub(crate) unsafe extern "C" fn info(
    stream: *const InterlockStream,
    info: *mut InterlockStreamInfo,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let stream = Handle::target("stream_info: stream", stream)?;
            let facts = InterlockStreamInfo {
                size: size_of::<InterlockStreamInfo>() as u32,
                priority: stream.priority(),
                device: devices::to_c(stream.device()),
                id: stream.id(),
                native: stream.handle()?.raw,
            };
            write_sized("stream_info: info", info, &facts)
        })
    }
}

pub(crate) unsafe extern "C" fn enter(
    stream: *const InterlockStream,
    guard: *mut InterlockGuard,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            store_guard(
                "stream_enter",
                guard,
                || Ok(Handle::target("stream_enter: stream", stream)?.guard()?),
            )
        })
    }
}

pub(crate) unsafe extern "C" fn synchronize(
    stream: *const InterlockStream,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            let stream = Handle::target("stream_synchronize: stream", stream)?;
            Ok(detached(|| stream.synchronize())?)
        })
    }
}

pub(crate) unsafe extern "C" fn launch(
    stream: *const InterlockStream,
    name: InterlockText,
    work: InterlockWork,
    error: *mut InterlockError,
) -> i32 {
    // SAFETY: the contract of the table.
    unsafe {
        run(error, || {
            // First, so that the data is released if another argument is wrong.
            let work = Work::new(work)?;
            let stream = Handle::target("stream_launch: stream", stream)?;
            let name = optional_text("stream_launch: name", name)?.unwrap_or("host function");
            let run = move || work.run().map_err(|failure| failure.text().into());
            let function = HostFn::new(&one_line(name), run);
            Ok(detached(move || stream.launch(function))?)
        })
    }
}

pub(crate) unsafe extern "C" fn free(stream: *mut InterlockStream) {
    // SAFETY: the contract of the table.
    run_infallible(|| unsafe { Handle::free_detached(stream) });
}
