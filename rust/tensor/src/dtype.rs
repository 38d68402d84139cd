//! Element types, type promotion rules and Python scalars.

use std::fmt;

use crate::{Element, Error, Result};

/// The type of a tensor's elements, ordered from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    /// Bools of one byte.
    Bool,
    /// 64-bit signed integers.
    Int64,
    /// Single-precision floating point.
    Float32,
    /// Double-precision floating point.
    Float64,
}

impl DType {
    /// All element types, narrowest first.
    pub const ALL: [DType; 4] = [DType::Bool, DType::Int64, DType::Float32, DType::Float64];

    /// The floating-point type that operations such as division return for integers.
    pub const DEFAULT_FLOAT: DType = DType::Float32;

    /// Returns the name of the type in the Python package, such as `"float32"`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::Int64 => "int64",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
        }
    }

    /// Returns the size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::Float32 => 4,
            DType::Int64 | DType::Float64 => 8,
        }
    }

    /// Returns whether the elements are floating-point numbers.
    pub const fn is_floating_point(self) -> bool {
        matches!(self, DType::Float32 | DType::Float64)
    }

    /// Returns this type if it is floating point, else [`DType::DEFAULT_FLOAT`].
    pub const fn to_floating_point(self) -> DType {
        if self.is_floating_point() { self } else { DType::DEFAULT_FLOAT }
    }

    /// Returns whether a result of this type may be stored in a tensor of type `target`, as `torch.can_cast`: its
    /// category (bool, integer or floating point) must not narrow.
    pub const fn can_cast_to(self, target: DType) -> bool {
        match self {
            DType::Bool => true,
            DType::Int64 => !matches!(target, DType::Bool),
            DType::Float32 | DType::Float64 => target.is_floating_point(),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Python bool, int or float. In type promotion a scalar never widens a tensor's type within its category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Scalar {
    /// Returns the type of a tensor that is created from this scalar alone.
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::Int64,
            Scalar::Float(_) => DType::DEFAULT_FLOAT,
        }
    }

    /// Returns whether a tensor of `dtype` can hold the value. NaN, infinities and numbers out of range do not fit
    /// integers. A finite number beyond the range of `float32` does not fit it. Fractions are truncated and numbers
    /// rounded.
    pub fn fits(self, dtype: DType) -> bool {
        // `i64::MIN` and `-i64::MIN` are exact doubles; `i64::MAX` is not.
        const LEAST: f64 = i64::MIN as f64;
        match (self, dtype) {
            (Scalar::Float(value), DType::Int64) => (LEAST..-LEAST).contains(&value),
            (Scalar::Float(value), DType::Float32) => {
                !value.is_finite() || value.abs() <= f64::from(f32::MAX)
            }
            _ => true,
        }
    }

    /// Returns this value if a tensor of `dtype` can hold it.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] with the names of the function and its argument.
    pub(crate) fn check_fits(self, dtype: DType, op: &'static str, argument: &'static str) -> Result<Self> {
        if self.fits(dtype) { Ok(self) } else { Err(Error::OutOfBounds { op, argument, value: self, dtype }) }
    }

    /// Converts the value to an element.
    pub fn cast<T: Element>(self) -> T {
        match self {
            Scalar::Bool(value) => T::from_i64(i64::from(value)),
            Scalar::Int(value) => T::from_i64(value),
            Scalar::Float(value) => T::from_f64(value),
        }
    }
}

/// Shows the value as Python does.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Scalar::Int(value) => value.fmt(f),
            Scalar::Float(value) if value.is_nan() => f.write_str("nan"),
            Scalar::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Scalar::Bool(value)
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Scalar::Int(value)
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Scalar::Float(value)
    }
}

/// Evaluates an expression with a type alias for the element type of a dtype, as ATen's `AT_DISPATCH_ALL_TYPES`.
macro_rules! dispatch {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => {
                type $element = $crate::element::Bool8;
                $body
            }
            $crate::DType::Int64 => {
                type $element = i64;
                $body
            }
            $crate::DType::Float32 => {
                type $element = f32;
                $body
            }
            $crate::DType::Float64 => {
                type $element = f64;
                $body
            }
        }
    };
}

/// Like `dispatch`, for floating-point types. Other types take the `f64` branch.
macro_rules! dispatch_float {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Float32 => {
                type $element = f32;
                $body
            }
            _ => {
                type $element = f64;
                $body
            }
        }
    };
}

pub(crate) use {dispatch, dispatch_float};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_fits_where_the_conversion_is_defined() {
        let fits = |value: f64, dtype| Scalar::Float(value).fits(dtype);
        let limit = 2f64.powi(63);
        assert!(fits(-limit, DType::Int64) && fits(limit - 1024.0, DType::Int64) && fits(0.5, DType::Int64));
        assert!(!fits(limit, DType::Int64) && !fits(-limit - 2048.0, DType::Int64));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!fits(value, DType::Int64) && fits(value, DType::Float32) && fits(value, DType::Bool));
        }
        assert!(fits(f32::MAX.into(), DType::Float32) && !fits(f64::from(f32::MAX) * 1.001, DType::Float32));
        assert!(fits(1e300, DType::Float64) && Scalar::Int(i64::MAX).fits(DType::Float32));
    }

    #[test]
    fn can_cast_to_requires_that_the_category_does_not_narrow() {
        assert!(DType::Float64.can_cast_to(DType::Float32));
        assert!(DType::Bool.can_cast_to(DType::Int64));
        assert!(!DType::Float32.can_cast_to(DType::Int64));
        assert!(!DType::Int64.can_cast_to(DType::Bool));
    }
}
