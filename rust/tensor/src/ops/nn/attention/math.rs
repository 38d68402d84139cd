//! Attention as products of matrices and a softmax. Its memory grows with the square of the sequence, and its gradients
//! can be differentiated again.

use interlock::backends::flags::CUDA_FP16_BF16_REDUCTION_MATH_SDP;
use interlock::dispatch::{KernelError, Numerics};

use super::kernels::{AttentionArgs, AttentionCall, AttentionOut};
use super::{OP, heads};
use crate::dtype::dispatch_float;
use crate::layout::signed_sizes;
use crate::ops::elementwise::selection::zero_where;
use crate::{DType, Element, Error, Result, Tensor, TensorOptions, iterate};

pub(crate) fn run_math(
    _: &AttentionCall,
    _: Numerics,
    args: &AttentionArgs<'_>,
) -> Result<AttentionOut, KernelError<Error>> {
    let dtype = args.query.dtype();
    if !dtype.is_half() || CUDA_FP16_BF16_REDUCTION_MATH_SDP.get() {
        return Ok(attention(args)?.into());
    }
    let computed = |tensor: &Tensor| tensor.cast(dtype.compute());
    let (query, key, value) = (computed(args.query)?, computed(args.key)?, computed(args.value)?);
    let args = AttentionArgs { query: &query, key: &key, value: &value, ..*args };
    Ok(attention(&args)?.cast(dtype)?.into())
}

/// Computes an attention in the type of its operands. The calls of `matmul` inside are recorded as part of it, and obey
/// their own flags.
fn attention(args: &AttentionArgs<'_>) -> Result<Tensor> {
    let AttentionArgs { query, key, value, .. } = *args;
    let heads = if args.enable_gqa { heads(query).unwrap_or(1) } else { 1 };
    let [key, value] = [repeat_heads(key, heads)?, repeat_heads(value, heads)?];
    // Each operand is scaled by the square root, as in PyTorch, so that fewer products overflow.
    let root = args.scale.abs().sqrt();
    let query = query.mul(root.copysign(args.scale))?;
    let mut scores = query.matmul_in(OP, &key.transpose(-2, -1)?.mul(root)?)?;
    if args.is_causal {
        let [.., rows, columns] = scores.shape() else { return Err(Error::no_dimensions(OP)) };
        scores = scores.add(&causal_mask(*rows, *columns, scores.options())?)?;
    }
    if let Some(mask) = args.mask {
        scores = scores.add(&additive_mask(mask, scores.dtype())?)?;
    }
    scores.safe_softmax()?.matmul_in(OP, &value)
}

/// Returns keys or values with `count` heads, each of which is repeated as often as necessary.
fn repeat_heads(tensor: &Tensor, count: usize) -> Result<Tensor> {
    let [batch @ .., own, rows, columns] = tensor.shape() else { return Ok(tensor.clone()) };
    if count <= *own {
        return Ok(tensor.clone());
    }
    let shape = |heads: &[usize]| -> Vec<usize> { [batch, heads, &[*rows, *columns]].concat() };
    let sizes = signed_sizes(&shape(&[*own, count / own]));
    tensor.unsqueeze(-3)?.expand(&sizes)?.reshaped(&shape(&[count]))
}

/// Returns a matrix of 0, and minus infinity above the diagonal.
fn causal_mask(rows: usize, columns: usize, options: TensorOptions) -> Result<Tensor> {
    let computed = TensorOptions { dtype: options.dtype.compute(), ..options };
    let mask = dispatch_float!(options.dtype, T => {
        iterate::launch_nullary(OP, computed, &[rows, columns], move |out: &mut [T]| {
            for (row, line) in out.chunks_mut(columns.max(1)).enumerate() {
                line.iter_mut().skip(row.saturating_add(1)).for_each(|out| *out = T::from_f64(f64::NEG_INFINITY));
            }
        })
    })?;
    iterate::cast(&mask, options.dtype)
}

/// Returns the mask that is added to scores: that of bools is 0 where they are true, else minus infinity.
pub(crate) fn additive_mask(mask: &Tensor, dtype: DType) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        return mask.cast(dtype);
    }
    zero_where(mask, &Tensor::full(&[], f64::NEG_INFINITY.into(), dtype)?)
}
