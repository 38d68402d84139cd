//! Cumulative sums and products.

use super::along_dim::Rows;
use super::product_gradients::cumprod_backward;
use crate::iterate::apply_along_last_dim;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Result, Tensor, iterate};

/// Returns the sums of the elements along `dim` up to each, or from each on if `is_reverse`. 16-bit floats and `float32`
/// are summed in the next wider type.
fn sums(tensor: &Tensor, dim: i64, is_reverse: bool) -> Result<Tensor> {
    let op = "cumsum";
    let rows = Rows::in_compute_type(op, tensor, dim)?;
    let (source, length) = (&rows.rows, rows.length);
    let out = match tensor.dtype() {
        DType::Float64 => scan::<f64, f64>(op, source, length, f64::plus, is_reverse),
        DType::Float32 => scan::<f32, f64>(op, source, length, f64::plus, is_reverse),
        dtype if dtype.is_half() => scan::<f32, f32>(op, source, length, f32::plus, is_reverse),
        _ => scan::<i64, i64>(op, source, length, i64::plus, is_reverse),
    };
    rows.restore(&iterate::cast(&out?, tensor.dtype())?)
}

/// Returns the elements in the type of their totals: bools and integers are accumulated as `int64`.
pub(crate) fn widened(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_floating_point() { Ok(tensor.clone()) } else { tensor.cast(DType::Int64) }
}

/// Returns the sums of the elements up to each, or from each on if `reverse` is set.
fn cumulative_sum(tensor: &Tensor, dim: i64, reverse: bool) -> Result<Tensor> {
    let out = sums(tensor, dim, reverse)?;
    NodeBuilder::record_linear("CumsumBackward0", tensor, out, move |gradient| {
        cumulative_sum(gradient, dim, !reverse)
    })
}

impl Tensor {
    /// Returns the sums of the elements along `dim` up to each. Integers and bools are summed as `int64`.
    pub fn cumsum(&self, dim: i64) -> Result<Tensor> {
        cumulative_sum(&widened(self)?, dim, false)
    }

    /// Returns the products of the elements along `dim` up to each. Integers and bools are multiplied as `int64`.
    pub fn cumprod(&self, dim: i64) -> Result<Tensor> {
        let (op, factors) = ("cumprod", widened(self)?);
        let rows = Rows::in_compute_type(op, &factors, dim)?;
        let (source, length) = (&rows.rows, rows.length);
        let out = match source.dtype() {
            DType::Float64 => scan::<f64, f64>(op, source, length, f64::times, false),
            DType::Float32 => scan::<f32, f64>(op, source, length, f64::times, false),
            _ => scan::<i64, i64>(op, source, length, i64::times, false),
        };
        let out = rows.restore(&iterate::cast(&out?, factors.dtype())?)?;
        if let Some(builder) = NodeBuilder::new("CumprodBackward0", &[&factors])? {
            builder.set_history_saving(&factors, &out, move |factors, gradient| {
                cumprod_backward(factors, gradient, dim)
            })?;
        }
        Ok(out)
    }
}

/// Combines each element of a row of `length` elements of a contiguous tensor with those before it, or with those behind it
/// if `is_reverse`, in the type `A`.
fn scan<T: Element, A: Element>(
    op: &'static str,
    rows: &Tensor,
    length: usize,
    combine: impl Fn(A, A) -> A + Send + Sync + 'static,
    is_reverse: bool,
) -> Result<Tensor> {
    apply_along_last_dim(op, rows, length, rows.shape(), length, move |row: &[T], out: &mut [T]| {
        let mut total = None;
        let step = |(out, &value): (&mut T, &T)| {
            let next = total.map_or(value.cast(), |total| combine(total, value.cast()));
            (total, *out) = (Some(next), next.cast());
        };
        let items = out.iter_mut().zip(row);
        if is_reverse {
            items.rev().for_each(step)
        } else {
            items.for_each(step)
        }
        Ok(())
    })
}
