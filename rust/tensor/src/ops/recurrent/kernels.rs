//! The kernels of long short-term memory.

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::Node;
use interlock::backends::flags::CUDNN_ENABLED;
use interlock::dispatch::{FlagRequirement, Kernel, Op, Operation};

use super::OP;
use super::layer::State;
use crate::error::Sizes;
use crate::ops::conditions::{Condition, MODEL_OF_ONEDNN, of_dtype, of_float32, on_cpu, on_device, require};
use crate::ops::products::matrices::Parent;
use crate::ops::shape::join::stack;
use crate::{DType, Error, Result, Tensor};

/// Long short-term memory. [`LSTM`] has its kernels.
#[derive(Debug)]
pub struct Lstm;

/// The properties of a call on which the choice of its kernel depends.
///
/// ```
/// use interlock_tensor::{DType, LstmArgs, LstmCall, LstmLayer, Tensor};
///
/// let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::Float32);
/// let (weight_ih, weight_hh) = (zeros(&[8, 3])?, zeros(&[8, 2])?);
/// let layers = [LstmLayer { weight_ih: &weight_ih, weight_hh: &weight_hh, biases: None }];
/// let (input, state) = (zeros(&[5, 1, 3])?, zeros(&[1, 1, 2])?);
/// let args = LstmArgs { input: &input, hidden: &state, cell: &state, layers: &layers, batch_first: false };
/// assert_eq!(LstmCall::new(&args).to_string(), "cpu float32 input 5x1x3, hidden 2, 1 layer");
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LstmCall {
    device: Device,
    dtype: DType,
    input: Vec<usize>,
    size: usize,
    layers: usize,
}

impl LstmCall {
    /// Returns the properties of a call.
    pub fn new(args: &LstmArgs<'_>) -> Self {
        LstmCall {
            device: args.input.device(),
            dtype: args.input.dtype(),
            input: args.input.shape().to_vec(),
            size: args.hidden.shape().last().copied().unwrap_or_default(),
            layers: args.layers.len(),
        }
    }

    /// Returns the device of the operands.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the element type of the operands.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
}

impl fmt::Display for LstmCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.layers == 1 { "" } else { "s" };
        let LstmCall { device, dtype, input, size, layers } = self;
        write!(f, "{device} {dtype} input {}, hidden {size}, {layers} layer{plural}", Sizes(input))
    }
}

/// The weights of a layer. The gates are in the order input, forget, cell, output.
#[derive(Clone, Copy, Debug)]
pub struct LstmLayer<'a> {
    /// The weights of the inputs, of shape (4 * size, features).
    pub weight_ih: &'a Tensor,
    /// The weights of the hidden state, of shape (4 * size, size).
    pub weight_hh: &'a Tensor,
    /// The biases of both products, of shape (4 * size).
    pub biases: Option<[&'a Tensor; 2]>,
}

/// The arguments of [`lstm`](crate::lstm).
#[derive(Clone, Copy, Debug)]
pub struct LstmArgs<'a> {
    /// The input, of shape (steps, batch, features), or (batch, steps, features) if `batch_first`.
    pub input: &'a Tensor,
    /// The first hidden state of each layer, of shape (layers, batch, size).
    pub hidden: &'a Tensor,
    /// The first cell state of each layer, of shape (layers, batch, size).
    pub cell: &'a Tensor,
    /// The layers. Each reads the hidden states of the one before.
    pub layers: &'a [LstmLayer<'a>],
    /// Whether the batch is the first dimension of the input and of the output.
    pub batch_first: bool,
}

/// The result of [`lstm`](crate::lstm).
#[derive(Clone, Debug)]
pub struct LstmOut {
    /// The hidden state of the last layer in each step, with the dimensions of the input.
    pub output: Tensor,
    /// The last hidden state of each layer, of shape (layers, batch, size).
    pub hidden: Tensor,
    /// The last cell state of each layer, of shape (layers, batch, size).
    pub cell: Tensor,
}

impl Operation for Lstm {
    const NAME: &'static str = OP;
    type Call = LstmCall;
    type Args<'a> = LstmArgs<'a>;
    type Out = LstmOut;
    type Error = Error;

    fn obeys_precision(call: &LstmCall) -> bool {
        call.dtype == DType::Float32
    }
}

/// The kernels of long short-term memory: a model of cuDNN on devices and one of oneDNN on the CPU, whose products obey
/// the node of recurrent layers, and `native`, whose products obey the node of matrix products.
///
/// ```
/// use interlock::backends::flags::CUDNN_ENABLED;
/// use interlock_tensor::{DType, LSTM, LstmArgs, LstmCall, LstmLayer, Tensor};
///
/// let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::Float32);
/// let (weight_ih, weight_hh) = (zeros(&[8, 3])?, zeros(&[8, 2])?);
/// let layers = [LstmLayer { weight_ih: &weight_ih, weight_hh: &weight_hh, biases: None }];
/// let (input, state) = (zeros(&[5, 1, 3])?, zeros(&[1, 1, 2])?);
/// let args = LstmArgs { input: &input, hidden: &state, cell: &state, layers: &layers, batch_first: false };
/// let _disabled = CUDNN_ENABLED.scope(false)?.guard();
/// let expected = "lstm cpu float32 input 5x1x3, hidden 2, 1 layer -> native | \
///                 cudnn: backends.cudnn.enabled is False | \
///                 mkldnn: backends.mkldnn.numerics is 'hardware', not 'model'";
/// assert_eq!(LSTM.explain(&LstmCall::new(&args)).to_string(), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub static LSTM: Op<Lstm> = Op::new(&[
    Kernel::<Lstm>::new("cudnn", |_, _, args| Ok(run(Parent::with_node(OP, Node::CudaRnn), args)?))
        .model()
        .requires(&[FlagRequirement::on(&CUDNN_ENABLED)])
        .node(Node::CudaRnn)
        .condition(can_run_cudnn),
    Kernel::<Lstm>::new("mkldnn", |_, _, args| Ok(run(Parent::with_node(OP, Node::MkldnnRnn), args)?))
        .model()
        .requires(&MODEL_OF_ONEDNN)
        .node(Node::MkldnnRnn)
        .condition(can_run_mkldnn),
    Kernel::<Lstm>::new("native", |_, _, args| Ok(run(OP.into(), args)?)),
]);

/// PyTorch: `cudnn_is_acceptable`.
fn can_run_cudnn(call: &LstmCall) -> Condition {
    on_device(call.device)?;
    of_dtype("float64, float32 or float16", call.dtype, call.dtype != DType::BFloat16)?;
    check_elements(call)
}

/// PyTorch: `use_mkldnn` of its recurrent layers.
fn can_run_mkldnn(call: &LstmCall) -> Condition {
    on_cpu(call.device)?;
    of_float32(call.dtype)?;
    check_elements(call)
}

fn check_elements(call: &LstmCall) -> Condition {
    require(!call.input.contains(&0), || "needs an input with elements")
}

/// Runs the layers with products that are parts of `parent`.
fn run(parent: Parent, args: &LstmArgs<'_>) -> Result<LstmOut> {
    let by_step =
        |tensor: &Tensor| if args.batch_first { tensor.transpose(0, 1) } else { Ok(tensor.clone()) };
    let mut output = by_step(args.input)?;
    let (mut hidden, mut cell) = (Vec::new(), Vec::new());
    for (number, layer) in (0i64..).zip(args.layers) {
        let first = State { hidden: args.hidden.select(0, number)?, cell: args.cell.select(0, number)? };
        let (outputs, last) = layer.run(parent, &output, first)?;
        output = outputs;
        hidden.push(last.hidden);
        cell.push(last.cell);
    }
    Ok(LstmOut { output: by_step(&output)?, hidden: stack(&hidden, 0)?, cell: stack(&cell, 0)? })
}
