//! Operators.

#![expect(
    unsafe_op_in_unsafe_fn,
    reason = "code of PyO3, which the tables below make count as code of this file"
)]

use std::slice;

use interlock_tensor::elementwise::{
    bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, floor_divide, remainder,
};
use interlock_tensor::{Result, Scalar, Tensor as CoreTensor};
use pyo3::Borrowed;
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

/// Declares operators with the name of the operand in errors, and their functions. In braces are those with a method for a number
/// on the left and one for an array. PyO3 makes one slot of an operator and its reflected form only if one block has both.
macro_rules! binary_operators {
    (
        $($method:ident $what:literal $operation:expr;)+
        { $($reflected:ident $left:literal $of_scalar:ident $of_array:ident;)+ }
    ) => {
        #[pymethods]
        impl Tensor {
            $(fn $method(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
                binary_operator($what, self, other, &$operation)
            })+

            $(fn $reflected(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
                reflected_operator(
                    $left,
                    self,
                    other,
                    |tensor, number| tensor.$of_scalar(number),
                    |array, tensor| array.$of_array(tensor),
                )
            })+
        }
    };
}

/// Declares in-place operators with the name of the operand in errors, how they write, and their functions.
macro_rules! in_place_operators {
    ($($method:ident $what:literal $write:ident $operation:expr;)+) => {
        #[pymethods]
        impl Tensor {
            $(fn $method<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
                in_place_operator($what, slf, &other, $write, $operation)
            })+
        }
    };
}

binary_operators! {
    __add__ "add: other" |a, b| a.add(b.operand());
    __radd__ "add: other" |a, b| a.add(b.operand());
    __sub__ "sub: other" |a, b| a.sub(b.operand());
    __mul__ "mul: other" |a, b| a.mul(b.operand());
    __rmul__ "mul: other" |a, b| a.mul(b.operand());
    __truediv__ "div: other" |a, b| a.div(b.operand());
    __floordiv__ "floor_divide: other" |a, b| floor_divide(a, b.operand());
    __rfloordiv__ "floor_divide: input" |a, b| floor_divide(b.operand(), a);
    __and__ "bitwise_and: other" |a, b| bitwise_and(a, b.operand());
    __rand__ "bitwise_and: input" |a, b| bitwise_and(b.operand(), a);
    __or__ "bitwise_or: other" |a, b| bitwise_or(a, b.operand());
    __ror__ "bitwise_or: input" |a, b| bitwise_or(b.operand(), a);
    __xor__ "bitwise_xor: other" |a, b| bitwise_xor(a, b.operand());
    __rxor__ "bitwise_xor: input" |a, b| bitwise_xor(b.operand(), a);
    __lshift__ "bitwise_left_shift: other" |a, b| bitwise_left_shift(a, b.operand());
    __rlshift__ "bitwise_left_shift: input" |a, b| bitwise_left_shift(b.operand(), a);
    __rshift__ "bitwise_right_shift: other" |a, b| bitwise_right_shift(a, b.operand());
    __rrshift__ "bitwise_right_shift: input" |a, b| bitwise_right_shift(b.operand(), a);
    __mod__ "remainder: other" |a, b| a.remainder(b.operand());
    __eq__ "eq: other" |a, b| a.equal(b.operand());
    __ne__ "ne: other" |a, b| a.not_equal(b.operand());
    __lt__ "lt: other" |a, b| a.less(b.operand());
    __le__ "le: other" |a, b| a.less_equal(b.operand());
    __gt__ "gt: other" |a, b| a.greater(b.operand());
    __ge__ "ge: other" |a, b| a.greater_equal(b.operand());
    {
        __rsub__ "sub: other" rsub sub;
        __rtruediv__ "div: other" rdiv div;
        __rmod__ "remainder: other" rremainder remainder;
    }
}

in_place_operators! {
    __iadd__ "add_: other" update |a, b| a.add_(b.operand()).cloned();
    __isub__ "sub_: other" update |a, b| a.sub_(b.operand()).cloned();
    __imul__ "mul_: other" update |a, b| a.mul_(b.operand()).cloned();
    __itruediv__ "div_: other" update |a, b| a.div_(b.operand()).cloned();
    __ifloordiv__ "floor_divide_: other" replace |a, b| floor_divide(a, b.operand());
    __imod__ "remainder_: other" replace |a, b| remainder(a, b.operand());
    __iand__ "bitwise_and_: other" replace |a, b| bitwise_and(a, b.operand());
    __ior__ "bitwise_or_: other" replace |a, b| bitwise_or(a, b.operand());
    __ixor__ "bitwise_xor_: other" replace |a, b| bitwise_xor(a, b.operand());
    __ilshift__ "bitwise_left_shift_: other" replace |a, b| bitwise_left_shift(a, b.operand());
    __irshift__ "bitwise_right_shift_: other" replace |a, b| bitwise_right_shift(a, b.operand());
}

#[pymethods]
impl Tensor {
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

    fn __ipow__<'py>(
        slf: Bound<'py, Self>,
        exponent: Other<'py>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        in_place_operator("pow_: exponent", slf, &exponent, replace, |a, b| a.pow(b.operand()))
    }
}
