//! Reductions: sum, mean, minimum, maximum and their indices.

use super::masked::zero_where;
use crate::autograd::NodeBuilder;
use crate::dtype::{dispatch, dispatch_compute, dispatch_float};
use crate::element::Bool8;
use crate::error::Tuple;
use crate::shape::{Layout, wrap_dim};
use crate::{DType, Element, Error, Result, Tensor, kernel};

/// The reduced dimensions of a tensor, and the result shapes without them (`squeezed_shape`) and with them as size 1 (`keepdim_shape`).
struct ReducedDims {
    mask: Vec<bool>,
    squeezed_shape: Vec<usize>,
    keepdim_shape: Vec<usize>,
    /// The number of elements that are reduced to one.
    count: usize,
}

fn reduced_dims(op: &'static str, shape: &[usize], dims: Option<&[i64]>) -> Result<ReducedDims> {
    let mut mask = vec![false; shape.len()];
    match dims {
        // As in PyTorch an empty list of dimensions reduces all dimensions.
        None | Some([]) => mask.fill(true),
        Some(dims) => {
            for &dim in dims {
                let at = wrap_dim(op, dim, shape.len())?;
                if let Some(mark) = mask.get_mut(at)
                    && std::mem::replace(mark, true)
                {
                    return Err(Error::value(op, "dim", "name each dimension once", Tuple(dims)));
                }
            }
        }
    }
    let marked = || shape.iter().copied().zip(mask.iter().copied());
    let squeezed_shape = marked().filter(|&(_, mark)| !mark).map(|(size, _)| size).collect();
    let keepdim_shape = marked().map(|(size, mark)| if mark { 1 } else { size }).collect();
    let count = marked().filter(|&(_, mark)| mark).map(|(size, _)| size).product();
    Ok(ReducedDims { squeezed_shape, keepdim_shape, count, mask })
}

impl ReducedDims {
    fn shape(&self, keepdim: bool) -> &[usize] {
        if keepdim { &self.keepdim_shape } else { &self.squeezed_shape }
    }
}

/// Returns the error for an extreme of no elements.
fn err_nothing_to_reduce(op: &'static str, shape: &[usize]) -> Error {
    Error::shape(op, "input", "have no reduced dimension of size 0", shape)
}

/// Returns sizes as the signed numbers of arguments.
pub(super) fn signed(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect()
}

/// The kind of an extreme-value reduction.
#[derive(Clone, Copy)]
struct Extreme {
    largest: bool,
    /// Whether the gradient is multiplied by the mask of the extreme elements, so that a non-finite gradient reaches
    /// the other elements as NaN.
    propagates_nan: bool,
}

impl Extreme {
    const LARGEST: Self = Extreme { largest: true, propagates_nan: false };
    const SMALLEST: Self = Extreme { largest: false, propagates_nan: false };
    const LARGEST_OVER_DIMS: Self = Extreme { largest: true, propagates_nan: true };
    const SMALLEST_OVER_DIMS: Self = Extreme { largest: false, propagates_nan: true };
}

/// Returns a mask of the elements that are not the extreme of their group. If a group contains NaN, its extremes are
/// all NaN elements.
fn not_extreme(elements: &Tensor, best: &Tensor) -> Result<Tensor> {
    dispatch_compute!(elements.dtype(), T => {
        kernel::zip("ne", (DType::Bool, elements.shape()), elements, best, |element: T, best: T| {
            Bool8::new(element != best && !(element.is_nan() && best.is_nan()))
        })
    })
}

/// Sums over broadcast dimensions so that the result has `shape`: ATen's `sum_to`.
pub(crate) fn sum_to(tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if tensor.shape() == shape {
        return Ok(tensor.clone());
    }
    let new = tensor.ndim().saturating_sub(shape.len());
    let aligned = std::iter::repeat_n(1, new).chain(shape.iter().copied());
    let dims: Vec<i64> = (0i64..)
        .zip(tensor.shape().iter().zip(aligned))
        .filter(|&(dim, (&size, wanted))| {
            (wanted == 1 && size != 1) || usize::try_from(dim).is_ok_and(|d| d < new)
        })
        .map(|(dim, _)| dim)
        .collect();
    let summed = if dims.is_empty() { tensor.clone() } else { tensor.sum(Some(&dims), true)? };
    summed.reshaped(shape)
}

impl Tensor {
    /// Returns the sum of all elements or over `dims`. Integers and bools are summed as `int64`.
    pub fn sum(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let over = reduced_dims("sum", self.shape(), dims)?;
        let out = dispatch!(self.dtype(), T => kernel::sum::<T>(self, &over.mask, over.shape(keepdim)))?;
        if let Some(builder) = NodeBuilder::new("SumBackward0", &[self])? {
            let (ones, before) = (over.keepdim_shape, signed(self.shape()));
            builder.set_history(&out, move |_, gradient| {
                Ok(vec![Some(gradient.reshaped(&ones)?.expand(&before)?)])
            });
        }
        Ok(out)
    }

    /// Returns the mean of all elements or over `dims`. Only for floating-point tensors.
    pub fn mean(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let op = "mean";
        if !self.dtype().is_floating_point() {
            return Err(Error::not_floating_point(op, self.dtype()));
        }
        let over = reduced_dims(op, self.shape(), dims)?;
        // The sum of halves is not rounded: it may be beyond their range.
        let elements = kernel::cast(self, self.dtype().compute())?;
        let mean = dispatch_float!(elements.dtype(), T => {
            let sum = kernel::sum::<T>(&elements, &over.mask, over.shape(keepdim))?;
            let count = over.count as f64;
            kernel::map(op, &sum, move |value: T| T::from_f64(value.to_f64() / count))
        })?;
        let total = kernel::cast(&mean, self.dtype())?;
        if let Some(builder) = NodeBuilder::new("MeanBackward0", &[self])? {
            // An empty tensor has an empty gradient, which must not become NaN when it is summed.
            let (ones, before, count) = (over.keepdim_shape, signed(self.shape()), over.count.max(1) as f64);
            builder.set_history(&total, move |_, gradient| {
                Ok(vec![Some(gradient.div(count)?.reshaped(&ones)?.expand(&before)?)])
            });
        }
        Ok(total)
    }

    /// Returns the maximum of all elements or over `dims`; NaN if any element is NaN. Equal maxima share the
    /// gradient.
    pub fn amax(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.extreme("amax", "AmaxBackward0", dims, keepdim, Extreme::LARGEST_OVER_DIMS)
    }

    /// Returns the minimum of all elements or over `dims`; NaN if any element is NaN. Equal minima share the
    /// gradient.
    pub fn amin(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.extreme("amin", "AminBackward0", dims, keepdim, Extreme::SMALLEST_OVER_DIMS)
    }

    /// Returns the maximum of all elements.
    pub fn max(&self) -> Result<Tensor> {
        self.extreme("max", "MaxBackward1", None, false, Extreme::LARGEST)
    }

    /// Returns the minimum of all elements.
    pub fn min(&self) -> Result<Tensor> {
        self.extreme("min", "MinBackward1", None, false, Extreme::SMALLEST)
    }

    fn extreme(
        &self,
        op: &'static str,
        node: &'static str,
        dims: Option<&[i64]>,
        keepdim: bool,
        Extreme { largest, propagates_nan }: Extreme,
    ) -> Result<Tensor> {
        let over = reduced_dims(op, self.shape(), dims)?;
        if over.count == 0 {
            return Err(err_nothing_to_reduce(op, self.shape()));
        }
        let out = dispatch!(self.dtype(), T => {
            let choose = move |best: T, next: T| {
                let better = if largest { next > best } else { next < best };
                if !best.is_nan() && (better || next.is_nan()) { next } else { best }
            };
            kernel::fold(op, self, &over.mask, over.shape(keepdim), choose)
        })?;
        if let Some(mut builder) = NodeBuilder::new(node, &[self])? {
            let (input, output) = (builder.save(self)?, builder.save_output(&out)?);
            let ones = over.keepdim_shape;
            let dims: Vec<i64> =
                (0i64..).zip(&over.mask).filter(|(_, mark)| **mark).map(|(dim, _)| dim).collect();
            builder.set_history(&out, move |ctx, gradient| {
                let best = ctx.saved(output)?.detach().reshaped(&ones)?;
                let passed = not_extreme(&ctx.saved(input)?.detach(), &best)?;
                let chosen = passed.logical_not()?.cast(gradient.dtype())?;
                let share = gradient.reshaped(&ones)?.div(&chosen.sum(Some(&dims), true)?)?;
                // As in PyTorch a non-finite gradient reaches all elements of amax and amin as NaN.
                Ok(vec![Some(if propagates_nan {
                    share.mul(&chosen)?
                } else {
                    zero_where(&passed, &share)?
                })])
            });
        }
        Ok(out)
    }

    /// Returns the index of the maximum, among all elements in row-major order or along `dim`. Among equal elements
    /// it is the first; NaN counts as the largest.
    pub fn argmax(&self, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
        self.extreme_index("argmax", dim, keepdim, true)
    }

    /// Returns the index of the minimum, like [`argmax`](Tensor::argmax).
    pub fn argmin(&self, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
        self.extreme_index("argmin", dim, keepdim, false)
    }

    fn extreme_index(
        &self,
        op: &'static str,
        dim: Option<i64>,
        keepdim: bool,
        largest: bool,
    ) -> Result<Tensor> {
        let plain = self.detach();
        let (rows, over) = match dim {
            None => (plain.contiguous()?.reshaped(&[self.numel()])?, reduced_dims(op, self.shape(), None)?),
            Some(dim) => {
                let over = reduced_dims(op, self.shape(), Some(&[dim]))?;
                (plain.transpose(dim, -1)?.contiguous()?, over)
            }
        };
        let length = rows.shape().last().copied().unwrap_or(1);
        if over.count == 0 {
            return Err(err_nothing_to_reduce(op, self.shape()));
        }
        if self.dtype() == DType::Bool {
            return Err(Error::not_numeric(op, "input", "; long() converts it"));
        }
        // The rows are in the order of the result once the dimension is transposed back.
        let mut shape = rows.shape().to_vec();
        if let Some(last) = shape.last_mut() {
            *last = 1;
        }
        let found = dispatch!(self.dtype(), T => kernel::apply_along_last_dim(op, &rows, length, &shape, 1, move |row: &[T], out: &mut [i64]| {
            let mut best: Option<(i64, T)> = None;
            for (at, &value) in (0i64..).zip(row) {
                let better = |so_far: T| {
                    let beats = if largest { value > so_far } else { value < so_far };
                    !so_far.is_nan() && (beats || value.is_nan())
                };
                if best.is_none_or(|(_, so_far)| better(so_far)) {
                    best = Some((at, value));
                }
            }
            out.fill(best.map_or(0, |(at, _)| at));
        }))?;
        let moved = match dim {
            Some(dim) => found.transpose(dim, -1)?,
            None => found,
        };
        let out = moved.contiguous()?.reshaped(over.shape(keepdim))?;
        // The strides of dimensions of size 1 may differ after the transpose.
        Ok(out.alias(Layout { offset: out.storage_offset(), ..Layout::contiguous(out.shape()) }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Error, Tensor};

    fn numbers() -> Tensor {
        doubles(&[1.0, 5.0, 3.0, 4.0, 2.0, 6.0], &[2, 3])
    }

    #[test]
    fn sum_reduces_any_dimensions_of_any_layout() {
        for x in [numbers(), numbers().t().unwrap().contiguous().unwrap().t().unwrap()] {
            assert_close(&x.sum(None, false).unwrap(), &[21.0]);
            assert_close(&x.sum(Some(&[0]), false).unwrap(), &[5.0, 7.0, 9.0]);
            assert_close(&x.sum(Some(&[-1]), false).unwrap(), &[9.0, 12.0]);
            assert_eq!(x.sum(Some(&[0, 1]), true).unwrap().shape(), [1, 1]);
        }
        let expanded = doubles(&[2.0], &[1]).expand(&[5]).unwrap();
        assert_close(&expanded.sum(None, false).unwrap(), &[10.0]);
    }

    #[test]
    fn sum_of_integers_and_bools_is_int64_and_mean_is_an_error() {
        let bools = Tensor::ones(&[3], DType::Bool).unwrap();
        let sum = bools.sum(None, false).unwrap();
        assert_eq!((sum.dtype(), sum.to_vec::<i64>().unwrap()), (DType::Int64, vec![3]));
        let error = bools.mean(None, false).unwrap_err();
        assert!(error.to_string().contains("bool"), "{error}");
    }

    #[test]
    fn argmax_is_the_first_of_equal_elements_and_nan_is_largest() {
        let x = doubles(&[1.0, 7.0, 7.0, 4.0, f64::NAN, 6.0], &[2, 3]);
        let at = |tensor: Tensor| tensor.to_vec::<i64>().unwrap();
        assert_eq!(at(x.argmax(Some(1), false).unwrap()), [1, 1]);
        assert_eq!(at(x.argmax(Some(0), true).unwrap()), [1, 1, 0]);
        assert_eq!(at(x.argmax(None, false).unwrap()), [4]);
        assert_eq!(at(numbers().argmin(Some(-1), false).unwrap()), [0, 1]);
        assert!(doubles(&[], &[0]).argmax(None, false).is_err());
        assert_eq!(at(doubles(&[3.0], &[]).argmax(Some(-1), false).unwrap()), [0]);
    }

    #[test]
    fn sum_over_a_missing_or_repeated_dimension_is_an_error() {
        assert!(matches!(numbers().sum(Some(&[2]), false), Err(Error::Dimension { dim: 2, .. })));
        assert!(numbers().sum(Some(&[0, -2]), false).is_err());
    }

    #[test]
    fn reductions_pass_gradcheck() {
        let x = [numbers()];
        gradcheck(|x| x[0].sum(Some(&[0]), false)?.pow(2.0), &x);
        gradcheck(|x| x[0].mean(Some(&[1]), true)?.pow(2.0), &x);
        gradcheck(|x| x[0].mean(None, false)?.exp(), &x);
        gradcheck(|x| x[0].amax(Some(&[1]), false)?.pow(2.0), &x);
        gradcheck(|x| x[0].min()?.pow(2.0), &x);
    }

    #[test]
    fn max_gradient_is_shared_by_equal_elements() {
        let x = doubles(&[2.0, 2.0, 1.0], &[3]);
        x.set_requires_grad(true).unwrap();
        x.max().unwrap().backward().unwrap();
        assert_close(&x.grad().unwrap(), &[0.5, 0.5, 0.0]);
    }
}
