//! Views: tensors over the same storage with other shapes and strides.

use crate::error::Tuple;
use crate::layout::{
    Layout, checked_ndim, checked_numel, distinct_dims, infer_size, signed, signed_sizes, sizes_and_strides,
    view_strides, wrap_argument, wrap_dim, wrap_index,
};
use crate::ops::reduction::sums::sum_to;
use crate::recording::{NodeBuilder, track_view};
use crate::storage::fallible_alloc::check_memory;
use crate::{Error, ErrorKind, Result, Tensor};

/// Returns a view of `source`. `backward` computes the gradient of `source` from the gradient of the view.
pub(crate) fn view(
    source: &Tensor,
    name: &'static str,
    layout: Layout,
    backward: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Tensor> {
    check_memory()?;
    let out = source.alias(layout);
    if source.is_inference() {
        // A view of an inference tensor is an inference tensor, also outside of inference mode: it has no history.
        return Ok(out);
    }
    track_view(&out, source);
    NodeBuilder::record_linear(name, source, out, backward)
}

pub(crate) fn layout(offset: usize, dims: Vec<(usize, usize)>) -> Layout {
    let (shape, strides) = dims.into_iter().unzip();
    Layout { shape, strides, offset }
}

/// Returns zeros of `shape` whose part is `gradient`: ATen's `select_backward` and `slice_backward`. `part` returns a
/// view of the part.
pub(crate) fn scatter_into_zeros(
    shape: &[usize],
    gradient: &Tensor,
    part: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let whole = Tensor::zeros(shape, gradient.options())?;
    part(&whole)?.copy_(gradient)?;
    Ok(whole)
}

impl Tensor {
    /// Returns a view with another shape, of which one size may be -1. Returns an error if a copy would be needed.
    pub fn view(&self, sizes: &[i64]) -> Result<Tensor> {
        let op = "view";
        let shape = infer_size(op, sizes, self.shape())?;
        self.try_view(shape.clone())?.ok_or_else(|| self.err_view_needs_copy(op, &shape))
    }

    fn err_view_needs_copy(&self, op: &'static str, wanted: &[usize]) -> Error {
        let (wanted, shape, strides) = (Tuple(wanted), Tuple(self.shape()), Tuple(self.strides()));
        let message = format!(
            "shape {wanted} needs a copy of the tensor of shape {shape} with strides {strides}; use reshape()"
        );
        Error::new(ErrorKind::ViewNeedsCopy, op, message)
    }

    fn try_view(&self, shape: Vec<usize>) -> Result<Option<Tensor>> {
        let Some(strides) = view_strides(self.layout(), &shape) else { return Ok(None) };
        let before = self.shape().to_vec();
        let layout = Layout { shape, strides, offset: self.storage_offset() };
        view(self, "ViewBackward0", layout, move |gradient| gradient.reshaped(&before)).map(Some)
    }

    /// Returns the elements in another shape: a view if possible, else a copy.
    pub fn reshape(&self, sizes: &[i64]) -> Result<Tensor> {
        self.reshaped(&infer_size("reshape", sizes, self.shape())?)
    }

    pub(crate) fn reshaped(&self, shape: &[usize]) -> Result<Tensor> {
        if let Some(view) = self.try_view(shape.to_vec())? {
            return Ok(view);
        }
        // The result is not a view for autograd, because the program cannot access the copy.
        let copy = self.contiguous_copy()?;
        let strides =
            view_strides(copy.layout(), shape).ok_or_else(|| copy.err_view_needs_copy("reshape", shape))?;
        let layout = Layout { shape: shape.to_vec(), strides, offset: copy.storage_offset() };
        let (out, before) = (copy.alias(layout), self.shape().to_vec());
        NodeBuilder::record_linear("UnsafeViewBackward0", &copy, out, move |gradient| {
            gradient.reshaped(&before)
        })
    }

    /// Returns a view with permuted dimensions: dimension `i` of the result is dimension `order[i]` of this tensor.
    pub fn permute(&self, order: &[i64]) -> Result<Tensor> {
        let op = "permute";
        let err_dims = || {
            let expected = format!("name each of the {} dimensions once", self.ndim());
            Error::value(op, "dims", expected, Tuple(order))
        };
        Error::when(order.len() != self.ndim(), err_dims)?;
        let order = order
            .iter()
            .map(|&dim| wrap_argument(op, "dims", dim, self.ndim()))
            .collect::<Result<Vec<_>>>()?;
        let mut back = vec![None; order.len()];
        for (to, &from) in order.iter().enumerate() {
            if let Some(slot) = back.get_mut(from) {
                *slot = i64::try_from(to).ok();
            }
        }
        let Some(back) = back.into_iter().collect::<Option<Vec<i64>>>() else {
            return Err(err_dims());
        };
        let dims = sizes_and_strides(self.layout());
        let dims = order.iter().filter_map(|&dim| dims.get(dim).copied()).collect();
        let layout = layout(self.storage_offset(), dims);
        view(self, "PermuteBackward0", layout, move |gradient| gradient.permute(&back))
    }

    /// Returns a view with two dimensions exchanged.
    pub fn transpose(&self, first: i64, second: i64) -> Result<Tensor> {
        self.transposed("TransposeBackward0", first, second)
    }

    fn transposed(&self, node: &'static str, first: i64, second: i64) -> Result<Tensor> {
        let op = "transpose";
        let a = wrap_argument(op, "dim0", first, self.ndim())?;
        let b = wrap_argument(op, "dim1", second, self.ndim())?;
        let mut dims = sizes_and_strides(self.layout());
        if self.ndim() > 0 {
            dims.swap(a, b);
        }
        let layout = layout(self.storage_offset(), dims);
        view(self, node, layout, move |gradient| gradient.transpose(first, second))
    }

    /// Returns the transpose of a matrix, as a view. A tensor with fewer dimensions is unchanged.
    pub fn t(&self) -> Result<Tensor> {
        let node = "TBackward0";
        match self.ndim() {
            0 | 1 => self.transposed(node, 0, 0),
            2 => self.transposed(node, 0, 1),
            _ => {
                let expected = "have at most 2 dimensions (transpose() exchanges any two)";
                Err(Error::shape("t", "input", expected, self.shape()))
            }
        }
    }

    /// Returns a view with a new dimension of size 1 at `dim` (from `-ndim - 1` to `ndim`).
    pub fn unsqueeze(&self, dim: i64) -> Result<Tensor> {
        let op = "unsqueeze";
        checked_ndim(op, self.ndim() + 1)?;
        let at = wrap_dim(op, dim, self.ndim() + 1)?;
        let mut dims = sizes_and_strides(self.layout());
        let stride = dims.get(at).map_or(1, |&(size, stride)| stride.saturating_mul(size));
        dims.insert(at, (1, stride));
        let (layout, before) = (layout(self.storage_offset(), dims), self.shape().to_vec());
        view(self, "UnsqueezeBackward0", layout, move |gradient| gradient.reshaped(&before))
    }

    /// Returns a view without dimensions of size 1: all of them, or the given one if its size is 1.
    pub fn squeeze(&self, dim: Option<i64>) -> Result<Tensor> {
        let only = dim.map(|dim| wrap_dim("squeeze", dim, self.ndim())).transpose()?;
        let dims = sizes_and_strides(self.layout()).into_iter().enumerate();
        let dims = dims.filter(|&(at, (size, _))| size != 1 || only.is_some_and(|only| only != at));
        let layout = layout(self.storage_offset(), dims.map(|(_, pair)| pair).collect());
        let before = self.shape().to_vec();
        let node = if only.is_some() { "SqueezeBackward1" } else { "SqueezeBackward0" };
        view(self, node, layout, move |gradient| gradient.reshaped(&before))
    }

    /// Returns a view in which dimensions of size 1 are repeated without a copy. A size of -1 is unchanged; new
    /// dimensions come first.
    pub fn expand(&self, sizes: &[i64]) -> Result<Tensor> {
        let op = "expand";
        checked_ndim(op, sizes.len())?;
        let err_shape = || {
            let expected = format!("keep the sizes of shape {} except where they are 1", Tuple(self.shape()));
            Error::sizes(op, "size", expected, sizes)
        };
        let new = sizes.len().checked_sub(self.ndim()).ok_or_else(err_shape)?;
        let own: Vec<_> = std::iter::repeat_n(None, new)
            .chain(sizes_and_strides(self.layout()).into_iter().map(Some))
            .collect();
        // From the last dimension on: a new dimension of size 1 has the stride that it would have in a dense layout.
        let mut inner = (1usize, usize::from(self.ndim() > 0));
        let dims = sizes.iter().zip(own).rev().map(|(&size, own)| {
            let before = own.unwrap_or((1, inner.0.saturating_mul(inner.1)));
            inner = match usize::try_from(size) {
                Ok(size) if size == before.0 => before,
                Ok(size) if before.0 == 1 => (size, 0),
                Err(_) if size == -1 && own.is_some() => before,
                _ => return Err(err_shape()),
            };
            Ok(inner)
        });
        let mut dims = dims.collect::<Result<Vec<_>>>()?;
        dims.reverse();
        let layout = layout(self.storage_offset(), dims);
        checked_numel(op, &layout.shape, self.dtype().size())?;
        let before = self.shape().to_vec();
        view(self, "ExpandBackward0", layout, move |gradient| sum_to(gradient, &before))
    }

    /// Like [`expand`](Tensor::expand); the tensor itself if it has the shape.
    pub(crate) fn expanded(&self, shape: &[usize]) -> Result<Tensor> {
        if self.shape() == shape { Ok(self.clone()) } else { self.expand(&signed_sizes(shape)) }
    }

    /// Returns a view at one index of a dimension, without that dimension.
    pub fn select(&self, dim: i64, index: i64) -> Result<Tensor> {
        let op = "select";
        let at = wrap_dim(op, dim, self.ndim())?;
        let mut dims = sizes_and_strides(self.layout());
        let &(size, stride) = dims.get(at).ok_or_else(|| Error::no_dimensions(op))?;
        let position = wrap_index(op, index, at, size)?;
        dims.remove(at);
        let layout = layout(self.storage_offset().saturating_add(position.saturating_mul(stride)), dims);
        let before = self.shape().to_vec();
        view(self, "SelectBackward0", layout, move |gradient| {
            scatter_into_zeros(&before, gradient, |whole| whole.select(dim, index))
        })
    }

    /// Returns a view of every `step`-th index of a dimension from `start` to `end` (exclusive). Bounds are clamped.
    pub fn slice(&self, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Tensor> {
        let op = "slice";
        let at = wrap_dim(op, dim, self.ndim())?;
        let mut dims = sizes_and_strides(self.layout());
        let err_no_dimension = || Error::dimension(op, "dim", dim, 0);
        let (size, stride) =
            dims.get_mut(at).map(|(size, stride)| (size, stride)).ok_or_else(err_no_dimension)?;
        let err_step = || Error::value(op, "step", "be positive", step);
        let step_size = usize::try_from(step).ok().filter(|&step| step > 0).ok_or_else(err_step)?;
        let length = signed(*size);
        let clamp = |bound: i64| {
            let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
            usize::try_from(bound.clamp(0, length)).unwrap_or(0)
        };
        let (first, last) = (clamp(start.unwrap_or(0)), clamp(end.unwrap_or(length)));
        let offset = self.storage_offset().saturating_add(first.saturating_mul(*stride));
        *size = last.saturating_sub(first).div_ceil(step_size);
        *stride = stride.saturating_mul(step_size);
        let (layout, before) = (layout(offset, dims), self.shape().to_vec());
        view(self, "SliceBackward0", layout, move |gradient| {
            scatter_into_zeros(&before, gradient, |whole| whole.slice(dim, start, end, step))
        })
    }

    /// Returns a view of `length` indices of a dimension from `start` on.
    pub fn narrow(&self, dim: i64, start: i64, length: i64) -> Result<Tensor> {
        let op = "narrow";
        Error::when(self.ndim() == 0, || Error::shape(op, "input", "have a dimension", self.shape()))?;
        Error::when(length < 0, || Error::value(op, "length", "not be negative", length))?;
        let at = wrap_dim(op, dim, self.ndim())?;
        let size = self.shape().get(at).copied().map_or(Ok(0), i64::try_from).unwrap_or(i64::MAX);
        let first = if start < 0 { start.saturating_add(size) } else { start };
        if !(0..=size).contains(&first) {
            let message = format!("start must be from -{size} to {size}, got {start}");
            return Err(Error::new(ErrorKind::Index, op, message));
        }
        if length > size - first {
            let expected = format!("be at most {} from start {start} of size {size}", size - first);
            return Err(Error::value(op, "length", expected, length));
        }
        self.slice(dim, Some(first), Some(first + length), 1)
    }

    /// Returns a view without the dimensions of size 1 among `dims`.
    pub fn squeeze_dims(&self, dims: &[i64]) -> Result<Tensor> {
        let named = distinct_dims("squeeze", "dim", dims, self.ndim())?;
        let own = sizes_and_strides(self.layout()).into_iter().zip(named);
        let kept = own.filter(|&((size, _), named)| size != 1 || !named).map(|(pair, _)| pair).collect();
        let (layout, before) = (layout(self.storage_offset(), kept), self.shape().to_vec());
        view(self, "SqueezeBackward2", layout, move |gradient| gradient.reshaped(&before))
    }

    /// Returns the elements in one dimension: a view if possible, and the tensor itself if it has one dimension.
    pub fn flatten(&self) -> Result<Tensor> {
        if self.ndim() == 1 {
            return Ok(self.clone());
        }
        self.reshape(&[-1]).or_else(|_| self.reshaped(&[self.numel()]))
    }
}
