//! Tensors over memory of other libraries, which is passed through DLPack.

use std::ptr::NonNull;

use interlock::accelerator::Device;
use interlock::sys::{InterlockDType, InterlockTensorDevice};
use interlock_tensor::{DType as CoreDType, Placement, Tensor as CoreTensor, contiguous_strides};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::detach::{call_with, call_with_keywords};
use crate::dlpack::Imported;
use crate::errors::{IntoPyResult, new_type_error, shown};
use crate::tensor::call::{run_op, work_size};
use crate::tensor::dlpack::check_not_recorded;
use crate::tensor::dtype::NAMES;
use crate::tensor::foreign_memory::tensor_over;
use crate::tensor::operation::tensor_op;
use crate::tensor::{ReadTensor, Tensor};

/// The version of DLPack that `from_dlpack` requests.
const VERSION: (u32, u32) = (1, 0);

/// Return a tensor that shares the memory of an object of another library, through DLPack.
///
/// Read-only memory is copied.
///
/// Args:
///     ext_tensor: An object with `__dlpack__` and `__dlpack_device__`, or a DLPack capsule. Its memory must be on the
///         CPU, unless it is a tensor of interlock.
///     device: The device of the result. None means the device of `ext_tensor`. The CPU requests a copy of memory elsewhere.
///     copy: Whether to copy the elements. None copies if it is necessary, and False raises BufferError then.
///
/// Raises:
///     TypeError: `ext_tensor` does not support DLPack, or interlock does not have its dtype.
///     BufferError: The memory is on another device, its layout is not supported, or a copy is needed and forbidden.
///
/// Example:
///     >>> import numpy
///     >>> array = numpy.zeros(2, dtype="float16")
///     >>> interlock.from_dlpack(array).fill_(1)
///     tensor([1., 1.], dtype=interlock.float16)
///     >>> array
///     array([1., 1.], dtype=float16)
#[tensor_op(function, attached, example = "x.detach()")]
fn from_dlpack(
    py: Python<'_>,
    op: &'static str,
    ext_tensor: &Bound<'_, PyAny>,
    #[keyword] device: Option<Device>,
    copy: Option<bool>,
) -> PyResult<CoreTensor> {
    let own = ext_tensor.cast::<Tensor>().ok().map(ReadTensor::core);
    let source = match &own {
        Some(tensor) => {
            check_not_recorded(py, op, tensor)?;
            tensor.detach()
        }
        None => import(ext_tensor, device, copy)?,
    };
    let placement = source.options().placement;
    let target = device.map_or(placement, Placement::from);
    let is_same = target == placement || (target == Placement::Cpu && !source.is_on_device());
    let result = match (copy, is_same) {
        (Some(false), false) => {
            let message = format!("{op}: copy must not be False for memory on another device");
            return Err(PyBufferError::new_err(message));
        }
        // The memory of another library was copied if that was requested.
        (Some(true), true) if own.is_some() => {
            run_op(py, op, work_size(&source), || source.contiguous_copy())?
        }
        (_, true) => return Ok(source),
        (_, false) => run_op(py, op, work_size(&source), || source.to((source.dtype(), target), false))?,
    };
    Ok(result.into_core())
}

/// Imports memory of another library.
fn import(given: &Bound<'_, PyAny>, device: Option<Device>, copy: Option<bool>) -> PyResult<CoreTensor> {
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
        _ => contiguous_strides(&shape),
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
            Ok(run_op(py, "from_dlpack", work_size(&shared), || shared.contiguous_copy())?.into_core())
        }
        _ => Ok(shared),
    }
}
