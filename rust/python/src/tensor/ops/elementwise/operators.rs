//! Operators.

use std::slice;

use interlock_tensor::elementwise::{
    bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, floor_divide, remainder,
};
use interlock_tensor::{Result, Scalar, Tensor as CoreTensor};
use pyo3::Borrowed;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, new_type_error};
use crate::tensor::args::{TensorOrScalar, function_of};
use crate::tensor::call::{DETACH_THRESHOLD, run_op, work_size};
use crate::tensor::operation::{Call, replace, update};
use crate::tensor::{ReadTensor, Tensor, numpy};

type OperatorResult = PyResult<Py<PyAny>>;
type Operation<'a> = dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync + 'a;
type Write = for<'a> fn(Call<'a, '_>, &'a CoreTensor, &'a Operation<'a>) -> PyResult<()>;

/// Runs a binary operator, or returns NotImplemented for an operand of another type.
fn binary_operator(
    what: &'static str,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    operation: &(dyn Fn(&CoreTensor, &TensorOrScalar) -> Result<CoreTensor> + Sync),
) -> OperatorResult {
    let py = other.py();
    let Some(other) = TensorOrScalar::from_operand(what, other)? else { return Ok(py.NotImplemented()) };
    let tensor = &*tensor.core(py);
    let size = other.work_size_with(tensor);
    Ok(Bound::new(py, run_op(py, function_of(what), size, || operation(tensor, &other))?)?
        .into_any()
        .unbind())
}

/// Like [`binary_operator`], for a scalar or an array on the left. For a tensor on the left Python calls its own
/// method.
fn reflected_operator(
    what: &'static str,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    of_scalar: fn(&CoreTensor, Scalar) -> Result<CoreTensor>,
    of_array: fn(&CoreTensor, &CoreTensor) -> Result<CoreTensor>,
) -> OperatorResult {
    binary_operator(what, tensor, other, &|tensor, other| match other {
        TensorOrScalar::Scalar(value) => of_scalar(tensor, *value),
        TensorOrScalar::Tensor(array) => of_array(array, tensor),
    })
}

/// Runs the operator `@` with a tensor or an array, or returns NotImplemented.
fn matmul_operator(
    other: &Bound<'_, PyAny>,
    operation: &(dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync),
) -> OperatorResult {
    let py = other.py();
    let other = match other.cast::<Tensor>() {
        Ok(other) => other.core().clone(),
        Err(_) if numpy::is_array(other)? => numpy::tensor_from_array("matmul", other)?,
        Err(_) => return Ok(py.NotImplemented()),
    };
    Ok(Bound::new(py, run_op(py, "matmul", DETACH_THRESHOLD, || operation(&other))?)?.into_any().unbind())
}

/// The other operand of an in-place operator. The extraction of an object that is no operand fails: the operator then
/// returns NotImplemented, and Python tries the reflected method of the object.
struct Other<'py>(Bound<'py, PyAny>);

impl<'a, 'py> FromPyObject<'a, 'py> for Other<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let given = given.to_owned();
        if TensorOrScalar::is_operand(&given) {
            Ok(Other(given))
        } else {
            Err(Other::wrong("operand", &given))
        }
    }
}

impl Other<'_> {
    fn wrong(what: &str, given: &Bound<'_, PyAny>) -> PyErr {
        new_type_error(what, "a Tensor, a numpy.ndarray or a number", given)
    }

    fn get(&self, what: &str) -> PyResult<TensorOrScalar> {
        TensorOrScalar::from_operand(what, &self.0)?.ok_or_else(|| Other::wrong(what, &self.0))
    }
}

/// Runs an in-place operator. `write` changes the target itself, [`update`], or copies a new result into it, [`replace`].
fn in_place_operator<'py>(
    what: &'static str,
    target: Bound<'py, Tensor>,
    other: &Other<'py>,
    write: Write,
    operation: fn(&CoreTensor, &TensorOrScalar) -> Result<CoreTensor>,
) -> PyResult<()> {
    let other = other.get(what)?;
    let inputs = [other.tensor().map(slice::from_ref).unwrap_or_default()];
    let call = Call::new(target.py(), function_of(what), &inputs);
    write(call, &target.core(), &|target| operation(target, &other))
}

#[pymethods]
impl Tensor {
    fn __add__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("add: other", self, other, &|a, b| a.add(b.operand()))
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("add: other", self, other, &|a, b| a.add(b.operand()))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("sub: other", self, other, &|a, b| a.sub(b.operand()))
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        reflected_operator(
            "sub: other",
            self,
            other,
            |tensor, number| tensor.rsub(number),
            |array, tensor| array.sub(tensor),
        )
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("mul: other", self, other, &|a, b| a.mul(b.operand()))
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("mul: other", self, other, &|a, b| a.mul(b.operand()))
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("div: other", self, other, &|a, b| a.div(b.operand()))
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        reflected_operator(
            "div: other",
            self,
            other,
            |tensor, number| tensor.rdiv(number),
            |array, tensor| array.div(tensor),
        )
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("floor_divide: other", self, other, &|a, b| floor_divide(a, b.operand()))
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("floor_divide: input", self, other, &|a, b| floor_divide(b.operand(), a))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_and: other", self, other, &|a, b| bitwise_and(a, b.operand()))
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_and: input", self, other, &|a, b| bitwise_and(b.operand(), a))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_or: other", self, other, &|a, b| bitwise_or(a, b.operand()))
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_or: input", self, other, &|a, b| bitwise_or(b.operand(), a))
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_xor: other", self, other, &|a, b| bitwise_xor(a, b.operand()))
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_xor: input", self, other, &|a, b| bitwise_xor(b.operand(), a))
    }

    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_left_shift: other", self, other, &|a, b| bitwise_left_shift(a, b.operand()))
    }

    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_left_shift: input", self, other, &|a, b| bitwise_left_shift(b.operand(), a))
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_right_shift: other", self, other, &|a, b| {
            bitwise_right_shift(a, b.operand())
        })
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_right_shift: input", self, other, &|a, b| {
            bitwise_right_shift(b.operand(), a)
        })
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("remainder: other", self, other, &|a, b| a.remainder(b.operand()))
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        reflected_operator(
            "remainder: other",
            self,
            other,
            |tensor, number| tensor.rremainder(number),
            |array, tensor| array.remainder(tensor),
        )
    }

    fn __pow__(&self, exponent: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> OperatorResult {
        if modulo.is_some() {
            return Ok(exponent.py().NotImplemented());
        }
        binary_operator("pow: exponent", self, exponent, &|a, b| a.pow(b.operand()))
    }

    fn __rpow__(&self, base: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> OperatorResult {
        if modulo.is_some() {
            return Ok(base.py().NotImplemented());
        }
        reflected_operator(
            "pow: base",
            self,
            base,
            |tensor, number| tensor.rpow(number),
            |array, tensor| array.pow(tensor),
        )
    }

    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> OperatorResult {
        let tensor = &*self.core(py);
        matmul_operator(other, &|other| tensor.matmul(other))
    }

    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> OperatorResult {
        let tensor = &*self.core(py);
        matmul_operator(other, &|other| other.matmul(tensor))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = &*self.core(py);
        run_op(py, "neg", work_size(tensor), || tensor.neg())
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = &*self.core(py);
        run_op(py, "bitwise_not", work_size(tensor), || tensor.bitwise_not())
    }

    fn __pos__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.core().positive().into_py_result(slf.py())?;
        Ok(slf)
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Tensor> {
        let tensor = &*self.core(py);
        run_op(py, "abs", work_size(tensor), || tensor.abs())
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> OperatorResult {
        let what = match op {
            CompareOp::Eq => "eq: other",
            CompareOp::Ne => "ne: other",
            CompareOp::Lt => "lt: other",
            CompareOp::Le => "le: other",
            CompareOp::Gt => "gt: other",
            CompareOp::Ge => "ge: other",
        };
        binary_operator(what, self, other, &|a, b| match op {
            CompareOp::Eq => a.equal(b.operand()),
            CompareOp::Ne => a.not_equal(b.operand()),
            CompareOp::Lt => a.less(b.operand()),
            CompareOp::Le => a.less_equal(b.operand()),
            CompareOp::Gt => a.greater(b.operand()),
            CompareOp::Ge => a.greater_equal(b.operand()),
        })
    }

    fn __iadd__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("add_: other", slf, &other, update, |a, b| a.add_(b.operand()).cloned())
    }

    fn __isub__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("sub_: other", slf, &other, update, |a, b| a.sub_(b.operand()).cloned())
    }

    fn __imul__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("mul_: other", slf, &other, update, |a, b| a.mul_(b.operand()).cloned())
    }

    fn __itruediv__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("div_: other", slf, &other, update, |a, b| a.div_(b.operand()).cloned())
    }

    fn __ifloordiv__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("floor_divide_: other", slf, &other, replace, |a, b| floor_divide(a, b.operand()))
    }

    fn __imod__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("remainder_: other", slf, &other, replace, |a, b| remainder(a, b.operand()))
    }

    fn __iand__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("bitwise_and_: other", slf, &other, replace, |a, b| bitwise_and(a, b.operand()))
    }

    fn __ior__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("bitwise_or_: other", slf, &other, replace, |a, b| bitwise_or(a, b.operand()))
    }

    fn __ixor__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("bitwise_xor_: other", slf, &other, replace, |a, b| bitwise_xor(a, b.operand()))
    }

    fn __ilshift__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("bitwise_left_shift_: other", slf, &other, replace, |a, b| {
            bitwise_left_shift(a, b.operand())
        })
    }

    fn __irshift__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        in_place_operator("bitwise_right_shift_: other", slf, &other, replace, |a, b| {
            bitwise_right_shift(a, b.operand())
        })
    }

    fn __ipow__<'py>(
        slf: Bound<'py, Self>,
        exponent: Other<'py>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        in_place_operator("pow_: exponent", slf, &exponent, replace, |a, b| a.pow(b.operand()))
    }
}
