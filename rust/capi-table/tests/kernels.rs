//! Kernels of C code that cannot be registered.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

use interlock::dispatch::ForeignKernel;
use interlock_capi::sys::*;
use interlock_capi_table::{Hooks, set_hooks, table};

unsafe extern "C" fn run(
    _context: *mut c_void,
    _call: *const InterlockKernelCall,
    _message: *mut c_char,
    _capacity: usize,
) -> i32 {
    INTERLOCK_STATUS_REFUSED
}

fn kernel(name: &CStr) -> InterlockKernel {
    InterlockKernel {
        size: size_of::<InterlockKernel>(),
        name: name.as_ptr(),
        requirements: null(),
        num_requirements: 0,
        node: null(),
        context: std::ptr::null_mut(),
        condition: None,
        run: Some(run),
    }
}

/// Registers a kernel, and returns the code and the text of the error.
fn failure(kernel: &InterlockKernel) -> (i32, String) {
    set_hooks(Hooks {
        detach: |work| work(),
        raise: |_code, _text| (),
        // SAFETY: the description is valid.
        register_kernel: Some(|_operation, kernel| unsafe { ForeignKernel::new(kernel) }.map(drop)),
    });
    let mut error =
        InterlockError { size: size_of::<InterlockError>() as u32, code: INTERLOCK_OK, text: [0; 1016] };
    let operation = InterlockText { data: c"matmul".as_ptr(), bytes: 6 };
    // SAFETY: the kernel and the error are valid.
    let code = unsafe { (table().kernel_register)(operation, kernel, &raw mut error) };
    // SAFETY: the text ends with a null byte.
    let text = unsafe { CStr::from_ptr(error.text.as_ptr()) }.to_str().unwrap();
    (code, text.to_owned())
}

#[test]
fn names_with_whitespace_or_control_characters_are_refused() {
    let allowed = "kernel_register: name must be a text without whitespace and control characters, got";
    for (name, shown) in [
        (c"a b", r#""a b""#),
        (c"a b\nc", r#""a b\nc""#),
        (c"a\x1b[31m", r#""a\u{1b}[31m""#),
        (c"a\u{2003}b", r#""a\u{2003}b""#),
    ] {
        assert_eq!(failure(&kernel(name)), (INTERLOCK_ERROR_ARGUMENT, format!("{allowed} {shown}")));
    }
    assert_eq!(failure(&kernel(c"mine-2.fast")), (INTERLOCK_OK, String::new()));
}

#[test]
fn gates_that_no_array_has_are_refused() {
    let requirement = InterlockFlagRequirement { flag: null(), value: null() };
    let (code, text) = failure(&InterlockKernel {
        requirements: &raw const requirement,
        num_requirements: usize::MAX / 2,
        ..kernel(c"mine")
    });
    assert_eq!(code, INTERLOCK_ERROR_ARGUMENT);
    assert_eq!(
        text,
        "kernel_register: num_requirements must be at most 576460752303423487 requirements, got 9223372036854775807"
    );
}

#[test]
fn errors_name_the_entry_and_the_gate() {
    let with_requirement = |flag: &CStr, value: &CStr| {
        let requirement = InterlockFlagRequirement { flag: flag.as_ptr(), value: value.as_ptr() };
        failure(&InterlockKernel {
            requirements: &raw const requirement,
            num_requirements: 1,
            ..kernel(c"mine")
        })
    };
    let (code, text) = with_requirement(c"nnpack.enabled", c"often");
    assert!([INTERLOCK_ERROR_FLAG_VALUE, INTERLOCK_ERROR_FLAG_TYPE].contains(&code), "{code}: {text}");
    assert!(
        text.starts_with("kernel_register: requirements: value of backends.nnpack.enabled must be ")
            && text.ends_with(", got 'often'"),
        "{text}"
    );
    let (code, text) = with_requirement(c"nnpack.enabeld", c"True");
    assert_eq!(code, INTERLOCK_ERROR_UNKNOWN_FLAG);
    assert!(text.starts_with("kernel_register: there is no flag backends.nnpack.enabeld"), "{text}");
    let (code, text) = failure(&InterlockKernel { run: None, ..kernel(c"mine") });
    assert_eq!(
        (code, &*text),
        (INTERLOCK_ERROR_ARGUMENT, "kernel_register: run must be a function, got NULL")
    );
}
