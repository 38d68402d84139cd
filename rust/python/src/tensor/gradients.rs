//! Differentiation.

use std::ffi::CStr;
use std::sync::Arc;

use interlock_tensor::autograd::{self as core, BackwardArgs};
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::exceptions::{PyAttributeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;

use crate::detached::detached;
use pyo3::types::{PyInt, PyIterator, PyTuple};

use super::args::new_type_error;
use super::{Tensor, fallible_alloc};
use crate::errors::IntoPyResult;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

const REFERENCE_CYCLE: &CStr =
    c"backward(): with create_graph=True a leaf and its .grad refer to each other, and \
    neither is freed; use autograd.grad() instead, or set .grad to None after use";

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(backward, module)?)?;
    module.add_function(wrap_pyfunction!(grad, module)?)
}

/// An operation in the graph, or the accumulation of gradients into a leaf.
#[pyclass(frozen, module = "interlock.autograd", name = "Node")]
pub(super) struct Node(core::NextFunction);

impl Node {
    pub(super) fn of(node: Arc<core::Node>) -> Self {
        Node(core::NextFunction::Node(node))
    }

    /// Distinguishes nodes: the address of the operation, or of the leaf.
    fn identity(&self) -> usize {
        match &self.0 {
            core::NextFunction::Node(node) => Arc::as_ptr(node).addr(),
            core::NextFunction::Leaf(leaf) => leaf.identity(),
        }
    }
}

#[pymethods]
impl Node {
    /// Return the name of the operation, such as "AddBackward0", or "AccumulateGrad" for a leaf.
    fn name(&self) -> &'static str {
        match &self.0 {
            core::NextFunction::Node(node) => node.name(),
            core::NextFunction::Leaf(_) => "AccumulateGrad",
        }
    }

    /// For each input a pair of the node that receives its gradient (None without a gradient) and 0.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.0 {
            core::NextFunction::Node(node) => {
                let zero = PyInt::new(py, 0).into_any();
                let pair = |next: Option<core::NextFunction>| {
                    let next = next.map(Node).into_pyobject(py)?;
                    // PyO3's own conversion of pairs panics without memory.
                    Ok(fallible_alloc::try_tuple(py, [Ok(next), Ok(zero.clone())].into_iter())?.into_any())
                };
                fallible_alloc::try_tuple(py, node.next_functions().map(pair))
            }
            core::NextFunction::Leaf(_) => Ok(PyTuple::empty(py)),
        }
    }

    /// The leaf of an "AccumulateGrad" node. Raises AttributeError for an operation.
    #[getter]
    fn variable(&self) -> PyResult<Tensor> {
        match &self.0 {
            core::NextFunction::Leaf(leaf) => Ok(Tensor(leaf.clone())),
            core::NextFunction::Node(node) => {
                Err(PyAttributeError::new_err(format!("{} has no attribute 'variable'", node.name())))
            }
        }
    }

    fn __repr__(&self) -> String {
        format!("<{} object at {:#x}>", self.name(), self.identity())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Node>().is_ok_and(|other| match (&self.0, &other.get().0) {
            (core::NextFunction::Node(a), core::NextFunction::Node(b)) => Arc::ptr_eq(a, b),
            (core::NextFunction::Leaf(a), core::NextFunction::Leaf(b)) => a.is(b),
            _ => false,
        })
    }

    fn __hash__(&self) -> usize {
        self.identity()
    }
}

/// The items of an iterable. What its own `__iter__` raises passes unchanged.
fn try_iter_arg<'py>(
    what: &str,
    wanted: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyIterator>> {
    let class = given.get_type();
    if class.hasattr("__iter__")? || class.hasattr("__getitem__")? {
        given.try_iter()
    } else {
        Err(new_type_error(what, wanted, given))
    }
}

/// A tensor or several of them.
fn tensors(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    if let Ok(tensor) = given.cast::<Tensor>() {
        return Ok(vec![tensor.get().0.clone()]);
    }
    let items = try_iter_arg(what, "a Tensor or several", given)?;
    let one = |item: Bound<'_, PyAny>| match item.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.get().0.clone()),
        Err(_) => Err(new_type_error(what, "a Tensor or several", &item)),
    };
    fallible_alloc::try_collect(given.py(), items.map(|item| one(item?)))
}

/// Gradients for `count` outputs: none, one, or several of which some may be None.
fn gradients(
    py: Python<'_>,
    what: &str,
    given: Any<'_, '_>,
    count: usize,
) -> PyResult<Vec<Option<CoreTensor>>> {
    let Some(given) = given else {
        return fallible_alloc::try_collect(py, std::iter::repeat_n((), count).map(|()| Ok(None)));
    };
    if let Ok(tensor) = given.cast::<Tensor>() {
        return Ok(vec![Some(tensor.get().0.clone())]);
    }
    let items = try_iter_arg(what, "a Tensor, None or several", given)?;
    let one = |item: Bound<'_, PyAny>| match item.cast::<Tensor>() {
        Ok(tensor) => Ok(Some(tensor.get().0.clone())),
        Err(_) if item.is_none() => Ok(None),
        Err(_) => Err(new_type_error(what, "a Tensor, None or several", &item)),
    };
    fallible_alloc::try_collect(given.py(), items.map(|item| one(item?)))
}

#[pymethods]
impl Tensor {
    /// Adds the gradients of this tensor to `grad` of the leaves that it was made from.
    ///
    /// A tensor of several elements needs `gradient`, of its shape. What the graph saved is freed unless
    /// `retain_graph` is true; `create_graph` records the backward pass. With `inputs`, gradients are
    /// added only to those.
    #[pyo3(signature = (gradient = None, retain_graph = None, create_graph = false, inputs = None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: Any<'_, '_>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Any<'_, '_>,
    ) -> PyResult<()> {
        self::backward(slf.as_any(), gradient, retain_graph, create_graph, inputs)
    }
}

/// Adds the gradients of `tensors` to `grad` of the leaves that they were made from.
///
/// `grad_tensors` are the gradients to start from, None for 1 where a tensor has one element. What the
/// graph saved is freed unless `retain_graph` is true; without it, it is what `create_graph` is. With
/// `create_graph` it issues a UserWarning, because each leaf and its `grad` then refer to each other.
#[pyfunction]
#[pyo3(signature = (tensors, grad_tensors = None, retain_graph = None, create_graph = false, inputs = None))]
fn backward(
    tensors: &Bound<'_, PyAny>,
    grad_tensors: Any<'_, '_>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Any<'_, '_>,
) -> PyResult<()> {
    let py = tensors.py();
    let outputs = self::tensors("tensors", tensors)?;
    let gradients = gradients(py, "grad_tensors", grad_tensors, outputs.len())?;
    let inputs = inputs.map(|inputs| self::tensors("inputs", inputs)).transpose()?;
    let retain_graph = retain_graph.unwrap_or(create_graph);
    if create_graph {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), REFERENCE_CYCLE, 1)?;
    }
    detached(py, || {
        let request = BackwardArgs { outputs: &outputs, gradients: &gradients, retain_graph, create_graph };
        core::backward(&request, inputs.as_deref())
    })
    .into_py_result(py)
}

/// The gradients of `outputs` by `inputs`, as a tuple; nothing is added to any `grad`.
///
/// `grad_outputs` are the gradients to start from, None for 1 where an output has one element. An input
/// that the outputs do not depend on raises RuntimeError, unless `allow_unused` gives None for it or
/// `materialize_grads` zeros.
#[pyfunction]
#[pyo3(signature = (
    outputs, inputs, grad_outputs = None, retain_graph = None, create_graph = false, allow_unused = None,
    materialize_grads = false
))]
#[allow(clippy::too_many_arguments)] // PyTorch's signature
fn grad<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Any<'_, 'py>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: Option<bool>,
    materialize_grads: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    if materialize_grads && allow_unused == Some(false) {
        return Err(PyValueError::new_err(
            "materialize_grads gives zeros for unused inputs, so allow_unused can't be False with it",
        ));
    }
    let outputs = tensors("outputs", outputs)?;
    let inputs = tensors("inputs", inputs)?;
    let gradients = gradients(py, "grad_outputs", grad_outputs, outputs.len())?;
    let retain_graph = retain_graph.unwrap_or(create_graph);
    let allow_unused = allow_unused.unwrap_or(materialize_grads);
    let found = detached(py, || {
        let request = BackwardArgs { outputs: &outputs, gradients: &gradients, retain_graph, create_graph };
        core::grad(&request, &inputs, allow_unused)
    });
    let found = found.into_py_result(py)?.into_iter().zip(&inputs).map(|(gradient, input)| {
        let gradient = match gradient {
            None if materialize_grads => Some(zeros(input, create_graph).into_py_result(py)?),
            other => other,
        };
        gradient.map(Tensor).into_pyobject(py)
    });
    fallible_alloc::try_tuple(py, found)
}

/// The gradient of an input that was not used. PyTorch makes it a leaf where the backward pass is recorded.
fn zeros(input: &CoreTensor, requires_grad: bool) -> Result<CoreTensor> {
    let zeros = CoreTensor::zeros(input.shape(), input.options())?;
    zeros.set_requires_grad(requires_grad)?;
    Ok(zeros)
}
