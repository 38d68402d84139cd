//! Exchange of tensors with other libraries through DLPack.

use std::ptr::NonNull;

use interlock::accelerator::Device;
use interlock::sys::{InterlockDType, InterlockTensorDevice};
use interlock_tensor::{DType as CoreDType, Placement, Tensor as CoreTensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use super::args::{OptionalArg, placement};
use super::dtype::NAMES;
use super::foreign_memory::tensor_over;
use super::numpy::is_recorded;
use super::{Tensor, run_op, work_size};
use crate::accelerator::memory::interop;
use crate::accelerator::stream;
use crate::args::{extract_optional_int, extract_str};
use crate::detach::{call_with, call_with_keywords, detach};
use crate::dlpack::{self, Export, Imported};
use crate::errors::{IntoPyResult, new_type_error, shown};
use crate::switches;

/// The version of DLPack that `from_dlpack` requests.
const VERSION: (u32, u32) = (1, 0);

/// Returns an error for a tensor whose operations are recorded.
fn check_not_recorded(py: Python<'_>, op: &str, tensor: &CoreTensor) -> PyResult<()> {
    if is_recorded(py, tensor) {
        let message = format!("{op}: the tensor must not require grad; detach() it first");
        return Err(PyBufferError::new_err(message));
    }
    Ok(())
}

/// Returns DLPack's device of a tensor: the CPU if it can access the memory.
fn device_of(py: Python<'_>, tensor: &CoreTensor) -> PyResult<InterlockTensorDevice> {
    let storage = tensor.storage();
    storage.device_memory().into_py_result(py)?.map_or(Ok(InterlockTensorDevice::CPU), interop::dlpack_device)
}

/// Returns the tensor to export: a copy if `copy` or the device requires one.
fn exported(
    py: Python<'_>,
    tensor: &CoreTensor,
    wanted: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<(CoreTensor, bool)> {
    let own = device_of(py, tensor);
    let is_there =
        |wanted: (i32, i32)| own.as_ref().is_ok_and(|own| (own.device_type, own.device_id) == wanted);
    match wanted.filter(|wanted| !is_there(*wanted)) {
        Some((kind, _)) if kind == InterlockTensorDevice::CPU.device_type && copy != Some(false) => {
            let options = (tensor.dtype(), Device::CPU);
            Ok((run_op(py, "__dlpack__", work_size(tensor), || tensor.detach().to(options, false))?.0, true))
        }
        Some(wanted) => {
            let InterlockTensorDevice { device_type, device_id } = own?;
            Err(PyBufferError::new_err(format!(
                "__dlpack__: dl_device must be the tensor's {:?}, or the CPU for a copy, got {wanted:?}",
                (device_type, device_id)
            )))
        }
        None if copy == Some(true) => {
            Ok((run_op(py, "__dlpack__", work_size(tensor), || tensor.detach().contiguous_copy())?.0, true))
        }
        None => Ok((tensor.detach(), false)),
    }
}

#[pymethods]
impl Tensor {
    /// Return DLPack's device type and index of the tensor: those of the CPU if it can access the memory.
    ///
    /// Raises:
    ///     BufferError: DLPack has no type for the device.
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        let InterlockTensorDevice { device_type, device_id } = device_of(py, &self.0)?;
        Ok((device_type, device_id))
    }

    /// Return a DLPack capsule of the tensor, which shares its memory.
    ///
    /// Args:
    ///     stream: The raw handle of the consumer's stream, which waits for the queued work; -1 for no synchronization.
    ///         For memory that the CPU can access it must be None or -1, and None waits for the work.
    ///     max_version: The newest DLPack version that the consumer supports.
    ///     dl_device: The requested device: that of the tensor, or the CPU for a copy.
    ///     copy: Whether to copy the tensor. False forbids a copy.
    ///
    /// Raises:
    ///     BufferError: The tensor requires grad while gradients are enabled, DLPack has no type for its device, or it
    ///         cannot be exported on `dl_device`.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: OptionalArg<'_, 'py>,
        dl_device: OptionalArg<'_, 'py>,
        #[pyo3(from_py_with = switches::tensor_dlpack::copy)] copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let max_version = dlpack::extract_pair(max_version, "__dlpack__: max_version")?;
        let dl_device = dlpack::extract_pair(dl_device, "__dlpack__: dl_device")?;
        let argument = "Tensor.__dlpack__: stream";
        let stream = extract_optional_int(stream, argument, "the handle of a stream")?;
        check_not_recorded(py, "__dlpack__", &self.0)?;
        let (tensor, is_copy) = exported(py, &self.0, dl_device, copy)?;
        // The layout of an alias does not change, also if another thread resizes the tensor.
        let tensor = tensor.detach();
        let storage = tensor.storage();
        match storage.device_memory().into_py_result(py)? {
            Some(memory) => interop::synchronize_consumer(py, "Tensor.__dlpack__", argument, memory, stream)?,
            None => interop::check_host_stream(argument, stream).into_py_result(py)?,
        }
        let signed = |values: &[usize]| -> PyResult<Vec<i64>> {
            values.iter().map(|&value| Ok(i64::try_from(value)?)).collect()
        };
        let export = Export {
            address: u64::try_from(tensor.data_ptr().expose_provenance())?,
            device: device_of(py, &tensor)?,
            dtype: tensor.dtype().dlpack(),
            shape: signed(tensor.shape())?,
            strides: signed(tensor.strides())?,
            is_copy,
            owner: Box::new(storage),
        };
        dlpack::capsule(py, export, max_version)
    }

    /// Record that work of another library on a stream uses the tensor. After its memory is freed, it is reused only
    /// after the work that is queued on the stream by then. The operations of interlock record their streams
    /// themselves.
    ///
    /// Args:
    ///     stream: A `Stream`, or an object with `__cuda_stream__`.
    ///
    /// Raises:
    ///     RuntimeError: The tensor is in memory of the CPU that is not pinned.
    ///     TypeError: `stream` is not a stream.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> from interlock import accelerator
    ///     >>> accelerator.use("host")
    ///     >>> x = interlock.ones(2, device="host:0")
    ///     >>> x.record_stream(interlock.Stream("host:0"))
    fn record_stream(&self, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = stream.py();
        let stream = stream::extract(stream, "Tensor.record_stream")?;
        detach(py, || self.0.record_stream(&stream)).into_py_result(py)
    }

    /// Describe the memory in the history: `accelerator.memory.annotate`.
    fn _annotate(&self, annotation: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = annotation.py();
        let annotation = extract_str(annotation, "accelerator.memory.annotate: annotation")?;
        detach(py, || self.0.annotate(&annotation)).into_py_result(py)
    }
}

/// Return a tensor that shares the memory of an object of another library, through DLPack.
///
/// Read-only memory is copied.
///
/// Args:
///     ext_tensor: An object with `__dlpack__` and `__dlpack_device__`, or a DLPack capsule. Its memory must be on the
///         CPU, unless it is a tensor of interlock.
///     device: The device of the result. None means that of `ext_tensor`. The CPU requests a copy of memory elsewhere.
///     copy: Whether to copy the elements. None copies if it is necessary, and False raises BufferError then.
///
/// Raises:
///     TypeError: `ext_tensor` does not support DLPack, or interlock does not have its dtype.
///     BufferError: The memory is on another device, its layout is not supported, or a copy is needed and forbidden.
///
/// Example:
///     >>> import interlock
///     >>> import numpy
///     >>> array = numpy.zeros(2, dtype="float16")
///     >>> interlock.from_dlpack(array).fill_(1)
///     tensor([1., 1.], dtype=interlock.float16)
///     >>> array
///     array([1., 1.], dtype=float16)
#[pyfunction]
#[pyo3(signature = (ext_tensor, *, device = None, copy = None))]
pub(super) fn from_dlpack(
    ext_tensor: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = switches::from_dlpack::copy)] copy: Option<bool>,
) -> PyResult<Tensor> {
    let (py, op) = (ext_tensor.py(), "from_dlpack");
    let source = match ext_tensor.cast::<Tensor>() {
        Ok(tensor) => {
            check_not_recorded(py, op, &tensor.get().0)?;
            tensor.get().0.detach()
        }
        Err(_) => import(ext_tensor, device, copy)?,
    };
    let is_own = ext_tensor.is_instance_of::<Tensor>();
    let own = source.options().placement;
    let target = placement(py, op, device, false, own)?;
    let is_same = target == own || (target == Placement::Cpu && !source.is_on_device());
    match (copy, is_same) {
        (Some(false), false) => {
            Err(PyBufferError::new_err(format!("{op}: copy must not be False for memory on another device")))
        }
        // The memory of another library was copied if that was requested.
        (Some(true), true) if is_own => {
            run_op(py, "from_dlpack", work_size(&source), || source.contiguous_copy())
        }
        (_, true) => Ok(Tensor(source)),
        (_, false) => {
            run_op(py, "from_dlpack", work_size(&source), || source.to((source.dtype(), target), false))
        }
    }
}

/// Imports memory of another library.
fn import(
    given: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
) -> PyResult<CoreTensor> {
    let py = given.py();
    if given.is_instance_of::<PyCapsule>() {
        return tensor_of_capsule(given, copy);
    }
    let (Some(export), Some(own_device)) =
        (given.getattr_opt("__dlpack__")?, given.getattr_opt("__dlpack_device__")?)
    else {
        let wanted = "an object with __dlpack__ and __dlpack_device__, or a DLPack capsule";
        return Err(new_type_error("from_dlpack: ext_tensor", wanted, given));
    };
    let own_device = call_with(&own_device, ())?;
    let Ok((device_type, device_id)) = own_device.extract() else {
        return Err(PyBufferError::new_err(format!(
            "from_dlpack: __dlpack_device__ must return a device type and an index, got {}",
            shown(&own_device)?
        )));
    };
    let own = InterlockTensorDevice { device_type, device_id };
    let arguments = PyDict::new(py);
    if !own.is_host() {
        if device.is_none() {
            return Err(err_not_on_cpu(own));
        }
        arguments.set_item(
            "dl_device",
            (InterlockTensorDevice::CPU.device_type, InterlockTensorDevice::CPU.device_id),
        )?;
    }
    if let Some(copy) = copy {
        arguments.set_item("copy", copy)?;
    }
    let needs_arguments = !arguments.is_empty();
    arguments.set_item("max_version", VERSION)?;
    let capsule = match call_with_keywords(&export, &PyTuple::empty(py), Some(&arguments)) {
        // Producers from before version 1 do not know the arguments.
        Err(error) if error.is_instance_of::<PyTypeError>(py) && !needs_arguments => call_with(&export, ())?,
        capsule => capsule?,
    };
    tensor_of_capsule(&capsule, copy)
}

fn err_not_on_cpu(device: InterlockTensorDevice) -> PyErr {
    PyBufferError::new_err(format!(
        "from_dlpack: the memory must be on the CPU, got the DLPack device {:?}; device=\"cpu\" requests a copy",
        (device.device_type, device.device_id)
    ))
}

/// Returns a tensor over the memory of a capsule, or with a copy of it.
fn tensor_of_capsule(capsule: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<CoreTensor> {
    let py = capsule.py();
    // SAFETY: DLPack defines the content of capsules with its names. A program that creates others is at fault, as one
    // that passes wrong addresses to `ctypes`.
    let imported = unsafe { Imported::take(capsule)? };
    if !imported.device().is_host() {
        return Err(err_not_on_cpu(imported.device()));
    }
    let given = imported.dtype();
    let Some(dtype) = CoreDType::ALL.into_iter().find(|dtype| dtype.dlpack() == given) else {
        let InterlockDType { code, bits, lanes } = given;
        return Err(PyTypeError::new_err(format!(
            "from_dlpack: the dtype must be {NAMES}, got DLPack type code {code}, {bits} bits, {lanes} lanes"
        )));
    };
    let unsigned = |values: &[i64]| -> PyResult<Vec<usize>> {
        let refused = || {
            PyBufferError::new_err("from_dlpack: sizes and strides must not be negative; copy() the array")
        };
        values.iter().map(|&value| usize::try_from(value).map_err(|_| refused())).collect()
    };
    let shape = unsigned(imported.shape())?;
    let is_empty = shape.contains(&0);
    let strides = match imported.strides() {
        // The strides of no elements are not used.
        Some(strides) if !is_empty => unsigned(strides)?,
        _ => row_major(&shape),
    };
    let pointer = imported.pointer().filter(|_| !is_empty);
    let pointer = match pointer {
        Some(pointer) if pointer.addr().get().is_multiple_of(dtype.size()) => pointer,
        Some(_) => {
            return Err(PyBufferError::new_err("from_dlpack: the memory must be aligned; copy() the array"));
        }
        None if is_empty => NonNull::<u64>::dangling().cast(),
        None => return Err(PyBufferError::new_err("from_dlpack: the memory must not be null")),
    };
    let (is_read_only, is_copied) = (imported.is_read_only(), imported.is_copy());
    // SAFETY: the producer keeps the elements valid while the import exists, and the address is aligned.
    let shared = unsafe { tensor_over(pointer, dtype, (&shape, &strides), Box::new(imported)) };
    let shared = shared.into_py_result(py)?;
    match copy {
        Some(false) if is_read_only => {
            Err(PyBufferError::new_err("from_dlpack: copy must not be False for read-only memory"))
        }
        _ if is_read_only || (copy == Some(true) && !is_copied) => {
            Ok(run_op(py, "from_dlpack", work_size(&shared), || shared.contiguous_copy())?.0)
        }
        _ => Ok(shared),
    }
}

/// Returns the strides of a contiguous tensor.
fn row_major(shape: &[usize]) -> Vec<usize> {
    let (mut strides, mut step) = (vec![1; shape.len()], 1usize);
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size);
    }
    strides
}
