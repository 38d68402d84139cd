//! Einsum, whose order of contractions the Python package opt_einsum finds.

use interlock::accelerator::Error as AcceleratorError;
use interlock::dispatch::{KernelError, Reason};
use interlock_tensor::{Error, PathOptimizer, PathRequest, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::inventory;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyString, PyTuple};

use crate::detach::{attach, call_with, call_with_keywords};
use crate::dispatch::explain::{Explained, converted};
use crate::errors::{new_argument_error, new_type_error};
use crate::tensor::Tensor;
use crate::tensor::args::{extract_tensor, try_iter_arg};
use crate::tensor::call::{DETACH_THRESHOLD, run_op};
use crate::tensor::operation::{self, Arguments, Outcome, Signature, is_list};
use crate::{pending_exception, py_int};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(einsum, module)?)
}

/// The package opt_einsum.
struct OptEinsum;

impl PathOptimizer for OptEinsum {
    fn path(&self, request: &PathRequest<'_>) -> Result<Vec<Vec<usize>>, KernelError<Error>> {
        let found = attach(|py| match contract_path(py, request) {
            Ok(Some(path)) => Ok(path),
            Ok(None) => {
                Err(KernelError::Declined(Reason::from("opt_einsum not found (pip install opt_einsum)")))
            }
            Err(raised) => {
                pending_exception::stash(py, AcceleratorError::Interrupted, raised);
                Err(KernelError::Failed(AcceleratorError::Interrupted.into()))
            }
        });
        found.unwrap_or_else(|| Err(KernelError::Declined(Reason::from("needs a Python interpreter"))))
    }
}

/// Returns the path that opt_einsum finds, or `None` if it is not installed.
fn contract_path(py: Python<'_>, request: &PathRequest<'_>) -> PyResult<Option<Vec<Vec<usize>>>> {
    let package = py.import("interlock.backends.opt_einsum")?.getattr("get_opt_einsum")?;
    let package = call_with(&package, ())?;
    if package.is_none() {
        return Ok(None);
    }
    let symbol = package.getattr("get_symbol")?;
    let symbols = |labels: &[usize]| -> PyResult<String> {
        labels.iter().map(|label| call_with(&symbol, (label,))?.extract::<String>()).collect()
    };
    let inputs = request.inputs.iter().map(|labels| symbols(labels)).collect::<PyResult<Vec<_>>>()?;
    let equation = format!("{}->{}", inputs.join(","), symbols(request.output)?);
    let mut arguments = vec![PyString::new(py, &equation).into_any()];
    for shape in request.shapes {
        arguments.push(PyTuple::new(py, shape)?.into_any());
    }
    let options = PyDict::new(py);
    options.set_item("shapes", true)?;
    options.set_item("optimize", request.strategy.name())?;
    let found = call_with_keywords(
        &package.getattr("contract_path")?,
        &PyTuple::new(py, arguments)?,
        Some(&options),
    )?;
    found.get_item(0)?.extract().map(Some)
}

/// Return the sum of products of tensors, specified by an equation in Einstein notation.
///
/// The order of the contractions of three or more operands is found by the package opt_einsum if it is installed and
/// the flag `backends.opt_einsum.enabled` is on; else it is left to right. Each contraction is a `matmul`.
///
/// Args:
///     equation: Labels of the dimensions of each operand, separated by commas, and after ``->`` those of the result.
///         A label is a letter; ``...`` stands for dimensions that are broadcast. Without ``->`` the result has the
///         labels that appear once, in alphabetical order. Labels that the result lacks are summed.
///     operands: The tensors, or one list of them. Of one dtype. Alternatively the equation is left out and each
///         operand is followed by a list of numbers from 0 to 51, or ``...``, as its labels; a last list has those of
///         the result.
///
/// Returns:
///     A tensor with a dimension for each label of the result.
///
/// Raises:
///     ArgumentError: The equation is malformed, or the operands do not fit it.
///     DTypeError: The dtypes differ.
///     TypeError: An operand is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.einsum("ij,jk->ik", interlock.ones(2, 3), interlock.ones(3, 1))
///     tensor([[3.],
///             [3.]])
///     >>> interlock.einsum("ii", interlock.ones(2, 2))
///     tensor(2.)
#[pyfunction]
#[pyo3(signature = (equation, /, *operands))]
fn einsum(equation: &Bound<'_, PyAny>, operands: &Bound<'_, PyTuple>) -> PyResult<Tensor> {
    let py = operands.py();
    let op = "einsum";
    let (equation, tensors) = extract(op, equation, operands)?;
    run_op(py, op, DETACH_THRESHOLD, || interlock_tensor::einsum(&equation, &tensors, Some(&OptEinsum)))
}

inventory::submit! {
    Explained {
        name: "einsum",
        function: |args, named| operation::call_function(&EXPLANATION, explain, args, named),
    }
}

/// Written by hand, because `einsum` itself is no `tensor_op`: labels may follow each operand. No argument has a name.
static EXPLANATION: Signature = Signature {
    texts: "explain: einsum\0\0\0",
    function_length: "explain: einsum".len() as u8,
    names_length: 0,
    positional: 0,
    required: 0,
    is_variadic: true,
    is_method: false,
};

/// Binds the arguments as the operation itself does, and returns the choice of a kernel.
fn explain<'py>(call: &Arguments<'_, 'py>) -> Outcome<Bound<'py, PyAny>> {
    let (py, op) = (call.py(), call.op());
    let Some((equation, operands)) = call.separate().split_first() else {
        let message = format!("{op}() missing 1 required positional argument: 'equation'");
        return Err(PyTypeError::new_err(message).into());
    };
    let (equation, tensors) = extract(op, equation, &PyTuple::new(py, operands)?)?;
    let explained = interlock_tensor::explain_einsum(&equation, &tensors, Some(&OptEinsum));
    Ok(converted(py, explained.map_err(|error| error.during(op)))?)
}

/// Returns the equation and the operands.
fn extract(
    op: &str,
    equation: &Bound<'_, PyAny>,
    operands: &Bound<'_, PyTuple>,
) -> PyResult<(String, Vec<CoreTensor>)> {
    let (equation, operands) = match equation.cast::<PyString>() {
        Ok(equation) => (equation.to_string_lossy().into_owned(), listed(op, operands)?),
        Err(_) => from_sublists(op, equation, operands)?,
    };
    let what = format!("{op}: each operand");
    let tensor = |given: &Bound<'_, PyAny>| extract_tensor(&what, given);
    Ok((equation, operands.iter().map(tensor).collect::<PyResult<_>>()?))
}

/// Returns the operands, which may be in one list.
fn listed<'py>(op: &str, operands: &Bound<'py, PyTuple>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match operands.iter().next() {
        Some(list) if operands.len() == 1 && is_list(&list) => {
            try_iter_arg(&format!("{op}: operands"), "Tensors", &list)?.collect()
        }
        _ => Ok(operands.iter().collect()),
    }
}

/// Returns the equation and operands of operands that are followed by their labels.
fn from_sublists<'py>(
    op: &str,
    first: &Bound<'py, PyAny>,
    others: &Bound<'py, PyTuple>,
) -> PyResult<(String, Vec<Bound<'py, PyAny>>)> {
    if !first.is_instance_of::<Tensor>() {
        return Err(new_type_error(
            &format!("{op}: equation"),
            "a str or a Tensor that is followed by its labels",
            first,
        ));
    }
    let arguments: Vec<_> = std::iter::once(first.clone()).chain(others).collect();
    let (mut operands, mut groups) = (Vec::new(), Vec::new());
    let pairs = arguments.chunks_exact(2);
    let output = pairs.remainder().first().map(|labels| letters(op, labels)).transpose()?;
    for pair in pairs {
        if let [operand, labels] = pair {
            operands.push(operand.clone());
            groups.push(letters(op, labels)?);
        }
    }
    let inputs = groups.join(",");
    Ok((output.map_or(inputs.clone(), |output| format!("{inputs}->{output}")), operands))
}

/// Returns the letters of a list of numbers, capitals first, as in PyTorch.
fn letters(op: &str, labels: &Bound<'_, PyAny>) -> PyResult<String> {
    let what = &*format!("{op}: labels");
    let letter = |label: Bound<'_, PyAny>| {
        if label.is_instance_of::<PyEllipsis>() {
            return Ok("...".to_owned());
        }
        let index = py_int::extract_index(what, "ints or ...", &label)?;
        let letter = match py_int::int64(&index).and_then(|number| u8::try_from(number).ok()) {
            Some(number @ 0..26) => char::from(b'A' + number),
            Some(number @ 26..52) => char::from(b'a' + (number - 26)),
            _ => {
                let given = py_int::text(&index);
                return Err(new_argument_error(label.py(), what, "be from 0 to 51", given));
            }
        };
        Ok(letter.to_string())
    };
    try_iter_arg(what, "a list of ints", labels)?.map(|label| letter(label?)).collect()
}
