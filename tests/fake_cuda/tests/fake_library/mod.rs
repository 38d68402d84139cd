//! The CUDA driver on the fake library. The loader finds the library by its soname, as in a program, and the controls
//! are called in that copy.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUcontext, CUresult, CUstreamCaptureMode};
use interlock_accelerator::{Device, DeviceType, cuda};
use interlock_driver::{DeviceIndex, Driver, DriverRuntime};

/// Returns the driver.
pub fn driver() -> Arc<dyn Driver> {
    // SAFETY: the function only sets a timer, which ends a process that hangs.
    unsafe { libc::alarm(120) };
    cuda::driver()
}

/// Returns the started driver.
pub fn started() -> Arc<dyn DriverRuntime> {
    driver().start().unwrap()
}

/// Returns a device of the driver.
pub fn device(index: DeviceIndex) -> Device {
    Device::new(DeviceType::Cuda, Some(index.into())).unwrap()
}

/// Sets environment variables that configure the devices, before the driver is used.
pub fn set(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: a process runs one test, and no other thread accesses the environment now.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Returns a function of the library.
fn function(name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: the names are C strings. The library is loaded already, or has no constructors.
    let found = unsafe { libc::dlsym(libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW), name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

fn query(name: &str, argument: &str) -> u64 {
    let argument = CString::new(argument).unwrap();
    // SAFETY: `controls.rs` declares the function with this type, and the argument lives as long as the call.
    unsafe {
        let query: unsafe extern "C" fn(*const c_char) -> u64 = std::mem::transmute(function(name));
        query(argument.as_ptr())
    }
}

/// Returns the number of calls of a function.
pub fn calls(name: &str) -> u64 {
    query("fake_cuda_calls", name)
}

/// Returns the number of live objects of a kind.
pub fn live(kind: &str) -> u64 {
    query("fake_cuda_live", kind)
}

/// Returns the devices that have a context.
pub fn contexts(count: u8) -> Vec<u8> {
    // SAFETY: `controls.rs` declares the function with this type.
    let state: extern "C" fn(c_int) -> c_int =
        unsafe { std::mem::transmute(function("fake_cuda_context_state")) };
    (0..count).filter(|device| state((*device).into()) > 0).collect()
}

/// Fails the `number`th allocation from now on; 0 cancels the fault.
pub fn fail_allocation(number: u64) {
    // SAFETY: `controls.rs` declares the function with this type.
    let fail: extern "C" fn(u64) = unsafe { std::mem::transmute(function("fake_cuda_fail_allocation")) };
    fail(number);
}

/// Runs `hook` before each call of a function. Any result but 0 is returned instead of making the call.
pub fn hook<F: Fn() -> i32 + Send + Sync + 'static>(name: &str, hook: F) {
    extern "C" fn call<F: Fn() -> i32>(data: *mut c_void) -> c_int {
        // SAFETY: the pointer is to a leaked function of this type.
        let hook = unsafe { &*data.cast::<F>() };
        hook()
    }
    set_hook(name, Some(call::<F>), Box::into_raw(Box::new(hook)).cast());
}

/// Removes the hook of a function.
pub fn unhook(name: &str) {
    set_hook(name, None, ptr::null_mut());
}

fn set_hook(name: &str, hook: Option<extern "C" fn(*mut c_void) -> c_int>, data: *mut c_void) {
    type SetHook =
        unsafe extern "C" fn(*const c_char, Option<extern "C" fn(*mut c_void) -> c_int>, *mut c_void);
    let name = CString::new(name).unwrap();
    // SAFETY: `controls.rs` declares the function with this type, and the data is leaked.
    unsafe {
        let set: SetHook = std::mem::transmute(function("fake_cuda_set_hook"));
        set(name.as_ptr(), hook, data);
    }
}

/// Breaks a device: every call for it fails with this code.
pub fn break_device(device: u8, code: i32) {
    // SAFETY: `controls.rs` declares the function with this type.
    let broken: extern "C" fn(c_int, c_int) -> c_int =
        unsafe { std::mem::transmute(function("fake_cuda_break_device")) };
    assert_eq!(broken(device.into(), code), 0);
}

/// Returns the current context and the capture mode of this thread.
pub fn current() -> (CUcontext, CUstreamCaptureMode) {
    let mut context = ptr::null_mut();
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { sys::cuCtxGetCurrent(&raw mut context) }, CUresult::CUDA_SUCCESS);
    // The mode can be read only by exchanging it.
    let mode = set_mode(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL);
    set_mode(mode);
    (context, mode)
}

/// Sets the capture mode of this thread and returns the previous one.
pub fn set_mode(mut mode: CUstreamCaptureMode) -> CUstreamCaptureMode {
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }, CUresult::CUDA_SUCCESS);
    mode
}

/// Makes a context current on this thread.
pub fn set_current(context: CUcontext) {
    // SAFETY: the context is retained or null.
    assert_eq!(unsafe { sys::cuCtxSetCurrent(context) }, CUresult::CUDA_SUCCESS);
}

/// Retains the primary context of a device, as another library would.
pub fn foreign_context(device: u8) -> CUcontext {
    let mut context = ptr::null_mut();
    // SAFETY: the pointer is valid, and the driver is started.
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
