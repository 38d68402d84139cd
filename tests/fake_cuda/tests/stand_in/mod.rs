//! The cuda driver on the stand-in, as a program has it: the library is found by its name, and what is told it goes to
//! that copy.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUcontext, CUresult, CUstreamCaptureMode};
use interlock_accelerator::{Device, DeviceType, cuda};
use interlock_driver::{DeviceIndex, Driver, DriverRuntime};

/// The driver.
pub fn driver() -> Arc<dyn Driver> {
    // SAFETY: sets a timer, which ends the process if a test waits for what never comes.
    unsafe { libc::alarm(120) };
    cuda::driver()
}

/// The runtime of the driver.
pub fn started() -> Arc<dyn DriverRuntime> {
    driver().start().unwrap()
}

/// A device of the driver.
pub fn device(index: DeviceIndex) -> Device {
    Device::new(DeviceType::Cuda, Some(index.into())).unwrap()
}

/// Says what devices there are, before anything has been asked of the driver.
pub fn set(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: a process runs one test, which has no other thread that reads the environment now.
        unsafe { std::env::set_var(name, value) };
    }
}

/// A function of the library, by its name.
fn function(name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: the texts end with zero. The library is loaded already, or has no code that runs when it is.
    let found = unsafe { libc::dlsym(libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW), name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

fn number_of(asks: &str, text: &str) -> u64 {
    let text = CString::new(text).unwrap();
    // SAFETY: `controls.rs` declares the functions so, and the text lives as long as the call.
    unsafe {
        let ask: unsafe extern "C" fn(*const c_char) -> u64 = std::mem::transmute(function(asks));
        ask(text.as_ptr())
    }
}

/// How often a function was called.
pub fn calls(name: &str) -> u64 {
    number_of("fake_cuda_calls", name)
}

/// What there is of a kind.
pub fn live(kind: &str) -> u64 {
    number_of("fake_cuda_live", kind)
}

/// Which devices have a context.
pub fn contexts(count: u8) -> Vec<u8> {
    // SAFETY: `controls.rs` declares the function so.
    let state: extern "C" fn(c_int) -> c_int =
        unsafe { std::mem::transmute(function("fake_cuda_context_state")) };
    (0..count).filter(|device| state((*device).into()) > 0).collect()
}

/// The allocation that is so many from now on fails; 0 takes that back.
pub fn fail_allocation(number: u64) {
    // SAFETY: as above.
    let fail: extern "C" fn(u64) = unsafe { std::mem::transmute(function("fake_cuda_fail_allocation")) };
    fail(number);
}

/// Everything on a device fails with this code from now on.
pub fn break_device(device: u8, code: i32) {
    // SAFETY: as above.
    let broken: extern "C" fn(c_int, c_int) -> c_int =
        unsafe { std::mem::transmute(function("fake_cuda_break_device")) };
    assert_eq!(broken(device.into(), code), 0);
}

/// What is current on this thread: the context, and how strictly it is kept from what may break captures of others.
pub fn current() -> (CUcontext, CUstreamCaptureMode) {
    let mut context = ptr::null_mut();
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { sys::cuCtxGetCurrent(&raw mut context) }, CUresult::CUDA_SUCCESS);
    // There is no other way to ask than to change it.
    let mode = set_mode(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL);
    set_mode(mode);
    (context, mode)
}

/// Sets how strictly this thread is kept from that. Returns what it was before.
pub fn set_mode(mut mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }, CUresult::CUDA_SUCCESS);
    mode
}

/// Makes a context current on this thread.
pub fn set_current(context: CUcontext) {
    // SAFETY: the context is retained, or null.
    assert_eq!(unsafe { sys::cuCtxSetCurrent(context) }, CUresult::CUDA_SUCCESS);
}

/// The context of a device, made by somebody else than the driver under test.
pub fn foreign_context(device: u8) -> CUcontext {
    let mut context = ptr::null_mut();
    // SAFETY: the pointer is valid, and the driver has started.
    let retained = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, device.into()) };
    assert_eq!(retained, CUresult::CUDA_SUCCESS);
    context
}

/// Waits for a stream as another library would, in the context of device 0. Returns the code.
pub fn synchronize(stream: u64) -> i32 {
    set_current(foreign_context(0));
    // SAFETY: the stream is alive.
    unsafe { sys::cuStreamSynchronize(ptr::with_exposed_provenance_mut(stream as usize)) as i32 }
}
