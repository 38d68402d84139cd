//! Streams that wait until a number in memory is large enough.

use std::ffi::c_uint;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use interlock_driver::HostFn;

use crate::call::{Handle, exported};
use crate::errors::{INVALID_VALUE, NOT_SUPPORTED};

/// The stream goes on once the number is as large as the one given, counted around.
const AT_LEAST: c_uint = 0;

/// How often a stream that waits looks.
const PAUSE: Duration = Duration::from_micros(200);

exported! {
    /// Holds a stream back until a number in pinned memory is large enough.
    fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: c_uint) |fake| {
        let state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        let found = state.stream(name)?;
        let pinned = state.pinned_at(address, size_of::<u32>() as u64).ok_or(INVALID_VALUE)?;
        if flags != AT_LEAST || !address.is_multiple_of(4) {
            return Err(INVALID_VALUE);
        }
        // NVIDIA's driver records such a wait; nobody here relies on that.
        if !state.settings.wait_value || found.capture.is_some() {
            return Err(NOT_SUPPORTED);
        }
        let device = found.device;
        let wait = HostFn::new("a wait for a number", move || {
            let _keeps = &pinned;
            // SAFETY: the number lies in pinned memory, which this owns, and is aligned.
            let number: &AtomicU32 = unsafe { &*ptr::with_exposed_provenance(address as usize) };
            while (number.load(Ordering::Acquire).wrapping_sub(value) as i32) < 0 {
                // A stream of a broken device waits for nothing any more.
                if fake.state().check(device).is_err() {
                    break;
                }
                thread::sleep(PAUSE);
            }
            Ok(())
        });
        state.driver.launch_host_fn(found.host, wait).map_err(|_| state.code(device))
    }
}
