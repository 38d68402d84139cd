//! Element types and their arithmetic.

use half::{bf16, f16};

use super::{DType, Scalar};

/// A bool of one byte. Foreign memory may hold any byte: 0 is false and all others are true.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    /// Converts from a `bool`.
    pub fn new(value: bool) -> Self {
        Bool8(u8::from(value))
    }

    /// Converts to a `bool`.
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl PartialEq for Bool8 {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl PartialOrd for Bool8 {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sealed {
    ($($element:ty),*) => { $(impl sealed::Sealed for $element {})* };
}

sealed!(Bool8, u8, i8, i16, i32, i64, f16, bf16, f32, f64);

/// A type that tensors can hold. Every bit pattern of its size is a valid element.
pub trait Element: sealed::Sealed + Copy + Default + PartialOrd + Send + Sync + 'static {
    /// The dtype of tensors of these elements.
    const DTYPE: DType;

    /// Converts from `f64` to the nearest element.
    fn from_f64(value: f64) -> Self;
    /// Converts from `i64` to the nearest element.
    fn from_i64(value: i64) -> Self;
    /// Converts to the nearest `f64`.
    fn to_f64(self) -> f64;
    /// Converts to another element type: truncates towards zero for integers, and tests for nonzero for bools.
    fn cast<T: Element>(self) -> T;
    /// Converts to a [`Scalar`].
    fn to_scalar(self) -> Scalar;
    /// Returns the wrapping sum; of bools, the logical or.
    fn plus(self, other: Self) -> Self;
    /// Returns the wrapping difference; of bools, the exclusive or.
    fn minus(self, other: Self) -> Self;
    /// Returns the wrapping product; of bools, the logical and.
    fn times(self, other: Self) -> Self;
    /// Returns whether the element is NaN.
    fn is_nan(self) -> bool {
        false
    }
}

/// Returns the larger element, the left one if both are equal, or NaN.
#[inline(always)]
pub(crate) fn larger<T: Element>(left: T, right: T) -> T {
    if left >= right || left.is_nan() { left } else { right }
}

/// Returns the smaller element, the left one if both are equal, or NaN.
#[inline(always)]
pub(crate) fn smaller<T: Element>(left: T, right: T) -> T {
    if left <= right || left.is_nan() { left } else { right }
}

impl Element for Bool8 {
    const DTYPE: DType = DType::Bool;

    fn from_f64(value: f64) -> Self {
        Bool8::new(value != 0.0)
    }
    fn from_i64(value: i64) -> Self {
        Bool8::new(value != 0)
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
        Bool8::new(self.get() | other.get())
    }
    fn minus(self, other: Self) -> Self {
        Bool8::new(self.get() ^ other.get())
    }
    fn times(self, other: Self) -> Self {
        Bool8::new(self.get() & other.get())
    }
}

/// Integers are converted by way of `i64`, whose lower bits they are: numbers beyond their range wrap, as in C.
macro_rules! integer {
    ($($integer:ident = $dtype:ident),*) => {
        $(impl Element for $integer {
            const DTYPE: DType = DType::$dtype;

            fn from_f64(value: f64) -> Self {
                value as i64 as $integer
            }
            fn from_i64(value: i64) -> Self {
                value as $integer
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn cast<T: Element>(self) -> T {
                T::from_i64(i64::from(self))
            }
            fn to_scalar(self) -> Scalar {
                Scalar::Int(i64::from(self))
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
        })*
    };
}

integer!(u8 = UInt8, i8 = Int8, i16 = Int16, i32 = Int32, i64 = Int64);

macro_rules! floating_point {
    ($($float:ident = $dtype:ident),*) => {
        $(impl Element for $float {
            const DTYPE: DType = DType::$dtype;

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

/// Halves are converted by way of `f32`, in which their arithmetic is done, also from `f64` and integers: results do
/// not depend on the instructions of the CPU.
macro_rules! half_precision {
    ($($half:ident = $dtype:ident),*) => {
        $(impl Element for $half {
            const DTYPE: DType = DType::$dtype;

            fn from_f64(value: f64) -> Self {
                $half::from_f32(value as f32)
            }
            fn from_i64(value: i64) -> Self {
                $half::from_f32(value as f32)
            }
            fn to_f64(self) -> f64 {
                self.to_f32().into()
            }
            fn cast<T: Element>(self) -> T {
                T::from_f64(self.to_f32().into())
            }
            fn to_scalar(self) -> Scalar {
                Scalar::Float(self.to_f32().into())
            }
            fn plus(self, other: Self) -> Self {
                $half::from_f32(self.to_f32() + other.to_f32())
            }
            fn minus(self, other: Self) -> Self {
                $half::from_f32(self.to_f32() - other.to_f32())
            }
            fn times(self, other: Self) -> Self {
                $half::from_f32(self.to_f32() * other.to_f32())
            }
            fn is_nan(self) -> bool {
                $half::is_nan(self)
            }
        })*
    };
}

half_precision!(f16 = Float16, bf16 = BFloat16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bool8_of_any_nonzero_byte_is_true() {
        assert!(Bool8(2).get());
        assert_eq!(Bool8(2), Bool8(1));
        assert_eq!(Bool8(7).cast::<i64>(), 1);
    }
}
