//! Operators and the corresponding methods.

use interlock_tensor::{Result, Scalar, Tensor as CoreTensor};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

use super::args::{TensorOrScalar, extract_scalar, extract_tensor};
use super::{Tensor, numpy, run_op, work_size};

type OperatorResult = PyResult<Py<PyAny>>;

/// Runs a binary operator, or returns NotImplemented for an operand of another type.
fn binary_operator(
    what: &str,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    operation: impl FnOnce(&CoreTensor, &TensorOrScalar) -> Result<CoreTensor> + Send,
) -> OperatorResult {
    let py = other.py();
    let Some(other) = TensorOrScalar::from_operand(what, other)? else { return Ok(py.NotImplemented()) };
    let size = work_size(&tensor.0).max(other.work_size());
    Ok(Bound::new(py, run_op(py, size, || operation(&tensor.0, &other))?)?.into_any().unbind())
}

/// Like [`binary_operator`], for a scalar or an array on the left. For a tensor on the left Python calls its own
/// method.
fn reflected_operator(
    what: &str,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    of_scalar: impl FnOnce(&CoreTensor, Scalar) -> Result<CoreTensor> + Send,
    of_array: impl FnOnce(&CoreTensor, &CoreTensor) -> Result<CoreTensor> + Send,
) -> OperatorResult {
    binary_operator(what, tensor, other, |tensor, other| match other {
        TensorOrScalar::Scalar(value) => of_scalar(tensor, *value),
        TensorOrScalar::Tensor(array) => of_array(array, tensor),
    })
}

/// Runs the operator `@` with a tensor or an array, or returns NotImplemented.
fn matmul_operator(
    other: &Bound<'_, PyAny>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor> + Send,
) -> OperatorResult {
    let py = other.py();
    let other = match other.cast::<Tensor>() {
        Ok(other) => other.get().0.clone(),
        Err(_) if numpy::is_array(other)? => numpy::tensor_from_array(other)?,
        Err(_) => return Ok(py.NotImplemented()),
    };
    Ok(Bound::new(py, run_op(py, super::DETACH_THRESHOLD, || operation(&other))?)?.into_any().unbind())
}

/// Runs a binary operation that is called as a method, or raises TypeError.
fn binary_method(
    what: &str,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    operation: impl FnOnce(&CoreTensor, &TensorOrScalar) -> Result<CoreTensor> + Send,
) -> PyResult<Tensor> {
    let py = other.py();
    let other = TensorOrScalar::extract(what, other)?;
    run_op(py, work_size(&tensor.0).max(other.work_size()), || operation(&tensor.0, &other))
}

/// Extracts an optional factor of an operand, such as `alpha`.
pub(super) fn factor(what: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Scalar> {
    given.map_or(Ok(Scalar::Int(1)), |given| extract_scalar(what, given))
}

#[pymethods]
impl Tensor {
    fn __add__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("add: other", self, other, |a, b| a.add(b.operand()))
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("add: other", self, other, |a, b| a.add(b.operand()))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("sub: other", self, other, |a, b| a.sub(b.operand()))
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
        binary_operator("mul: other", self, other, |a, b| a.mul(b.operand()))
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("mul: other", self, other, |a, b| a.mul(b.operand()))
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("div: other", self, other, |a, b| a.div(b.operand()))
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

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("remainder: other", self, other, |a, b| a.remainder(b.operand()))
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
        binary_operator("pow: exponent", self, exponent, |a, b| a.pow(b.operand()))
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

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        matmul_operator(other, |other| self.0.matmul(other))
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        matmul_operator(other, |other| other.matmul(&self.0))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, work_size(&self.0), || self.0.neg())
    }

    fn __pos__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, work_size(&self.0), || self.0.abs())
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
        binary_operator(what, self, other, |a, b| match op {
            CompareOp::Eq => a.equal(b.operand()),
            CompareOp::Ne => a.not_equal(b.operand()),
            CompareOp::Lt => a.less(b.operand()),
            CompareOp::Le => a.less_equal(b.operand()),
            CompareOp::Gt => a.greater(b.operand()),
            CompareOp::Ge => a.greater_equal(b.operand()),
        })
    }

    /// Return `self + alpha * other`. The sum of bools is the logical or.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///     alpha: A number by which `other` is multiplied first; None means 1.
    ///
    /// Raises:
    ///     DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
    ///     ArgumentError: The promoted dtype cannot hold `alpha`.
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).add(interlock.tensor([1, 1]), alpha=10)
    ///     tensor([11, 12])
    #[pyo3(signature = (other, *, alpha = None))]
    fn add(&self, other: &Bound<'_, PyAny>, alpha: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
        let alpha = factor("add: alpha", alpha)?;
        binary_method("add: other", self, other, |a, b| a.add_scaled(b.operand(), alpha))
    }

    /// Return `self - alpha * other`.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///     alpha: A number by which `other` is multiplied first; None means 1.
    ///
    /// Raises:
    ///     DTypeError: An operand is bool.
    ///     DTypeError: `alpha` is a float or a bool, and the promoted dtype is not.
    ///     ArgumentError: The promoted dtype cannot hold `alpha`.
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([11, 12]).sub(1, alpha=10)
    ///     tensor([1, 2])
    #[pyo3(signature = (other, *, alpha = None))]
    fn sub(&self, other: &Bound<'_, PyAny>, alpha: Option<&Bound<'_, PyAny>>) -> PyResult<Tensor> {
        let alpha = factor("sub: alpha", alpha)?;
        binary_method("sub: other", self, other, |a, b| a.sub_scaled(b.operand(), alpha))
    }

    /// Return `self * other`, elementwise. The product of bools is the logical and.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///
    /// Raises:
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).mul(interlock.tensor([3.0, 4.0]))
    ///     tensor([3., 8.])
    fn mul(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        binary_method("mul: other", self, other, |a, b| a.mul(b.operand()))
    }

    /// Return `self / other`, elementwise. The quotient of integers is float32.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///
    /// Raises:
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).div(2)
    ///     tensor([0.5000, 1.0000])
    fn div(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        binary_method("div: other", self, other, |a, b| a.div(b.operand()))
    }

    /// Return `self ** exponent`, elementwise.
    ///
    /// Args:
    ///     exponent: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///
    /// Raises:
    ///     ArgumentError: The promoted dtype is int64, and `exponent` is a negative number.
    ///     DTypeError: Both are bool tensors.
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([2, 3]).pow(2)
    ///     tensor([4, 9])
    fn pow(&self, exponent: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        binary_method("pow: exponent", self, exponent, |a, b| a.pow(b.operand()))
    }

    /// Return the remainder of `self / other`, elementwise, with the sign of `other`, as Python's `%`.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///
    /// Raises:
    ///     ArgumentError: Integers on the CPU are divided by 0.
    ///     DTypeError: An operand is bool.
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([5, -5]).remainder(3)
    ///     tensor([2, 1])
    fn remainder(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        binary_method("remainder: other", self, other, |a, b| a.remainder(b.operand()))
    }

    /// Return a bool tensor that is True where the elements are equal to those of `other`.
    ///
    /// Args:
    ///     other: A tensor or a number. Shapes are broadcast and dtypes promoted.
    ///
    /// Raises:
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).eq(interlock.tensor([1, 3]))
    ///     tensor([ True, False])
    fn eq(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        binary_method("eq: other", self, other, |a, b| a.equal(b.operand()))
    }

    /// Return the matrix product with another tensor; see `interlock.matmul`.
    ///
    /// Args:
    ///     other: The right tensor, of shape [..., k, m] or [k], of the same dtype.
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are bool.
    ///     ShapeError: The shapes are incompatible.
    fn matmul(&self, other: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let py = other.py();
        let other = extract_tensor("matmul: other", other)?;
        run_op(py, super::DETACH_THRESHOLD, || self.0.matmul(&other))
    }

    /// Return the matrix product of two matrices.
    ///
    /// Args:
    ///     mat2: A matrix of shape [k, m], of the same dtype; this one has shape [n, k].
    ///
    /// Returns:
    ///     A matrix of shape [n, m].
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are bool.
    ///     ShapeError: A tensor is not a matrix, or the inner sizes differ.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.ones(2, 3).mm(interlock.ones(3, 1))
    ///     tensor([[3.],
    ///             [3.]])
    fn mm(&self, mat2: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let right = extract_tensor("mm: mat2", mat2)?;
        run_op(mat2.py(), super::DETACH_THRESHOLD, || self.0.mm(&right))
    }

    /// Return the matrix products of two batches of matrices; see `interlock.bmm`.
    ///
    /// Args:
    ///     mat2: The right batch, of shape [b, k, m], of the same dtype; this one has shape [b, n, k].
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are bool.
    ///     ShapeError: A tensor does not have 3 dimensions, or the sizes differ.
    fn bmm(&self, mat2: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let right = extract_tensor("bmm: mat2", mat2)?;
        run_op(mat2.py(), super::DETACH_THRESHOLD, || self.0.bmm(&right))
    }

    /// Return `beta * self + alpha * (mat1 @ mat2)`; see `interlock.addmm`.
    ///
    /// Args:
    ///     mat1: A matrix of shape [n, k], of the same dtype.
    ///     mat2: A matrix of shape [k, m], of the same dtype.
    ///     beta: A number; None means 1.
    ///     alpha: A number; None means 1.
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ or are bool, or do not fit `beta` or `alpha`.
    ///     ShapeError: The shapes are incompatible.
    #[pyo3(signature = (mat1, mat2, *, beta = None, alpha = None))]
    fn addmm(
        &self,
        mat1: &Bound<'_, PyAny>,
        mat2: &Bound<'_, PyAny>,
        beta: Option<&Bound<'_, PyAny>>,
        alpha: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Tensor> {
        let (left, right) = (extract_tensor("addmm: mat1", mat1)?, extract_tensor("addmm: mat2", mat2)?);
        let (beta, alpha) = (factor("addmm: beta", beta)?, factor("addmm: alpha", alpha)?);
        run_op(mat1.py(), super::DETACH_THRESHOLD, || self.0.addmm(&left, &right, beta, alpha))
    }
}

macro_rules! element_methods {
    ($($(#[$doc:meta])* $method:ident;)+) => {
        #[pymethods]
        impl Tensor {
            $($(#[$doc])*
            fn $method(&self, py: Python<'_>) -> PyResult<Tensor> {
                run_op(py, work_size(&self.0), || self.0.$method())
            })+
        }
    };
}

element_methods! {
    /// Return e to the power of each element. Integers and bools are converted to float32.
    exp;
    /// Return the natural logarithm of each element. Integers and bools are converted to float32.
    log;
    /// Return the square root of each element; NaN for negative ones. Integers and bools are converted to float32.
    sqrt;
    /// Return the sine of each element, in radians. Integers and bools are converted to float32.
    sin;
    /// Return the cosine of each element, in radians. Integers and bools are converted to float32.
    cos;
    /// Return the hyperbolic tangent of each element. Integers and bools are converted to float32.
    tanh;
    /// Return the logistic function `1 / (1 + exp(-x))` of each element. Integers and bools are converted to float32.
    sigmoid;
    /// Return each element, or 0 if it is negative. The gradient at 0 is 0.
    ///
    /// Raises:
    ///     DTypeError: The tensor is a bool tensor.
    relu;
    /// Return the negation of each element.
    ///
    /// Raises:
    ///     DTypeError: The tensor is a bool tensor.
    neg;
    /// Return the absolute value of each element. The gradient at 0 is 0.
    abs;
    /// Return a bool tensor that is True where the elements are zero.
    logical_not;
}
