//! The Python classes `QuantizedTensor` and `QuantizedDType`.

use std::slice;

use interlock_tensor::{QuantizedDType as CoreDType, QuantizedTensor as CoreTensor, Tensor as PlainTensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::call::{maybe_detach, work_size};
use super::dtype::{self, named_object};
use super::operation::{Arg, ArgumentName, FromArgument, IntoPython};
use super::{ReadTensor, Tensor};
use crate::accelerator::Device;
use crate::errors::{IntoPyResult, new_exception, new_type_error};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<QuantizedTensor>()?;
    module.add_class::<QuantizedDType>()?;
    module.setattr(REBUILD, wrap_pyfunction!(rebuild, module)?)?;
    CoreDType::ALL.into_iter().try_for_each(|dtype| module.add(dtype.name(), QuantizedDType(dtype)))
}

/// The type of a quantized tensor's elements: `interlock.quint8`, `qint8` or `qint32`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.quint8
///     interlock.quint8
#[pyclass(frozen, eq, hash, weakref, module = "interlock")]
#[derive(PartialEq, Hash)]
struct QuantizedDType(CoreDType);

named_object!(QuantizedDType, dtype => dtype.0.name());

impl FromArgument<'_, '_> for CoreDType {
    const ANNOTATION: &'static str = "QuantizedDType";
    const WANTED: &'static str = "interlock.quint8, qint8 or qint32";

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        if let Some(dtype) = dtype::from_object(given) {
            // Also a RuntimeError, as in PyTorch.
            let message = format!("{name} must be {}, got interlock.{dtype}", Self::WANTED);
            return Err(new_exception(given.py(), "DTypeError", message));
        }
        Ok(given.cast::<QuantizedDType>().ok().map(|dtype| dtype.get().0))
    }
}

/// A tensor of integers `q` that represent the numbers `(q - zero_point) * scale`.
///
/// `interlock.quantize_per_tensor` creates it. PyTorch has the methods on its tensors. `dequantize` and `int_repr` return
/// tensors for other operations.
///
/// Example:
///     >>> import interlock
///     >>> q = interlock.quantize_per_tensor(interlock.tensor([-1.0, 0.0, 0.26]), 0.1, 10, interlock.quint8)
///     >>> q.int_repr()
///     tensor([ 0, 10, 13], dtype=interlock.uint8)
#[pyclass(frozen, weakref, module = "interlock")]
struct QuantizedTensor(CoreTensor);

#[pymethods]
impl QuantizedTensor {
    /// The element type.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("interlock._core.tensor")?.getattr(self.0.dtype().name())
    }

    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.integers().shape())
    }

    /// The device of the elements.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.0.integers().device())
    }

    /// Return the difference of the numbers that neighboring integers represent.
    fn q_scale(&self) -> f64 {
        self.0.scale()
    }

    /// Return the integer that represents 0.
    fn q_zero_point(&self) -> i64 {
        self.0.zero_point()
    }

    /// Return a copy of the integers, whose dtype is uint8, int8 or int32.
    fn int_repr(&self, py: Python<'_>) -> PyResult<Tensor> {
        self.plain(py, "int_repr", CoreTensor::int_repr)
    }

    /// Return the numbers as a float32 tensor.
    fn dequantize(&self, py: Python<'_>) -> PyResult<Tensor> {
        self.plain(py, "dequantize", CoreTensor::dequantize)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, tensor) = (slf.py(), slf.get());
        let arguments = (tensor.int_repr(py)?, tensor.q_scale(), tensor.q_zero_point(), tensor.dtype(py)?);
        Ok((py.import("interlock._core.tensor")?.getattr(REBUILD)?, arguments))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (tensor, shape) = (&self.0, self.shape(py)?);
        let text = maybe_detach(py, "__repr__", self.work_size(), || tensor.dequantize()?.text())?;
        let (scale, dtype) = (tensor.scale().into_pyobject(py)?, tensor.dtype().name());
        let text = text.strip_suffix(')').unwrap_or(&text);
        let zero_point = tensor.zero_point();
        Ok(format!("{text}, size={shape}, dtype=interlock.{dtype}, scale={scale}, zero_point={zero_point})"))
    }
}

/// A function that returns a quantized tensor of a pickle, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Tensor, f64, i64, Bound<'py, PyAny>));

/// The private name of [`rebuild`], which is not in `__all__`.
const REBUILD: &str = "_rebuild_quantized";

/// Recreate a quantized tensor from its integers.
#[pyfunction(name = "_rebuild_quantized")]
fn rebuild(
    integers: Arg<'_, '_>,
    scale: f64,
    zero_point: i64,
    dtype: Arg<'_, '_>,
) -> PyResult<QuantizedTensor> {
    let py = integers.py();
    let Ok(tensor) = integers.cast::<Tensor>() else {
        return Err(new_type_error("_rebuild_quantized: integers", "a Tensor", integers));
    };
    let Ok(dtype) = dtype.cast::<QuantizedDType>() else {
        return Err(new_type_error("_rebuild_quantized: dtype", CoreDType::WANTED, dtype));
    };
    let integers = tensor.core().detach();
    CoreTensor::from_integers(integers, scale, zero_point, dtype.get().0)
        .into_py_result(py)
        .map(QuantizedTensor)
}

impl QuantizedTensor {
    /// Returns the result of a method that computes a tensor.
    fn plain(
        &self,
        py: Python<'_>,
        op: &'static str,
        compute: fn(&CoreTensor) -> interlock_tensor::Result<PlainTensor>,
    ) -> PyResult<Tensor> {
        maybe_detach(py, op, self.work_size(), || compute(&self.0)).map(Tensor::from)
    }

    fn work_size(&self) -> usize {
        work_size(self.0.integers())
    }
}

impl FromArgument<'_, '_> for CoreTensor {
    const ANNOTATION: &'static str = "QuantizedTensor";
    const WANTED: &'static str = "a QuantizedTensor";

    fn try_from_argument(_name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast::<QuantizedTensor>().ok().map(|tensor| tensor.get().0.clone()))
    }

    fn tensors(&self) -> &[PlainTensor] {
        slice::from_ref(self.integers())
    }
}

impl IntoPython for CoreTensor {
    const ANNOTATION: &'static str = "QuantizedTensor";

    fn into_python<'py>(self, py: Python<'py>, _op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, QuantizedTensor(self))?.into_any())
    }
}
