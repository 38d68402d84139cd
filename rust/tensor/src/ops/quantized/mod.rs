//! Quantized tensors: integers that represent real numbers, with one scale and zero point for all elements.

pub(crate) mod linear;

use crate::ops::elementwise::operand::check_dtype;
use crate::{DType, Error, Result, Tensor, iterate, loops};

/// The type of the elements of a quantized tensor.
///
/// ```
/// use interlock_tensor::{DType, QuantizedDType};
///
/// assert_eq!(QuantizedDType::QUInt8.stored(), DType::UInt8);
/// assert_eq!(QuantizedDType::QInt8.limits(), (-128, 127));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantizedDType {
    /// 8-bit unsigned integers.
    QUInt8,
    /// 8-bit signed integers.
    QInt8,
    /// 32-bit signed integers.
    QInt32,
}

impl QuantizedDType {
    /// All types.
    pub const ALL: [QuantizedDType; 3] =
        [QuantizedDType::QUInt8, QuantizedDType::QInt8, QuantizedDType::QInt32];

    /// Returns the name of the type in the Python package.
    pub const fn name(self) -> &'static str {
        match self {
            QuantizedDType::QUInt8 => "quint8",
            QuantizedDType::QInt8 => "qint8",
            QuantizedDType::QInt32 => "qint32",
        }
    }

    /// Returns the type of the stored integers.
    pub const fn stored(self) -> DType {
        match self {
            QuantizedDType::QUInt8 => DType::UInt8,
            QuantizedDType::QInt8 => DType::Int8,
            QuantizedDType::QInt32 => DType::Int32,
        }
    }

    /// Returns the smallest and the largest stored integer.
    pub const fn limits(self) -> (i64, i64) {
        match self {
            QuantizedDType::QUInt8 => (0, 255),
            QuantizedDType::QInt8 => (-128, 127),
            QuantizedDType::QInt32 => (-(1 << 31), (1 << 31) - 1),
        }
    }

    /// Returns the stored integer for a number that was divided by the scale. NaN becomes the largest 8-bit or the smallest
    /// 32-bit integer, as in PyTorch.
    fn integer(self, scaled: f64, zero_point: i64) -> i64 {
        let (least, largest) = self.limits();
        match self {
            QuantizedDType::QInt32 if scaled.is_nan() => least,
            _ if scaled.is_nan() => largest,
            // The conversion saturates.
            _ => (scaled.round_ties_even() as i64).saturating_add(zero_point).clamp(least, largest),
        }
    }
}

/// A quantized tensor, whose integers `q` represent the numbers `(q - zero_point) * scale`.
///
/// ```
/// use interlock_tensor::{QuantizedDType, Tensor};
///
/// let x = Tensor::from_slice(&[-1.0_f32, 0.0, 0.26, 100.0], &[4])?;
/// let quantized = x.quantize_per_tensor(0.1, 10, QuantizedDType::QUInt8)?;
/// assert_eq!(quantized.int_repr()?.to_vec::<u8>()?, [0, 10, 13, 255]);
/// assert_eq!(quantized.dequantize()?.to_vec::<f32>()?, [-1.0, 0.0, 0.3, 24.5]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuantizedTensor {
    integers: Tensor,
    dtype: QuantizedDType,
    scale: f64,
    zero_point: i64,
}

impl QuantizedTensor {
    /// Returns the tensor with these integers, whose memory it shares.
    ///
    /// # Errors
    /// Fails for integers of another type than `dtype` stores, and as [`Tensor::quantize_per_tensor`] does.
    pub fn from_integers(
        integers: Tensor,
        scale: f64,
        zero_point: i64,
        dtype: QuantizedDType,
    ) -> Result<QuantizedTensor> {
        const OP: &str = "QuantizedTensor";
        check_dtype(OP, "integers", &integers, (dtype.stored(), ""))?;
        check_parameters(OP, scale, zero_point, dtype)?;
        Ok(QuantizedTensor { integers, dtype, scale, zero_point })
    }

    /// Returns a copy of the integers.
    pub fn int_repr(&self) -> Result<Tensor> {
        self.integers.copy()
    }

    /// Returns the tensor of the integers itself. Its shape and device are those of this tensor.
    pub fn integers(&self) -> &Tensor {
        &self.integers
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> QuantizedDType {
        self.dtype
    }

    /// Returns the difference of the numbers that neighboring integers represent.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns the integer that represents 0.
    pub fn zero_point(&self) -> i64 {
        self.zero_point
    }

    /// Returns the numbers as `float32`.
    pub fn dequantize(&self) -> Result<Tensor> {
        let (scale, zero_point) = (self.scale as f32, self.zero_point);
        let number = move |integer: i64| (integer - zero_point) as f32 * scale;
        iterate::map_with("dequantize", &self.integers, DType::Float32, &loops::map(number))
    }
}

impl Tensor {
    /// Returns the elements, which are `float32`, as integers that are rounded to the nearest, ties to even, and limited to
    /// the range of `dtype`. The result has no history.
    ///
    /// # Errors
    /// Fails for other element types, a scale without a positive reciprocal in `float32`, and a zero point out of range.
    pub fn quantize_per_tensor(
        &self,
        scale: f64,
        zero_point: i64,
        dtype: QuantizedDType,
    ) -> Result<QuantizedTensor> {
        const OP: &str = "quantize_per_tensor";
        check_dtype(OP, "input", self, (DType::Float32, ""))?;
        check_parameters(OP, scale, zero_point, dtype)?;
        let inverse = (scale as f32).recip();
        let integer = move |number: f32| dtype.integer((number * inverse).into(), zero_point);
        let integers = iterate::map_with(OP, self, dtype.stored(), &loops::map(integer))?;
        Ok(QuantizedTensor { integers, dtype, scale, zero_point })
    }
}

/// Returns an error unless a scale and a zero point are in the ranges that quantization needs.
fn check_parameters(op: &'static str, scale: f64, zero_point: i64, dtype: QuantizedDType) -> Result<()> {
    let narrow = scale as f32;
    if !(narrow > 0.0 && narrow.is_finite() && narrow.recip().is_finite()) {
        let expected = "be a positive number that has a reciprocal in float32";
        return Err(Error::value(op, "scale", expected, format!("{scale:?}")));
    }
    let (least, largest) = dtype.limits();
    if !(least..=largest).contains(&zero_point) {
        let expected = format!("be an integer from {least} to {largest} for {}", dtype.name());
        return Err(Error::value(op, "zero_point", expected, zero_point));
    }
    Ok(())
}
