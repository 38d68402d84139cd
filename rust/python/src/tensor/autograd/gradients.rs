//! Automatic differentiation: `backward` and `grad`.

use std::ffi::CStr;

use interlock_tensor::Tensor as CoreTensor;
use interlock_tensor::autograd::{self as core, BackwardArgs, EdgeOrTensor};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::node::try_extract_edge;
use crate::detach::{attach, detach};
use crate::errors::{IntoPyResult, new_argument_error, new_type_error};
use crate::tensor::args::{OptionalArg, extract_items, extract_tensors};
use crate::tensor::{ReadTensor, Tensor, fallible_alloc, op_warnings};
use crate::{shutdown, switches};

const REFERENCE_CYCLE: &CStr =
    c"backward(): with create_graph=True a leaf and its .grad form a reference cycle, and \
    neither is freed; use autograd.grad() instead, or set .grad to None after use";

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(backward, module)?)?;
    module.add_function(wrap_pyfunction!(grad, module)?)?;
    module.add_function(wrap_pyfunction!(increment_version, module)?)
}

/// Makes a thread that runs a deep backward pass one thread of Python, and not one for each function that it calls.
pub(super) fn install_pass_threads() {
    core::set_pass_threads(core::PassThreads {
        are_usable: || shutdown::is_finalizing() != Some(true),
        run: |pass| {
            // Without an interpreter the functions of the program fail.
            if attach(|py| detach(py, &mut *pass)).is_none() {
                pass();
            }
        },
    });
}

/// Extracts a tensor or an edge. Returns `None` for other objects.
fn try_extract(given: &Bound<'_, PyAny>) -> PyResult<Option<EdgeOrTensor>> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(Some(EdgeOrTensor::Tensor(tensor.core().clone()))),
        Err(_) => Ok(try_extract_edge(given)?.map(EdgeOrTensor::Edge)),
    }
}

/// Extracts one tensor or edge, or several.
fn tensors(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<EdgeOrTensor>> {
    if let Some(one) = try_extract(given)? {
        return Ok(vec![one]);
    }
    let wanted = "a Tensor, a GradientEdge or a sequence of them";
    extract_items(what, wanted, given, |item| {
        try_extract(item)?.ok_or_else(|| new_type_error(what, wanted, item))
    })
}

/// Extracts one tensor or several, for `increment_version`.
fn only_tensors(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    if let Ok(tensor) = given.cast::<Tensor>() {
        return Ok(vec![tensor.core().clone()]);
    }
    extract_tensors(what, "a Tensor or an iterable of Tensors", given)
}

/// Record that tensors were changed in place by code outside of interlock, such as a user-defined kernel.
///
/// A backward pass that needs the old elements of a tensor then raises RuntimeError. Operations of interlock record
/// their changes themselves. Inference tensors have no version counter and are ignored.
///
/// Args:
///     tensor: The tensor, or an iterable of tensors.
///
/// Raises:
///     TypeError: `tensor` is neither a tensor nor an iterable of tensors.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2)
///     >>> interlock.autograd.graph.increment_version(x)
///     >>> x._version
///     1
#[pyfunction]
fn increment_version(tensor: &Bound<'_, PyAny>) -> PyResult<()> {
    let tensors = only_tensors("increment_version: tensor", tensor)?;
    tensors.iter().for_each(CoreTensor::increment_version);
    Ok(())
}

/// Extracts the gradients of `count` outputs: none, one, or several of which some may be None.
fn gradients(
    py: Python<'_>,
    what: &str,
    given: OptionalArg<'_, '_>,
    count: usize,
) -> PyResult<Vec<Option<CoreTensor>>> {
    let Some(given) = given else {
        return fallible_alloc::try_collect(py, std::iter::repeat_n((), count).map(|()| Ok(None)));
    };
    if let Ok(tensor) = given.cast::<Tensor>() {
        return Ok(vec![Some(tensor.core().clone())]);
    }
    let wanted = "a Tensor, None or a sequence of them";
    extract_items(what, wanted, given, |item| match item.cast::<Tensor>() {
        Ok(tensor) => Ok(Some(tensor.core().clone())),
        Err(_) if item.is_none() => Ok(None),
        Err(_) => Err(new_type_error(what, wanted, item)),
    })
}

#[pymethods]
impl Tensor {
    /// Compute the gradients of this tensor and accumulate them in `grad` of the leaves.
    ///
    /// Args:
    ///     gradient: The gradient of this tensor, of its shape. None means 1, for a tensor of one element.
    ///     retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
    ///     create_graph: Whether the backward pass is recorded.
    ///     inputs: One tensor, `GradientEdge` or several in which gradients are accumulated. None means all leaves.
    ///
    /// Raises:
    ///     RuntimeError: The tensor does not require grad, or has several elements and no gradient is passed.
    ///     RuntimeError: A saved tensor was changed in place.
    ///     ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
    ///     GraphFreedError: An earlier backward pass has freed the saved tensors.
    ///     RecursionError: 2,000 backward passes run inside of each other.
    ///     ShapeError: A gradient does not have the shape of its tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
    ///     >>> (x * x).sum().backward()
    ///     >>> x.grad
    ///     tensor([2., 4.])
    #[pyo3(signature = (gradient = None, retain_graph = None, create_graph = false, inputs = None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::backward::retain_graph)] retain_graph: Option<bool>,
        #[pyo3(from_py_with = switches::backward::create_graph)] create_graph: bool,
        inputs: OptionalArg<'_, '_>,
    ) -> PyResult<()> {
        run_backward(slf.as_any(), ("gradient", gradient), retain_graph, create_graph, inputs)
    }
}

/// Compute the gradients of `tensors` and accumulate them in `grad` of the leaves.
///
/// With `create_graph` it issues a UserWarning, because each leaf and its `grad` then form a reference cycle.
///
/// Args:
///     tensors: The tensor, `GradientEdge` or several of them to differentiate.
///     grad_tensors: The gradient of each tensor. None means 1, for tensors of one element.
///     retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
///     create_graph: Whether the backward pass is recorded.
///     inputs: One tensor, `GradientEdge` or several in which gradients are accumulated. None means all leaves. An edge
///         of a tensor that is not a leaf accumulates nothing.
///
/// Raises:
///     RuntimeError: A tensor does not require grad, or has several elements and no gradient is passed.
///     RuntimeError: A saved tensor was changed in place.
///     ArgumentError: `inputs` is empty, or there are not as many gradients as outputs.
///     GraphFreedError: An earlier backward pass has freed the saved tensors.
///     RecursionError: 2,000 backward passes run inside of each other.
///     ShapeError: A gradient does not have the shape of its tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
///     >>> interlock.autograd.backward([x.sum(), x.sum()])
///     >>> x.grad
///     tensor([2., 2.])
#[pyfunction]
#[pyo3(signature = (tensors, grad_tensors = None, retain_graph = None, create_graph = false, inputs = None))]
fn backward(
    tensors: &Bound<'_, PyAny>,
    grad_tensors: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::backward::retain_graph)] retain_graph: Option<bool>,
    #[pyo3(from_py_with = switches::backward::create_graph)] create_graph: bool,
    inputs: OptionalArg<'_, '_>,
) -> PyResult<()> {
    run_backward(tensors, ("grad_tensors", grad_tensors), retain_graph, create_graph, inputs)
}

/// Runs a backward pass. The gradients are passed with the name of their argument.
fn run_backward(
    tensors: &Bound<'_, PyAny>,
    (argument, given): (&'static str, OptionalArg<'_, '_>),
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: OptionalArg<'_, '_>,
) -> PyResult<()> {
    let py = tensors.py();
    let outputs = self::tensors("backward: tensors", tensors)?;
    let gradients = gradients(py, &format!("backward: {argument}"), given, outputs.len())?;
    let inputs = inputs.map(|inputs| self::tensors("backward: inputs", inputs)).transpose()?;
    let retain_graph = retain_graph.unwrap_or(create_graph);
    if create_graph {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), REFERENCE_CYCLE, 1)?;
    }
    let done = detach(py, || {
        let request = BackwardArgs { outputs: &outputs, gradients: &gradients, retain_graph, create_graph };
        core::backward(&request, inputs.as_deref())
    });
    op_warnings::issue(py)?;
    done.map_err(|error| error.rename_argument("grad_tensors", argument)).into_py_result(py)
}

/// Return the gradients of `outputs` with respect to `inputs`, without accumulating in any `grad`.
///
/// Args:
///     outputs: The tensor, `GradientEdge` or several of them to differentiate.
///     inputs: The tensor, `GradientEdge` or several of them whose gradients are returned.
///     grad_outputs: The gradient of each output. None means 1, for outputs of one element.
///     retain_graph: Whether the saved tensors are retained. None means the value of `create_graph`.
///     create_graph: Whether the backward pass is recorded.
///     allow_unused: Whether None is returned for an unused input. None means the value of `materialize_grads`.
///     materialize_grads: Whether zeros are returned for an unused input.
///     is_grads_batched: Must be False.
///
/// Returns:
///     A tuple with the gradient of each input.
///
/// Raises:
///     RuntimeError: The outputs do not depend on an input, and neither option is True.
///     RuntimeError: The outputs do not depend on an edge in `inputs`, and `materialize_grads` is True.
///     RuntimeError: A tensor does not require grad, or has several elements and no gradient is passed.
///     RuntimeError: A saved tensor was changed in place.
///     ArgumentError: `inputs` is empty, there are not as many gradients as outputs, or `is_grads_batched` is True.
///     GraphFreedError: An earlier backward pass has freed the saved tensors.
///     RecursionError: 2,000 backward passes run inside of each other.
///     ShapeError: A gradient does not have the shape of its tensor.
///     ValueError: `allow_unused` is False and `materialize_grads` is True.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0], requires_grad=True)
///     >>> interlock.autograd.grad((x * x).sum(), x)
///     (tensor([2., 4.]),)
#[pyfunction]
#[pyo3(signature = (
    outputs, inputs, grad_outputs = None, retain_graph = None, create_graph = false, allow_unused = None,
    materialize_grads = false, *, is_grads_batched = false
))]
#[allow(clippy::too_many_arguments)] // PyTorch's signature
fn grad<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: OptionalArg<'_, 'py>,
    #[pyo3(from_py_with = switches::grad::retain_graph)] retain_graph: Option<bool>,
    #[pyo3(from_py_with = switches::grad::create_graph)] create_graph: bool,
    #[pyo3(from_py_with = switches::grad::allow_unused)] allow_unused: Option<bool>,
    #[pyo3(from_py_with = switches::grad::materialize_grads)] materialize_grads: bool,
    #[pyo3(from_py_with = switches::grad::is_grads_batched)] is_grads_batched: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    if is_grads_batched {
        let expected = "be False, because True is not supported";
        return Err(new_argument_error(py, "grad: is_grads_batched", expected, "True"));
    }
    if materialize_grads && allow_unused == Some(false) {
        return Err(PyValueError::new_err(
            "grad: allow_unused must be True or None if materialize_grads is True, got False",
        ));
    }
    let outputs = tensors("grad: outputs", outputs)?;
    let inputs = tensors("grad: inputs", inputs)?;
    let gradients = gradients(py, "grad: grad_outputs", grad_outputs, outputs.len())?;
    let retain_graph = retain_graph.unwrap_or(create_graph);
    let allow_unused = allow_unused.unwrap_or(materialize_grads);
    let found = detach(py, || {
        let request = BackwardArgs { outputs: &outputs, gradients: &gradients, retain_graph, create_graph };
        core::grad(&request, &inputs, allow_unused)
    });
    op_warnings::issue(py)?;
    let found = found.into_py_result(py)?.into_iter().zip(&inputs).map(|(gradient, input)| {
        let gradient = match gradient {
            None if materialize_grads => Some(zeros(py, input, create_graph)?),
            other => other,
        };
        gradient.map(Tensor::from).into_pyobject(py)
    });
    fallible_alloc::try_tuple(py, found)
}

/// Returns the gradient of an unused input. As in PyTorch it is a leaf that requires grad if the backward pass is
/// recorded. An edge has no tensor whose kind the zeros could have.
fn zeros(py: Python<'_>, input: &EdgeOrTensor, requires_grad: bool) -> PyResult<CoreTensor> {
    let EdgeOrTensor::Tensor(input) = input else {
        return Err(PyRuntimeError::new_err(
            "grad: materialize_grads must be False if an unused input is a GradientEdge, got True",
        ));
    };
    let zeros = CoreTensor::zeros(input.shape(), input.options()).into_py_result(py)?;
    zeros.set_requires_grad(requires_grad).into_py_result(py)?;
    Ok(zeros)
}
