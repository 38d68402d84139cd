//! Element types, their promotion and Python-like scalars.

use std::fmt;

/// The type of a tensor's elements, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    /// Truth values, one byte each.
    Bool,
    /// 64-bit signed integers.
    Int64,
    /// Single precision.
    Float32,
    /// Double precision.
    Float64,
}

impl DType {
    /// Every type, narrowest first.
    pub const ALL: [DType; 4] = [DType::Bool, DType::Int64, DType::Float32, DType::Float64];

    /// What an operation on integers gives where the result is not one.
    pub const DEFAULT_FLOAT: DType = DType::Float32;

    /// The name in the Python package.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::Int64 => "int64",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::Float32 => 4,
            DType::Int64 | DType::Float64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub const fn is_floating_point(self) -> bool {
        matches!(self, DType::Float32 | DType::Float64)
    }

    /// This type if it is floating point, else the default one.
    pub const fn to_floating_point(self) -> DType {
        if self.is_floating_point() { self } else { DType::DEFAULT_FLOAT }
    }

    /// Whether a result of this type may be stored into a tensor of `target`: its category is not lost.
    pub const fn fits_into(self, target: DType) -> bool {
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

/// A number that is not a tensor. It never widens a tensor's type within its category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
}

impl Scalar {
    /// The type of a tensor made from this alone.
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::Int64,
            Scalar::Float(_) => DType::DEFAULT_FLOAT,
        }
    }

    /// The value as an element.
    pub fn cast<T: Element>(self) -> T {
        match self {
            Scalar::Bool(value) => T::from_i64(i64::from(value)),
            Scalar::Int(value) => T::from_i64(value),
            Scalar::Float(value) => T::from_f64(value),
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

/// A truth value in memory. Foreign memory may hold any byte, so this is a byte: 0 is false, all else true.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Truth(u8);

impl Truth {
    /// From a `bool`.
    pub fn new(value: bool) -> Self {
        Truth(u8::from(value))
    }

    /// To a `bool`.
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl PartialEq for Truth {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl PartialOrd for Truth {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Truth {}
    impl Sealed for i64 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// An element as it lies in memory. Every bit pattern of its size is a valid element.
pub trait Element: sealed::Sealed + Copy + Default + PartialOrd + Send + Sync + 'static {
    /// The type's name at run time.
    const DTYPE: DType;
    /// What sums of it are computed in.
    type Sum: Element;

    /// The nearest element.
    fn from_f64(value: f64) -> Self;
    /// The nearest element.
    fn from_i64(value: i64) -> Self;
    /// The nearest double.
    fn to_f64(self) -> f64;
    /// The same value as another type: towards zero for integers, "not zero" for truth values.
    fn cast<T: Element>(self) -> T;
    /// The value outside of a tensor.
    fn to_scalar(self) -> Scalar;
    /// The sum, wrapping; "or" of truth values.
    fn plus(self, other: Self) -> Self;
    /// The difference, wrapping.
    fn minus(self, other: Self) -> Self;
    /// The product, wrapping; "and" of truth values.
    fn times(self, other: Self) -> Self;
    /// Whether it is not a number.
    fn is_nan(self) -> bool {
        false
    }
}

impl Element for Truth {
    const DTYPE: DType = DType::Bool;
    type Sum = i64;

    fn from_f64(value: f64) -> Self {
        Truth::new(value != 0.0)
    }
    fn from_i64(value: i64) -> Self {
        Truth::new(value != 0)
    }
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self.get()))
    }
    fn cast<T: Element>(self) -> T {
        T::from_i64(i64::from(self.get()))
    }
    fn to_scalar(self) -> Scalar {
        Scalar::Bool(self.get())
    }
    fn plus(self, other: Self) -> Self {
        Truth::new(self.get() | other.get())
    }
    fn minus(self, other: Self) -> Self {
        Truth::new(self.get() ^ other.get())
    }
    fn times(self, other: Self) -> Self {
        Truth::new(self.get() & other.get())
    }
}

impl Element for i64 {
    const DTYPE: DType = DType::Int64;
    type Sum = i64;

    fn from_f64(value: f64) -> Self {
        value as i64
    }
    fn from_i64(value: i64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn cast<T: Element>(self) -> T {
        T::from_i64(self)
    }
    fn to_scalar(self) -> Scalar {
        Scalar::Int(self)
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

macro_rules! floating_point {
    ($($float:ident = $dtype:ident),*) => {
        $(impl Element for $float {
            const DTYPE: DType = DType::$dtype;
            type Sum = f64;

            fn from_f64(value: f64) -> Self {
                value as $float
            }
            fn from_i64(value: i64) -> Self {
                value as $float
            }
            fn to_f64(self) -> f64 {
                self.into()
            }
            fn cast<T: Element>(self) -> T {
                T::from_f64(self.into())
            }
            fn to_scalar(self) -> Scalar {
                Scalar::Float(self.into())
            }
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn is_nan(self) -> bool {
                $float::is_nan(self)
            }
        })*
    };
}

floating_point!(f32 = Float32, f64 = Float64);

/// Evaluates an expression with a type parameter standing for the element type.
macro_rules! dispatch {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => {
                type $element = $crate::dtype::Truth;
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

/// As `dispatch`, for a type that is known to be floating point; others take the double branch.
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
    fn a_result_fits_where_its_category_is_kept() {
        assert!(DType::Float64.fits_into(DType::Float32));
        assert!(DType::Bool.fits_into(DType::Int64));
        assert!(!DType::Float32.fits_into(DType::Int64));
        assert!(!DType::Int64.fits_into(DType::Bool));
    }

    #[test]
    fn any_byte_that_is_not_zero_is_true() {
        assert!(Truth(2).get());
        assert_eq!(Truth(2), Truth(1));
        assert_eq!(Truth(7).cast::<i64>(), 1);
    }

    #[test]
    fn casts_go_towards_zero_and_never_panic() {
        assert_eq!((-1.7f64).cast::<i64>(), -1);
        assert_eq!(f64::NAN.cast::<i64>(), 0);
        assert_eq!(1e300f64.cast::<i64>(), i64::MAX);
        assert_eq!(f32::NAN.cast::<Truth>(), Truth::new(true));
    }
}
