//! Views that merge, divide, move or add dimensions.

use super::views::{layout, scatter_into_zeros, view};
use crate::error::Tuple;
use crate::layout::{
    broadcast, distinct_dims, infer_size, signed_sizes, sizes_and_strides, wrap_argument, wrap_dim,
};
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Returns the elements with the dimensions from `start_dim` to `end_dim` merged: a view if possible, and the tensor
    /// itself if that is one dimension.
    pub fn flatten_dims(&self, start_dim: i64, end_dim: i64) -> Result<Tensor> {
        let op = "flatten";
        let start = wrap_argument(op, "start_dim", start_dim, self.ndim())?;
        let end = wrap_argument(op, "end_dim", end_dim, self.ndim())?;
        Error::when(start > end, || {
            Error::value(op, "end_dim", format!("not be before start_dim, {start_dim}"), end_dim)
        })?;
        if self.ndim() == 0 {
            return self.reshaped(&[1]);
        }
        if start == end {
            return Ok(self.clone());
        }
        let mut shape = self.shape().to_vec();
        let merged = shape.iter().take(end + 1).skip(start).product();
        shape.splice(start..=end, [merged]);
        self.reshaped(&shape)
    }

    /// Returns a view with a dimension divided into several, of which one size may be -1: `torch.unflatten`.
    pub fn unflatten(&self, dim: i64, sizes: &[i64]) -> Result<Tensor> {
        let op = "unflatten";
        let at = wrap_dim(op, dim, self.ndim())?;
        Error::when(self.ndim() == 0, || Error::shape(op, "input", "have a dimension", self.shape()))?;
        Error::when(sizes.is_empty(), || Error::sizes(op, "sizes", "contain a size", sizes))?;
        let size = self.shape().get(at).copied().unwrap_or(0);
        let parts =
            infer_size(op, sizes, &[size]).map_err(|error| error.rename_argument("shape", "sizes"))?;
        let mut shape = self.shape().to_vec();
        shape.splice(at..=at, parts);
        self.view(&signed_sizes(&shape))
    }

    /// Returns the elements in one dimension, as a view if the tensor is contiguous.
    pub fn ravel(&self) -> Result<Tensor> {
        self.contiguous()?.view(&[-1]).or_else(|_| self.contiguous()?.reshaped(&[self.numel()]))
    }

    /// Returns a view with the shape of another tensor.
    pub fn view_as(&self, other: &Tensor) -> Result<Tensor> {
        let result = self.view(&signed_sizes(other.shape()));
        result.map_err(|error| error.rename_argument("shape", "other").during("view_as"))
    }

    /// Returns the elements in the shape of another tensor: a view if possible, else a copy.
    pub fn reshape_as(&self, other: &Tensor) -> Result<Tensor> {
        let result = self.reshape(&signed_sizes(other.shape()));
        result.map_err(|error| error.rename_argument("shape", "other").during("reshape_as"))
    }

    /// Returns a view expanded to the shape of another tensor.
    pub fn expand_as(&self, other: &Tensor) -> Result<Tensor> {
        let result = self.expand(&signed_sizes(other.shape()));
        result.map_err(|error| error.rename_argument("size", "other").during("expand_as"))
    }

    /// Returns a view with dimension `source[i]` moved to position `destination[i]`. The others keep their order.
    pub fn movedim(&self, source: &[i64], destination: &[i64]) -> Result<Tensor> {
        let op = "movedim";
        if source.len() != destination.len() {
            let expected = format!("have as many dimensions as source, {}", source.len());
            return Err(Error::value(op, "destination", expected, Tuple(destination)));
        }
        let wrapped = |argument: &'static str, dims: &[i64]| -> Result<Vec<usize>> {
            distinct_dims(op, argument, dims, self.ndim())?;
            dims.iter().map(|&dim| wrap_argument(op, argument, dim, self.ndim())).collect()
        };
        let (from, to) = (wrapped("source", source)?, wrapped("destination", destination)?);
        let mut rest = (0..self.ndim()).filter(|dim| !from.contains(dim));
        let order = (0..self.ndim()).filter_map(|at| match to.iter().position(|&target| target == at) {
            Some(moved) => from.get(moved).copied(),
            None => rest.next(),
        });
        let order: Vec<i64> = order.filter_map(|dim| i64::try_from(dim).ok()).collect();
        self.permute(&order)
    }

    /// Returns a view with the last two dimensions exchanged: the transpose of a matrix or of each matrix of a batch.
    /// `op` names the attribute or method in errors.
    pub fn matrix_transpose(&self, op: &'static str) -> Result<Tensor> {
        match self.ndim() {
            0 => Ok(self.clone()),
            1 => Err(Error::shape(op, "the tensor", "have at least 2 dimensions", self.shape())),
            _ => self.transpose(-2, -1),
        }
    }

    /// Returns a view of the elements whose indices in two dimensions differ by `offset`. The diagonal is the last
    /// dimension of the view.
    pub fn diagonal(&self, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
        let op = "diagonal";
        let a = wrap_argument(op, "dim1", dim1, self.ndim())?;
        let b = wrap_argument(op, "dim2", dim2, self.ndim())?;
        if a == b {
            return Err(Error::value(op, "dim2", format!("be another dimension than dim1, {dim1}"), dim2));
        }
        let mut dims = sizes_and_strides(self.layout());
        let (Some(&(rows, step_a)), Some(&(columns, step_b))) = (dims.get(a), dims.get(b)) else {
            return Err(Error::no_dimensions(op));
        };
        let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        let (length, step) = if offset < 0 {
            (rows.saturating_sub(distance).min(columns), step_a)
        } else {
            (columns.saturating_sub(distance).min(rows), step_b)
        };
        dims.remove(a.max(b));
        dims.remove(a.min(b));
        dims.push((length, step_a.saturating_add(step_b)));
        let start = if length == 0 { 0 } else { distance.saturating_mul(step) };
        let layout = layout(self.storage_offset().saturating_add(start), dims);
        let before = self.shape().to_vec();
        view(self, "DiagonalBackward0", layout, move |gradient| {
            scatter_into_zeros(&before, gradient, |whole| whole.diagonal(offset, dim1, dim2))
        })
    }

    /// Returns the tensor with at least `ndim` dimensions (1 to 3), as a view if dimensions of size 1 are added, in the
    /// positions of `torch.atleast_1d`, `atleast_2d` and `atleast_3d`.
    pub fn at_least(&self, ndim: usize) -> Result<Tensor> {
        match (self.ndim(), ndim) {
            (own, wanted) if own >= wanted => Ok(self.clone()),
            (0, wanted) => self.reshaped(&vec![1; wanted]),
            (1, 2) => self.unsqueeze(0),
            (1, _) => self.unsqueeze(0)?.unsqueeze(-1),
            _ => self.unsqueeze(-1),
        }
    }
}

/// Returns tensors expanded to their common shape, as views unless they have it: `torch.broadcast_tensors`.
pub fn broadcast_tensors(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut shape = Vec::new();
    for tensor in tensors {
        shape = broadcast("broadcast_tensors", &shape, tensor.shape())?;
    }
    let sizes = signed_sizes(&shape);
    let expand = |tensor: &Tensor| {
        if tensor.shape() == shape { Ok(tensor.clone()) } else { tensor.expand(&sizes) }
    };
    tensors.iter().map(expand).collect()
}
