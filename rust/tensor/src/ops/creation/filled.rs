//! Creation of tensors.

use crate::dtype::dispatch_wrapping;
use crate::error::{Tuple, check_fills, check_fits};
use crate::layout::{Layout, MemoryFormat, checked_numel};
use crate::{DType, Element, Error, Result, Scalar, Tensor, TensorOptions, iterate};

impl Tensor {
    /// Returns a contiguous CPU tensor with the elements of `values` in row-major order.
    ///
    /// ```
    /// use interlock_tensor::Tensor;
    ///
    /// assert_eq!(Tensor::from_slice(&[1i64, 2], &[2, 1])?.to_vec::<i64>()?, [1, 2]);
    /// assert!(Tensor::from_slice(&[1i64, 2], &[3]).is_err());
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    pub fn from_slice<T: Element>(values: &[T], shape: &[usize]) -> Result<Self> {
        Tensor::from_values(values.iter().copied(), shape)
    }

    /// Returns a contiguous CPU tensor with the values of an iterator in row-major order.
    pub fn from_values<T: Element>(
        values: impl ExactSizeIterator<Item = T>,
        shape: &[usize],
    ) -> Result<Self> {
        check_count(shape, T::DTYPE, values.len())?;
        Tensor::build("from_values", shape, |out: &mut [T]| {
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value)
        })
    }

    /// Returns a tensor of zeros.
    pub fn zeros(shape: &[usize], options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        iterate::launch_zeros("zeros", options, shape)
    }

    /// Returns the new tensor that `create` returns for the shape of this one, with its elements in another order in memory:
    /// `torch.zeros_like` and similar functions.
    ///
    /// ```
    /// use interlock_tensor::{DType, MemoryFormat, Tensor};
    ///
    /// let columns = Tensor::zeros(&[2, 3], DType::Float32)?.t()?;
    /// let ones = |format| columns.like(format, |shape| Tensor::ones(shape, DType::Int64));
    /// assert_eq!(ones(MemoryFormat::Preserve)?.strides(), [1, 3]);
    /// assert_eq!(ones(MemoryFormat::Contiguous)?.strides(), [2, 1]);
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    pub fn like(
        &self,
        format: MemoryFormat,
        create: impl FnOnce(&[usize]) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let (new, layout) = (create(self.shape())?, self.layout().in_format(format));
        Tensor::from_storage(new.storage(), new.dtype(), &layout.shape, &layout.strides, 0)
    }

    /// Returns a matrix with ones on the diagonal and zeros elsewhere.
    pub fn eye(rows: usize, columns: usize, options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        let eye = iterate::launch_zeros("eye", options, &[rows, columns])?;
        let step = columns.saturating_add(1);
        let diagonal = Layout { shape: vec![rows.min(columns)], strides: vec![step], offset: 0 };
        let one = Tensor::of_scalar(Scalar::Int(1), options.dtype)?;
        iterate::copy_into("eye", &eye.alias(diagonal), &one)?;
        Ok(eye)
    }

    /// Returns a tensor of ones.
    pub fn ones(shape: &[usize], options: impl Into<TensorOptions>) -> Result<Self> {
        Tensor::full(shape, Scalar::Int(1), options).map_err(|error| error.during("ones"))
    }

    /// Returns a tensor filled with `value`, which the element type must be able to hold. A half-precision type rounds it.
    pub fn full(shape: &[usize], value: Scalar, options: impl Into<TensorOptions>) -> Result<Self> {
        let (op, options) = ("full", options.into());
        let value = check_fills(value, options.dtype, op, "fill_value")?;
        iterate::filled(op, options, shape, value)
    }

    /// Returns the numbers from `start` to `end` (exclusive) in steps of `step`. For integer types the numbers of the same
    /// count begin with the truncated `start` and have the truncated `step`.
    pub fn arange(
        start: Scalar,
        end: Scalar,
        step: Scalar,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        Tensor::arange_as([start, end, step], options.into())
    }

    fn arange_as([start, end, step]: [Scalar; 3], options: TensorOptions) -> Result<Self> {
        let op = "arange";
        for (argument, given) in [("start", start), ("end", end), ("step", step)] {
            Error::when(!given.cast::<f64>().is_finite(), || Error::value(op, argument, "be finite", given))?;
            // As in PyTorch the numbers of a narrow integer type wrap.
            if options.dtype.is_integer() {
                check_fits(given, DType::Int64, op, argument)?;
            }
        }
        let [first, last, stride] = [start, end, step].map(Scalar::cast::<f64>);
        Error::when(stride == 0.0, || Error::value(op, "step", "not be 0", step))?;
        if (last - first) * stride.signum() < 0.0 {
            let sign = if last > first { "positive" } else { "negative" };
            return Err(Error::value(op, "step", format!("be {sign} to reach {end} from {start}"), step));
        }
        let count = match (start, end, step) {
            // Doubles would round large integers.
            (Scalar::Int(start), Scalar::Int(end), Scalar::Int(step)) => {
                let distance = (i128::from(end) - i128::from(start)).unsigned_abs();
                usize::try_from(distance.div_ceil(u128::from(step.unsigned_abs()))).unwrap_or(usize::MAX)
            }
            _ => ((last - first) / stride).ceil() as usize,
        };
        let is_integer = options.dtype.is_integer();
        let truncated = |given: Scalar| if is_integer { Scalar::Int(given.cast()) } else { given };
        let (start, step) = (truncated(start), truncated(step));
        let numbers = dispatch_wrapping!(options.dtype, T => {
            let computed = TensorOptions { dtype: T::DTYPE, ..options };
            iterate::launch_nullary(op, computed, &[count], move |out: &mut [T]| match (start, step) {
                (Scalar::Int(start), Scalar::Int(step)) => {
                    let mut next = start;
                    for out in out {
                        *out = T::from_i64(next);
                        next = next.wrapping_add(step);
                    }
                }
                _ => {
                    let numbers = out.iter_mut().enumerate();
                    numbers.for_each(|(i, out)| *out = T::from_f64(first + i as f64 * stride));
                }
            })
        })?;
        iterate::cast(&numbers, options.dtype)
    }
}

/// Returns an error unless a shape has as many elements as there are values.
pub(crate) fn check_count(shape: &[usize], dtype: DType, given: usize) -> Result<()> {
    if checked_numel("from_values", shape, dtype.size())? == given {
        return Ok(());
    }
    let expected = format!("be as many as the elements of shape {}", Tuple(shape));
    Err(Error::value("from_values", "values", expected, given))
}
