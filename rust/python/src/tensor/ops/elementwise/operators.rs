//! Operators.

#![expect(
    unsafe_op_in_unsafe_fn,
    reason = "code of PyO3, which the tables below make count as code of this file"
)]

use std::slice;

use interlock_tensor::elementwise::{
    bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, floor_divide, remainder,
};
use interlock_tensor::{Operand, Result, Scalar, Tensor as CoreTensor};
use pyo3::Borrowed;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::tensor::args::PyNumber;
use crate::tensor::call::{DETACH_THRESHOLD, run_op, work_size};
use crate::tensor::operation::{
    ArgumentName, Call, FromArgument, Held, HeldOperand, Outcome, compute_tensor, replace, update,
};
use crate::tensor::{ReadTensor, Tensor, numpy};

type OperatorResult = PyResult<Py<PyAny>>;
type Operation<'a> = dyn Fn(&CoreTensor) -> Result<CoreTensor> + Sync + 'a;
type Write = for<'a> fn(Call<'a, '_>, &'a CoreTensor, &'a Operation<'a>) -> Outcome<()>;

/// The other operand of an operator.
enum Other<'a> {
    Held(HeldOperand<'a>),
    /// A NumPy array, converted as by `from_numpy`.
    Array(CoreTensor),
}

impl<'a> Other<'a> {
    /// Extracts an operand. Returns `None` for other objects, for which the operator returns NotImplemented.
    fn try_extract(name: ArgumentName, given: &'a Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        match HeldOperand::try_from_argument(name, given)? {
            None if numpy::is_array(given)? => {
                numpy::tensor_from_array(name.function(), given).map(Other::Array).map(Some)
            }
            found => Ok(found.map(Other::Held)),
        }
    }

    fn tensors(&self) -> &[CoreTensor] {
        match self {
            Other::Held(operand) => operand.tensors(),
            Other::Array(array) => slice::from_ref(array),
        }
    }

    fn operand(&self) -> Operand<'_> {
        match self {
            Other::Held(operand) => operand.view(),
            Other::Array(array) => Operand::Tensor(array),
        }
    }
}

/// Runs a binary operator, or returns NotImplemented for an operand of another type.
fn binary_operator(
    name: ArgumentName,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    operation: &(dyn Fn(&CoreTensor, Operand<'_>) -> Result<CoreTensor> + Sync),
) -> OperatorResult {
    let py = other.py();
    let Some(other) = Other::try_extract(name, other)? else { return Ok(py.NotImplemented()) };
    let (tensor, operand) = (&*tensor.core(py), other.operand());
    let inputs = [slice::from_ref(tensor), other.tensors()];
    let call = Call::new(py, name.function(), &inputs);
    Ok(compute_tensor(call, &mut || operation(tensor, operand))?.unbind())
}

/// Like [`binary_operator`], for a scalar or an array on the left. For a tensor on the left Python calls its own
/// method.
fn reflected_operator(
    name: ArgumentName,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    of_scalar: fn(&CoreTensor, Scalar) -> Result<CoreTensor>,
    of_array: fn(&CoreTensor, &CoreTensor) -> Result<CoreTensor>,
) -> OperatorResult {
    binary_operator(name, tensor, other, &|tensor, other| match other {
        Operand::Scalar(value) => of_scalar(tensor, value),
        Operand::Tensor(array) => of_array(array, tensor),
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

/// The argument of an in-place operator. The extraction of an object that is no operand fails: the operator then returns
/// NotImplemented, and Python tries the reflected method of the object.
struct InPlaceOperand<'py>(Bound<'py, PyAny>);

impl<'a, 'py> FromPyObject<'a, 'py> for InPlaceOperand<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // An object that fails to say whether it is one raises its exception later.
        let is_operand = given.is_instance_of::<Tensor>()
            || !matches!(PyNumber::extract(&given), Ok(None))
            || !matches!(numpy::is_array(&given), Ok(false));
        if is_operand {
            return Ok(InPlaceOperand(given.to_owned()));
        }
        Err(err_no_operand(ArgumentName::new("operator", "operand"), &given))
    }
}

fn err_no_operand(name: ArgumentName, given: &Bound<'_, PyAny>) -> PyErr {
    name.type_error("a Tensor, a numpy.ndarray or a number", given)
}

/// Runs an in-place operator. `write` changes the target itself, [`update`], or copies a new result into it, [`replace`].
fn in_place_operator<'py>(
    name: ArgumentName,
    target: Bound<'py, Tensor>,
    InPlaceOperand(other): &InPlaceOperand<'py>,
    write: Write,
    operation: fn(&CoreTensor, Operand<'_>) -> Result<CoreTensor>,
) -> PyResult<()> {
    let given = Other::try_extract(name, other)?.ok_or_else(|| err_no_operand(name, other))?;
    let (inputs, operand) = ([given.tensors()], given.operand());
    let call = Call::new(target.py(), name.function(), &inputs);
    Ok(write(call, &target.core(), &|target| operation(target, operand))?)
}

/// Returns the name of an operand in errors.
macro_rules! name {
    ($function:ident $operand:ident) => {
        ArgumentName::new(stringify!($function), stringify!($operand))
    };
}

/// Declares operators with the names of the function and of the operand in errors, and their functions. In braces are those with
/// a method for a number on the left and one for an array. PyO3 makes one slot of an operator and its reflected form only if
/// one block has both.
macro_rules! binary_operators {
    (
        $($method:ident $function:ident $operand:ident $operation:expr;)+
        { $($reflected:ident $reflected_function:ident $left:ident $of_scalar:ident $of_array:ident;)+ }
    ) => {
        #[pymethods]
        impl Tensor {
            $(fn $method(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
                binary_operator(name!($function $operand), self, other, &$operation)
            })+

            $(fn $reflected(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
                reflected_operator(
                    name!($reflected_function $left),
                    self,
                    other,
                    |tensor, number| tensor.$of_scalar(number),
                    |array, tensor| array.$of_array(tensor),
                )
            })+
        }
    };
}

/// Declares in-place operators with the names of the function and of the operand in errors, how they write, and their
/// functions.
macro_rules! in_place_operators {
    ($($method:ident $function:ident $operand:ident $write:ident $operation:expr;)+) => {
        #[pymethods]
        impl Tensor {
            $(fn $method<'py>(slf: Bound<'py, Self>, other: InPlaceOperand<'py>) -> PyResult<()> {
                in_place_operator(name!($function $operand), slf, &other, $write, $operation)
            })+
        }
    };
}

binary_operators! {
    __add__ add other |a, b| a.add(b);
    __radd__ add other |a, b| a.add(b);
    __sub__ sub other |a, b| a.sub(b);
    __mul__ mul other |a, b| a.mul(b);
    __rmul__ mul other |a, b| a.mul(b);
    __truediv__ div other |a, b| a.div(b);
    __floordiv__ floor_divide other |a, b| floor_divide(a, b);
    __rfloordiv__ floor_divide input |a, b| floor_divide(b, a);
    __and__ bitwise_and other |a, b| bitwise_and(a, b);
    __rand__ bitwise_and input |a, b| bitwise_and(b, a);
    __or__ bitwise_or other |a, b| bitwise_or(a, b);
    __ror__ bitwise_or input |a, b| bitwise_or(b, a);
    __xor__ bitwise_xor other |a, b| bitwise_xor(a, b);
    __rxor__ bitwise_xor input |a, b| bitwise_xor(b, a);
    __lshift__ bitwise_left_shift other |a, b| bitwise_left_shift(a, b);
    __rlshift__ bitwise_left_shift input |a, b| bitwise_left_shift(b, a);
    __rshift__ bitwise_right_shift other |a, b| bitwise_right_shift(a, b);
    __rrshift__ bitwise_right_shift input |a, b| bitwise_right_shift(b, a);
    __mod__ remainder other |a, b| a.remainder(b);
    __eq__ eq other |a, b| a.equal(b);
    __ne__ ne other |a, b| a.not_equal(b);
    __lt__ lt other |a, b| a.less(b);
    __le__ le other |a, b| a.less_equal(b);
    __gt__ gt other |a, b| a.greater(b);
    __ge__ ge other |a, b| a.greater_equal(b);
    {
        __rsub__ sub other rsub sub;
        __rtruediv__ div other rdiv div;
        __rmod__ remainder other rremainder remainder;
    }
}

in_place_operators! {
    __iadd__ add_ other update |a, b| a.add_(b).cloned();
    __isub__ sub_ other update |a, b| a.sub_(b).cloned();
    __imul__ mul_ other update |a, b| a.mul_(b).cloned();
    __itruediv__ div_ other update |a, b| a.div_(b).cloned();
    __ifloordiv__ floor_divide_ other replace |a, b| floor_divide(a, b);
    __imod__ remainder_ other replace |a, b| remainder(a, b);
    __iand__ bitwise_and_ other replace |a, b| bitwise_and(a, b);
    __ior__ bitwise_or_ other replace |a, b| bitwise_or(a, b);
    __ixor__ bitwise_xor_ other replace |a, b| bitwise_xor(a, b);
    __ilshift__ bitwise_left_shift_ other replace |a, b| bitwise_left_shift(a, b);
    __irshift__ bitwise_right_shift_ other replace |a, b| bitwise_right_shift(a, b);
}

#[pymethods]
impl Tensor {
    fn __pow__(&self, exponent: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> OperatorResult {
        if modulo.is_some() {
            return Ok(exponent.py().NotImplemented());
        }
        binary_operator(name!(pow exponent), self, exponent, &|a, b| a.pow(b))
    }

    fn __rpow__(&self, base: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> OperatorResult {
        if modulo.is_some() {
            return Ok(base.py().NotImplemented());
        }
        reflected_operator(
            name!(pow base),
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
        exponent: InPlaceOperand<'py>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        in_place_operator(name!(pow_ exponent), slf, &exponent, replace, |a, b| a.pow(b))
    }
}
