//! The attention of several heads.

use interlock_tensor::MultiHeadArgs;
use pyo3::prelude::*;

use crate::tensor::Tensor;
use crate::tensor::args::{Arg, OptionalArg, extract_int, extract_optional_tensor, extract_tensor};
use crate::tensor::call::{DETACH_THRESHOLD, maybe_detach};
use crate::{scope_debug, switches};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.setattr("multi_head_attention", wrap_pyfunction!(multi_head_attention, module)?)
}

/// Return the attention of several heads, projected, and the weights of the values: the `forward` of
/// `nn.MultiheadAttention`.
///
/// Args:
///     query: The queries, of shape [batch, queries, size] if `batch_first`, else [queries, batch, size], or [queries,
///         size].
///     key: The keys, in the same layout.
///     value: The values, in the same layout.
///     num_heads: The number of heads, which divides the size.
///     in_proj_weight: The weights of queries, keys and values, of shape [3 * size, size].
///     in_proj_bias: Their biases, of shape [3 * size], or None.
///     out_proj_weight: The weights of the result, of shape [size, size].
///     out_proj_bias: Its biases, of shape [size], or None.
///     training: Whether the module is in training mode.
///     batch_first: Whether the first dimension is the batch.
///     key_padding_mask: Keys to ignore, of shape [batch, keys]: bools that are True for them, or floats that are
///         added.
///     need_weights: Whether to return the weights.
///     attn_mask: Scores to ignore, of shape [queries, keys] or [batch * heads, queries, keys].
///     average_attn_weights: Whether the weights are the mean of all heads.
///     is_causal: Whether `attn_mask` is a causal mask.
///
/// Returns:
///     The result in the layout of `query`, and weights of shape [batch, queries, keys] or None.
///
/// Raises:
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ.
///     ArgumentError: `is_causal` is True without a mask, or `num_heads` does not divide the size.
#[pyfunction]
#[pyo3(signature = (query, key, value, num_heads, in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias, *,
    training, batch_first, key_padding_mask = None, need_weights = true, attn_mask = None,
    average_attn_weights = true, is_causal = false))]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn multi_head_attention(
    query: Arg<'_, '_>,
    key: Arg<'_, '_>,
    value: Arg<'_, '_>,
    num_heads: Arg<'_, '_>,
    in_proj_weight: Arg<'_, '_>,
    in_proj_bias: OptionalArg<'_, '_>,
    out_proj_weight: Arg<'_, '_>,
    out_proj_bias: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::multi_head_attention::training)] training: bool,
    #[pyo3(from_py_with = switches::multi_head_attention::batch_first)] batch_first: bool,
    key_padding_mask: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::multi_head_attention::need_weights)] need_weights: bool,
    attn_mask: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::multi_head_attention::average_attn_weights)] average_attn_weights: bool,
    #[pyo3(from_py_with = switches::multi_head_attention::is_causal)] is_causal: bool,
) -> PyResult<(Tensor, Option<Tensor>)> {
    let py = query.py();
    let optional = |what, given: OptionalArg<'_, '_>| {
        given.map_or(Ok(None), |given| extract_optional_tensor(what, given))
    };
    let num_heads = usize::try_from(extract_int("MultiheadAttention: num_heads", num_heads)?).unwrap_or(0);
    let query = extract_tensor("MultiheadAttention: query", query)?;
    let key = extract_tensor("MultiheadAttention: key", key)?;
    let value = extract_tensor("MultiheadAttention: value", value)?;
    let in_proj_weight = extract_tensor("MultiheadAttention: in_proj_weight", in_proj_weight)?;
    let in_proj_bias = optional("MultiheadAttention: in_proj_bias", in_proj_bias)?;
    let out_proj_weight = extract_tensor("MultiheadAttention: out_proj.weight", out_proj_weight)?;
    let out_proj_bias = optional("MultiheadAttention: out_proj.bias", out_proj_bias)?;
    let key_padding_mask = optional("MultiheadAttention: key_padding_mask", key_padding_mask)?;
    let attn_mask = optional("MultiheadAttention: attn_mask", attn_mask)?;
    scope_debug::warn_suspended_scopes(py)?;
    let (out, weights) = maybe_detach(py, "MultiheadAttention", DETACH_THRESHOLD, || {
        let args = MultiHeadArgs {
            query: &query,
            key: &key,
            value: &value,
            num_heads,
            in_proj_weight: &in_proj_weight,
            in_proj_bias: in_proj_bias.as_ref(),
            out_proj_weight: &out_proj_weight,
            out_proj_bias: out_proj_bias.as_ref(),
            is_training: training,
            batch_first,
            key_padding_mask: key_padding_mask.as_ref(),
            attn_mask: attn_mask.as_ref(),
            need_weights,
            average_attn_weights,
            is_causal,
        };
        args.forward()
    })?;
    Ok((Tensor::from(out), weights.map(Tensor::from)))
}
