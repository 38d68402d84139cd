//! The function `lstm`.

use interlock_tensor::{LstmArgs, LstmLayer, Tensor as CoreTensor};
use pyo3::exceptions::PyTypeError;
use pyo3::inventory;
use pyo3::prelude::*;

use super::args::{Arg, extract_int, extract_scalar, extract_tensor, try_iter_arg};
use super::{DETACH_THRESHOLD, Tensor, maybe_detach};
use crate::dispatch::Call;
use crate::dispatch::explain::Explained;
use crate::errors::{IntoPyResult, new_exception};
use crate::{scope_debug, switches};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(lstm, module)?)
}

/// Extracts a sequence of tensors.
fn extract_tensors(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<CoreTensor>> {
    let mut tensors = Vec::new();
    for item in try_iter_arg(what, "a sequence of Tensors", given)? {
        tensors.push(extract_tensor(&format!("{what}[{}]", tensors.len()), &item?)?);
    }
    Ok(tensors)
}

/// Raises ArgumentError for an argument and its value.
fn err_argument(py: Python<'_>, argument: &str, expected: &str, given: &str) -> PyErr {
    new_exception(py, "ArgumentError", format!("lstm: {argument} must {expected}, got {given}"))
}

/// Returns an error unless dropout has no effect.
fn check_dropout(given: &Bound<'_, PyAny>, train: bool) -> PyResult<()> {
    let dropout = extract_scalar("lstm: dropout", given)?.cast::<f64>();
    if !(0.0..=1.0).contains(&dropout) {
        return Err(err_argument(given.py(), "dropout", "be from 0 to 1", &dropout.to_string()));
    }
    if dropout != 0.0 && train {
        let expected = "be 0 if train is True, because layers have no dropout here";
        return Err(err_argument(given.py(), "dropout", expected, &dropout.to_string()));
    }
    Ok(())
}

/// The bools among the arguments of `lstm`.
struct LstmSwitches {
    has_biases: bool,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
}

/// The arguments of `lstm`.
struct LstmArguments {
    input: CoreTensor,
    states: [CoreTensor; 2],
    params: Vec<CoreTensor>,
    has_biases: bool,
    batch_first: bool,
}

impl LstmArguments {
    /// Extracts the arguments, and checks those that are not tensors.
    fn extract(
        [input, hx, params]: [Arg<'_, '_>; 3],
        [num_layers, dropout]: [Arg<'_, '_>; 2],
        switches: LstmSwitches,
    ) -> PyResult<Self> {
        let py = input.py();
        let LstmSwitches { has_biases, train, bidirectional, batch_first } = switches;
        let input = extract_tensor("lstm: input", input)?;
        if hx.is_instance_of::<Tensor>() {
            let message =
                "lstm: hx must be a tuple of two Tensors, got a Tensor; packed sequences are not supported";
            return Err(PyTypeError::new_err(message));
        }
        let states = <[CoreTensor; 2]>::try_from(extract_tensors("lstm: hx", hx)?);
        let states =
            states.map_err(|states| err_argument(py, "hx", "be two Tensors", &states.len().to_string()))?;
        let params = extract_tensors("lstm: params", params)?;
        let count = extract_int("lstm: num_layers", num_layers)?;
        if count < 1 {
            return Err(err_argument(py, "num_layers", "be at least 1", &count.to_string()));
        }
        check_dropout(dropout, train)?;
        if bidirectional {
            let expected = "be False; flip the input and the output of a second lstm to run it backwards";
            return Err(err_argument(py, "bidirectional", expected, "True"));
        }
        let each = params_of_a_layer(has_biases);
        if usize::try_from(count).ok().and_then(|count| count.checked_mul(each)) != Some(params.len()) {
            let expected = format!("hold {each} Tensors for each of {count} layers");
            return Err(err_argument(py, "params", &expected, &params.len().to_string()));
        }
        Ok(LstmArguments { input, states, params, has_biases, batch_first })
    }

    fn layers(&self) -> Vec<LstmLayer<'_>> {
        self.params.chunks_exact(params_of_a_layer(self.has_biases)).filter_map(layer_of).collect()
    }

    fn args<'a>(&'a self, layers: &'a [LstmLayer<'a>]) -> LstmArgs<'a> {
        let [hidden, cell] = &self.states;
        LstmArgs { input: &self.input, hidden, cell, layers, batch_first: self.batch_first }
    }
}

/// Returns the number of tensors of a layer.
fn params_of_a_layer(has_biases: bool) -> usize {
    if has_biases { 4 } else { 2 }
}

/// Returns the layer with these weights, and biases if there are more than two tensors.
fn layer_of(params: &[CoreTensor]) -> Option<LstmLayer<'_>> {
    let [weight_ih, weight_hh, biases @ ..] = params else { return None };
    let biases = if let [bias_ih, bias_hh] = biases { Some([bias_ih, bias_hh]) } else { None };
    Some(LstmLayer { weight_ih, weight_hh, biases })
}

inventory::submit! { Explained { name: "lstm", function: |py| wrap_pyfunction!(explain, py) } }

/// Binds the arguments as the operation itself does, and returns the choice of a kernel.
#[pyfunction]
#[pyo3(
    name = "lstm",
    signature = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
)]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn explain(
    input: Arg<'_, '_>,
    hx: Arg<'_, '_>,
    params: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::lstm::has_biases)] has_biases: bool,
    num_layers: Arg<'_, '_>,
    dropout: Arg<'_, '_>,
    #[pyo3(from_py_with = switches::lstm::train)] train: bool,
    #[pyo3(from_py_with = switches::lstm::bidirectional)] bidirectional: bool,
    #[pyo3(from_py_with = switches::lstm::batch_first)] batch_first: bool,
) -> PyResult<Call> {
    let switches = LstmSwitches { has_biases, train, bidirectional, batch_first };
    let arguments = LstmArguments::extract([input, hx, params], [num_layers, dropout], switches)?;
    arguments.args(&arguments.layers()).explain().map(Call::new).into_py_result(input.py())
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
///     >>> import interlock
///     >>> x, state = interlock.ones(5, 1, 3), interlock.zeros(1, 1, 2)
///     >>> weights = [interlock.zeros(8, 3), interlock.zeros(8, 2)]
///     >>> output, hidden, cell = interlock.lstm(
///     ...     x, (state, state), weights, False, 1, 0.0, False, False, False
///     ... )
///     >>> output.shape
///     (5, 1, 2)
#[pyfunction]
#[pyo3(signature = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first))]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn lstm(
    input: &Bound<'_, PyAny>,
    hx: &Bound<'_, PyAny>,
    params: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::lstm::has_biases)] has_biases: bool,
    num_layers: &Bound<'_, PyAny>,
    dropout: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::lstm::train)] train: bool,
    #[pyo3(from_py_with = switches::lstm::bidirectional)] bidirectional: bool,
    #[pyo3(from_py_with = switches::lstm::batch_first)] batch_first: bool,
) -> PyResult<(Tensor, Tensor, Tensor)> {
    let py = input.py();
    let arguments = LstmArguments::extract(
        [input, hx, params],
        [num_layers, dropout],
        LstmSwitches { has_biases, train, bidirectional, batch_first },
    )?;
    scope_debug::warn_suspended_scopes(py)?;
    let out = maybe_detach(py, "lstm", DETACH_THRESHOLD, || {
        interlock_tensor::lstm(&arguments.args(&arguments.layers()))
    })?;
    Ok((Tensor(out.output), Tensor(out.hidden), Tensor(out.cell)))
}
