//! Whether a thread is attached to the interpreter.

use libloading::os::unix::Library;
use once_cell::race::OnceBox;
use pyo3::ffi;

/// Returns whether this thread is attached to the interpreter, also if another module attached it.
pub(crate) fn is_attached() -> bool {
    type Current = unsafe extern "C" fn() -> *mut ffi::PyThreadState;
    // Not a blocking cell: a child forked while another thread initializes it would wait forever.
    static FUNCTION: OnceBox<Option<Current>> = OnceBox::new();
    let function = FUNCTION.get_or_init(|| {
        // The stable ABI lacks the function. CPython exports it, since 3.13 under the public name. `PyGILState_Check`
        // is no substitute: it returns 1 on every thread once the interpreter has been finalized.
        let names: [&[u8]; 2] = [b"PyThreadState_GetUnchecked", b"_PyThreadState_UncheckedGet"];
        // SAFETY: both functions have this signature in every version of CPython.
        let found = names.into_iter().find_map(|name| unsafe { Library::this().get::<Current>(name) }.ok());
        Box::new(found.map(|found| *found))
    });
    let Some(current) = function else { return false };
    // Before CPython 3.12 `current` returns the state of the thread that holds the GIL, whichever it is.
    // SAFETY: both functions only read variables, also on a thread that Python does not know.
    let (of_this_thread, attached) = unsafe { (ffi::PyGILState_GetThisThreadState(), current()) };
    !attached.is_null() && attached == of_this_thread
}
