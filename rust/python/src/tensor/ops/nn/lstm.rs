//! Recurrent layers.

use std::fmt::Display;

use interlock_tensor::{Error, LstmArgs, LstmLayer, Result, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::new_argument_error;
use crate::tensor::Tensor;
use crate::tensor::args::{extract_tensor, try_iter_arg};
use crate::tensor::operation::{Arg, ArgumentName, FromArgument, Tensors, tensor_op};

/// The tensors of all layers.
struct Weights(Vec<CoreTensor>);

impl FromArgument<'_, '_> for Weights {
    const ANNOTATION: &'static str = Tensors::ANNOTATION;
    const WANTED: &'static str = Tensors::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let mut tensors = Vec::new();
        for item in try_iter_arg(&name.to_string(), Self::WANTED, given)? {
            let (item, what) = (item?, format!("{name}[{}]", tensors.len()));
            tensors.push(extract_tensor(&what, &item)?);
        }
        Ok(Some(Weights(tensors)))
    }
}

/// The first hidden state and the first cell state.
struct States([CoreTensor; 2]);

impl FromArgument<'_, '_> for States {
    const ANNOTATION: &'static str = Tensors::ANNOTATION;
    const WANTED: &'static str = Tensors::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        if given.is_instance_of::<Tensor>() {
            let wanted = "a tuple of two Tensors, got a Tensor; packed sequences are not supported";
            return Err(PyTypeError::new_err(format!("{name} must be {wanted}")));
        }
        let Some(Weights(tensors)) = Weights::try_from_argument(name, given)? else { return Ok(None) };
        let refused = |tensors: Vec<_>| new_argument_error(given.py(), name, "be two Tensors", tensors.len());
        tensors.try_into().map(|states| Some(States(states))).map_err(refused)
    }
}

impl States {
    fn args<'a>(
        &'a self,
        input: &'a CoreTensor,
        layers: &'a [LstmLayer<'a>],
        batch_first: bool,
    ) -> LstmArgs<'a> {
        let [hidden, cell] = &self.0;
        LstmArgs { input, hidden, cell, layers, batch_first }
    }
}

/// Return the outputs and the last states of a long short-term memory (LSTM), a stack of recurrent layers.
///
/// On devices the kernel is ``cudnn`` while `backends.cudnn.enabled` is set: its calls of `matmul` obey
/// `backends.cudnn.rnn.fp32_precision`. The kernel ``native`` obeys the node of `matmul`. Gradients choose their
/// arithmetic under the flags of the thread that runs the backward pass.
///
/// Args:
///     input: The input, of shape [steps, batch, features], or [batch, steps, features] if `batch_first` is True.
///         Floating point.
///     hx: The first hidden state and the first cell state, both of shape [num_layers, batch, size].
///     params: For each layer the weights of its input, of shape [4 * size, features] (of later layers
///         [4 * size, size]), and of its hidden state, of shape [4 * size, size]; if `has_biases` is True, followed by
///         their biases, of shape [4 * size]. The gates are in the order input, forget, cell, output.
///     has_biases: Whether `params` contains biases.
///     num_layers: The number of layers, at least 1. A layer reads the hidden states of the one before.
///     dropout: The probability of dropout between layers. It must be 0 if `train` is True.
///     train: Whether the layers are trained.
///     bidirectional: False. Layers run in one direction; to run another layer backwards, flip its input and output.
///     batch_first: Whether the batch is the first dimension of `input` and of the output.
///
/// Returns:
///     The hidden state of the last layer in each step, with the dimensions of `input` and `size` features, and the
///     last hidden state and cell state of each layer, both of shape [num_layers, batch, size].
///
/// Raises:
///     ShapeError: The shapes are incompatible, or there is no step.
///     DTypeError: The dtypes differ, or are not floating point.
///     RuntimeError: The devices differ.
///     ArgumentError: `bidirectional` is True, `dropout` has an effect, or `params` has the wrong length.
///
/// Example:
///     >>> x, state = interlock.ones(5, 1, 3), interlock.zeros(1, 1, 2)
///     >>> weights = [interlock.zeros(8, 3), interlock.zeros(8, 2)]
///     >>> output, hidden, cell = interlock.lstm(
///     ...     x, (state, state), weights, False, 1, 0.0, False, False, False
///     ... )
///     >>> output.shape
///     (5, 1, 2)
#[tensor_op(
    function,
    long,
    explain = {
        check_options(dropout, train, bidirectional)?;
        hx.args(input, &layers(params, has_biases, num_layers)?, batch_first).explain()
    },
    example = "x[None], (x[None, :, :1], z[None, :, :1]), (interlock.cat([x, z]), interlock.cat([x, z])[:, :1]), \
        False, 1, 0, False, False, False; \
        square[None], (x[None, :1, :1], z[None, :1, :1]), \
        (interlock.cat([x, z]), interlock.cat([z, x])[:, :1], x.flatten()[:4], z.flatten()[:4]), \
        True, 1, 0, False, False, True"
)]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn lstm(
    input: &CoreTensor,
    hx: &States,
    params: &Weights,
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Result<(CoreTensor, CoreTensor, CoreTensor)> {
    check_options(dropout, train, bidirectional)?;
    let layers = layers(params, has_biases, num_layers)?;
    let out = interlock_tensor::lstm(&hx.args(input, &layers, batch_first))?;
    Ok((out.output, out.hidden, out.cell))
}

/// Returns an error for an argument and its value.
fn refused(argument: &'static str, expected: impl Display, given: impl Display) -> Error {
    Error::value("lstm", argument, expected, given)
}

/// Returns an error if dropout has an effect, or for layers in two directions.
fn check_options(dropout: f64, train: bool, bidirectional: bool) -> Result<()> {
    Error::when(!(0.0..=1.0).contains(&dropout), || refused("dropout", "be from 0 to 1", dropout))?;
    if dropout != 0.0 && train {
        let expected = "be 0 if train is True, because layers have no dropout here";
        return Err(refused("dropout", expected, dropout));
    }
    if bidirectional {
        let expected = "be False; flip the input and the output of a second lstm to run it backwards";
        return Err(refused("bidirectional", expected, "True"));
    }
    Ok(())
}

/// Returns the layers of these tensors.
fn layers(Weights(params): &Weights, has_biases: bool, count: i64) -> Result<Vec<LstmLayer<'_>>> {
    Error::when(count < 1, || refused("num_layers", "be at least 1", count))?;
    let each = if has_biases { 4 } else { 2 };
    if usize::try_from(count).ok().and_then(|count| count.checked_mul(each)) != Some(params.len()) {
        let expected = format!("hold {each} Tensors for each of {count} layers");
        return Err(refused("params", expected, params.len()));
    }
    Ok(params.chunks_exact(each).filter_map(layer_of).collect())
}

/// Returns the layer with these weights, and biases if there are more than two tensors.
fn layer_of(params: &[CoreTensor]) -> Option<LstmLayer<'_>> {
    let [weight_ih, weight_hh, biases @ ..] = params else { return None };
    let biases = if let [bias_ih, bias_hh] = biases { Some([bias_ih, bias_hh]) } else { None };
    Some(LstmLayer { weight_ih, weight_hh, biases })
}
