//! An extension module that reads and sets interlock's flags and modes, has flags and a kernel of its own, and works on
//! devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use interlock_capi::accelerator::current_stream;
use interlock_capi::autograd::{is_grad_enabled, set_grad_enabled};
use interlock_capi::backends::{Flag, FlagDecl, FlagType, find, register};
use interlock_capi::dispatch::{DType, Kernel, KernelCall, KernelError, Tensor, register_kernel};
use interlock_capi::state::ThreadState;
use interlock_capi::{Error, ErrorCode};
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;

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
        let switch = FlagType::Switch { default: true };
        let doc = "Whether the extension multiplies matrices.";
        register::<bool>(&FlagDecl::new("extension_pyo3.matmul", switch, doc))
            .map_err(|error| to_exception(py, &error))?;
        let kernel = Kernel::new("extension_pyo3", multiply).condition(can_multiply);
        register_kernel("matmul", kernel.requires("extension_pyo3.matmul", "True"))
            .map_err(|error| to_exception(py, &error))?;
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

    /// Sum the bytes of a tensor on the current stream.
    #[pyfunction]
    fn total(tensor: &Bound<'_, PyAny>) -> PyResult<i64> {
        let py = tensor.py();
        let capsule = tensor.call_method0("__dlpack__")?.cast_into::<PyCapsule>()?;
        // The capsule owns a DLManagedTensor, which begins with its tensor.
        let pointer = capsule.pointer_checked(Some(c"dltensor"))?.cast::<Tensor>();
        // SAFETY: the tensor lives as long as the capsule.
        let tensor = unsafe { pointer.as_ref() };
        let is_contiguous = tensor.strides().is_none_or(|strides| strides == [1]);
        let is_bytes = tensor.shape().len() == 1 && tensor.dtype() == DType::UINT8;
        if !(is_bytes && is_contiguous && tensor.is_on_cpu()) {
            let message = "total: tensor must be contiguous bytes that the CPU can access";
            return Err(PyValueError::new_err(message));
        }
        let count = usize::try_from(tensor.shape().iter().product::<i64>())?;
        // SAFETY: the memory has so many bytes, and lives until the sum is known.
        unsafe { sum_on_stream(tensor.data::<u8>(), count) }.map_err(|error| to_exception(py, &error))
    }

    /// Wait for the work of the current stream.
    #[pyfunction]
    fn wait(py: Python<'_>) -> PyResult<()> {
        // The functions that may block detach this thread themselves.
        let waited = current_stream(None).and_then(|stream| stream.synchronize());
        waited.map_err(|error| to_exception(py, &error))
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
                static ITEMS: [u8; 2] = [20, 22];
                // SAFETY: the items are static.
                if unsafe { sum_on_stream(ITEMS.as_ptr(), 2) }.is_ok_and(|sum| sum != 42) {
                    std::process::abort();
                }
            }
        };
        std::thread::Builder::new().spawn(work)?;
        Ok(())
    }
}

/// Accepts two matrices of floats on the CPU. The tensors have no data yet.
fn can_multiply(call: &KernelCall) -> Result<(), String> {
    let accepts = |it: &Tensor| it.shape().len() == 2 && it.dtype() == DType::FLOAT32 && it.is_on_cpu();
    if call.inputs().iter().all(accepts) {
        Ok(())
    } else {
        Err("needs matrices of float32 on the CPU".to_owned())
    }
}

/// Multiplies two matrices of floats, and sums in double precision.
fn multiply(call: &KernelCall) -> Result<(), KernelError> {
    let ([left, right], [out]) = (call.inputs(), call.outputs()) else {
        return Err(KernelError::Declined("needs two operands".to_owned()));
    };
    let (&[rows, depth], &[_, columns]) = (left.shape(), right.shape()) else {
        return Err(KernelError::Declined("needs matrices".to_owned()));
    };
    let (Some(&[left_row, left_column]), Some(&[right_row, right_column])) =
        (left.strides(), right.strides())
    else {
        return Err(KernelError::Declined("needs strides".to_owned()));
    };
    let (left, right, out) = (left.data::<f32>(), right.data::<f32>(), out.data::<f32>());
    // SAFETY: the operands have an element at each index, and no other thread writes to them during the call.
    let element = |matrix: *mut f32, index: i64| f64::from(unsafe { matrix.offset(index as isize).read() });
    for row in 0..rows {
        for column in 0..columns {
            let product = |i: i64| {
                element(left, row * left_row + i * left_column)
                    * element(right, i * right_row + column * right_column)
            };
            let sum: f64 = (0..depth).map(product).sum();
            // SAFETY: the result is contiguous and has `rows * columns` elements.
            unsafe { out.offset((row * columns + column) as isize).write(sum as f32) };
        }
    }
    Ok(())
}

/// Sums bytes on the current stream of the current device, and waits. Needs no interpreter.
///
/// # Safety
/// The bytes are valid until this returns.
unsafe fn sum_on_stream(items: *const u8, count: usize) -> interlock_capi::Result<i64> {
    let stream = current_stream(None)?;
    let address = items.expose_provenance();
    let sum = Arc::new(AtomicI64::new(0));
    let result = sum.clone();
    let add = move || {
        let items = std::ptr::with_exposed_provenance::<u8>(address);
        // No slice, because the pointer of an empty tensor may be null. SAFETY: guaranteed by the caller.
        let byte = |index| i64::from(unsafe { items.add(index).read() });
        result.store((0..count).map(byte).sum(), Ordering::Release);
        Ok(())
    };
    // A GPU's library would receive `stream.native()` instead.
    stream.launch("add", add)?;
    let waited = stream.synchronize();
    if waited.is_err() {
        // A signal may have ended the wait, and the work still reads the bytes.
        let _ = stream.synchronize();
    }
    waited?;
    Ok(sum.load(Ordering::Acquire))
}
