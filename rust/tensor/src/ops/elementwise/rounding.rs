//! Rounding to integers, and the classification and replacement of special values.

use super::functions::{Saved, UnaryRecord, element_function};
use super::operand::{check_floating_point, check_numeric};
use super::sign::set_zero_gradient;
use crate::dtype::{Bool8, dispatch_compute, dispatch_float};
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Result, Tensor, bf16, f16, iterate};

/// Defines functions that round floating-point numbers and return integers unchanged. Their gradient is 0.
macro_rules! rounding_functions {
    ($($(#[$doc:meta])* $method:ident, $node:literal, $f:expr;)+) => {
        impl Tensor {
            $($(#[$doc])*
            pub fn $method(&self) -> Result<Tensor> {
                let op = stringify!($method);
                check_numeric(op, "input", self.dtype(), "; long() converts it")?;
                if !self.dtype().is_floating_point() {
                    return self.copy();
                }
                let out = dispatch_float!(self.dtype(), T => {
                    iterate::map(op, self, element_function::<T>($f))
                })?;
                set_zero_gradient($node, self, &out)?;
                Ok(out)
            })+
        }
    };
}

rounding_functions! {
    /// Rounds each element up.
    ceil, "CeilBackward0", |v| v.ceil();
    /// Rounds each element down.
    floor, "FloorBackward0", |v| v.floor();
    /// Rounds each element to the nearest integer, and ties to the even one.
    round, "RoundBackward0", |v| v.round_ties_even();
    /// Rounds each element towards 0.
    trunc, "TruncBackward0", |v| v.trunc();
}

impl Tensor {
    /// Rounds each element to a number of decimal places, which may be negative. Only for floating-point tensors unless
    /// `decimals` is 0.
    pub fn round_to(&self, decimals: i64) -> Result<Tensor> {
        let op = "round";
        if decimals == 0 {
            return self.round();
        }
        check_floating_point(op, self)?;
        let places = i32::try_from(decimals.unsigned_abs()).unwrap_or(i32::MAX);
        let out = dispatch_float!(self.dtype(), T => {
            let unit = T::from_f64(10f64.powi(places));
            iterate::map(op, self, move |v: T| {
                if decimals > 0 { (v * unit).round_ties_even() / unit } else { (v / unit).round_ties_even() * unit }
            })
        })?;
        set_zero_gradient("RoundBackward1", self, &out)?;
        Ok(out)
    }

    /// Returns the fractional part of each element, with its sign.
    pub fn frac(&self) -> Result<Tensor> {
        let op = "frac";
        check_floating_point(op, self)?;
        let out = dispatch_float!(self.dtype(), T => iterate::map(op, self, |v: T| v - v.trunc()))?;
        NodeBuilder::record_linear("FracBackward0", self, out, |gradient| Ok(gradient.clone()))
    }

    /// Returns where the elements are NaN.
    pub fn isnan(&self) -> Result<Tensor> {
        dispatch_compute!(self.dtype(), T => iterate::map("isnan", self, |v: T| Bool8::new(v.is_nan())))
    }

    /// Returns where the elements are infinite.
    pub fn isinf(&self) -> Result<Tensor> {
        dispatch_compute!(self.dtype(), T => {
            iterate::map("isinf", self, |v: T| Bool8::new(v.to_f64().is_infinite()))
        })
    }

    /// Returns where the elements are neither infinite nor NaN.
    pub fn isfinite(&self) -> Result<Tensor> {
        dispatch_compute!(self.dtype(), T => {
            iterate::map("isfinite", self, |v: T| Bool8::new(v.to_f64().is_finite()))
        })
    }

    /// Replaces NaN by `nan` (0 if it is `None`), and infinities by `posinf` and `neginf` (the largest and the smallest
    /// finite number of the type).
    pub fn nan_to_num(&self, nan: Option<f64>, posinf: Option<f64>, neginf: Option<f64>) -> Result<Tensor> {
        let op = "nan_to_num";
        if !self.dtype().is_floating_point() {
            return self.copy();
        }
        let largest = largest_finite(self.dtype());
        let (nan, posinf, neginf) =
            (nan.unwrap_or(0.0), posinf.unwrap_or(largest), neginf.unwrap_or(-largest));
        let out = dispatch_float!(self.dtype(), T => {
            let [nan, posinf, neginf] = [nan, posinf, neginf].map(T::from_f64);
            iterate::map(op, self, move |v: T| match v {
                v if v.is_nan() => nan,
                v if v.is_infinite() => if v > 0.0 { posinf } else { neginf },
                v => v,
            })
        })?;
        let record = UnaryRecord {
            node: "NanToNumBackward0",
            saved: Saved::Input,
            gradient: |g, x| zero_where(&x.detach().isfinite()?.logical_not()?, g),
        };
        record.set_history(self, &out)?;
        Ok(out)
    }

    /// Returns the square of each element.
    pub fn square(&self) -> Result<Tensor> {
        self.pow(2i64)
    }
}

/// Returns the largest finite number of a floating-point type.
fn largest_finite(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => f16::MAX.to_f64(),
        DType::BFloat16 => bf16::MAX.to_f64(),
        DType::Float32 => f32::MAX.into(),
        _ => f64::MAX,
    }
}
