//! A program that uses interlock and embeds Python without registering its copy of the extension module.
//!
//! `unregistered_host LIBPYTHON CODE` assigns a flag and runs the code. It opens the library of Python at run time, so
//! that it is built without Python.

use std::error::Error;
use std::ffi::{CString, c_char, c_int};

use interlock_core::flags::flags::CUDNN_ENABLED;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

fn main() -> Result<(), Box<dyn Error>> {
    CUDNN_ENABLED.set(false)?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [library, code] = arguments.as_slice() else {
        return Err("usage: unregistered_host LIBPYTHON CODE".into());
    };
    let code = CString::new(code.as_str())?;
    // SAFETY: the functions have these types in every release of Python, and no other thread runs.
    let status = unsafe {
        let python = Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL)?;
        python.get::<unsafe extern "C" fn()>("Py_Initialize")?();
        let status =
            python.get::<unsafe extern "C" fn(*const c_char) -> c_int>("PyRun_SimpleString")?(code.as_ptr());
        python.get::<unsafe extern "C" fn() -> c_int>("Py_FinalizeEx")?();
        // Python must not be unloaded.
        std::mem::forget(python);
        status
    };
    if status == 0 { Ok(()) } else { Err("the code raised an exception".into()) }
}
