//! Long short-term memory: recurrent layers of products and elementwise operations.
//!
//! Source: S. Hochreiter and J. Schmidhuber, "Long Short-Term Memory", 1997, with the forget gate of F. Gers,
//! J. Schmidhuber and F. Cummins, "Learning to Forget", 2000. The order of the gates is PyTorch's: input, forget, cell,
//! output.

mod kernels;
mod layer;

pub use kernels::{LSTM, Lstm, LstmArgs, LstmCall, LstmLayer, LstmOut};

use crate::ops::elementwise::operand::{check_device, check_floating_point, check_same_dtype};
use crate::{Error, Result, Tensor};

/// The name in errors and records.
const OP: &str = "lstm";

/// The number of gates of a cell.
const GATES: usize = 4;

/// Runs the layers of a long short-term memory: `torch.lstm` without dropout, in one direction.
///
/// ```
/// use interlock_tensor::{DType, LstmArgs, LstmLayer, Tensor, lstm};
///
/// let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::Float32);
/// let (weight_ih, weight_hh) = (zeros(&[8, 3])?, zeros(&[8, 2])?);
/// let layers = [LstmLayer { weight_ih: &weight_ih, weight_hh: &weight_hh, biases: None }];
/// let (input, state) = (zeros(&[5, 1, 3])?, zeros(&[1, 1, 2])?);
/// let out = lstm(&LstmArgs { input: &input, hidden: &state, cell: &state, layers: &layers, batch_first: false })?;
/// assert_eq!(out.output.shape(), [5, 1, 2]);
/// assert_eq!(out.cell.shape(), [1, 1, 2]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
///
/// # Errors
/// Fails if shapes, types or devices do not fit, and if there is no layer or no step.
pub fn lstm(args: &LstmArgs<'_>) -> Result<LstmOut> {
    args.check()?;
    LSTM.call(&LstmCall::new(args), None, args)
}

impl LstmArgs<'_> {
    /// Returns the choice of a kernel for these arguments now, without running it.
    ///
    /// # Errors
    /// Fails as [`lstm`] does.
    pub fn explain(&self) -> Result<interlock::dispatch::Call> {
        self.check()?;
        Ok(LSTM.explain(&LstmCall::new(self)))
    }

    /// Returns an error unless the arguments fit each other.
    fn check(&self) -> Result<()> {
        let &[first, second, features] = self.input.shape() else {
            return Err(Error::shape(OP, "input", "have 3 dimensions", self.input.shape()));
        };
        let (steps, batch) = if self.batch_first { (second, first) } else { (first, second) };
        Error::when(steps == 0, || Error::shape(OP, "input", "have at least one step", self.input.shape()))?;
        check_floating_point(OP, self.input)?;
        Error::when(self.layers.is_empty(), || Error::value(OP, "num_layers", "be at least 1", 0))?;
        let &[_, _, size] = self.hidden.shape() else {
            return Err(Error::shape(OP, "hx[0]", "have 3 dimensions", self.hidden.shape()));
        };
        let state = [self.layers.len(), batch, size];
        self.check_operand("hx[0]", self.hidden, &state)?;
        self.check_operand("hx[1]", self.cell, &state)?;
        let gates = size.saturating_mul(GATES);
        for (number, layer) in self.layers.iter().enumerate() {
            let inputs = if number == 0 { features } else { size };
            self.check_operand("an input weight of params", layer.weight_ih, &[gates, inputs])?;
            self.check_operand("a hidden weight of params", layer.weight_hh, &[gates, size])?;
            for bias in layer.biases.into_iter().flatten() {
                self.check_operand("a bias of params", bias, &[gates])?;
            }
        }
        Ok(())
    }

    /// Returns an error unless an operand has this shape, and the type and device of the input.
    fn check_operand(&self, argument: &'static str, operand: &Tensor, shape: &[usize]) -> Result<()> {
        if operand.shape() != shape {
            let expected = format!("be of shape {}", crate::error::Tuple(shape));
            return Err(Error::shape(OP, argument, expected, operand.shape()));
        }
        check_same_dtype(OP, self.input, operand)?;
        check_device(OP, self.input, operand)
    }
}
