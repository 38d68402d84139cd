//! Functions of attention.

use interlock_tensor::{AttentionOptions, MultiHeadArgs, Result, Tensor as CoreTensor};
use pyo3::inventory;
use pyo3::prelude::*;

use super::args::{Arg, OptionalArg, extract_float, extract_int, extract_optional_tensor, extract_tensor};
use super::operation::add_function;
use super::{DETACH_THRESHOLD, Tensor, maybe_detach, run_op};
use crate::dispatch::Call;
use crate::dispatch::explain::Explained;
use crate::errors::{IntoPyResult, new_exception};
use crate::{scope_debug, switches};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let namespace = "interlock.nn.functional";
    add_function(module, wrap_pyfunction!(scaled_dot_product_attention, module)?, namespace)?;
    add_function(module, wrap_pyfunction!(multi_head_attention, module)?, namespace)
}

/// The arguments of `scaled_dot_product_attention`.
struct AttentionArguments {
    query: CoreTensor,
    key: CoreTensor,
    value: CoreTensor,
    mask: Option<CoreTensor>,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
}

impl AttentionArguments {
    /// Extracts the arguments.
    fn extract(
        [query, key, value]: [Arg<'_, '_>; 3],
        [mask, dropout_p, scale]: [OptionalArg<'_, '_>; 3],
        is_causal: bool,
        enable_gqa: bool,
    ) -> PyResult<Self> {
        const DROPOUT: &str = "scaled_dot_product_attention: dropout_p";
        let dropout = dropout_p.map(|given| extract_float(DROPOUT, given)).transpose()?.unwrap_or(0.0);
        if dropout != 0.0 {
            let expected = if (0.0..=1.0).contains(&dropout) {
                "be 0, because attention has no dropout here"
            } else {
                "be from 0 to 1"
            };
            let message = format!("{DROPOUT} must {expected}, got {dropout}");
            return Err(new_exception(query.py(), "ArgumentError", message));
        }
        Ok(AttentionArguments {
            query: extract_tensor("scaled_dot_product_attention: query", query)?,
            key: extract_tensor("scaled_dot_product_attention: key", key)?,
            value: extract_tensor("scaled_dot_product_attention: value", value)?,
            mask: extract_optional_tensor("scaled_dot_product_attention: attn_mask", mask)?,
            is_causal,
            scale: scale
                .map(|given| extract_float("scaled_dot_product_attention: scale", given))
                .transpose()?,
            enable_gqa,
        })
    }

    fn options(&self) -> AttentionOptions<'_> {
        let AttentionArguments { mask, is_causal, scale, enable_gqa, .. } = self;
        let (is_causal, scale, enable_gqa) = (*is_causal, *scale, *enable_gqa);
        AttentionOptions { mask: mask.as_ref(), is_causal, scale, enable_gqa }
    }

    fn run(&self) -> Result<CoreTensor> {
        self.query.scaled_dot_product_attention(&self.key, &self.value, &self.options())
    }

    fn explain(&self, py: Python<'_>) -> PyResult<Call> {
        let AttentionArguments { query, key, value, .. } = self;
        let explained = query.explain_scaled_dot_product_attention(key, value, &self.options());
        explained.map(Call::new).into_py_result(py)
    }
}

inventory::submit! { Explained { name: "scaled_dot_product_attention", function: |py| wrap_pyfunction!(explain, py) } }

/// Binds the arguments as the operation itself does, and returns the choice of a kernel.
#[pyfunction]
#[pyo3(
    name = "scaled_dot_product_attention",
    signature = (query, key, value, attn_mask = None, dropout_p = None, is_causal = false, *, scale = None, enable_gqa = false)
)]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn explain(
    query: Arg<'_, '_>,
    key: Arg<'_, '_>,
    value: Arg<'_, '_>,
    attn_mask: OptionalArg<'_, '_>,
    dropout_p: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::scaled_dot_product_attention::is_causal)] is_causal: bool,
    scale: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::scaled_dot_product_attention::enable_gqa)] enable_gqa: bool,
) -> PyResult<Call> {
    let options = [attn_mask, dropout_p, scale];
    let arguments = AttentionArguments::extract([query, key, value], options, is_causal, enable_gqa)?;
    arguments.explain(query.py())
}

/// Return the mean of the values for each query, weighted by the softmax of its scaled dot products with the keys.
///
/// The kernel is chosen by the flags `backends.cuda.flash_sdp`, `mem_efficient_sdp`, `math_sdp`, `cudnn_sdp` and, on
/// devices, `sdp_priority`. `dispatch.explain` and `dispatch.record` show the choice. Only the kernel `math` can be
/// differentiated twice.
///
/// Args:
///     query: The queries, of shape [..., heads, queries, size]. Floating point.
///     key: The keys, of shape [..., heads, keys, size], of the same dtype.
///     value: The values, of shape [..., heads, keys, value size], of the same dtype.
///     attn_mask: Bools, where True lets a query see a key, or floats, which are added to the scores; None for no mask.
///         Broadcast to [..., heads, queries, keys]. A query that sees no key has a result of 0.
///     dropout_p: 0; None means 0. Attention has no dropout here.
///     is_causal: Whether a query sees only the keys up to its own position. Must be False with a mask.
///     scale: The factor of the scores; None means `1 / sqrt(size)`.
///     enable_gqa: Whether several heads of queries may share one head of keys and values, whose number then divides
///         that of the queries.
///
/// Returns:
///     A tensor of shape [..., heads, queries, value size].
///
/// Raises:
///     ShapeError: The shapes are incompatible.
///     DTypeError: The dtypes differ or are not floating point.
///     ArgumentError: `dropout_p` is not 0, or `is_causal` is True with a mask.
///     RuntimeError: No kernel can run the call; the message lists why each was rejected. Or the tensors are on
///         different devices.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> x = interlock.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
///     >>> functional.scaled_dot_product_attention(x, x, x, is_causal=True)
///     tensor([[[[1.0000, 0.0000],
///               [0.3302, 0.6698]]]])
#[pyfunction]
#[pyo3(
    signature = (query, key, value, attn_mask = None, dropout_p = None, is_causal = false, *, scale = None, enable_gqa = false),
    text_signature = "(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False)"
)]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn scaled_dot_product_attention(
    query: Arg<'_, '_>,
    key: Arg<'_, '_>,
    value: Arg<'_, '_>,
    attn_mask: OptionalArg<'_, '_>,
    dropout_p: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::scaled_dot_product_attention::is_causal)] is_causal: bool,
    scale: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::scaled_dot_product_attention::enable_gqa)] enable_gqa: bool,
) -> PyResult<Tensor> {
    let options = [attn_mask, dropout_p, scale];
    let arguments = AttentionArguments::extract([query, key, value], options, is_causal, enable_gqa)?;
    run_op(query.py(), "scaled_dot_product_attention", DETACH_THRESHOLD, || arguments.run())
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
    let num_heads = usize::try_from(extract_int("MultiheadAttention: num_heads", num_heads)?).unwrap_or(0);
    let (query, key) = (
        extract_tensor("MultiheadAttention: query", query)?,
        extract_tensor("MultiheadAttention: key", key)?,
    );
    let value = extract_tensor("MultiheadAttention: value", value)?;
    let in_proj_weight = extract_tensor("MultiheadAttention: in_proj_weight", in_proj_weight)?;
    let in_proj_bias = extract_optional_tensor("MultiheadAttention: in_proj_bias", in_proj_bias)?;
    let out_proj_weight = extract_tensor("MultiheadAttention: out_proj.weight", out_proj_weight)?;
    let out_proj_bias = extract_optional_tensor("MultiheadAttention: out_proj.bias", out_proj_bias)?;
    let key_padding_mask = extract_optional_tensor("MultiheadAttention: key_padding_mask", key_padding_mask)?;
    let attn_mask = extract_optional_tensor("MultiheadAttention: attn_mask", attn_mask)?;
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
    Ok((Tensor(out), weights.map(Tensor)))
}
