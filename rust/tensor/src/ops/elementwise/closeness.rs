//! Comparisons with a tolerance.

use super::operand::check_same_dtype;
use super::selection::where_cond;
use crate::{DType, Error, Result, Tensor};

/// The tolerances of [`isclose`](Tensor::isclose).
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// The relative tolerance.
    pub rtol: f64,
    /// The absolute tolerance.
    pub atol: f64,
    /// Whether NaN is close to NaN.
    pub equal_nan: bool,
}

impl Tensor {
    /// Returns where the difference of the elements is at most `atol + rtol * abs(other)`. Infinities are close to
    /// themselves only. Differences of integers do not wrap.
    ///
    /// # Errors
    /// Fails if the types differ or a tolerance is negative.
    pub fn isclose(&self, other: &Tensor, tolerance: Tolerance) -> Result<Tensor> {
        self.isclose_for("isclose", other, tolerance)
    }

    /// Returns whether all elements are close, like [`isclose`](Tensor::isclose). Waits for device tensors.
    pub fn allclose(&self, other: &Tensor, tolerance: Tolerance) -> Result<bool> {
        let close = self.isclose_for("allclose", other, tolerance)?;
        Ok(!close.logical_not()?.any().map_err(|error| error.during("allclose"))?)
    }

    fn isclose_for(&self, op: &'static str, other: &Tensor, tolerance: Tolerance) -> Result<Tensor> {
        let Tolerance { rtol, atol, equal_nan } = tolerance;
        check_same_dtype(op, self, other)?;
        for (argument, value) in [("rtol", rtol), ("atol", atol)] {
            if value.is_nan() || value < 0.0 {
                return Err(Error::value(op, argument, "be at least 0", value));
            }
        }
        let (a, b) = (self.detach(), other.detach());
        let mut close = a.equal(&b)?;
        if equal_nan && a.dtype().is_floating_point() {
            close = close.add(&a.not_equal(&a)?.mul(&b.not_equal(&b)?)?)?;
        }
        if rtol == 0.0 && atol == 0.0 {
            return Ok(close);
        }
        let computed = if a.dtype().is_floating_point() { a.dtype() } else { DType::Float64 };
        let wide = b.cast(computed)?;
        let mut difference = a.cast(computed)?.sub(&wide)?.abs()?;
        if a.dtype() == DType::Int64 {
            // An exact difference that does not wrap.
            let exact = a.sub(&b)?.abs()?.cast(computed)?;
            difference = where_cond(&difference.less(2f64.powi(62))?, &exact, &difference)?;
        }
        let allowed = wide.abs()?.mul(rtol)?.add(atol)?;
        let is_finite = difference.less(f64::INFINITY)?;
        close.add(&is_finite.mul(&difference.less_equal(&allowed)?)?)
    }
}
