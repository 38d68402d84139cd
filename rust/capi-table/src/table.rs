//! The table itself.

use std::ffi::CStr;

use interlock_sys::*;

use crate::accelerator::{devices, streams};
use crate::entry::{read_error, run_infallible};
use crate::{flags, hooks, kernels, modes, registrations, scopes, state};

/// The version of interlock.
const RELEASE: &CStr = {
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(release) => release,
        Err(_) => c"",
    }
};

/// The table in static memory.
struct Table(InterlockApi);

// SAFETY: the table is constant, and the text that it points to is static.
unsafe impl Sync for Table {}

static TABLE: Table = Table(InterlockApi {
    version: INTERLOCK_API_VERSION,
    size: size_of::<InterlockApi>() as u32,
    release: RELEASE.as_ptr(),
    error_raise,
    flag_find: flags::find,
    flag_register: flags::register,
    flag_read: flags::read,
    flag_read_effective: flags::read_effective,
    flag_payload: flags::payload,
    flags_write: flags::write_all,
    epoch: flags::epoch,
    layer_epoch: flags::layer_epoch,
    scope_new: scopes::new,
    scope_enter: scopes::enter,
    scope_free: scopes::free,
    guard_exit: scopes::exit,
    mode_word_address: modes::word_address,
    modes_enter: modes::enter,
    inference_mode_enter: modes::enter_inference,
    modes_write: modes::write,
    state_capture: state::capture,
    state_enter: state::enter,
    state_install: state::install,
    state_free: state::free,
    device_parse: devices::parse,
    device_current: devices::current,
    device_enter: devices::enter,
    device_synchronize: devices::synchronize,
    stream_current: streams::current,
    stream_info: streams::info,
    stream_enter: streams::enter,
    stream_synchronize: streams::synchronize,
    stream_launch: streams::launch,
    stream_free: streams::free,
    kernel_register: kernels::register,
    sync: state::sync,
    flags_on_change: registrations::flags_on_change,
    modes_on_change: registrations::modes_on_change,
    carried_register: registrations::register_carried,
    registration_free: registrations::free,
    flag_by_id: flags::by_id,
});

/// Returns the table of this process, which is never freed.
pub fn table() -> &'static InterlockApi {
    &TABLE.0
}

unsafe extern "C" fn error_raise(error: *const InterlockError) {
    run_infallible(|| {
        // SAFETY: the contract of the table.
        let (code, text) = unsafe { read_error(error) }.unwrap_or((INTERLOCK_ERROR_OTHER, String::new()));
        hooks::raise(code, &text);
    });
}
