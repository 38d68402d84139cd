//! Attention.

use interlock_tensor::{AttentionOptions, Error, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Float, tensor_op};

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
///     enable_gqa: Whether several heads of queries may share one head of keys and values. The number of heads of
///         keys and values then divides the number of heads of queries.
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
///     >>> x = interlock.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
///     >>> functional.scaled_dot_product_attention(x, x, x, is_causal=True)
///     tensor([[[[1.0000, 0.0000],
///               [0.3302, 0.6698]]]])
#[tensor_op(
    function,
    namespace = "nn.functional",
    long,
    explain = {
        let options = options(attn_mask, dropout_p, is_causal, scale, enable_gqa)?;
        query.explain_scaled_dot_product_attention(key, value, &options)
    },
    example = "x, z, z; x, z, z, x @ z.t(), scale=0.5"
)]
#[expect(clippy::too_many_arguments, reason = "the signature is PyTorch's")]
fn scaled_dot_product_attention(
    query: &CoreTensor,
    key: &CoreTensor,
    value: &CoreTensor,
    attn_mask: Option<&CoreTensor>,
    #[default(None, "0.0")] dropout_p: Option<Float>,
    #[default(false)] is_causal: bool,
    #[keyword] scale: Option<Float>,
    #[default(false)] enable_gqa: bool,
) -> Result<CoreTensor> {
    let options = options(attn_mask, dropout_p, is_causal, scale, enable_gqa)?;
    query.scaled_dot_product_attention(key, value, &options)
}

/// Returns the options of the kernels, or an error for dropout.
fn options(
    mask: Option<&CoreTensor>,
    dropout: Option<Float>,
    is_causal: bool,
    scale: Option<Float>,
    enable_gqa: bool,
) -> Result<AttentionOptions<'_>> {
    let dropout = dropout.map_or(0.0, Float::get);
    if dropout == 0.0 {
        return Ok(AttentionOptions { mask, is_causal, scale: scale.map(Float::get), enable_gqa });
    }
    let is_known = (0.0..=1.0).contains(&dropout);
    let expected = if is_known { "be 0, because attention has no dropout here" } else { "be from 0 to 1" };
    Err(Error::value("scaled_dot_product_attention", "dropout_p", expected, dropout))
}
