//! A program that embeds Python and uses interlock, but does not register its copy with `append_to_inittab!`.
//!
//! Arguments: the shared library of Python, and a script. The library is loaded at run time, so that the program can be
//! linked on machines without one.

use std::error::Error;
use std::ffi::{CString, c_char, c_int};

use interlock::backends::flags::CUDNN_BENCHMARK;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

fn main() -> Result<(), Box<dyn Error>> {
    let [library, script] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "two arguments")?;
    CUDNN_BENCHMARK.set(true)?;
    let script = CString::new(std::fs::read_to_string(script)?)?;
    // SAFETY: it is Python's library, and these are the signatures of its functions.
    let status = unsafe {
        let python = Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL)?;
        python.get::<unsafe extern "C" fn()>(b"Py_Initialize")?();
        let status = python.get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"PyRun_SimpleString")?(
            script.as_ptr(),
        );
        python.get::<unsafe extern "C" fn() -> c_int>(b"Py_FinalizeEx")?();
        // Python's library must not be unloaded.
        std::mem::forget(python);
        status
    };
    std::process::exit(status.abs())
}
