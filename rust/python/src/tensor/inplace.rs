//! Operations that change the tensor and return it.

use interlock_tensor::{Result, Scalar, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::arguments::{Other, scalar, wrong_type};
use super::{Tensor, call, weight};

type Itself<'py> = PyResult<Bound<'py, Tensor>>;

fn change<'py>(
    tensor: Bound<'py, Tensor>,
    operation: impl FnOnce(&CoreTensor) -> Result<()> + Send,
) -> Itself<'py> {
    let target = &tensor.get().0;
    call(tensor.py(), weight(target), || operation(target))?;
    Ok(tensor)
}

fn with_other<'py>(
    tensor: Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    operation: impl FnOnce(&CoreTensor, &Other) -> Result<()> + Send,
) -> Itself<'py> {
    let other = Other::require("other", other)?;
    change(tensor, |target| operation(target, &other))
}

/// As [`with_other`], for an operator, which also takes an array.
fn with_operator<'py>(
    tensor: Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    operation: impl FnOnce(&CoreTensor, &Other) -> Result<()> + Send,
) -> PyResult<()> {
    let found = Other::of_operator(other)?;
    let other = found.ok_or_else(|| wrong_type("other", "a Tensor, a numpy.ndarray or a number", other))?;
    change(tensor, |target| operation(target, &other)).map(drop)
}

fn alpha(given: Option<&Bound<'_, PyAny>>) -> PyResult<Scalar> {
    given.map_or(Ok(Scalar::Int(1)), |given| scalar("alpha", given))
}

#[pymethods]
impl Tensor {
    /// `self += alpha * other`
    #[pyo3(signature = (other, *, alpha = None))]
    fn add_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> Itself<'py> {
        let alpha = self::alpha(alpha)?;
        with_other(slf, other, |a, b| a.add_scaled_(b.operand(), alpha).map(drop))
    }

    /// `self -= alpha * other`
    #[pyo3(signature = (other, *, alpha = None))]
    fn sub_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> Itself<'py> {
        let alpha = self::alpha(alpha)?;
        with_other(slf, other, |a, b| a.sub_scaled_(b.operand(), alpha).map(drop))
    }

    /// `self *= other`
    fn mul_<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Itself<'py> {
        with_other(slf, other, |a, b| a.mul_(b.operand()).map(drop))
    }

    /// `self /= other`, for floating-point tensors.
    fn div_<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Itself<'py> {
        with_other(slf, other, |a, b| a.div_(b.operand()).map(drop))
    }

    /// All elements 0.
    fn zero_(slf: Bound<'_, Self>) -> Itself<'_> {
        change(slf, |target| target.zero_().map(drop))
    }

    /// Set all elements to `value`, a number or a tensor without dimensions, which receives the sum of the gradients.
    ///
    /// Raises ArgumentError for a number that the dtype cannot hold. A number also fills an expanded tensor.
    fn fill_<'py>(slf: Bound<'py, Self>, value: &Bound<'py, PyAny>) -> Itself<'py> {
        let value = Other::require("value", value)?;
        let target = &slf.get().0;
        let weight = weight(target).max(value.weight());
        call(slf.py(), weight, || target.fill_(value.operand()).map(drop))?;
        Ok(slf)
    }

    /// All elements those of `src`, which broadcasts, is converted and may be on another device. With
    /// `non_blocking` this returns while a copy between a device and pinned memory is queued.
    #[pyo3(signature = (src, non_blocking = false))]
    fn copy_<'py>(slf: Bound<'py, Self>, src: &Bound<'py, PyAny>, non_blocking: bool) -> Itself<'py> {
        let Ok(source) = src.cast::<Tensor>() else { return Err(wrong_type("src", "a Tensor", src)) };
        let (source, target) = (&source.get().0, &slf.get().0);
        let weight = weight(target).max(weight(source));
        call(slf.py(), weight, || target.copy_from(source, non_blocking).map(drop))?;
        Ok(slf)
    }

    fn __iadd__<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        with_operator(slf, other, |a, b| a.add_(b.operand()).map(drop))
    }

    fn __isub__<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        with_operator(slf, other, |a, b| a.sub_(b.operand()).map(drop))
    }

    fn __imul__<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        with_operator(slf, other, |a, b| a.mul_(b.operand()).map(drop))
    }

    fn __itruediv__<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        with_operator(slf, other, |a, b| a.div_(b.operand()).map(drop))
    }
}
