//! Multi-head attention: the projections of queries, keys and values, the attention of each head, and the projection
//! of the results.

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::flags::MHA_FASTPATH;
use interlock::dispatch::{FlagRequirement, Kernel, KernelError, Numerics, Op, Operation};

use super::attention::math::additive_mask;
use crate::error::{Sizes, Tuple};
use crate::layout::{signed, wrap_dim};
use crate::ops::conditions::{Condition, require};
use crate::ops::nn::attention::AttentionOptions;
use crate::recording::is_recording;
use crate::{DType, Error, Result, Tensor};

/// The name in errors.
const OP: &str = "MultiheadAttention";

/// The name in records, also of the products inside.
const NAME: &str = "mha";

/// Multi-head attention. [`MULTI_HEAD_ATTENTION`] has its kernels.
#[derive(Debug)]
pub struct MultiHeadAttention;

/// The properties of a multi-head attention on which the choice of its kernel depends.
///
/// ```
/// use interlock_tensor::{DType, MultiHeadArgs, MultiHeadCall, Tensor};
///
/// let (x, weight) = (Tensor::ones(&[1, 3, 4], DType::Float32)?, Tensor::ones(&[12, 4], DType::Float32)?);
/// let out = Tensor::ones(&[4, 4], DType::Float32)?;
/// let args = MultiHeadArgs { is_training: true, ..MultiHeadArgs::new([&x, &x, &x], 2, &weight, &out) };
/// assert_eq!(MultiHeadCall::new(&args).to_string(), "cpu float32 query 1x3x4, 2 heads, training");
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiHeadCall {
    device: Device,
    dtype: DType,
    query: Vec<usize>,
    num_heads: usize,
    is_self_attention: bool,
    has_equal_dtypes: bool,
    has_bias: bool,
    has_float_mask: bool,
    is_training: bool,
    batch_first: bool,
    is_recorded: bool,
}

impl MultiHeadCall {
    /// Returns the properties of a call.
    pub fn new(args: &MultiHeadArgs<'_>) -> Self {
        let MultiHeadArgs { query, key, value, in_proj_weight, in_proj_bias, .. } = *args;
        let projections = [Some(in_proj_weight), in_proj_bias];
        let mut operands =
            projections.into_iter().chain([Some(query), Some(args.out_proj_weight), args.out_proj_bias]);
        let masks = [args.attn_mask, args.key_padding_mask];
        MultiHeadCall {
            device: query.device(),
            dtype: query.dtype(),
            query: query.shape().to_vec(),
            num_heads: args.num_heads,
            is_self_attention: query.is(key) && key.is(value),
            has_equal_dtypes: projections.into_iter().flatten().all(|weight| weight.dtype() == query.dtype()),
            has_bias: in_proj_bias.is_some(),
            has_float_mask: masks.into_iter().flatten().any(|mask| mask.dtype() != DType::Bool),
            is_training: args.is_training,
            batch_first: args.batch_first,
            is_recorded: is_recording() && operands.any(|tensor| tensor.is_some_and(Tensor::requires_grad)),
        }
    }
}

impl fmt::Display for MultiHeadCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MultiHeadCall { device, dtype, query, num_heads, .. } = self;
        write!(f, "{device} {dtype} query {}, {num_heads} heads", Sizes(query))?;
        f.write_str(if self.is_training { ", training" } else { "" })
    }
}

/// The arguments of a multi-head attention, as in `torch.nn.MultiheadAttention`.
#[derive(Clone, Copy, Debug)]
pub struct MultiHeadArgs<'a> {
    /// The queries, of shape (batch, length, size) if `batch_first`, else (length, batch, size), or (length, size).
    pub query: &'a Tensor,
    /// The keys, of the same layout.
    pub key: &'a Tensor,
    /// The values, of the same layout.
    pub value: &'a Tensor,
    /// The number of heads, which divides the size.
    pub num_heads: usize,
    /// The weights of queries, keys and values, of shape (3 * size, size).
    pub in_proj_weight: &'a Tensor,
    /// Their biases, of shape (3 * size).
    pub in_proj_bias: Option<&'a Tensor>,
    /// The weights of the results, of shape (size, size).
    pub out_proj_weight: &'a Tensor,
    /// Their bias.
    pub out_proj_bias: Option<&'a Tensor>,
    /// Whether the module is in training mode.
    pub is_training: bool,
    /// Whether the first dimension is the batch.
    pub batch_first: bool,
    /// Keys to ignore, of shape (batch, keys): bools, where true ignores a key, or numbers, which are added to scores.
    pub key_padding_mask: Option<&'a Tensor>,
    /// Scores to ignore, of shape (queries, keys) or (batch * heads, queries, keys).
    pub attn_mask: Option<&'a Tensor>,
    /// Whether the weights of the values are returned.
    pub need_weights: bool,
    /// Whether these weights are the mean of all heads.
    pub average_attn_weights: bool,
    /// Says that `attn_mask` lets a query see only the keys up to its own position.
    pub is_causal: bool,
}

impl<'a> MultiHeadArgs<'a> {
    /// Returns arguments without biases and masks, in evaluation mode, that return no weights.
    pub fn new(
        [query, key, value]: [&'a Tensor; 3],
        num_heads: usize,
        in_proj_weight: &'a Tensor,
        out_proj_weight: &'a Tensor,
    ) -> Self {
        MultiHeadArgs {
            query,
            key,
            value,
            num_heads,
            in_proj_weight,
            in_proj_bias: None,
            out_proj_weight,
            out_proj_bias: None,
            is_training: false,
            batch_first: true,
            key_padding_mask: None,
            attn_mask: None,
            need_weights: false,
            average_attn_weights: true,
            is_causal: false,
        }
    }
}

impl Operation for MultiHeadAttention {
    const NAME: &'static str = NAME;
    type Call = MultiHeadCall;
    type Args<'a> = MultiHeadArgs<'a>;
    type Out = (Tensor, Option<Tensor>);
    type Error = Error;

    fn obeys_precision(_: &MultiHeadCall) -> bool {
        // The products inside obey it.
        false
    }
}

/// The kernels of multi-head attention: `fastpath` projects queries, keys and values in one product, and `composed` in
/// three.
///
/// ```
/// use interlock_tensor::{DType, MULTI_HEAD_ATTENTION, MultiHeadArgs, MultiHeadCall, Tensor};
///
/// let (x, weight) = (Tensor::ones(&[1, 3, 4], DType::Float32)?, Tensor::ones(&[12, 4], DType::Float32)?);
/// let (out, bias) = (Tensor::ones(&[4, 4], DType::Float32)?, Tensor::ones(&[12], DType::Float32)?);
/// let args = MultiHeadArgs { in_proj_bias: Some(&bias), ..MultiHeadArgs::new([&x, &x, &x], 2, &weight, &out) };
/// assert_eq!(MULTI_HEAD_ATTENTION.explain(&MultiHeadCall::new(&args)).kernel(), Some("fastpath"));
/// let other = x.copy()?;
/// let args = MultiHeadArgs { key: &other, ..args };
/// let expected = "mha cpu float32 query 1x3x4, 2 heads -> composed | \
///                 fastpath: needs query, key and value that are one tensor";
/// assert_eq!(MULTI_HEAD_ATTENTION.explain(&MultiHeadCall::new(&args)).to_string(), expected);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub static MULTI_HEAD_ATTENTION: Op<MultiHeadAttention> = Op::new(&[
    Kernel::<MultiHeadAttention>::new("fastpath", run_fastpath)
        .requires(&[FlagRequirement::on(&MHA_FASTPATH)])
        .condition(can_run_fastpath),
    Kernel::<MultiHeadAttention>::new("composed", run_composed),
]);

/// PyTorch: `why_not_fast_path` in the `forward` of its module.
fn can_run_fastpath(call: &MultiHeadCall) -> Condition {
    let (ndim, num_heads) = (call.query.len(), call.num_heads);
    require(!call.has_float_mask, || "needs masks of bools")?;
    require(ndim == 3, || format!("needs a batch, with a query of 3 dimensions, got {ndim}"))?;
    require(call.is_self_attention, || "needs query, key and value that are one tensor")?;
    require(call.has_equal_dtypes, || "needs weights of the dtype of query")?;
    require(!call.is_training, || "needs evaluation mode")?;
    require(num_heads.is_multiple_of(2), || format!("needs an even number of heads, got {num_heads}"))?;
    require(call.batch_first, || "needs batch_first")?;
    require(call.has_bias, || "needs biases")?;
    require(!call.is_recorded, || "needs gradients that are not recorded")
}

type KernelResult = Result<(Tensor, Option<Tensor>), KernelError<Error>>;

/// Projects queries, keys and values in one product.
fn run_fastpath(_: &MultiHeadCall, _: Numerics, args: &MultiHeadArgs<'_>) -> KernelResult {
    let packed = args.query.linear_in(NAME, args.in_proj_weight, args.in_proj_bias)?;
    let part = |number: i64| third(&packed, -1, number);
    // Under a mask PyTorch computes the scores here, so that a query that sees no key has a result of NaN.
    let needs_scores = args.need_weights || args.attn_mask.or(args.key_padding_mask).is_some();
    Ok(attend(args, [part(0)?, part(1)?, part(2)?], needs_scores)?)
}

/// Projects queries, keys and values in a product each.
fn run_composed(_: &MultiHeadCall, _: Numerics, args: &MultiHeadArgs<'_>) -> KernelResult {
    let project = |input: &Tensor, number: i64| {
        let weight = third(args.in_proj_weight, 0, number)?;
        let bias = args.in_proj_bias.map(|bias| third(bias, 0, number)).transpose()?;
        input.linear_in(NAME, &weight, bias.as_ref())
    };
    let projected = [project(args.query, 0)?, project(args.key, 1)?, project(args.value, 2)?];
    Ok(attend(args, projected, args.need_weights)?)
}

/// Returns one of three equal parts of a dimension.
fn third(tensor: &Tensor, dim: i64, number: i64) -> Result<Tensor> {
    let size = tensor.shape().get(wrap_dim(NAME, dim, tensor.ndim())?).copied().unwrap_or_default();
    let size = signed(size / 3);
    tensor.narrow(dim, number * size, size)
}

/// Returns the projection of the attention of each head. Operands have the shape (batch, length, size). If
/// `needs_scores`, the scores are computed explicitly and not by a kernel of attention.
fn attend(
    args: &MultiHeadArgs<'_>,
    [query, key, value]: [Tensor; 3],
    needs_scores: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let by_head = |tensor: &Tensor| match *tensor.shape() {
        [batch, length, size] => {
            let count = args.num_heads.max(1);
            tensor.reshaped(&[batch, length, count, size / count])?.transpose(1, 2)
        }
        _ => Err(Error::shape(OP, "query", "have 3 dimensions", tensor.shape())),
    };
    let (query, key, value) = (by_head(&query)?, by_head(&key)?, by_head(&value)?);
    let is_hint = args.is_causal && args.key_padding_mask.is_none() && !args.need_weights;
    let mask = if is_hint { None } else { merged_mask(args, &query)? };
    let (heads, weights) = if needs_scores && !is_hint {
        let scale = 1.0 / (query.shape().last().copied().unwrap_or(1) as f64).sqrt();
        let scores = query.mul(scale)?.matmul_in(NAME, &key.transpose(-2, -1)?)?;
        let scores = mask.map_or(Ok(scores.clone()), |mask| scores.add(&mask))?;
        let weights = scores.softmax(-1)?;
        (weights.matmul_in(NAME, &value)?, args.need_weights.then_some(weights))
    } else {
        let options =
            AttentionOptions { mask: mask.as_ref(), is_causal: is_hint, ..AttentionOptions::default() };
        (query.attention_in(&key, &value, &options, Some(NAME))?, None)
    };
    let joined = heads.transpose(1, 2)?;
    let [batch, length, count, size] = *joined.shape() else { return Err(Error::no_dimensions(NAME)) };
    let joined = joined.reshaped(&[batch, length, count * size])?;
    let out = joined.linear_in(NAME, args.out_proj_weight, args.out_proj_bias)?;
    let averaged = |weights: Tensor| match args.average_attn_weights {
        true => weights.mean(Some(&[1]), false),
        false => Ok(weights),
    };
    Ok((out, weights.map(averaged).transpose()?))
}

/// Returns the sum of both masks, which is added to the scores of heads of queries.
fn merged_mask(args: &MultiHeadArgs<'_>, query: &Tensor) -> Result<Option<Tensor>> {
    let additive = |mask: &Tensor| match mask.dtype() {
        // True lets a query see a key in an attention, and hides it here.
        DType::Bool => additive_mask(&mask.logical_not()?, query.dtype()),
        _ => mask.cast(query.dtype()),
    };
    let [batch, heads, ..] = *query.shape() else { return Ok(None) };
    let scores = args.attn_mask.map(|mask| match *mask.shape() {
        [_, rows, keys] => additive(mask)?.reshaped(&[batch, heads, rows, keys]),
        _ => additive(mask),
    });
    let keys = args.key_padding_mask.map(|mask| additive(mask)?.unsqueeze(1)?.unsqueeze(1));
    match (scores.transpose()?, keys.transpose()?) {
        (Some(scores), Some(keys)) => scores.add(&keys).map(Some),
        (scores, keys) => Ok(scores.or(keys)),
    }
}

impl MultiHeadArgs<'_> {
    /// Returns the multi-head attention and the weights of the values, if they are needed:
    /// `torch.nn.functional.multi_head_attention_forward`.
    ///
    /// # Errors
    /// Fails if shapes, types or devices do not fit, and if `is_causal` is set without a mask.
    pub fn forward(&self) -> Result<(Tensor, Option<Tensor>)> {
        let call = MultiHeadCall::new(self);
        let ndim = self.query.ndim();
        // Checked before the operands of the kernels, whose errors name arguments that the caller of the layer does not pass.
        if let (&[rows, size], Some(&given)) = (self.in_proj_weight.shape(), self.query.shape().last())
            && rows == 3 * size
            && given != size
        {
            let expected = format!("have a last dimension of size embed_dim, {size}");
            return Err(Error::shape(OP, "query", expected, self.query.shape()));
        }
        if !matches!(ndim, 2 | 3) {
            return Err(Error::shape(OP, "query", "have 2 or 3 dimensions", self.query.shape()));
        }
        for (argument, tensor) in [("key", self.key), ("value", self.value)] {
            if tensor.ndim() != ndim {
                return Err(Error::shape(OP, argument, "have as many dimensions as query", tensor.shape()));
            }
        }
        let (is_batched, is_transposed) = (ndim == 3, ndim == 3 && !self.batch_first);
        let by_batch = |tensor: &Tensor| match (is_batched, is_transposed) {
            (false, _) => tensor.unsqueeze(0),
            (_, true) => tensor.transpose(0, 1),
            _ => Ok(tensor.clone()),
        };
        let (query, key, value) = (by_batch(self.query)?, by_batch(self.key)?, by_batch(self.value)?);
        let padding =
            self.key_padding_mask.map(|mask| if is_batched { Ok(mask.clone()) } else { mask.unsqueeze(0) });
        let padding = padding.transpose()?;
        let (query, key, value, key_padding_mask) = (&query, &key, &value, padding.as_ref());
        let args = MultiHeadArgs { query, key, value, key_padding_mask, batch_first: true, ..*self };
        args.check()?;
        let result = MULTI_HEAD_ATTENTION.call(&call, None, &args);
        let (out, weights) = result.map_err(|error: Error| error.during(OP))?;
        Ok(match (is_batched, is_transposed) {
            (false, _) => {
                (out.squeeze(Some(0))?, weights.map(|weights| weights.squeeze(Some(0))).transpose()?)
            }
            (_, true) => (out.transpose(0, 1)?, weights),
            _ => (out, weights),
        })
    }

    /// Returns an error unless the arguments fit each other. Operands have the shape (batch, length, size).
    fn check(&self) -> Result<()> {
        let (&[batch, rows, size], &[_, keys, _]) = (self.query.shape(), self.key.shape()) else {
            return Err(Error::shape(OP, "query", "have 2 or 3 dimensions", self.query.shape()));
        };
        if self.num_heads == 0 || size % self.num_heads != 0 {
            let expected = format!("divide the size of query, {size}");
            return Err(Error::value(OP, "num_heads", expected, self.num_heads));
        }
        let heads = batch.saturating_mul(self.num_heads);
        let shape = |argument, tensor: Option<&Tensor>, shapes: &[&[usize]]| match tensor {
            Some(tensor) if !shapes.contains(&tensor.shape()) => {
                let allowed: Vec<String> = shapes.iter().map(|shape| Tuple(shape).to_string()).collect();
                let expected = format!("be of shape {}", allowed.join(" or "));
                Err(Error::shape(OP, argument, expected, tensor.shape()))
            }
            _ => Ok(()),
        };
        shape("key", Some(self.key), &[&[batch, keys, size]])?;
        shape("value", Some(self.value), &[&[batch, keys, size]])?;
        shape("in_proj_weight", Some(self.in_proj_weight), &[&[3 * size, size]])?;
        shape("in_proj_bias", self.in_proj_bias, &[&[3 * size]])?;
        shape("out_proj_weight", Some(self.out_proj_weight), &[&[size, size]])?;
        shape("out_proj_bias", self.out_proj_bias, &[&[size]])?;
        shape("attn_mask", self.attn_mask, &[&[rows, keys], &[heads, rows, keys]])?;
        shape("key_padding_mask", self.key_padding_mask, &[&[batch, keys]])?;
        for (argument, mask) in [("attn_mask", self.attn_mask), ("key_padding_mask", self.key_padding_mask)] {
            let given = mask.map(Tensor::dtype).filter(|dtype| dtype.is_integer());
            if let Some(given) = given {
                return Err(Error::dtype(OP, argument, "bool or floating point", given));
            }
        }
        if self.is_causal && self.attn_mask.is_none() {
            return Err(Error::value(OP, "attn_mask", "be a causal mask if is_causal is True", "None"));
        }
        Ok(())
    }
}
