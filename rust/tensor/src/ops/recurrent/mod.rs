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
        if steps == 0 {
            return Err(Error::shape(OP, "input", "have at least one step", self.input.shape()));
        }
        check_floating_point(OP, self.input)?;
        if self.layers.is_empty() {
            return Err(Error::value(OP, "num_layers", "be at least 1", 0));
        }
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

#[cfg(test)]
mod tests {
    use interlock::backends::flags::{CUDNN_ENABLED, MKLDNN_ENABLED, MKLDNN_NUMERICS};
    use interlock::backends::{MkldnnNumerics, Node, Precision};
    use interlock::dispatch::Recording;

    use super::*;
    use crate::DType;
    use crate::testing::waves;

    const STEPS: usize = 3;
    const BATCH: usize = 2;
    const INPUTS: usize = 3;
    const SIZE: usize = 2;

    /// Returns the input, both states, and the weights of a layer with biases.
    fn operands() -> Vec<Tensor> {
        let shapes: [&[usize]; 7] = [
            &[STEPS, BATCH, INPUTS],
            &[1, BATCH, SIZE],
            &[1, BATCH, SIZE],
            &[GATES * SIZE, INPUTS],
            &[GATES * SIZE, SIZE],
            &[GATES * SIZE],
            &[GATES * SIZE],
        ];
        shapes.iter().zip(0u8..).map(|(shape, phase)| waves(shape, f64::from(phase))).collect()
    }

    fn run(operands: &[Tensor]) -> Result<LstmOut> {
        let [input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh] = operands else { panic!("seven") };
        let layers = [LstmLayer { weight_ih, weight_hh, biases: Some([bias_ih, bias_hh]) }];
        lstm(&LstmArgs { input, hidden, cell, layers: &layers, batch_first: false })
    }

    #[test]
    fn lstm_names_the_operand_that_does_not_fit() {
        let refuses = |at: usize, operand: Tensor, expected: &str| {
            let mut operands = operands();
            operands[at] = operand;
            assert_eq!(run(&operands).unwrap_err().to_string(), format!("lstm: {expected}"));
        };
        let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::Float64).unwrap();
        refuses(0, zeros(&[3, 2]), "input must have 3 dimensions, got shape (3, 2)");
        refuses(0, zeros(&[0, 2, 3]), "input must have at least one step, got shape (0, 2, 3)");
        refuses(2, zeros(&[1, 1, 2]), "hx[1] must be of shape (1, 2, 2), got shape (1, 1, 2)");
        let expected = "a hidden weight of params must be of shape (8, 2), got shape (8, 3)";
        refuses(4, zeros(&[8, 3]), expected);
        let single = Tensor::zeros(&[8], DType::Float32).unwrap();
        refuses(5, single, "dtypes must match, got float64 and float32");
    }

    #[test]
    fn lstm_on_the_cpu_obeys_its_node_under_the_model_only() {
        let operands: Vec<Tensor> =
            operands().iter().map(|operand| operand.cast(DType::Float32).unwrap()).collect();
        let output = || run(&operands).unwrap().output.to_vec::<f32>().unwrap();
        let exact = output();
        let _precision = Node::MkldnnRnn.scope(Precision::Bf16).unwrap().guard();
        assert_eq!(output(), exact, "no kernel of the hardware");
        let _numerics = MKLDNN_NUMERICS.scope(MkldnnNumerics::Model).unwrap().guard();
        assert_ne!(output(), exact);
        let _enabled = MKLDNN_ENABLED.scope(false).unwrap().guard();
        assert_eq!(output(), exact, "nodes of oneDNN count only while it is enabled");
    }

    #[test]
    fn products_of_an_lstm_and_of_its_gradients_are_recorded_as_its_parts() {
        let operands = operands();
        operands[3].set_requires_grad(true).unwrap();
        let _numerics = MKLDNN_NUMERICS.scope(MkldnnNumerics::Model).unwrap().guard();
        let single: Vec<Tensor> =
            operands.iter().map(|operand| operand.cast(DType::Float32).unwrap()).collect();
        let recording = Recording::default();
        let guard = recording.guard();
        run(&single).unwrap().output.sum(None, false).unwrap().backward().unwrap();
        drop(guard);
        let calls = recording.calls();
        let kernels = |name: &str| calls.iter().filter(|call| call.operation == name).collect::<Vec<_>>();
        let [layer] = &kernels("lstm")[..] else { panic!("one call of lstm") };
        let expected = "lstm cpu float32 input 3x2x3, hidden 2, 1 layer -> mkldnn (model)";
        assert!(layer.to_string().starts_with(expected), "{layer}");
        let products = kernels("matmul");
        assert!(products.len() > STEPS + 1, "of the layer and of its gradients");
        assert!(products.iter().all(|product| product.composite == Some("lstm")));
    }

    #[test]
    fn cudnn_refuses_tensors_on_the_cpu() {
        let _enabled = CUDNN_ENABLED.scope(true).unwrap().guard();
        let operands = operands();
        let [input, hidden, cell, weight_ih, weight_hh, ..] = &operands[..] else { panic!("seven") };
        let layers = [LstmLayer { weight_ih, weight_hh, biases: None }];
        let args = LstmArgs { input, hidden, cell, layers: &layers, batch_first: false };
        let call = args.explain().unwrap();
        assert_eq!(call.kernel(), Some("native"));
        assert!(call.to_string().contains("cudnn: needs a device, got cpu"), "{call}");
    }
}
