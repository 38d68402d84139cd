//! Copies that contain elements several times.

use crate::error::Tuple;
use crate::layout::{Layout, checked_ndim, checked_numel, signed, signed_sizes, sizes_and_strides, wrap_dim};
use crate::recording::NodeBuilder;
use crate::storage::fallible_alloc::try_with_capacity;
use crate::{DType, Error, ErrorKind, Index, Result, Tensor, iterate};

/// The sizes of a result in which each dimension of the source is repeated.
struct Repetition {
    shape: Vec<usize>,
    /// Pairs of the number of repetitions, if it is not 1, and the size of a dimension, if it is not 1.
    interleaved: Vec<usize>,
    /// The stride in the source of each of `interleaved`.
    strides: Vec<usize>,
    /// The positions of the repetitions in `interleaved`.
    repeated: Vec<i64>,
}

impl Repetition {
    fn new(op: &'static str, source: &Tensor, repeats: &[usize]) -> Result<Self> {
        let missing = repeats.len().saturating_sub(source.ndim());
        let dims = std::iter::repeat_n((1, 0), missing).chain(sizes_and_strides(source.layout()));
        let (mut shape, mut interleaved, mut strides) = (Vec::new(), Vec::new(), Vec::new());
        let mut repeated = Vec::new();
        for ((size, stride), &count) in dims.zip(repeats) {
            let total = size.checked_mul(count);
            shape.push(total.ok_or_else(|| Error::too_large(op, &[size, count]))?);
            if count != 1 {
                repeated.extend(i64::try_from(interleaved.len()));
                interleaved.push(count);
                strides.push(0);
            }
            if size != 1 {
                interleaved.push(size);
                strides.push(stride);
            }
        }
        checked_numel(op, &shape, source.dtype().size())?;
        Ok(Repetition { shape, interleaved, strides, repeated })
    }
}

impl Tensor {
    /// Returns a copy in which each dimension is repeated. Numbers beyond those of the dimensions are for new dimensions,
    /// which come first.
    pub fn repeat(&self, repeats: &[i64]) -> Result<Tensor> {
        self.repeat_in("repeat", repeats)
    }

    /// Like [`repeat`](Tensor::repeat), also with fewer numbers than dimensions: the first dimensions are not repeated.
    pub fn tile(&self, dims: &[i64]) -> Result<Tensor> {
        let missing = self.ndim().saturating_sub(dims.len());
        let repeats: Vec<i64> = std::iter::repeat_n(1, missing).chain(dims.iter().copied()).collect();
        self.repeat_in("tile", &repeats)
    }

    fn repeat_in(&self, op: &'static str, repeats: &[i64]) -> Result<Tensor> {
        let argument = if op == "tile" { "dims" } else { "repeats" };
        checked_ndim(op, repeats.len())?;
        if repeats.len() < self.ndim() {
            let expected = format!("have a number for each of {} dimensions", self.ndim());
            return Err(Error::value(op, argument, expected, Tuple(repeats)));
        }
        let counts: Option<Vec<usize>> = repeats.iter().map(|&count| usize::try_from(count).ok()).collect();
        let counts = counts.ok_or_else(|| Error::value(op, argument, "not be negative", Tuple(repeats)))?;
        let Repetition { shape, interleaved, strides, repeated } = Repetition::new(op, self, &counts)?;
        let out = if shape.contains(&0) {
            Tensor::zeros(&shape, self.options())?
        } else {
            let source =
                self.alias(Layout { shape: interleaved.clone(), strides, offset: self.storage_offset() });
            let dense = Layout::contiguous(&interleaved);
            let copy = iterate::copy_as(op, &source, dense)?;
            copy.alias(Layout::contiguous(&shape))
        };
        let before = self.shape().to_vec();
        NodeBuilder::record_linear("RepeatBackward0", self, out, move |gradient| {
            let parts = gradient.reshaped(&interleaved)?;
            let sum = if repeated.is_empty() { parts } else { parts.sum(Some(&repeated), false)? };
            sum.reshaped(&before)
        })
    }

    /// Returns a copy in which each element along a dimension is repeated `repeats` times in a row. Without a dimension the
    /// tensor is flattened first.
    pub fn repeat_interleave(&self, repeats: i64, dim: Option<i64>) -> Result<Tensor> {
        let op = "repeat_interleave";
        let (source, at) = self.interleaved_dim(op, dim)?;
        let count = usize::try_from(repeats);
        let count = count.map_err(|_| Error::value(op, "repeats", "not be negative", repeats))?;
        let mut shape = source.shape().to_vec();
        let total = shape.get(at).copied().unwrap_or(1).checked_mul(count);
        let total = total.ok_or_else(|| Error::too_large(op, &[count]))?;
        let behind = at.saturating_add(1);
        shape.insert(behind.min(shape.len()), count);
        let sizes = signed_sizes(&shape);
        let expanded = source.unsqueeze(signed(behind))?.expand(&sizes)?;
        let mut result = source.shape().to_vec();
        if let Some(size) = result.get_mut(at) {
            *size = total;
        }
        expanded.contiguous_copy()?.reshaped(&result)
    }

    /// Returns a copy in which the elements at each index of a dimension are repeated as often as `repeats` says: `int64`
    /// numbers of shape `(size,)`, or one for all. Waits for the numbers if they are on a device.
    pub fn repeat_interleave_each(&self, repeats: &Tensor, dim: Option<i64>) -> Result<Tensor> {
        let op = "repeat_interleave";
        if repeats.dtype().is_floating_point() || repeats.dtype() == DType::Bool {
            let error = Error::dtype(op, "repeats", "an integer type", repeats.dtype());
            return Err(error.with_hint("; long() converts it"));
        }
        let (source, at) = self.interleaved_dim(op, dim)?;
        let size = source.shape().get(at).copied().unwrap_or(1);
        if repeats.ndim() > 1 || (repeats.numel() != 1 && repeats.numel() != size) {
            let expected = format!("be of shape ({size},) or (1,)");
            return Err(Error::shape(op, "repeats", expected, repeats.shape()));
        }
        let counts = repeats.to_vec::<i64>().map_err(|error| error.during(op))?;
        let mut total = 0usize;
        for &count in counts.iter().cycle().take(size) {
            let count = usize::try_from(count);
            let count = count.map_err(|_| Error::value(op, "repeats", "not be negative", Tuple(&counts)))?;
            total = total.saturating_add(count);
        }
        let mut positions: Vec<i64> = try_with_capacity(total)?;
        for (index, &count) in (0i64..).zip(counts.iter().cycle().take(size)) {
            positions.extend(std::iter::repeat_n(index, usize::try_from(count).unwrap_or(0)));
        }
        const ALL: Index = Index::Slice { start: None, end: None, step: 1 };
        let mut indices = vec![ALL; at];
        indices.push(Index::Tensor(Tensor::from_slice(&positions, &[positions.len()])?));
        source.index(&indices)
    }

    /// Returns the tensor and the dimension whose elements are repeated: of the flattened tensor if `dim` is `None`.
    fn interleaved_dim(&self, op: &'static str, dim: Option<i64>) -> Result<(Tensor, usize)> {
        Error::when(dim.is_some() && self.ndim() == 0, || Error::needs_dimension(op, ErrorKind::Index))?;
        let source = if dim.is_none() { self.flatten()? } else { self.clone() };
        let at = wrap_dim(op, dim.unwrap_or(0), source.ndim())?;
        Ok((source, at))
    }
}
