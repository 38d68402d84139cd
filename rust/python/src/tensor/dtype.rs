//! The Python class `dtype`.

use interlock_tensor::DType as CoreDType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyType};

/// The dtypes as errors list them.
pub(super) const NAMES: &str =
    "float16, bfloat16, float32, float64, int64, int32, int16, int8, uint8 or bool";

/// Declares how an object of `interlock` is shown and pickled: by its name.
macro_rules! named_object {
    ($class:ident, $object:ident => $name:expr) => {
        #[pymethods]
        impl $class {
            fn __repr__(&self) -> String {
                format!("interlock.{}", self.__reduce__())
            }

            /// Return the name of the object in `interlock`, by which pickle finds it.
            fn __reduce__(&self) -> &'static str {
                let $object = self;
                $name
            }
        }
    };
}
pub(super) use named_object;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DType>()?;
    for dtype in CoreDType::ALL {
        module.add(dtype.name(), DType(dtype))?;
    }
    module.add("half", module.getattr(CoreDType::Float16.name())?)
}

/// The type of a tensor's elements: `interlock.float16` (or `half`), `bfloat16`, `float32`, `float64`, `int64`,
/// `int32`, `int16`, `int8`, `uint8` or `bool`.
///
/// Example:
///     >>> import interlock
///     >>> interlock.float32.itemsize, interlock.int64.is_floating_point
///     (4, False)
#[pyclass(frozen, eq, hash, weakref, module = "interlock", name = "dtype")]
#[derive(PartialEq, Hash)]
pub(super) struct DType(pub CoreDType);

#[pymethods]
impl DType {
    /// Whether the elements are floating-point numbers.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_floating_point()
    }

    /// Whether the elements can be negative.
    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }

    /// The size of one element in bytes.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }
}

named_object!(DType, dtype => dtype.0.name());

/// Returns the dtype that an object stands for: a dtype, or Python's `float`, `int` or `bool`, whose numbers have it.
pub(super) fn from_object(given: &Bound<'_, PyAny>) -> Option<CoreDType> {
    if let Ok(dtype) = given.cast::<DType>() {
        return Some(dtype.get().0);
    }
    let is_class = |class: Bound<'_, PyType>| given.is(&class);
    let py = given.py();
    if is_class(py.get_type::<PyFloat>()) {
        Some(CoreDType::Float64)
    } else if is_class(py.get_type::<PyInt>()) {
        Some(CoreDType::Int64)
    } else {
        is_class(py.get_type::<PyBool>()).then_some(CoreDType::Bool)
    }
}

/// Returns the singleton object of a dtype.
pub(super) fn object(py: Python<'_>, dtype: CoreDType) -> PyResult<Bound<'_, PyAny>> {
    py.import("interlock._core.tensor")?.getattr(dtype.name())
}
