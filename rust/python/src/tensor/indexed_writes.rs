//! The choices of kernels for the operations that write at the positions of an index. The operations themselves are in
//! `ops/indexing`.

use interlock_tensor::Scalar;
use pyo3::prelude::*;

use super::args::{Arg, OptionalArg};
use super::args::{extract_int, extract_tensor};
use super::operation::{ArgumentName, Indices, defaulted, required};
use crate::dispatch::Call;
use crate::dispatch::explain::Explained;
use crate::errors::IntoPyResult;
use crate::switches;

pub(super) static INDEX_ADD: Explained =
    Explained { name: "index_add", function: |py| wrap_pyfunction!(index_add, py) };

pub(super) static INDEX_PUT: Explained =
    Explained { name: "index_put", function: |py| wrap_pyfunction!(index_put, py) };

pub(super) static PUT: Explained = Explained { name: "put", function: |py| wrap_pyfunction!(put, py) };

pub(super) static SCATTER_ADD: Explained =
    Explained { name: "scatter_add", function: |py| wrap_pyfunction!(scatter_add, py) };

#[pyfunction]
#[pyo3(signature = (input, dim, index, source, *, alpha = None))]
fn index_add(
    input: Arg<'_, '_>,
    dim: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
    alpha: OptionalArg<'_, '_>,
) -> PyResult<Call> {
    let target = extract_tensor("index_add: input", input)?;
    let dim = extract_int("index_add: dim", dim)?;
    let position = extract_tensor("index_add: index", index)?;
    let values = extract_tensor("index_add: source", source)?;
    defaulted::<Option<Scalar>>(ArgumentName::new("index_add", "alpha"), alpha, None)?;
    target.explain_index_add(dim, &position, &values).map(Call::new).into_py_result(input.py())
}

#[pyfunction]
#[pyo3(signature = (input, indices, values, accumulate = false))]
fn index_put(
    input: Arg<'_, '_>,
    indices: Arg<'_, '_>,
    values: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::index_put::accumulate)] accumulate: bool,
) -> PyResult<Call> {
    let target = extract_tensor("index_put: input", input)?;
    let positions: Indices = required(ArgumentName::new("index_put", "indices"), indices)?;
    let values = extract_tensor("index_put: values", values)?;
    target.explain_index_put(&positions, &values, accumulate).map(Call::new).into_py_result(input.py())
}

#[pyfunction]
#[pyo3(signature = (input, index, source, accumulate = false))]
fn put(
    input: Arg<'_, '_>,
    index: Arg<'_, '_>,
    source: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::put::accumulate)] accumulate: bool,
) -> PyResult<Call> {
    let target = extract_tensor("put: input", input)?;
    let position = extract_tensor("put: index", index)?;
    let values = extract_tensor("put: source", source)?;
    target.explain_put(&position, &values, accumulate).map(Call::new).into_py_result(input.py())
}

#[pyfunction]
fn scatter_add(input: Arg<'_, '_>, dim: Arg<'_, '_>, index: Arg<'_, '_>, src: Arg<'_, '_>) -> PyResult<Call> {
    let target = extract_tensor("scatter_add: input", input)?;
    let dim = extract_int("scatter_add: dim", dim)?;
    let position = extract_tensor("scatter_add: index", index)?;
    let values = extract_tensor("scatter_add: src", src)?;
    target.explain_scatter_add(dim, &position, &values).map(Call::new).into_py_result(input.py())
}
