//! What tests ask for and look at. Every function may be called on every thread, host functions included.

use std::ffi::{CStr, c_char, c_int};

use crate::errors::{INVALID_VALUE, SUCCESS};
use crate::regions::Kind;
use crate::state::State;
use crate::{counts, fake, faults};

/// # Safety
/// A text that ends with zero and lives as long as the call, or null.
unsafe fn text<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: as the caller vouches.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// The allocation that is so many from now on fails for want of memory, whatever it is for; 0 takes that back.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_fail_allocation(number: u64) {
    faults::fail_allocation(number);
}

/// Everything on a device fails with this code from now on, for good: what is queued there does not run any more, and
/// who waits for it is woken.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_break_device(device: c_int, code: c_int) -> c_int {
    let broken = fake::started().and_then(|fake| {
        let mut state = fake.state();
        let device = state.device_or_broken(device)?;
        if code == SUCCESS { Err(INVALID_VALUE) } else { state.break_device(device, code) }
    });
    broken.err().unwrap_or(SUCCESS)
}

/// How often a function was called in this process and those that it was forked from.
///
/// # Safety
/// The name ends with zero, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_calls(name: *const c_char) -> u64 {
    // SAFETY: as the caller vouches.
    counts::count_of(unsafe { text(name) })
}

/// What there is of a kind: `streams`, `events`, `graphs`, `executables`, `contexts`, or `bytes` of devices and bytes of
/// `pinned` memory that were given out and not freed.
///
/// # Safety
/// The kind ends with zero, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_live(kind: *const c_char) -> u64 {
    // SAFETY: as the caller vouches.
    let kind = unsafe { text(kind) };
    fake::started().map_or(0, |fake| live(&fake.state(), kind))
}

fn live(state: &State, kind: &str) -> u64 {
    let of_regions = || {
        let regions = state.regions.values().filter(|region| !matches!(region.kind, Kind::Mapped { .. }));
        regions.map(|region| region.bytes).sum::<u64>()
    };
    match kind {
        "streams" => state.streams.values().filter(|stream| !stream.is_default).count() as u64,
        "events" => state.events.len() as u64,
        "graphs" => state.graphs.len() as u64,
        "executables" => state.executables.len() as u64,
        "contexts" => state.contexts.iter().filter(|context| context.retained > 0).count() as u64,
        "bytes" => of_regions() + state.physical.values().map(|physical| physical.bytes).sum::<u64>(),
        "pinned" => state.pinned.values().map(|pinned| pinned.bytes).sum(),
        _ => 0,
    }
}

/// How often the primary context of a device was retained; -1 where there is no such device.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_context_state(device: c_int) -> c_int {
    let retained = fake::started().and_then(|fake| {
        let state = fake.state();
        Ok(state.context(state.device_or_broken(device)?)?.retained)
    });
    retained.map_or(-1, |retained| retained as c_int)
}
