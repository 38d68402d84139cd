//! Pickles of tensors, which keep the class, the attributes, the strides and the memory that tensors share. `copy.copy`
//! uses them, too.

use std::sync::Arc;

use interlock::accelerator::Device;
use interlock_tensor::{DType as CoreDType, Placement, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};

use super::dtype;
use super::identity::remember_tensor;
use super::operation::{Arg, ArgumentName, Count, OptionalArg, Sizes, build, defaulted, required};
use super::{ReadTensor, Tensor, from_data};
use crate::context::sync;
use crate::errors::{IntoPyResult, new_type_error};
use crate::switches;

/// A pickled object: a function, its arguments and the attributes that are set on its result.
type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>, Option<Bound<'py, PyAny>>);

/// The private name of the module's dict with a weak reference to the object of each storage, by its address.
const STORAGES: &str = "_storages";

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not with `add_function`, which would put the private names into `__all__`.
    module.setattr(STORAGES, PyDict::new(module.py()))?;
    module.setattr("_rebuild", wrap_pyfunction!(_rebuild, module)?)?;
    module.setattr("_rebuild_storage", wrap_pyfunction!(_rebuild_storage, module)?)?;
    module.setattr("_rebuild_tensor", wrap_pyfunction!(_rebuild_tensor, module)?)
}

/// A storage as an object that pickles refer to. A pickler keeps it alive, and every tensor of the storage returns it, so
/// that the pickle contains the memory once.
#[pyclass(frozen, weakref, module = "interlock._core.tensor", name = "_Storage")]
struct Storage {
    /// All elements of the storage.
    whole: CoreTensor,
}

#[pymethods]
impl Storage {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let bytes = from_data::bytes(py, &self.whole)?;
        let device = self.whole.is_on_device().then(|| self.whole.device().to_string());
        let arguments = (bytes, dtype::object(py, self.whole.dtype())?, device);
        Ok((module(py)?.getattr("_rebuild_storage")?, arguments.into_pyobject(py)?))
    }
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("interlock._core.tensor")
}

/// Returns a tensor of all elements of the storage of a tensor.
pub(super) fn whole_storage(tensor: &CoreTensor) -> interlock_tensor::Result<CoreTensor> {
    let (storage, dtype) = (tensor.storage(), tensor.dtype());
    let count = storage.nbytes() / dtype.size();
    CoreTensor::from_storage(storage, dtype, &[count], &[1], 0)
}

/// Returns the object of the storage of a tensor.
fn storage_object<'py>(py: Python<'py>, tensor: &CoreTensor) -> PyResult<Bound<'py, Storage>> {
    let storages = module(py)?.getattr(STORAGES)?.cast_into::<PyDict>()?;
    let address = Arc::as_ptr(&tensor.storage()).addr();
    let made = Bound::new(py, Storage { whole: whole_storage(tensor).into_py_result(py)? })?;
    let known = storages.clone().unbind();
    let forget = PyCFunction::new_closure(py, None, None, move |arguments, _| {
        let (known, ended) = (known.bind(arguments.py()), arguments.get_item(0)?);
        // Another storage may have the address by now.
        match known.get_item(address)? {
            Some(entry) if entry.is(&ended) => known.del_item(address),
            _ => Ok(()),
        }
    })?;
    let weak = PyWeakrefReference::new_with(&made, forget)?;
    // No other code runs between the two calls, so that threads get one object. A live object keeps its storage, so the
    // address belongs to no other storage.
    if let Some(entry) = storages.get_item(address)?
        && let Some(found) = entry.cast::<PyWeakrefReference>()?.upgrade()
    {
        return Ok(found.cast_into()?);
    }
    storages.set_item(address, weak)?;
    Ok(made)
}

/// Returns a leaf of a class, `Tensor` or a subclass, that shares the memory of a tensor. Runs no code of the subclass.
pub(super) fn new_leaf<'py>(
    class: &Bound<'py, PyType>,
    tensor: CoreTensor,
    requires_grad: bool,
) -> PyResult<Bound<'py, Tensor>> {
    let py = class.py();
    let base = py.get_type::<Tensor>();
    let object = if class.is(&base) {
        Bound::new(py, Tensor::from(tensor))?
    } else {
        base.getattr("__new__")?.call1((class, Tensor::from(tensor)))?.cast_into()?
    };
    if requires_grad {
        sync(py);
        object.core().set_requires_grad(true).into_py_result(py)?;
        // Nodes refer to leaves, and return this object.
        remember_tensor(&object)?;
    }
    Ok(object)
}

/// Returns the attributes of an object: the result of `__getstate__`, or `None`.
pub(super) fn state<'py>(object: &Bound<'py, Tensor>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let state = object.call_method0("__getstate__")?;
    Ok(if state.is_none() { None } else { Some(state) })
}

#[pymethods]
impl Tensor {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        // An alias has one layout, also if another thread resizes the tensor.
        let tensor = slf.core().detach();
        let arguments = (
            slf.get_type(),
            storage_object(py, &tensor)?,
            dtype::object(py, tensor.dtype())?,
            PyTuple::new(py, tensor.shape())?,
            PyTuple::new(py, tensor.strides())?,
            tensor.storage_offset(),
            slf.core().requires_grad(),
        );
        Ok((module(py)?.getattr("_rebuild_tensor")?, arguments.into_pyobject(py)?, state(slf)?))
    }
}

/// Recreate a storage from its pickled elements.
#[pyfunction]
#[pyo3(signature = (bytes, dtype, device = None))]
fn _rebuild_storage(
    bytes: Arg<'_, '_>,
    dtype: Arg<'_, '_>,
    device: OptionalArg<'_, '_>,
) -> PyResult<Storage> {
    let (bytes, dtype) = elements("_rebuild_storage", bytes, dtype)?;
    let count = bytes.as_bytes().len() / dtype.size();
    Ok(Storage { whole: restored("_rebuild_storage", bytes, dtype, &[count], device)? })
}

/// Recreate a tensor from its storage.
#[pyfunction]
fn _rebuild_tensor<'py>(
    class: Arg<'_, 'py>,
    storage: Arg<'_, 'py>,
    dtype: Arg<'_, 'py>,
    shape: &Bound<'_, PyAny>,
    stride: &Bound<'_, PyAny>,
    storage_offset: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::_rebuild_tensor::requires_grad)] requires_grad: bool,
) -> PyResult<Bound<'py, Tensor>> {
    let py = class.py();
    let class = match class.cast::<PyType>() {
        Ok(class) if class.is_subclass_of::<Tensor>()? => class,
        _ => return Err(new_type_error("_rebuild_tensor: class", "a subclass of Tensor", class)),
    };
    let Ok(storage) = storage.cast::<Storage>() else {
        return Err(new_type_error("_rebuild_tensor: storage", "a storage", storage));
    };
    let name = |argument| ArgumentName::new("_rebuild_tensor", argument);
    let dtype = required(name("dtype"), dtype)?;
    let shape: Sizes = required(name("shape"), shape)?;
    let strides: Sizes = required(name("stride"), stride)?;
    let offset: Count = required(name("storage_offset"), storage_offset)?;
    let storage = storage.get().whole.storage();
    let tensor = CoreTensor::from_storage(storage, dtype, &shape, &strides, offset.get());
    new_leaf(class, tensor.into_py_result(py)?, requires_grad)
}

/// Recreate a tensor from a pickle of an earlier version, which has the elements of one tensor.
#[pyfunction]
#[pyo3(signature = (bytes, dtype, shape, requires_grad, device = None))]
fn _rebuild(
    bytes: Arg<'_, '_>,
    dtype: Arg<'_, '_>,
    shape: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::_rebuild::requires_grad)] requires_grad: bool,
    device: OptionalArg<'_, '_>,
) -> PyResult<Py<Tensor>> {
    let (bytes, dtype) = elements("_rebuild", bytes, dtype)?;
    let shape: Sizes = required(ArgumentName::new("_rebuild", "shape"), shape)?;
    let tensor = restored("_rebuild", bytes, dtype, &shape, device)?;
    build(bytes.py(), requires_grad, || Ok(tensor))
}

/// Extracts pickled elements and their dtype.
fn elements<'a, 'py>(
    op: &'static str,
    bytes: Arg<'a, 'py>,
    dtype: Arg<'_, 'py>,
) -> PyResult<(&'a Bound<'py, PyBytes>, CoreDType)> {
    match bytes.cast() {
        Ok(bytes) => Ok((bytes, required(ArgumentName::new(op, "dtype"), dtype)?)),
        Err(_) => Err(new_type_error(&format!("{op}: bytes"), "bytes", bytes)),
    }
}

/// Creates a tensor from pickled elements, on the CPU or on a device.
fn restored(
    op: &'static str,
    bytes: &Bound<'_, PyBytes>,
    dtype: CoreDType,
    shape: &[usize],
    device: OptionalArg<'_, '_>,
) -> PyResult<CoreTensor> {
    let py = bytes.py();
    let device = defaulted(ArgumentName::new(op, "device"), device, Device::CPU)?;
    let tensor = CoreTensor::from_le_bytes(bytes.as_bytes(), dtype, shape);
    let tensor = tensor.map_err(|error| error.during(op)).into_py_result(py)?;
    let size = super::call::work_size(&tensor);
    super::call::maybe_detach(py, op, size, || tensor.to((tensor.dtype(), Placement::from(device)), false))
}
