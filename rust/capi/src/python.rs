//! The functions of the interpreter that this crate calls.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};

#[cfg(not(unix))]
compile_error!(
    "interlock supports Linux and macOS, not Windows, which lacks `dlsym` for the symbols of a process: docs/platforms.md \
     in the repository lists what a port needs"
);

/// Functions for the import. They are looked up at run time, so that a program which does
/// not embed Python can be linked.
pub(crate) struct Python {
    import_module: unsafe extern "C" fn(*const c_char) -> *mut c_void,
    import_capsule: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void,
    fetch: unsafe extern "C" fn(*mut *mut c_void, *mut *mut c_void, *mut *mut c_void),
    to_text: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    utf8: unsafe extern "C" fn(*mut c_void, *mut isize) -> *const c_char,
    release: unsafe extern "C" fn(*mut c_void),
    clear: unsafe extern "C" fn(),
}

/// Returns the address of a symbol of this process.
fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends with a null byte.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Returns a function of this process.
///
/// # Safety
/// `F` is the type of the function with this name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
    // SAFETY: guaranteed by the caller; both are pointers.
    symbol(name).map(|found| unsafe { std::mem::transmute_copy(&found) })
}

impl Python {
    pub(crate) fn find() -> Option<Self> {
        // SAFETY: these are the signatures in the stable ABI.
        unsafe {
            Some(Python {
                import_module: function(c"PyImport_ImportModule")?,
                import_capsule: function(c"PyCapsule_Import")?,
                fetch: function(c"PyErr_Fetch")?,
                to_text: function(c"PyObject_Str")?,
                utf8: function(c"PyUnicode_AsUTF8AndSize")?,
                release: function(c"Py_DecRef")?,
                clear: function(c"PyErr_Clear")?,
            })
        }
    }

    /// Imports a package and returns the pointer of its capsule with a dotted name; null with an exception if it fails.
    ///
    /// # Safety
    /// The thread is attached.
    pub(crate) unsafe fn import_from(&self, package: &CStr, capsule: &CStr) -> *mut c_void {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // First, because `PyCapsule_Import` replaces the exception of an import that fails.
            let module = (self.import_module)(package.as_ptr());
            if module.is_null() {
                return null_mut();
            }
            (self.release)(module);
            (self.import_capsule)(capsule.as_ptr(), 0)
        }
    }

    /// Clears the exception that is set and returns its text.
    ///
    /// # Safety
    /// The thread is attached.
    pub(crate) unsafe fn take_exception(&self) -> String {
        let mut parts = [null_mut(); 3];
        let [class, value, traceback] = &mut parts;
        // SAFETY: guaranteed by the caller; `Py_DecRef` accepts null.
        unsafe {
            (self.fetch)(class, value, traceback);
            let text = if value.is_null() { null_mut() } else { (self.to_text)(*value) };
            let mut length = 0;
            let bytes = if text.is_null() { std::ptr::null() } else { (self.utf8)(text, &raw mut length) };
            let found = if bytes.is_null() {
                "interlock cannot be imported".to_owned()
            } else {
                let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
                String::from_utf8_lossy(bytes).into_owned()
            };
            (self.release)(text);
            parts.into_iter().for_each(|part| (self.release)(part));
            (self.clear)();
            found
        }
    }
}

/// Returns whether this thread is attached to an interpreter.
pub(crate) fn is_attached() -> bool {
    // SAFETY: these are the signatures in CPython.
    let (is_initialized, check) = unsafe {
        (
            function::<unsafe extern "C" fn() -> c_int>(c"Py_IsInitialized"),
            function::<unsafe extern "C" fn() -> c_int>(c"PyGILState_Check"),
        )
    };
    // `PyGILState_Check` returns 1 on every thread of a process without an interpreter.
    // SAFETY: both functions may be called on any thread.
    let holds = |function: unsafe extern "C" fn() -> c_int| unsafe { function() } != 0;
    is_initialized.is_some_and(holds) && check.is_some_and(holds)
}

/// Raises `ImportError`. The thread is attached.
pub(crate) fn raise_import_error(text: &str) {
    type SetString = unsafe extern "C" fn(*mut c_void, *const c_char);
    let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0).chain([0]).collect();
    // SAFETY: these are the types in the stable ABI, and the text ends with a null byte.
    unsafe {
        if let Some(class) = symbol(c"PyExc_ImportError")
            && let Some(set) = function::<SetString>(c"PyErr_SetString")
        {
            set(*class.as_ptr().cast::<*mut c_void>(), text.as_ptr().cast());
        }
    }
}
