//! Waits of streams for values in memory (`cuStreamWaitValue32`).

use std::ffi::c_uint;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use interlock_driver::HostFn;

use crate::call::{Handle, exported};
use crate::errors::{INVALID_VALUE, NOT_SUPPORTED};

/// `CU_STREAM_WAIT_VALUE_GEQ`: waits until the cyclic difference is not negative.
const AT_LEAST: c_uint = 0;

/// The interval at which a waiting stream polls the value.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

exported! {
    /// Blocks a stream until a value in pinned memory is large enough.
    fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: c_uint) |fake| {
        let state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        let found = state.stream(name)?;
        let pinned = state.pinned_at(address, size_of::<u32>() as u64).ok_or(INVALID_VALUE)?;
        if flags != AT_LEAST || !address.is_multiple_of(4) {
            return Err(INVALID_VALUE);
        }
        // NVIDIA's driver can record a wait in a capture; the tests do not need it.
        if !state.settings.wait_value || found.capture.is_some() {
            return Err(NOT_SUPPORTED);
        }
        let device = found.device;
        let wait = HostFn::new("a wait for a number", move || {
            let _owner = &pinned;
            // SAFETY: the value is aligned and in pinned memory, which the closure owns.
            let number: &AtomicU32 = unsafe { &*ptr::with_exposed_provenance(address as usize) };
            while (number.load(Ordering::Acquire).wrapping_sub(value) as i32) < 0 {
                // A stream of a broken device does not wait.
                if fake.state().check(device).is_err() {
                    break;
                }
                thread::sleep(POLL_INTERVAL);
            }
            Ok(())
        });
        state.driver.launch_host_fn(found.host, wait).map_err(|_| state.code(device))
    }
}
