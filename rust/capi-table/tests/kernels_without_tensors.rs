//! Registering a kernel in a build without the tensor runtime.

use std::ffi::CStr;

use interlock_capi::sys::*;
use interlock_capi_table::{Hooks, set_hooks, table};

unsafe extern "C" fn run(
    _context: *mut std::ffi::c_void,
    _call: *const InterlockKernelCall,
    _message: *mut std::ffi::c_char,
    _capacity: usize,
) -> i32 {
    INTERLOCK_STATUS_REFUSED
}

#[test]
fn registering_a_kernel_returns_unsupported_and_names_the_cure() {
    set_hooks(Hooks { detach: |work| work(), raise: |_code, _text| (), register_kernel: None });
    let kernel = InterlockKernel {
        size: size_of::<InterlockKernel>(),
        name: c"mine".as_ptr(),
        requirements: std::ptr::null(),
        num_requirements: 0,
        node: std::ptr::null(),
        context: std::ptr::null_mut(),
        condition: None,
        run: Some(run),
    };
    let mut error =
        InterlockError { size: size_of::<InterlockError>() as u32, code: INTERLOCK_OK, text: [0; 1016] };
    let operation = InterlockText { data: c"matmul".as_ptr(), bytes: 6 };
    // SAFETY: the kernel and the error are valid.
    let code = unsafe { (table().kernel_register)(operation, &raw const kernel, &raw mut error) };
    // SAFETY: the text ends with a null byte.
    let text = unsafe { CStr::from_ptr(error.text.as_ptr()) }.to_str().unwrap();
    assert_eq!((code, error.code), (INTERLOCK_ERROR_UNSUPPORTED, INTERLOCK_ERROR_UNSUPPORTED));
    assert_eq!(
        text,
        "kernel_register: this build of interlock has no tensor runtime; install interlock with the default features"
    );
}
