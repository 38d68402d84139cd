//! Dropout.

use crate::ops::elementwise::operand::check_floating_point;
use crate::ops::random::new::{drawn, each};
use crate::{Error, Generator, Result, Tensor};

/// Runs an operation with the factors of the elements: 0 with probability `p`, else `1 / (1 - p)`.
fn with_factors<T>(
    op: &'static str,
    tensor: &Tensor,
    p: f64,
    operation: impl FnOnce(&Tensor) -> Result<T>,
) -> Result<T> {
    Error::when(!(0.0..=1.0).contains(&p), || Error::value(op, "p", "be from 0 to 1", p))?;
    let (shape, options) = (tensor.shape(), tensor.options());
    if p == 1.0 {
        return operation(&Tensor::zeros(shape, options)?);
    }
    check_floating_point(op, tensor)?;
    let factor = 1.0 / (1.0 - p);
    let draw = each(move |generator| if generator.f64() < p { 0.0 } else { factor });
    Generator::of(tensor.placement()).draw(shape, |seed| operation(&drawn(op, seed, shape, options, draw)?))
}

impl Tensor {
    /// Returns a copy in which each element is 0 with probability `p`, and otherwise multiplied by `1 / (1 - p)`. After
    /// the same seed the same elements are 0, on every device.
    ///
    /// Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (2014).
    pub fn dropout(&self, p: f64) -> Result<Tensor> {
        with_factors("dropout", self, p, |factors| self.mul(factors))
    }

    /// Like [`dropout`](Tensor::dropout), in place.
    pub fn dropout_(&self, p: f64) -> Result<&Tensor> {
        with_factors("dropout_", self, p, |factors| self.mul_(factors))
    }
}
