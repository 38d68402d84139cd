//! The arguments of operations that read and write elements at the positions of an index.

use interlock_tensor::{Index, ScatterReduce, Tensor as CoreTensor, WriteTo};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::args::{Arg, OptionalArg, TensorOrScalar, extract_int, extract_tensor, try_extract_scalar};
use super::arithmetic::factor;
use super::indexing::indexed_size;
use super::{Tensor, maybe_detach, run_op, work_size, work_size_of};
use crate::errors::{new_exception, new_type_error, shown};

/// The name of an argument in errors.
fn what(to: WriteTo, op: &str, argument: &str) -> String {
    let suffix = if to == WriteTo::InPlace { "_" } else { "" };
    format!("{op}{suffix}: {argument}")
}

/// The name of an operation, whose in-place form has an underscore.
fn named(to: WriteTo, [op, inplace]: [&'static str; 2]) -> &'static str {
    if to == WriteTo::InPlace { inplace } else { op }
}

pub(super) fn gather(input: &CoreTensor, dim: Arg<'_, '_>, index: Arg<'_, '_>) -> PyResult<Tensor> {
    let (position, dim) = (extract_tensor("gather: index", index)?, extract_int("gather: dim", dim)?);
    run_op(index.py(), "gather", work_size_of(&[input, &position]), || input.gather(dim, &position))
}

pub(super) fn index_select(input: &CoreTensor, dim: Arg<'_, '_>, index: Arg<'_, '_>) -> PyResult<Tensor> {
    let dim = extract_int("index_select: dim", dim)?;
    let position = extract_tensor("index_select: index", index)?;
    run_op(index.py(), "index_select", work_size_of(&[input, &position]), || {
        input.index_select(dim, &position)
    })
}

pub(super) fn take(input: &CoreTensor, index: Arg<'_, '_>) -> PyResult<Tensor> {
    let position = extract_tensor("take: index", index)?;
    run_op(index.py(), "take", work_size_of(&[input, &position]), || input.take(&position))
}

pub(super) fn take_along_dim(
    input: &CoreTensor,
    indices: Arg<'_, '_>,
    dim: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let position = extract_tensor("take_along_dim: indices", indices)?;
    let dim = dim.map(|dim| extract_int("take_along_dim: dim", dim)).transpose()?;
    run_op(indices.py(), "take_along_dim", work_size_of(&[input, &position]), || {
        input.take_along_dim(&position, dim)
    })
}

pub(super) fn masked_select(input: &CoreTensor, mask: Arg<'_, '_>) -> PyResult<Tensor> {
    let chosen = extract_tensor("masked_select: mask", mask)?;
    run_op(mask.py(), "masked_select", work_size_of(&[input, &chosen]), || input.masked_select(&chosen))
}

pub(super) fn nonzero(input: &CoreTensor, py: Python<'_>, as_tuple: bool) -> PyResult<Py<PyAny>> {
    if !as_tuple {
        let rows = run_op(py, "nonzero", work_size(input), || input.nonzero())?;
        return Ok(Bound::new(py, rows)?.into_any().unbind());
    }
    let columns = maybe_detach(py, "nonzero", work_size(input), || input.nonzero_tuple())?;
    Ok(PyTuple::new(py, columns.into_iter().map(Tensor))?.into_any().unbind())
}

pub(super) fn index_add(
    to: WriteTo,
    input: &CoreTensor,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
    alpha: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "index_add", argument);
    let (dim, alpha) = (extract_int(&what("dim"), dim)?, factor(&what("alpha"), alpha)?);
    let position = extract_tensor(&what("index"), index)?;
    let values = extract_tensor(&what("source"), source)?;
    run_op(index.py(), named(to, ["index_add", "index_add_"]), work_size_of(&[input, &values]), || {
        input.index_add(to, dim, &position, &values, alpha)
    })
}

pub(super) fn index_copy(
    to: WriteTo,
    input: &CoreTensor,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "index_copy", argument);
    let (dim, position) = (extract_int(&what("dim"), dim)?, extract_tensor(&what("index"), index)?);
    let values = extract_tensor(&what("source"), source)?;
    run_op(index.py(), named(to, ["index_copy", "index_copy_"]), work_size_of(&[input, &values]), || {
        input.index_copy(to, dim, &position, &values)
    })
}

pub(super) fn index_fill(
    to: WriteTo,
    input: &CoreTensor,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    value: Arg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "index_fill", argument);
    let (dim, position) = (extract_int(&what("dim"), dim)?, extract_tensor(&what("index"), index)?);
    let value = TensorOrScalar::extract(&what("value"), value)?;
    run_op(index.py(), named(to, ["index_fill", "index_fill_"]), work_size_of(&[input, &position]), || {
        input.index_fill(to, dim, &position, value.operand())
    })
}

/// Extracts the indices of `index_put`.
pub(super) fn extract_indices(what: &str, indices: Arg<'_, '_>) -> PyResult<Vec<Index>> {
    const WANTED: &str = "a tuple or list of Tensors and None";
    if !indices.is_instance_of::<PyTuple>() && !indices.is_instance_of::<PyList>() {
        return Err(new_type_error(what, WANTED, indices));
    }
    let index = |item: PyResult<Bound<'_, PyAny>>| {
        let item = item?;
        if item.is_none() {
            return Ok(Index::Slice { start: None, end: None, step: 1 });
        }
        match item.cast::<Tensor>() {
            Ok(tensor) => Ok(Index::Tensor(tensor.get().0.clone())),
            Err(_) => Err(new_type_error(&format!("{what}: each item"), "a Tensor or None", &item)),
        }
    };
    indices.try_iter()?.map(index).collect()
}

pub(super) fn index_put(
    to: WriteTo,
    input: &CoreTensor,
    indices: Arg<'_, '_>,
    values: Arg<'_, '_>,
    accumulate: bool,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "index_put", argument);
    let positions = extract_indices(&what("indices"), indices)?;
    let written = extract_tensor(&what("values"), values)?;
    let work_size = work_size_of(&[input, &written]).max(indexed_size(input, &positions).unwrap_or(0));
    run_op(values.py(), named(to, ["index_put", "index_put_"]), work_size, || {
        input.index_put(to, &positions, &written, accumulate)
    })
}

pub(super) fn masked_fill(
    to: WriteTo,
    input: &CoreTensor,
    mask: Arg<'_, '_>,
    value: Arg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "masked_fill", argument);
    let chosen = extract_tensor(&what("mask"), mask)?;
    let value = TensorOrScalar::extract(&what("value"), value)?;
    run_op(mask.py(), named(to, ["masked_fill", "masked_fill_"]), work_size_of(&[input, &chosen]), || {
        input.masked_fill(to, &chosen, value.operand())
    })
}

pub(super) fn masked_scatter(
    to: WriteTo,
    input: &CoreTensor,
    mask: Arg<'_, '_>,
    source: Arg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "masked_scatter", argument);
    let chosen = extract_tensor(&what("mask"), mask)?;
    let values = extract_tensor(&what("source"), source)?;
    run_op(
        mask.py(),
        named(to, ["masked_scatter", "masked_scatter_"]),
        work_size_of(&[input, &chosen]),
        || input.masked_scatter(to, &chosen, &values),
    )
}

pub(super) fn put(
    to: WriteTo,
    input: &CoreTensor,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
    accumulate: bool,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "put", argument);
    let position = extract_tensor(&what("index"), index)?;
    let values = extract_tensor(&what("source"), source)?;
    run_op(index.py(), named(to, ["put", "put_"]), work_size_of(&[input, &values]), || {
        input.put(to, &position, &values, accumulate)
    })
}

/// Extracts how `scatter` combines values with elements.
fn extract_reduce(what: &str, given: OptionalArg<'_, '_>) -> PyResult<ScatterReduce> {
    let Some(given) = given else { return Ok(ScatterReduce::Replace) };
    let wanted = "'add', 'multiply' or None";
    let Ok(name) = given.cast::<PyString>() else { return Err(new_type_error(what, wanted, given)) };
    match &*name.to_string_lossy() {
        "add" => Ok(ScatterReduce::Add),
        "multiply" => Ok(ScatterReduce::Multiply),
        _ => Err(new_exception(
            given.py(),
            "ArgumentError",
            format!("{what} must be {wanted}, got {}", shown(name)?),
        )),
    }
}

pub(super) fn scatter(
    to: WriteTo,
    input: &CoreTensor,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    src: OptionalArg<'_, '_>,
    value: OptionalArg<'_, '_>,
    reduce: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "scatter", argument);
    let (dim, position) = (extract_int(&what("dim"), dim)?, extract_tensor(&what("index"), index)?);
    let reduce = extract_reduce(&what("reduce"), reduce)?;
    let values = match (src, value) {
        (Some(src), None) => TensorOrScalar::extract(&what("src"), src)?,
        (None, Some(value)) => {
            let wanted = "a number";
            let number = try_extract_scalar(&what("value"), value)?;
            TensorOrScalar::Scalar(number.ok_or_else(|| new_type_error(&what("value"), wanted, value))?)
        }
        (Some(given), Some(_)) => {
            return Err(new_type_error(&what("src"), "None if value is given", given));
        }
        (None, None) => {
            return Err(new_type_error(
                &what("src"),
                "a Tensor or a number",
                &index.py().None().into_bound(index.py()),
            ));
        }
    };
    run_op(index.py(), named(to, ["scatter", "scatter_"]), work_size_of(&[input, &position]), || {
        input.scatter(to, dim, &position, values.operand(), reduce)
    })
}

pub(super) fn scatter_add(
    to: WriteTo,
    input: &CoreTensor,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    src: Arg<'_, '_>,
) -> PyResult<Tensor> {
    let what = |argument: &str| what(to, "scatter_add", argument);
    let (dim, position) = (extract_int(&what("dim"), dim)?, extract_tensor(&what("index"), index)?);
    let values = extract_tensor(&what("src"), src)?;
    run_op(index.py(), named(to, ["scatter_add", "scatter_add_"]), work_size_of(&[input, &position]), || {
        input.scatter_add(to, dim, &position, &values)
    })
}

/// Return the rows of `weight` at the indices `input`, such as word embeddings.
///
/// Args:
///     input: Indices of rows, int64, of any shape. Not negative.
///     weight: The rows, of shape [rows, size].
///     padding_idx: A row that gets no gradient, which may be negative; None means that each row gets one.
///
/// Returns:
///     A tensor with the shape of `input` and a last dimension of `size`.
///
/// Raises:
///     IndexError: An index is out of bounds.
///     ShapeError: `weight` does not have two dimensions.
///     DTypeError: `input` is not int64.
///     ArgumentError: `padding_idx` is not a row.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.embedding(interlock.tensor([1, 0]), interlock.tensor([[1.0, 2.0], [3.0, 4.0]]))
///     tensor([[3., 4.],
///             [1., 2.]])
#[pyfunction]
#[pyo3(signature = (input, weight, padding_idx = None))]
pub(super) fn embedding(
    input: Arg<'_, '_>,
    weight: Arg<'_, '_>,
    padding_idx: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let position = extract_tensor("embedding: input", input)?;
    let rows = extract_tensor("embedding: weight", weight)?;
    let padding = padding_idx.map(|given| extract_int("embedding: padding_idx", given)).transpose()?;
    run_op(input.py(), "embedding", work_size_of(&[&rows, &position]), || rows.embedding(&position, padding))
}

/// Return the one-hot encoding of class indices, along a new last dimension.
///
/// Args:
///     tensor: The classes, int64. Not negative.
///     num_classes: The size of the last dimension; -1 means the largest class and one, which waits for a device.
///
/// Raises:
///     DTypeError: `tensor` is not int64.
///     ArgumentError: `num_classes` is not positive, or -1 for a tensor without elements.
///     RuntimeError: A class is negative or not less than `num_classes`.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.one_hot(interlock.tensor([1, 0]), 3)
///     tensor([[0, 1, 0],
///             [1, 0, 0]])
#[pyfunction]
#[pyo3(signature = (tensor, num_classes = None), text_signature = "(tensor, num_classes=-1)")]
pub(super) fn one_hot(tensor: Arg<'_, '_>, num_classes: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    let classes = extract_tensor("one_hot: tensor", tensor)?;
    let count = num_classes.map_or(Ok(-1), |given| extract_int("one_hot: num_classes", given))?;
    let work_size = work_size(&classes).saturating_mul(usize::try_from(count).unwrap_or(1));
    run_op(tensor.py(), "one_hot", work_size, || classes.one_hot((count != -1).then_some(count)))
}
