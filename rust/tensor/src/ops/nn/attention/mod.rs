//! Scaled-dot-product attention.

pub(crate) mod kernels;
pub(crate) mod math;
mod tiled;

use interlock::dispatch::{Call, Composite};

use super::attention::tiled::with_history;
use crate::error::Tuple;
use crate::layout::{broadcast, check_broadcastable_to};
use crate::ops::elementwise::operand::{check_device, check_same_dtype};
use crate::ops::nn::attention::kernels::{ATTENTION, AttentionArgs, AttentionCall};
use crate::{DType, Error, Result, Tensor};

pub(crate) const OP: &str = "scaled_dot_product_attention";

/// The options of [`Tensor::scaled_dot_product_attention`].
///
/// ```
/// use interlock_tensor::{AttentionOptions, DType, Tensor};
///
/// let x = Tensor::ones(&[1, 2, 3, 4], DType::Float32)?;
/// let options = AttentionOptions { is_causal: true, ..AttentionOptions::default() };
/// assert_eq!(x.scaled_dot_product_attention(&x, &x, &options)?.shape(), [1, 2, 3, 4]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionOptions<'a> {
    /// Bools, where true lets a query see a key, or numbers, which are added to the scores. It is broadcast to the
    /// shape of the scores: (..., queries, keys).
    pub mask: Option<&'a Tensor>,
    /// Whether a query sees only the keys up to its own position. An error with a mask.
    pub is_causal: bool,
    /// The factor of the scores; `None` is one divided by the square root of the size of a query.
    pub scale: Option<f64>,
    /// Whether several heads of queries may share one head of keys and values.
    pub enable_gqa: bool,
}

impl Tensor {
    /// Returns the mean of the values for each query, weighted by the softmax of its scaled dot products with the keys:
    /// `torch.nn.functional.scaled_dot_product_attention`. This tensor contains the queries.
    ///
    /// # Errors
    /// Fails if shapes, types or devices do not fit, and with the reason of each kernel if all of them refuse.
    pub fn scaled_dot_product_attention(
        &self,
        key: &Tensor,
        value: &Tensor,
        options: &AttentionOptions<'_>,
    ) -> Result<Tensor> {
        self.attention_in(key, value, options, None)
    }

    /// Computes an attention, which may be part of the operation with the name `composite`.
    pub(crate) fn attention_in(
        &self,
        key: &Tensor,
        value: &Tensor,
        options: &AttentionOptions<'_>,
        composite: Option<&'static str>,
    ) -> Result<Tensor> {
        let args = checked(self, key, value, options)?;
        let composite = composite.map(|name| Composite { name, numerics: None });
        let out = ATTENTION.call(&AttentionCall::new(&args), composite, &args)?;
        with_history(out, &args)
    }

    /// Returns the choice of a kernel for [`scaled_dot_product_attention`](Tensor::scaled_dot_product_attention) now,
    /// without running it.
    ///
    /// # Errors
    /// Fails as the operation does for arguments that do not fit.
    pub fn explain_scaled_dot_product_attention(
        &self,
        key: &Tensor,
        value: &Tensor,
        options: &AttentionOptions<'_>,
    ) -> Result<Call> {
        Ok(ATTENTION.explain(&AttentionCall::new(&checked(self, key, value, options)?)))
    }
}

/// Returns the arguments of the kernels, or an error if they do not fit.
fn checked<'a>(
    query: &'a Tensor,
    key: &'a Tensor,
    value: &'a Tensor,
    options: &AttentionOptions<'a>,
) -> Result<AttentionArgs<'a>> {
    if options.is_causal && options.mask.is_some() {
        return Err(Error::value(OP, "attn_mask", "be None if is_causal is True", "a tensor"));
    }
    for (argument, tensor) in [("query", query), ("key", key), ("value", value)] {
        if !tensor.dtype().is_floating_point() {
            return Err(Error::not_floating_point(OP, argument, tensor.dtype()));
        }
        check_same_dtype(OP, query, tensor)?;
        check_device(OP, query, tensor)?;
    }
    let (batch_q, [rows, depth]) = split_shape("query", query)?;
    let (mut batch_k, [keys, key_depth]) = split_shape("key", key)?;
    let (mut batch_v, [values, _]) = split_shape("value", value)?;
    if depth != key_depth {
        let problem = format!("the last dimensions of query and key differ ({depth} and {key_depth})");
        return Err(err_shapes(problem, query, key));
    }
    if keys != values {
        let problem = format!("key and value have different lengths ({keys} and {values})");
        return Err(err_shapes(problem, key, value));
    }
    if options.enable_gqa {
        let heads = repeated_heads(query, [key, value])?;
        let last = [batch_k.last_mut(), batch_v.last_mut()];
        last.into_iter().flatten().for_each(|last| *last = heads);
    }
    let common = |left: &[usize], right: &[usize], other: &Tensor| {
        broadcast(OP, left, right).map_err(|_| {
            let problem = format!("dimensions {} and {} cannot be broadcast", Tuple(left), Tuple(right));
            err_shapes(problem, query, other)
        })
    };
    let batch = common(&batch_q, &batch_k, key)?;
    common(&batch, &batch_v, value)?;
    if let Some(mask) = options.mask {
        let scores: Vec<usize> = batch.into_iter().chain([rows, keys]).collect();
        check_mask(mask, query, &scores)?;
    }
    let scale = options.scale.unwrap_or_else(|| 1.0 / (depth as f64).sqrt());
    let AttentionOptions { mask, is_causal, enable_gqa, .. } = *options;
    Ok(AttentionArgs { query, key, value, mask, is_causal, scale, enable_gqa })
}

/// Splits the shape of an argument into the sizes of the batch, and the rows and columns.
fn split_shape(argument: &'static str, tensor: &Tensor) -> Result<(Vec<usize>, [usize; 2])> {
    match tensor.shape() {
        [batch @ .., rows, columns] => Ok((batch.to_vec(), [*rows, *columns])),
        shape => Err(Error::shape(OP, argument, "have at least 2 dimensions", shape)),
    }
}

fn err_shapes(problem: String, left: &Tensor, right: &Tensor) -> Error {
    Error::shapes(OP, problem, left.shape(), right.shape())
}

/// Returns the size of the dimension of heads of a tensor, the last but two.
pub(crate) fn heads(tensor: &Tensor) -> Option<usize> {
    tensor.shape().iter().rev().nth(2).copied()
}

/// Returns the number of heads of queries, or an error unless those of keys and values divide it.
fn repeated_heads(query: &Tensor, others: [&Tensor; 2]) -> Result<usize> {
    let err_dims = |argument, tensor: &Tensor| {
        Error::shape(OP, argument, "have at least 3 dimensions with enable_gqa", tensor.shape())
    };
    let count = heads(query).ok_or_else(|| err_dims("query", query))?;
    for (argument, tensor) in ["key", "value"].into_iter().zip(others) {
        let given = heads(tensor).ok_or_else(|| err_dims(argument, tensor))?;
        if given == 0 || count % given != 0 {
            let expected = format!("have a number of heads that divides {count}, those of query");
            return Err(Error::shape(OP, argument, expected, tensor.shape()));
        }
    }
    Ok(count)
}

/// Returns an error unless a mask can be added to scores of this shape.
fn check_mask(mask: &Tensor, query: &Tensor, scores: &[usize]) -> Result<()> {
    let (argument, given) = ("attn_mask", mask.dtype());
    if ![DType::Bool, DType::Float32, query.dtype()].contains(&given) {
        let own = query.dtype();
        let expected = match own {
            DType::Float32 => "bool or float32".to_owned(),
            own => format!("bool, float32 or {own}"),
        };
        return Err(Error::dtype(OP, argument, expected, given));
    }
    check_device(OP, query, mask)?;
    check_broadcastable_to(scores, OP, argument, mask.shape())
}
