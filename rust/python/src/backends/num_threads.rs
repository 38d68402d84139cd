//! The number of threads on which operations run.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::detach::detach;
use crate::errors::{new_exception, new_type_error};
use crate::py_int;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)
}

/// Return the number of threads on which an operation may run on the CPU.
///
/// The default is the value of the environment variable `OMP_NUM_THREADS`, else that of `MKL_NUM_THREADS`, else the
/// number of CPUs that the process may use.
///
/// Returns:
///     The number of threads; the same for all threads of the program.
///
/// Example:
///     >>> import interlock
///     >>> interlock.get_num_threads() >= 1
///     True
#[pyfunction]
fn get_num_threads() -> usize {
    interlock::num_threads().get()
}

/// Set the number of threads on which an operation may run on the CPU, for the whole process.
///
/// Matrix products and other large operations use several threads. Results do not depend on their number. An
/// operation that is running continues with the number with which it began, and a forked child with that of its
/// parent.
///
/// The number is passed to the OpenMP runtimes that are loaded under their own names, and to MKL if it has been called
/// before, as by `torch.set_num_threads`; no library is loaded. In an OpenMP runtime it applies to parallel regions of
/// the calling thread. A library that is loaded later begins with its own default.
///
/// Args:
///     threads: A positive int; 1 runs every operation on the thread that calls it.
///
/// Raises:
///     TypeError: `threads` is not an int.
///     ArgumentError: `threads` is less than 1 or more than 2**31 - 1.
///
/// Example:
///     >>> import interlock
///     >>> interlock.set_num_threads(2)
///     >>> interlock.get_num_threads()
///     2
#[pyfunction]
#[pyo3(signature = (threads, /))]
fn set_num_threads(threads: &Bound<'_, PyAny>) -> PyResult<()> {
    let what = "set_num_threads: threads";
    if threads.is_instance_of::<PyBool>() {
        return Err(new_type_error(what, "a positive int", threads));
    }
    let index = py_int::extract_index(what, "a positive int", threads)?;
    let number = py_int::int64(&index).and_then(|number| i32::try_from(number).ok());
    let Some(number) = number.and_then(|number| NonZeroUsize::new(usize::try_from(number).ok()?)) else {
        let message = format!("{what} must be from 1 to 2**31 - 1, got {}", py_int::text(&index));
        return Err(new_exception(threads.py(), "ArgumentError", message));
    };
    // Another thread may hold the lock of the loader while it loads a library that needs the GIL.
    detach(threads.py(), || interlock::set_num_threads(number));
    Ok(())
}
