//! Numbers at equal distances.

use crate::dtype::dispatch_compute;
use crate::error::check_fits;
use crate::ops::elementwise::operand::check_numeric;
use crate::{Element, Error, Result, Scalar, Tensor, TensorOptions, iterate};

/// Equally distant numbers between two bounds.
#[derive(Clone, Copy)]
struct Range {
    start: f64,
    end: f64,
    steps: usize,
}

impl Range {
    /// Returns a number. Each half is computed from its bound, so that the numbers are symmetric, as in ATen.
    fn at(self, index: usize) -> f64 {
        if self.steps == 1 {
            return self.start;
        }
        let last = self.steps.saturating_sub(1);
        let step = (self.end - self.start) / last as f64;
        if index < self.steps / 2 {
            self.start + step * index as f64
        } else {
            self.end - step * last.saturating_sub(index) as f64
        }
    }
}

/// Returns a tensor of the numbers from `start` to `end`, or of the powers of `base` with these exponents.
fn spaced(
    op: &'static str,
    [start, end]: [Scalar; 2],
    steps: i64,
    options: TensorOptions,
    base: Option<f64>,
) -> Result<Tensor> {
    let dtype = options.dtype;
    check_numeric(op, "dtype", dtype, "")?;
    let count = usize::try_from(steps).map_err(|_| Error::value(op, "steps", "not be negative", steps))?;
    if let (Some(base), 1) = (base, count) {
        // As in PyTorch a single power is a number like any other, whose exponent is not truncated.
        let power = Scalar::Float(base.powf(start.cast()));
        let filled = Tensor::full(&[1], power, options);
        return filled.map_err(|error| error.during(op).rename_argument("fill_value", "base ** start"));
    }
    let (start, end) = (check_fits(start, dtype, op, "start")?, check_fits(end, dtype, op, "end")?);
    // For integers the bounds are truncated first. Negative exponents do not wrap in uint8.
    let held = if base.is_some() { dtype.compute() } else { dtype };
    let [start, end] = [start, end].map(|bound| bound.stored(held).cast());
    let range = Range { start, end, steps: count };
    let computed = TensorOptions { dtype: dtype.compute(), ..options };
    let numbers = dispatch_compute!(dtype, T => {
        iterate::launch_nullary(op, computed, &[count], move |out: &mut [T]| {
            let out = out.iter_mut().zip((0..).map(|index| range.at(index)));
            match base {
                None => out.for_each(|(out, number)| *out = T::from_f64(number)),
                Some(base) => out.for_each(|(out, number)| *out = T::from_f64(base.powf(number))),
            }
        })
    })?;
    iterate::cast(&numbers, dtype)
}

impl Tensor {
    /// Returns `steps` numbers at equal distances from `start` to `end`, both included. For integer types the bounds and
    /// the numbers are truncated.
    pub fn linspace(
        start: Scalar,
        end: Scalar,
        steps: i64,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        spaced("linspace", [start, end], steps, options.into(), None)
    }

    /// Returns `base` to the power of each number of [`linspace`](Tensor::linspace).
    pub fn logspace(
        start: Scalar,
        end: Scalar,
        steps: i64,
        base: f64,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        spaced("logspace", [start, end], steps, options.into(), Some(base))
    }
}
