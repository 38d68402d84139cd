//! Cumulative sums and products.

use super::along_dim::{Rows, size_of_dim};
use super::join::cat;
use crate::autograd::NodeBuilder;
use crate::dtype::{dispatch_float, dispatch_reduced};
use crate::{DType, Element, Result, Tensor, kernel};

/// Accumulates each row along `dim` with `f`, from the end if `reverse` is set. Halves and `float32` are accumulated in
/// the wider type of their sums.
fn accumulate<F: Accumulate>(
    op: &'static str,
    tensor: &Tensor,
    dim: i64,
    f: F,
    reverse: bool,
) -> Result<Tensor> {
    let elements = kernel::cast(&tensor.detach(), tensor.dtype().reduced())?;
    let rows = Rows::of(op, &elements, dim)?;
    let shape = rows.rows.shape().to_vec();
    let out = dispatch_reduced!(elements.dtype(), T => {
        kernel::apply_along_last_dim(op, &rows.rows, rows.length, &shape, rows.length, move |row: &[T], out: &mut [T]| {
            let mut total = None;
            let step = |(out, &value): (&mut T, &T)| {
                let value = value.cast::<<T as Element>::Acc>();
                let next = total.map_or(value, |total| f.apply(total, value));
                (total, *out) = (Some(next), next.cast());
            };
            let items = out.iter_mut().zip(row);
            if reverse { items.rev().for_each(step) } else { items.for_each(step) }
        })
    })?;
    rows.restore(&out)
}

/// A function that combines the total of a row with the next element.
trait Accumulate: Send + Sync + Copy + 'static {
    fn apply<T: Element>(self, total: T, value: T) -> T;
}

#[derive(Clone, Copy)]
struct Sum;

impl Accumulate for Sum {
    fn apply<T: Element>(self, total: T, value: T) -> T {
        total.plus(value)
    }
}

#[derive(Clone, Copy)]
struct Product;

impl Accumulate for Product {
    fn apply<T: Element>(self, total: T, value: T) -> T {
        total.times(value)
    }
}

/// Returns the elements in the type of their totals: bools and integers are accumulated as `int64`.
pub(super) fn widened(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_floating_point() { Ok(tensor.clone()) } else { tensor.cast(DType::Int64) }
}

/// Returns the sums of the elements up to each, or from each on if `reverse` is set.
fn cumulative_sum(tensor: &Tensor, dim: i64, reverse: bool) -> Result<Tensor> {
    let out = accumulate("cumsum", tensor, dim, Sum, reverse)?;
    if let Some(builder) = NodeBuilder::new("CumsumBackward0", &[tensor])? {
        builder
            .set_history(&out, move |_, gradient| Ok(vec![Some(cumulative_sum(gradient, dim, !reverse)?)]));
    }
    Ok(out)
}

/// Returns a tensor whose elements along `dim` are those of `tensor` moved by one position, to the end or, if `reverse`
/// is set, to the beginning. The first element, or the last, is `fill`.
fn shifted(tensor: &Tensor, dim: i64, fill: i64, reverse: bool) -> Result<Tensor> {
    let size = i64::try_from(size_of_dim("cumprod", tensor, dim)?).unwrap_or(i64::MAX);
    let single = tensor.detach().slice(dim, None, Some(1), 1)?;
    let edge = Tensor::full(single.shape(), fill.into(), tensor.options())?;
    if reverse {
        cat(&[tensor.slice(dim, Some(1), None, 1)?, edge], dim)
    } else {
        cat(&[edge, tensor.slice(dim, None, Some(size - 1), 1)?], dim)
    }
}

/// Returns `y` with `y[i] = b[i] + a[i] * y[i - 1]` along `dim`, or with `y[i + 1]` if `reverse` is set. Both have one
/// shape. Its gradients are recurrences in the other direction.
fn recurrence(a: &Tensor, b: &Tensor, dim: i64, reverse: bool) -> Result<Tensor> {
    let op = "cumprod";
    let load =
        |tensor: &Tensor| Rows::of(op, &kernel::cast(&tensor.detach(), tensor.dtype().compute())?, dim);
    let (rows_a, rows_b) = (load(a)?, load(b)?);
    let out = dispatch_float!(rows_a.rows.dtype(), T => {
        kernel::recurrence::<T>(op, &rows_a.rows, &rows_b.rows, rows_a.length, reverse)
    })?;
    let out = rows_a.restore(&kernel::cast(&out, b.dtype())?)?;
    if let Some(mut builder) = NodeBuilder::new("CumprodRecurrenceBackward0", &[a, b])? {
        let (saved, output) = (builder.save(a)?, builder.save_output_for(0, &out)?);
        builder.set_history(&out, move |ctx, gradient| {
            let factors = shifted(&ctx.saved(saved)?, dim, 0, !reverse)?;
            let of_b = recurrence(&factors, gradient, dim, !reverse)?;
            let of_a = ctx.gradient(0, || of_b.mul(&shifted(&ctx.saved(output)?, dim, 0, reverse)?))?;
            Ok(vec![of_a, Some(of_b)])
        });
    }
    Ok(out)
}

/// Returns the gradient of the elements `x` of the cumulative products `y`: for each element the sum of the gradients
/// of its products, each multiplied by the other factors. It divides by no element, so that zeros need no special case.
pub(super) fn cumprod_backward(x: &Tensor, y: &Tensor, gradient: &Tensor, dim: i64) -> Result<Tensor> {
    let after = recurrence(&shifted(x, dim, 0, true)?, gradient, dim, true)?;
    shifted(y, dim, 1, false)?.mul(&after)
}

impl Tensor {
    /// Returns the sums of the elements along `dim` up to each. Integers and bools are summed as `int64`.
    pub fn cumsum(&self, dim: i64) -> Result<Tensor> {
        cumulative_sum(&widened(self)?, dim, false)
    }

    /// Returns the products of the elements along `dim` up to each. Integers and bools are multiplied as `int64`.
    pub fn cumprod(&self, dim: i64) -> Result<Tensor> {
        let factors = widened(self)?;
        let out = accumulate("cumprod", &factors, dim, Product, false)?;
        if let Some(mut builder) = NodeBuilder::new("CumprodBackward0", &[&factors])? {
            let (input, output) = (builder.save(&factors)?, builder.save_output(&out)?);
            builder.set_history(&out, move |ctx, gradient| {
                let (x, y) = (ctx.saved(input)?, ctx.saved(output)?);
                if x.ndim() == 0 || x.numel() == 0 {
                    return Ok(vec![Some(gradient.clone())]);
                }
                Ok(vec![Some(cumprod_backward(&x, &y, gradient, dim)?)])
            });
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Tensor};

    #[test]
    fn cumulative_operations_accumulate_along_a_dimension() {
        let x = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        assert_close(&x.cumsum(0).unwrap(), &[1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
        assert_close(&x.cumprod(-1).unwrap(), &[1.0, 2.0, 6.0, 4.0, 20.0, 120.0]);
        let bytes = Tensor::from_slice(&[200u8, 100], &[2]).unwrap().cumsum(0).unwrap();
        assert_eq!((bytes.dtype(), bytes.to_vec::<i64>().unwrap()), (DType::Int64, vec![200, 300]));
    }

    #[test]
    fn cumulative_operations_pass_gradcheck_also_with_zeros() {
        for values in [[0.5, 1.5, 2.0, 0.25, 0.75, 3.0], [2.0, 0.0, 3.0, 0.0, 0.0, 1.0]] {
            let x = [doubles(&values, &[2, 3])];
            gradcheck(|x| x[0].cumsum(0)?.pow(2.0), &x);
            gradcheck(|x| x[0].cumprod(1)?.mul(2.0), &x);
            gradcheck(|x| x[0].cumprod(0)?.exp(), &x);
        }
    }
}
