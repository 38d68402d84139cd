//! Operators and the corresponding methods.

use interlock_tensor::{Result, Scalar, Tensor as CoreTensor, elementwise};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

use super::args::{TensorOrScalar, extract_scalar, extract_tensor, function_of};
use super::{Tensor, numpy, run_op, work_size};
use crate::errors::IntoPyResult;

type OperatorResult = PyResult<Py<PyAny>>;

/// Runs a binary operator, or returns NotImplemented for an operand of another type.
fn binary_operator(
    what: &'static str,
    tensor: &Tensor,
    other: &Bound<'_, PyAny>,
    operation: &(dyn Fn(&CoreTensor, &TensorOrScalar) -> Result<CoreTensor> + Sync),
) -> OperatorResult {
    let py = other.py();
    let Some(other) = TensorOrScalar::from_operand(what, other)? else { return Ok(py.NotImplemented()) };
    let size = other.work_size_with(&tensor.0);
    Ok(Bound::new(py, run_op(py, function_of(what), size, || operation(&tensor.0, &other))?)?
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
        Ok(other) => other.get().0.clone(),
        Err(_) if numpy::is_array(other)? => numpy::tensor_from_array("matmul", other)?,
        Err(_) => return Ok(py.NotImplemented()),
    };
    Ok(Bound::new(py, run_op(py, "matmul", super::DETACH_THRESHOLD, || operation(&other))?)?
        .into_any()
        .unbind())
}

/// Extracts an optional factor of an operand, such as `alpha`.
pub(super) fn factor(what: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Scalar> {
    given.map_or(Ok(Scalar::Int(1)), |given| extract_scalar(what, given))
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
        binary_operator("floor_divide: other", self, other, &|a, b| elementwise::floor_divide(a, b.operand()))
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("floor_divide: input", self, other, &|a, b| elementwise::floor_divide(b.operand(), a))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_and: other", self, other, &|a, b| elementwise::bitwise_and(a, b.operand()))
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_and: input", self, other, &|a, b| elementwise::bitwise_and(b.operand(), a))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_or: other", self, other, &|a, b| elementwise::bitwise_or(a, b.operand()))
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_or: input", self, other, &|a, b| elementwise::bitwise_or(b.operand(), a))
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_xor: other", self, other, &|a, b| elementwise::bitwise_xor(a, b.operand()))
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        binary_operator("bitwise_xor: input", self, other, &|a, b| elementwise::bitwise_xor(b.operand(), a))
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

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        matmul_operator(other, &|other| self.0.matmul(other))
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> OperatorResult {
        matmul_operator(other, &|other| other.matmul(&self.0))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, "neg", work_size(&self.0), || self.0.neg())
    }

    fn __pos__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().0.positive().into_py_result(slf.py())?;
        Ok(slf)
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, "abs", work_size(&self.0), || self.0.abs())
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
        run_op(py, "matmul", super::DETACH_THRESHOLD, || self.0.matmul(&other))
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
        run_op(mat2.py(), "mm", super::DETACH_THRESHOLD, || self.0.mm(&right))
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
        run_op(mat2.py(), "bmm", super::DETACH_THRESHOLD, || self.0.bmm(&right))
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
        run_op(mat1.py(), "addmm", super::DETACH_THRESHOLD, || self.0.addmm(&left, &right, beta, alpha))
    }
}
