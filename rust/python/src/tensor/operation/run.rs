//! How operations run: as a new tensor, into the argument `out`, and in place.

use std::slice;

use interlock_tensor::{DType, Error, Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::result::named_tuple;
use super::{Arg, IntoPython, OptionalArg, Outcome, Results};
use crate::errors::new_type_error;
use crate::scope_debug;
use crate::tensor::call::{DETACH_THRESHOLD, maybe_detach, run_op, work_size, work_size_of};
use crate::tensor::{ReadTensor, Tensor};

/// A call of an operation.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct Call<'a, 'py> {
    py: Python<'py>,
    /// The function that the program called.
    op: &'static str,
    /// The tensors of each argument.
    inputs: &'a [&'a [CoreTensor]],
    /// The least measure of the duration.
    least: usize,
    /// The operation takes no time.
    is_view: bool,
}

impl<'a, 'py> Call<'a, 'py> {
    pub fn new(py: Python<'py>, op: &'static str, inputs: &'a [&'a [CoreTensor]]) -> Self {
        Call { py, op, inputs, least: 0, is_view: false }
    }

    /// The operation may take long for few elements.
    pub fn long(self) -> Self {
        self.at_least(DETACH_THRESHOLD)
    }

    /// The operation visits at least this number of elements.
    pub fn at_least(self, least: usize) -> Self {
        Call { least, ..self }
    }

    /// The operation takes no time, however many elements its tensors have.
    pub fn view(self) -> Self {
        Call { is_view: true, ..self }
    }

    /// Returns the measure of the duration of the operation.
    fn work_size(self) -> usize {
        match self.inputs {
            _ if self.is_view => 0,
            _ if self.least >= DETACH_THRESHOLD => self.least,
            [[input]] => work_size(input).max(self.least),
            inputs => work_size_of(inputs.iter().copied().filter_map(single)).max(self.least),
        }
    }
}

/// Returns the tensor of an argument, unless it is a list of several. Those count by what an operation says about its size.
fn single(tensors: &[CoreTensor]) -> Option<&CoreTensor> {
    match tensors {
        [tensor] => Some(tensor),
        _ => None,
    }
}

/// Runs an operation whose result is no tensor, and returns it.
pub(in crate::tensor) fn compute<'py, T: IntoPython + Send>(
    call: Call<'_, 'py>,
    operation: impl FnOnce() -> Result<T> + Send,
) -> Outcome<Bound<'py, PyAny>> {
    let Call { py, op, .. } = call;
    scope_debug::warn_suspended_scopes(py)?;
    Ok(maybe_detach(py, op, call.work_size(), operation)?.into_python(py, op)?)
}

/// Runs an operation, and returns its result.
pub(in crate::tensor) fn compute_tensor<'py>(
    call: Call<'_, 'py>,
    operation: &mut (dyn FnMut() -> Result<CoreTensor> + Send),
) -> Outcome<Bound<'py, PyAny>> {
    Ok(Bound::new(call.py, run_op(call.py, call.op, call.work_size(), operation)?)?.into_any())
}

/// Runs an operation. Returns a new tensor, or `object` if the result is the tensor of it.
pub(in crate::tensor) fn compute_or_self<'py>(
    call: Call<'_, 'py>,
    object: Arg<'_, 'py>,
    operation: &mut (dyn FnMut() -> Result<CoreTensor> + Send),
) -> Outcome<Bound<'py, PyAny>> {
    let result = run_op(call.py, call.op, call.work_size(), operation)?;
    match object.cast::<Tensor>() {
        Ok(tensor) if tensor.core().is(&result.core(call.py)) => Ok(object.clone()),
        _ => Ok(Bound::new(call.py, result)?.into_any()),
    }
}

/// A check of the argument `out`.
type OutCheck<'a> = dyn Fn(&CoreTensor) -> Result<()> + Sync + 'a;

/// What an operation requires of the argument `out`.
#[derive(Clone, Copy)]
pub(in crate::tensor) struct OutRules<'a> {
    /// It has the dtype of the result, which is not converted.
    pub is_exact: bool,
    /// It may share memory with the inputs.
    pub may_overlap: bool,
    /// A check before the operation.
    pub check: Option<&'a OutCheck<'a>>,
}

/// Runs an operation. Returns a new tensor, or `out` with the result.
pub(in crate::tensor) fn compute_into<'py>(
    call: Call<'_, 'py>,
    out: OptionalArg<'_, '_>,
    rules: OutRules<'_>,
    operation: &mut (dyn FnMut() -> Result<CoreTensor> + Send),
) -> Outcome<Bound<'py, PyAny>> {
    let Call { py, op, .. } = call;
    let Some(out) = out else {
        return compute_tensor(call, operation);
    };
    let Ok(target) = out.cast::<Tensor>() else {
        return Err(new_type_error(&format!("{op}: out"), "a Tensor or None", out).into());
    };
    scope_debug::warn_suspended_scopes(py)?;
    let target = &*target.core();
    let inputs = call.inputs.iter().copied().flatten().collect::<Vec<_>>();
    let checked = || {
        rules.check.map_or(Ok(()), |check| check(target))?;
        let result = operation()?;
        if rules.is_exact {
            check_out(op, target, result.dtype())?;
        }
        Ok(result)
    };
    maybe_detach(py, op, call.work_size().max(work_size(target)), || match rules.may_overlap {
        true => target.write_overlapping(op, &inputs, checked).map(drop),
        false => target.write_result(op, &inputs, checked).map(drop),
    })?;
    Ok(out.clone().unbind().into_bound(py))
}

/// The argument `out` of an operation with one result or several.
enum Targets<'a, 'py> {
    One(Arg<'a, 'py>),
    Several(Vec<Bound<'py, PyAny>>),
}

impl<'a, 'py> Targets<'a, 'py> {
    fn extract(op: &'static str, out: Arg<'a, 'py>, (count, wanted): (usize, &str)) -> PyResult<Self> {
        if out.is_instance_of::<Tensor>() {
            return Ok(Targets::One(out));
        }
        let items: Vec<_> = match (out.cast::<PyTuple>(), out.cast::<PyList>()) {
            (Ok(tuple), _) => tuple.iter().take(count + 1).collect(),
            (_, Ok(list)) => list.iter().take(count + 1).collect(),
            _ => Vec::new(),
        };
        if items.len() == count && items.iter().all(|item| item.is_instance_of::<Tensor>()) {
            return Ok(Targets::Several(items));
        }
        Err(new_type_error(&format!("{op}: out"), wanted, out))
    }

    fn tensors(&self) -> &[Bound<'py, PyAny>] {
        match self {
            Targets::One(out) => slice::from_ref(*out),
            Targets::Several(several) => several,
        }
    }
}

/// Runs an operation with one result or several. Returns new ones, or `out` with the results.
pub(in crate::tensor) fn compute_results<'py, T: Results + IntoPython + Send>(
    call: Call<'_, 'py>,
    out: OptionalArg<'_, 'py>,
    operation: impl FnOnce() -> Result<T> + Send,
) -> Outcome<Bound<'py, PyAny>> {
    let Call { py, op, .. } = call;
    let Some(out) = out else { return compute(call, operation) };
    let targets = Targets::extract(op, out, T::OUT)?;
    scope_debug::warn_suspended_scopes(py)?;
    let held: Vec<_> =
        targets.tensors().iter().flat_map(|out| out.cast::<Tensor>().map(ReadTensor::core)).collect();
    let cores: Vec<&CoreTensor> = held.iter().map(|tensor| &**tensor).collect();
    let inputs = call.inputs.iter().copied().flatten().collect::<Vec<_>>();
    let size = cores.iter().copied().map(work_size).fold(call.work_size(), usize::max);
    maybe_detach(py, op, size, || match cores[..] {
        [target] => target
            .write_overlapping(op, &inputs, || {
                let (result, is_exact) = operation()?.one(op)?;
                if is_exact {
                    check_out(op, target, result.dtype())?;
                }
                Ok(result)
            })
            .map(drop),
        ref targets => CoreTensor::write_results(targets, op, &inputs, || operation()?.several(op)),
    })?;
    match &targets {
        Targets::One(out) => Ok((*out).clone()),
        Targets::Several(several) => Ok(named_tuple(py, &T::tuple_name(op), PyTuple::new(py, several)?)?),
    }
}

/// Returns an error unless `out` has the dtype of the result.
pub(in crate::tensor) fn check_out(op: &'static str, out: &CoreTensor, result: DType) -> Result<()> {
    if out.dtype() == result {
        return Ok(());
    }
    let expected = format!("{result}, the dtype of the result");
    Err(Error::dtype(op, "out", expected, out.dtype()))
}

/// Replaces the elements of a tensor by the result of an operation, which also uses the inputs.
pub(in crate::tensor) fn replace(
    call: Call<'_, '_>,
    target: &CoreTensor,
    operation: &(dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync),
) -> Outcome<()> {
    let inputs = call.inputs.iter().copied().flatten().collect::<Vec<_>>();
    Ok(maybe_detach(call.py, call.op, work_size(target).max(call.least), || {
        target.replace_with(call.op, &inputs, operation).map(drop)
    })?)
}

/// Runs an operation that changes a tensor itself.
pub(in crate::tensor) fn update(
    call: Call<'_, '_>,
    target: &CoreTensor,
    operation: &(dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync),
) -> Outcome<()> {
    let sizes = call.inputs.iter().copied().filter_map(single).map(work_size);
    let size = sizes.fold(work_size(target).max(call.least), usize::max);
    Ok(maybe_detach(call.py, call.op, size, || operation(target).map(drop))?)
}
