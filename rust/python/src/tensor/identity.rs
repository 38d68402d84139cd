//! Python objects that exist once for a tensor or node: `x.grad is x.grad`.
//!
//! The core object stores weak references to them, so that it does not keep its Python objects alive.

use std::any::Any;
use std::sync::Arc;

use interlock_tensor::Tensor as CoreTensor;
use interlock_tensor::autograd as core;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use super::{ReadTensor, Tensor};
use crate::deferred_drop::DeferredDrop;

/// A weak reference to a Python object.
struct WeakObject(DeferredDrop);

impl WeakObject {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        Ok(Arc::new(WeakObject(DeferredDrop::new(PyWeakrefReference::new(object)?))))
    }

    fn upgrade<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.0.bind(py).cast::<PyWeakrefReference>().ok()?.upgrade()
    }
}

/// The Python objects of a tensor, or of a node.
#[derive(Clone, Default)]
struct Objects {
    /// The `Tensor` of a tensor.
    tensor: Option<Arc<WeakObject>>,
    /// The `Node` of a node, or of the accumulation in a leaf.
    node: Option<Arc<WeakObject>>,
    /// The `metadata` of that node.
    metadata: Option<Arc<DeferredDrop>>,
}

fn objects(stored: Option<Arc<dyn Any + Send + Sync>>) -> Objects {
    stored.and_then(|stored| stored.downcast_ref::<Objects>().cloned()).unwrap_or_default()
}

/// Returns the Python object of a tensor, or a new one.
pub(super) fn tensor_object<'py>(py: Python<'py>, tensor: &CoreTensor) -> PyResult<Bound<'py, Tensor>> {
    let found = objects(tensor.object()).tensor.and_then(|weak| weak.upgrade(py));
    if let Some(Ok(found)) = found.map(Bound::cast_into::<Tensor>) {
        return Ok(found);
    }
    let object = Bound::new(py, Tensor::from(tensor.current()))?;
    remember_tensor(&object)?;
    Ok(object)
}

/// Makes a Python object the one of its tensor, unless another one is alive.
pub(super) fn remember_tensor(object: &Bound<'_, Tensor>) -> PyResult<()> {
    let tensor = &*object.core();
    let known = objects(tensor.object());
    if known.tensor.as_ref().is_some_and(|weak| weak.upgrade(object.py()).is_some()) {
        return Ok(());
    }
    let weak = WeakObject::new(object.as_any())?;
    tensor.set_object(Arc::new(Objects { tensor: Some(weak), ..known }));
    Ok(())
}

fn node_objects(node: &core::NextFunction) -> Objects {
    match node {
        core::NextFunction::Node(node) => objects(node.object()),
        core::NextFunction::Leaf(leaf) => objects(leaf.object()),
    }
}

fn set_node_objects(node: &core::NextFunction, objects: Objects) {
    match node {
        core::NextFunction::Node(node) => node.set_object(Arc::new(objects)),
        core::NextFunction::Leaf(leaf) => leaf.set_object(Arc::new(objects)),
    }
}

/// Returns the Python object of a node, created by `make` if none is alive.
pub(super) fn node_object<'py>(
    py: Python<'py>,
    node: &core::NextFunction,
    make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(found) = node_objects(node).node.and_then(|weak| weak.upgrade(py)) {
        return Ok(found);
    }
    let object = make()?;
    let weak = WeakObject::new(&object)?;
    // Read again, because `make` may have stored the Python object of a leaf.
    set_node_objects(node, Objects { node: Some(weak), ..node_objects(node) });
    Ok(object)
}

/// Returns the `metadata` of a node, created by `make` when it is first queried.
pub(super) fn metadata<'py>(
    py: Python<'py>,
    node: &core::NextFunction,
    make: impl FnOnce() -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let known = node_objects(node);
    if let Some(found) = &known.metadata {
        return Ok(found.bind(py).clone());
    }
    let made = make()?;
    let metadata = Some(Arc::new(DeferredDrop::new(made.clone())));
    set_node_objects(node, Objects { metadata, ..known });
    Ok(made.into_any())
}

/// Visits the `metadata` in the stored objects of a node.
pub(super) fn traverse(stored: &dyn Any, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    match stored.downcast_ref::<Objects>().and_then(|objects| objects.metadata.as_ref()) {
        Some(metadata) => metadata.traverse(visit),
        None => Ok(()),
    }
}
