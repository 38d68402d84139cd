//! Element types, type promotion rules and Python scalars.

mod element;

use std::fmt;

use half::{bf16, f16};

use interlock::sys::InterlockDType;

pub use element::Element;
pub(crate) use element::{Bool8, larger, smaller};

/// The type of a tensor's elements.
///
/// ```
/// use interlock_tensor::DType;
///
/// assert_eq!(DType::Int64.promote(DType::BFloat16), DType::BFloat16);
/// assert_eq!(DType::Float16.promote(DType::BFloat16), DType::Float32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// Bools of one byte.
    Bool,
    /// 8-bit unsigned integers. Arithmetic with the narrow integers is done in 64 bits and its results wrap.
    UInt8,
    /// 8-bit signed integers.
    Int8,
    /// 16-bit signed integers.
    Int16,
    /// 32-bit signed integers.
    Int32,
    /// 64-bit signed integers.
    Int64,
    /// IEEE half precision: 5 bits of exponent and 10 of mantissa. Arithmetic is done in single precision.
    Float16,
    /// The upper half of a single-precision number: 8 bits of exponent and 7 of mantissa. Arithmetic is done in single
    /// precision.
    BFloat16,
    /// Single-precision floating point.
    Float32,
    /// Double-precision floating point.
    Float64,
}

impl DType {
    /// All element types.
    pub const ALL: [DType; 10] = [
        DType::Bool,
        DType::UInt8,
        DType::Int8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::Float16,
        DType::BFloat16,
        DType::Float32,
        DType::Float64,
    ];

    /// The floating-point type that operations such as division return for integers.
    pub const DEFAULT_FLOAT: DType = DType::Float32;

    /// Returns the name of the type in the Python package, such as `"float32"`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::UInt8 => "uint8",
            DType::Int8 => "int8",
            DType::Int16 => "int16",
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
        }
    }

    /// Returns the element type of DLPack.
    pub const fn dlpack(self) -> InterlockDType {
        match self {
            DType::Bool => InterlockDType::BOOL,
            DType::UInt8 => InterlockDType::uint(8),
            DType::Int8 => InterlockDType::int(8),
            DType::Int16 => InterlockDType::int(16),
            DType::Int32 => InterlockDType::int(32),
            DType::Int64 => InterlockDType::int(64),
            DType::Float16 => InterlockDType::float(16),
            DType::BFloat16 => InterlockDType::BFLOAT16,
            DType::Float32 => InterlockDType::float(32),
            DType::Float64 => InterlockDType::float(64),
        }
    }

    /// Returns the size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::UInt8 | DType::Int8 => 1,
            DType::Int16 | DType::Float16 | DType::BFloat16 => 2,
            DType::Int32 | DType::Float32 => 4,
            DType::Int64 | DType::Float64 => 8,
        }
    }

    /// Returns whether the elements are floating-point numbers.
    pub const fn is_floating_point(self) -> bool {
        matches!(self, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
    }

    /// Returns whether the elements are half-precision numbers, `float16` or `bfloat16`.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::Float16 | DType::BFloat16)
    }

    /// Returns whether the elements are integers. Bools are not.
    pub const fn is_integer(self) -> bool {
        self.is_narrow_integer() || matches!(self, DType::Int64)
    }

    /// Returns whether the elements are integers of less than 64 bits.
    pub const fn is_narrow_integer(self) -> bool {
        matches!(self, DType::UInt8 | DType::Int8 | DType::Int16 | DType::Int32)
    }

    /// Returns whether the elements can be negative.
    pub const fn is_signed(self) -> bool {
        !matches!(self, DType::Bool | DType::UInt8)
    }

    /// Returns the type in which arithmetic with the elements is done, as ATen's `opmath_type`: `float32` for 16-bit
    /// floats, whose results are rounded once, and `int64` for narrow integers, whose results wrap.
    pub const fn compute(self) -> DType {
        match self {
            DType::Float16 | DType::BFloat16 => DType::Float32,
            DType::UInt8 | DType::Int8 | DType::Int16 | DType::Int32 => DType::Int64,
            _ => self,
        }
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
            _ if self.is_integer() => !matches!(target, DType::Bool),
            _ => target.is_floating_point(),
        }
    }

    /// Returns the narrowest type that holds the values of both types, as `torch.promote_types`. Of `uint8` and `int8`,
    /// and of `float16` and `bfloat16`, neither holds the values of the other: they are promoted to `int16` and to
    /// `float32`.
    pub fn promote(self, other: DType) -> DType {
        match (self, other) {
            _ if self == other => self,
            (DType::Float64, _) | (_, DType::Float64) => DType::Float64,
            // Of two categories the wider determines the type.
            _ if !other.can_cast_to(self) => other,
            _ if !self.can_cast_to(other) => self,
            (DType::UInt8, DType::Int8) | (DType::Int8, DType::UInt8) => DType::Int16,
            _ if self.is_integer() => {
                if self.size() > other.size() {
                    self
                } else {
                    other
                }
            }
            _ => DType::Float32,
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
    /// integers. As in PyTorch a negative int fits `uint8`, in which it wraps, if its magnitude does. A finite number
    /// beyond the range of a floating-point type does not fit it. Fractions are truncated and numbers rounded.
    pub fn fits(self, dtype: DType) -> bool {
        match (self, dtype) {
            (Scalar::Int(value), DType::UInt8) => value.unsigned_abs() <= u8::MAX.into(),
            (Scalar::Int(value), DType::Int8) => i8::try_from(value).is_ok(),
            (Scalar::Int(value), DType::Int16) => i16::try_from(value).is_ok(),
            (Scalar::Int(value), DType::Int32) => i32::try_from(value).is_ok(),
            // Fractions above the largest integer are truncated to it. Below the smallest one PyTorch refuses them.
            (Scalar::Float(value), DType::UInt8) => (0.0..256.0).contains(&value),
            (Scalar::Float(value), dtype) if dtype.is_integer() => {
                // The bounds are exact doubles.
                let end = (1u64 << (8 * dtype.size() - 1)) as f64;
                (-end..end).contains(&value)
            }
            (Scalar::Int(_) | Scalar::Float(_), DType::Float16) => is_within(self.cast(), f16::MAX.to_f64()),
            (Scalar::Float(value), DType::BFloat16) => is_within(value, bf16::MAX.to_f64()),
            (Scalar::Float(value), DType::Float32) => is_within(value, f32::MAX.into()),
            _ => true,
        }
    }

    /// Returns the value that a tensor of a half-precision `dtype` holds; other types do not change it.
    pub(crate) fn rounded(self, dtype: DType) -> Self {
        if dtype.is_half() { self.stored(dtype) } else { self }
    }

    /// Returns the value that a tensor of `dtype` holds.
    pub(crate) fn stored(self, dtype: DType) -> Self {
        dispatch!(dtype, T => self.cast::<T>().to_scalar())
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

/// Returns whether a number is at most `largest` in magnitude, or not finite.
fn is_within(number: f64, largest: f64) -> bool {
    !number.is_finite() || number.abs() <= largest
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

/// Evaluates an expression with a type alias for the element type of a dtype, as ATen's `AT_DISPATCH_ALL_TYPES`: for
/// operations that create or convert elements. Kernels that copy elements use `dispatch_size`.
macro_rules! dispatch {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            dtype if dtype.is_narrow_integer() => $crate::dtype::dispatch_narrow!(dtype, $element => $body),
            $crate::DType::Float16 => {
                type $element = half::f16;
                $body
            }
            $crate::DType::BFloat16 => {
                type $element = half::bf16;
                $body
            }
            dtype => $crate::dtype::dispatch_compute!(dtype, $element => $body),
        }
    };
}

/// Like `dispatch`, for narrow integers. Other types take the `i32` branch.
macro_rules! dispatch_narrow {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            $crate::DType::UInt8 => {
                type $element = u8;
                $body
            }
            $crate::DType::Int8 => {
                type $element = i8;
                $body
            }
            $crate::DType::Int16 => {
                type $element = i16;
                $body
            }
            _ => {
                type $element = i32;
                $body
            }
        }
    };
}

/// Like `dispatch`, with an integer of the size of the elements: for kernels that copy their bits.
macro_rules! dispatch_size {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $crate::DType::size($dtype) {
            1 => {
                type $element = u8;
                $body
            }
            2 => {
                type $element = i16;
                $body
            }
            4 => {
                type $element = i32;
                $body
            }
            _ => {
                type $element = i64;
                $body
            }
        }
    };
}

/// Like `dispatch`, with the type in which arithmetic is done ([`DType::compute`]): for kernels that load and store
/// halves and narrow integers around it.
macro_rules! dispatch_compute {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $crate::DType::compute($dtype) {
            $crate::DType::Bool => {
                type $element = $crate::dtype::Bool8;
                $body
            }
            $crate::DType::Int64 => {
                type $element = i64;
                $body
            }
            dtype => $crate::dtype::dispatch_float!(dtype, $element => $body),
        }
    };
}

/// Like `dispatch_compute`, with narrow integers as they are: for sums, differences and products, whose lower bits do not
/// depend on the others.
macro_rules! dispatch_wrapping {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            dtype if dtype.is_narrow_integer() => $crate::dtype::dispatch_narrow!(dtype, $element => $body),
            dtype => $crate::dtype::dispatch_compute!(dtype, $element => $body),
        }
    };
}

/// Like `dispatch_compute`, for floating-point types. Other types take the `f64` branch.
macro_rules! dispatch_float {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $crate::DType::compute($dtype) {
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

pub(crate) use {
    dispatch, dispatch_compute, dispatch_float, dispatch_narrow, dispatch_size, dispatch_wrapping,
};
