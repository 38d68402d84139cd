//! Export of tensors to other libraries through DLPack.

use interlock::accelerator::Device;
use interlock::sys::InterlockTensorDevice;
use interlock_tensor::Tensor as CoreTensor;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::Tensor;
use super::args::OptionalArg;
use super::call::{run_op, work_size};
use super::numpy::is_recorded;
use crate::accelerator::memory::interop;
use crate::accelerator::stream;
use crate::args::{extract_optional_int, extract_str};
use crate::detach::detach;
use crate::dlpack::{self, Export};
use crate::errors::IntoPyResult;
use crate::switches;

/// Returns an error for a tensor whose operations are recorded.
pub(super) fn check_not_recorded(py: Python<'_>, op: &str, tensor: &CoreTensor) -> PyResult<()> {
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
            Ok((
                run_op(py, "__dlpack__", work_size(tensor), || tensor.detach().to(options, false))?
                    .into_core(),
                true,
            ))
        }
        Some(wanted) => {
            let InterlockTensorDevice { device_type, device_id } = own?;
            Err(PyBufferError::new_err(format!(
                "__dlpack__: dl_device must be the tensor's {:?}, or the CPU for a copy, got {wanted:?}",
                (device_type, device_id)
            )))
        }
        None if copy == Some(true) => Ok((
            run_op(py, "__dlpack__", work_size(tensor), || tensor.detach().contiguous_copy())?.into_core(),
            true,
        )),
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
        let InterlockTensorDevice { device_type, device_id } = device_of(py, &self.core(py))?;
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
        check_not_recorded(py, "__dlpack__", &self.core(py))?;
        let (tensor, is_copy) = exported(py, &self.core(py), dl_device, copy)?;
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
    fn record_stream(&self, py: Python<'_>, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let tensor = &*self.core(py);
        let py = stream.py();
        let stream = stream::extract(stream, "Tensor.record_stream")?;
        detach(py, || tensor.record_stream(&stream)).into_py_result(py)
    }

    /// Describe the memory in the history: `accelerator.memory.annotate`.
    fn _annotate(&self, py: Python<'_>, annotation: &Bound<'_, PyAny>) -> PyResult<()> {
        let tensor = &*self.core(py);
        let py = annotation.py();
        let annotation = extract_str(annotation, "accelerator.memory.annotate: annotation")?;
        detach(py, || tensor.annotate(&annotation)).into_py_result(py)
    }
}
