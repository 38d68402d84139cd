//! Elements as they lie in memory.

use crate::{DType, Scalar};

/// A truth value in memory. Foreign memory may hold any byte, so this is a byte: 0 is false, all else true.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    /// From a `bool`.
    pub fn new(value: bool) -> Self {
        Bool8(u8::from(value))
    }

    /// To a `bool`.
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
    impl Sealed for super::Bool8 {}
    impl Sealed for i64 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// An element as it lies in memory. Every bit pattern of its size is a valid element.
pub trait Element: sealed::Sealed + Copy + Default + PartialOrd + Send + Sync + 'static {
    /// The type's name at run time.
    const DTYPE: DType;
    /// What sums of it are computed in.
    type Acc: Element;

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

impl Element for Bool8 {
    const DTYPE: DType = DType::Bool;
    type Acc = i64;

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

impl Element for i64 {
    const DTYPE: DType = DType::Int64;
    type Acc = i64;

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
            type Acc = f64;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_that_is_not_zero_is_true() {
        assert!(Bool8(2).get());
        assert_eq!(Bool8(2), Bool8(1));
        assert_eq!(Bool8(7).cast::<i64>(), 1);
    }

    #[test]
    fn casts_go_towards_zero_and_never_panic() {
        assert_eq!((-1.7f64).cast::<i64>(), -1);
        assert_eq!(f64::NAN.cast::<i64>(), 0);
        assert_eq!(1e300f64.cast::<i64>(), i64::MAX);
        assert_eq!(f32::NAN.cast::<Bool8>(), Bool8::new(true));
    }
}
