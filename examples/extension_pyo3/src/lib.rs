//! An extension module that reads and sets interlock's flags and modes, has a flag of its own, and works on devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use interlock_capi::accelerator::memory::DeviceBuffer;
use interlock_capi::accelerator::{Event, EventOptions, current_stream};
use interlock_capi::autograd::{is_grad_enabled, set_grad_enabled};
use interlock_capi::backends::{Flag, FlagDecl, FlagType, find, register};
use interlock_capi::state::ThreadState;
use interlock_capi::{Error, ErrorCode};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The module's own flag, and one of interlock's.
struct Flags {
    level: Flag<i64>,
    benchmark: Flag<bool>,
}

static FLAGS: PyOnceLock<Flags> = PyOnceLock::new();

/// `cudnn.benchmark` and the gradient mode.
type State = (bool, bool);

fn flags(py: Python<'_>) -> PyResult<&'static Flags> {
    // Set when the module is initialized.
    FLAGS
        .get(py)
        .ok_or_else(|| to_exception(py, &Error::new(ErrorCode::Import, "the module is not initialized")))
}

/// Returns the Python exception of an error: the one that interlock raises for it.
fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    error.raise();
    PyErr::fetch(py)
}

fn seen(benchmark: Flag<bool>) -> State {
    (benchmark.get(), is_grad_enabled())
}

/// An extension module in Rust that shares interlock's state.
#[pymodule]
mod extension_pyo3 {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        interlock_capi::import().map_err(|error| to_exception(py, &error))?;
        let flag_type = FlagType::Integer { default: -1, minimum: -1, maximum: 9 };
        let declaration = FlagDecl::new("extension_pyo3.level", flag_type, "How much the extension prints.");
        let (level, warning) = register(&declaration).map_err(|error| to_exception(py, &error))?;
        if let Some(warning) = warning {
            let category = py.get_type::<PyRuntimeWarning>();
            let text = std::ffi::CString::new(warning.to_string())?;
            PyErr::warn(py, &category, &text, 1)?;
        }
        let benchmark = find("cudnn.benchmark").map_err(|error| to_exception(py, &error))?;
        let _ = FLAGS.set(py, Flags { level, benchmark });
        Ok(())
    }

    /// Return `cudnn.benchmark` and the gradient mode of this thread.
    #[pyfunction]
    fn state(py: Python<'_>) -> PyResult<State> {
        Ok(seen(flags(py)?.benchmark))
    }

    /// Call a function while this thread has another flag and mode.
    #[pyfunction]
    fn call_with<'py>(flag: bool, grad: bool, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let enter = || {
            let flag_guard = flags(py)?.benchmark.scope(flag).and_then(|scope| scope.guard());
            let guards = flag_guard.and_then(|flag_guard| Ok((flag_guard, set_grad_enabled(grad)?)));
            guards.map_err(|error| to_exception(py, &error))
        };
        let _guards = enter()?;
        function.call0()
    }

    /// Return the module's own flag.
    #[pyfunction]
    fn level(py: Python<'_>) -> PyResult<i64> {
        Ok(flags(py)?.level.get())
    }

    /// Write the module's own flag.
    #[pyfunction]
    fn set_level(py: Python<'_>, value: i64) -> PyResult<()> {
        flags(py)?.level.set(value).map_err(|error| to_exception(py, &error))
    }

    /// Sum the numbers below `n` on the current stream.
    #[pyfunction]
    fn count(py: Python<'_>, n: u64) -> PyResult<i64> {
        // The functions that may block detach this thread themselves.
        sum_on_stream(n).map_err(|error| to_exception(py, &error))
    }

    /// Return what a thread of the module sees: of its own, with the state of this thread, and of its own again.
    #[pyfunction]
    fn state_on_thread(py: Python<'_>) -> PyResult<(State, State, State)> {
        let benchmark = flags(py)?.benchmark;
        let look =
            move |state: ThreadState| Ok((seen(benchmark), state.run(|| seen(benchmark))?, seen(benchmark)));
        let on_thread = |state| std::thread::spawn(move || look(state)).join();
        let captured = ThreadState::capture().map_err(|error| to_exception(py, &error))?;
        let looked = py.detach(|| on_thread(captured));
        let failed = |_| Err(Error::new(ErrorCode::Panic, "the thread panicked"));
        looked.unwrap_or_else(failed).map_err(|error| to_exception(py, &error))
    }

    /// Start a thread that works until the process exits.
    #[pyfunction]
    fn start_thread(py: Python<'_>) -> PyResult<()> {
        let benchmark = flags(py)?.benchmark;
        let work = move || {
            loop {
                let guard = benchmark.scope(true).and_then(|scope| scope.guard());
                if guard.is_err() || !benchmark.get() {
                    std::process::abort();
                }
                drop(guard);
                if sum_on_stream(100).is_ok_and(|sum| sum != 4950) {
                    std::process::abort();
                }
            }
        };
        std::thread::Builder::new().spawn(work)?;
        Ok(())
    }
}

/// Sums the numbers below `n` on the current stream of the current device. Needs no interpreter.
fn sum_on_stream(n: u64) -> interlock_capi::Result<i64> {
    let stream = current_stream(None)?;
    let buffer = DeviceBuffer::on(&stream, n.saturating_mul(8))?;
    // A GPU's library would receive `buffer.address()` and `stream.native()` instead.
    let address = buffer.pointer()?.map_or(0, |pointer| pointer.as_ptr().expose_provenance());
    let fill = move || {
        let numbers = std::ptr::with_exposed_provenance_mut::<i64>(address);
        for i in 0..n as usize {
            // SAFETY: the memory has `n` numbers, and is valid until the work of its stream is done.
            unsafe { numbers.add(i).write(i as i64) };
        }
        Ok(())
    };
    let sum = Arc::new(AtomicI64::new(0));
    let place = sum.clone();
    let add = move || {
        let numbers = std::ptr::with_exposed_provenance::<i64>(address);
        // SAFETY: as above. The stream runs its work in order.
        let total = (0..n as usize).map(|i| unsafe { numbers.add(i).read() }).sum();
        place.store(total, Ordering::Release);
        Ok(())
    };
    stream.launch("fill", fill)?;
    stream.launch("add", add)?;
    let done = Event::new(None, EventOptions { blocking: true, ..EventOptions::default() })?;
    done.record(&stream)?;
    done.synchronize()?;
    Ok(sum.load(Ordering::Acquire))
}
