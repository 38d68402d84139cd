//! Views of all parts of a dimension, which are the results of one node.

use super::join::{cat, stack};
use super::views::layout;
use crate::error::Tuple;
use crate::layout::{Layout, signed, sizes_and_strides, wrap_dim};
use crate::recording::{BackwardContext, NodeBuilder, is_recording, track_view_of_several};
use crate::storage::fallible_alloc::{check_memory, try_collect, try_with_capacity};
use crate::{Error, ErrorKind, Result, Tensor, TensorOptions};

/// A dimension that is divided into parts.
struct Division<'a> {
    source: &'a Tensor,
    at: usize,
    size: usize,
    stride: usize,
}

impl<'a> Division<'a> {
    /// Returns the division of a dimension of `source`, or an error of this kind for a 0-d tensor.
    fn new(op: &'static str, source: &'a Tensor, dim: i64, err_scalar: ErrorKind) -> Result<Self> {
        let needs_dimension = || Error::needs_dimension(op, err_scalar);
        Error::when(source.ndim() == 0, needs_dimension)?;
        let at = wrap_dim(op, dim, source.ndim())?;
        let &(size, stride) = sizes_and_strides(source.layout()).get(at).ok_or_else(needs_dimension)?;
        Ok(Division { source, at, size, stride })
    }

    /// Returns the layout of the part from `start` on, with `length` indices, or without the dimension.
    fn part(&self, start: usize, length: Option<usize>) -> Layout {
        let mut dims = sizes_and_strides(self.source.layout());
        match (length, dims.get_mut(self.at)) {
            (Some(length), Some((size, _))) => *size = length,
            _ => drop(dims.remove(self.at)),
        }
        let offset = start.saturating_mul(self.stride).saturating_add(self.source.storage_offset());
        layout(offset, dims)
    }

    /// Returns views of consecutive parts with these lengths.
    fn views(&self, name: &'static str, lengths: Vec<usize>) -> Result<Vec<Tensor>> {
        let mut start = 0usize;
        let layouts = lengths.iter().map(|&length| {
            let part = self.part(start, Some(length));
            start = start.saturating_add(length);
            part
        });
        let layouts = try_collect(lengths.len(), layouts)?;
        let (at, shape, options) = (self.at, self.source.shape().to_vec(), self.source.options());
        several_views(self.source, name, layouts, move |_, gradients| {
            let lengths = lengths.iter().copied().map(Some);
            let parts = parts_or_zeros(gradients, lengths, (&shape, at), options)?;
            cat(&parts, signed(at))
        })
    }
}

/// Returns views of `source` with these layouts. `backward` computes the gradient of `source` from theirs.
fn several_views(
    source: &Tensor,
    name: &'static str,
    layouts: Vec<Layout>,
    backward: impl Fn(&BackwardContext<'_>, &[Option<Tensor>]) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    check_memory()?;
    let views = try_collect(layouts.len(), layouts.into_iter().map(|layout| source.alias(layout)))?;
    if source.is_inference() {
        return Ok(views);
    }
    for view in &views {
        track_view_of_several(view, source);
    }
    if let Some(builder) = NodeBuilder::new(name, &[source])? {
        builder.set_history_of_several(&views, backward)?;
    }
    Ok(views)
}

/// Returns the gradients of the parts of a tensor of `shape`, with zeros for those that are `None`. A part has a length
/// in dimension `at`, or lacks the dimension.
fn parts_or_zeros(
    gradients: &[Option<Tensor>],
    lengths: impl ExactSizeIterator<Item = Option<usize>>,
    (shape, at): (&[usize], usize),
    options: TensorOptions,
) -> Result<Vec<Tensor>> {
    let mut parts = try_with_capacity(lengths.len())?;
    for (index, length) in lengths.enumerate() {
        let part = gradients.get(index).cloned().flatten();
        let zeros = || {
            let mut shape = shape.to_vec();
            match (length, shape.get_mut(at)) {
                (Some(length), Some(size)) => *size = length,
                _ => drop(shape.remove(at)),
            }
            Tensor::zeros(&shape, options)
        };
        parts.push(part.map_or_else(zeros, Ok)?);
    }
    Ok(parts)
}

/// The views at each index of the first dimension of a tensor, as [`unbind`](Tensor::unbind) returns them.
///
/// Without a history each view is created when it is requested: a tensor of a million rows needs no million views.
#[derive(Debug)]
pub struct Rows {
    source: Tensor,
    size: usize,
    /// The results of one node, if the tensor has a history.
    recorded: Option<Vec<Tensor>>,
}

impl Rows {
    /// Returns the number of views.
    pub fn count(&self) -> usize {
        self.size
    }

    /// Returns the view at an index, or `None` behind the last one.
    pub fn get(&self, index: usize) -> Result<Option<Tensor>> {
        if index >= self.size {
            return Ok(None);
        }
        if let Some(views) = &self.recorded {
            return Ok(views.get(index).cloned());
        }
        let division = Division::new("unbind", &self.source, 0, ErrorKind::Index)?;
        check_memory()?;
        let view = self.source.alias(division.part(index, None));
        track_view_of_several(&view, &self.source);
        Ok(Some(view))
    }
}

impl Tensor {
    /// Returns the views of the first dimension, for iteration.
    ///
    /// # Errors
    /// Fails for a 0-d tensor.
    pub fn rows(&self) -> Result<Rows> {
        let size = Division::new("unbind", self, 0, ErrorKind::Index)?.size;
        let is_recorded = is_recording() && self.requires_grad();
        let recorded = is_recorded.then(|| self.unbind(0)).transpose()?;
        Ok(Rows { source: self.clone(), size, recorded })
    }

    /// Returns views of consecutive parts of a dimension, each with `split_size` indices, the last one with the rest:
    /// `torch.split`.
    pub fn split(&self, split_size: i64, dim: i64) -> Result<Vec<Tensor>> {
        let op = "split";
        let division = Division::new(op, self, dim, ErrorKind::Shape)?;
        let expected = "be positive, or 0 for a dimension of size 0";
        let err_size = || Error::value(op, "split_size", expected, split_size);
        let length = usize::try_from(split_size).map_err(|_| err_size())?;
        Error::when(length == 0 && division.size > 0, err_size)?;
        self.split_evenly(&division, length)
    }

    fn split_evenly(&self, division: &Division<'_>, length: usize) -> Result<Vec<Tensor>> {
        let count = if length == 0 { 1 } else { division.size.div_ceil(length).max(1) };
        let rest = |part: usize| division.size.saturating_sub(part.saturating_mul(length)).min(length);
        division.views("SplitBackward0", try_collect(count, (0..count).map(rest))?)
    }

    /// Returns views of consecutive parts of a dimension with these sizes: `torch.split_with_sizes`.
    pub fn split_with_sizes(&self, split_sizes: &[i64], dim: i64) -> Result<Vec<Tensor>> {
        self.split_into("split_with_sizes", split_sizes, dim)
    }

    fn split_into(&self, op: &'static str, split_sizes: &[i64], dim: i64) -> Result<Vec<Tensor>> {
        let division = Division::new(op, self, dim, ErrorKind::Shape)?;
        let err_sizes = |expected: String| Error::value(op, "split_sizes", expected, Tuple(split_sizes));
        let lengths: Option<Vec<usize>> =
            split_sizes.iter().map(|&size| usize::try_from(size).ok()).collect();
        let lengths = lengths.ok_or_else(|| err_sizes("not be negative".to_owned()))?;
        if lengths.iter().fold(0usize, |sum, &length| sum.saturating_add(length)) != division.size {
            return Err(err_sizes(format!(
                "add up to {}, the size of dimension {}",
                division.size, division.at
            )));
        }
        division.views("SplitWithSizesBackward0", lengths)
    }

    /// Returns at most `chunks` views of consecutive parts of a dimension, of equal sizes except for the last:
    /// `torch.chunk`.
    pub fn chunk(&self, chunks: i64, dim: i64) -> Result<Vec<Tensor>> {
        let op = "chunk";
        let division = Division::new(op, self, dim, ErrorKind::Shape)?;
        let count = usize::try_from(chunks).ok().filter(|&count| count > 0);
        let count = count.ok_or_else(|| Error::value(op, "chunks", "be positive", chunks))?;
        if division.size == 0 {
            // As in PyTorch the number of chunks is kept.
            return division
                .views("SplitWithSizesBackward0", try_collect(count, std::iter::repeat_n(0, count))?);
        }
        self.split_evenly(&division, division.size.div_ceil(count))
    }

    /// Returns `sections` views of consecutive parts of a dimension, the first of which have one index more if the size
    /// is not a multiple: `torch.tensor_split`. Unlike those of [`split`](Tensor::split) they can be changed in place.
    pub fn tensor_split(&self, sections: i64, dim: i64) -> Result<Vec<Tensor>> {
        let op = "tensor_split";
        let division = Division::new(op, self, dim, ErrorKind::Shape)?;
        let count = usize::try_from(sections).ok().filter(|&count| count > 0);
        let count = count.ok_or_else(|| Error::value(op, "sections", "be positive", sections))?;
        let (length, longer) = (division.size / count, division.size % count);
        let mut views = try_with_capacity(count)?;
        let mut start = 0i64;
        for part in 0..count {
            let length = length + usize::from(part < longer);
            let end = start.saturating_add(signed(length));
            views.push(self.slice(dim, Some(start), Some(end), 1)?);
            start = end;
        }
        Ok(views)
    }

    /// Returns views of the parts of a dimension between these indices: `torch.tensor_split`.
    pub fn tensor_split_at(&self, indices: &[i64], dim: i64) -> Result<Vec<Tensor>> {
        let op = "tensor_split";
        Division::new(op, self, dim, ErrorKind::Shape)?;
        let mut views = try_with_capacity(indices.len().saturating_add(1))?;
        let mut start = None;
        for &end in indices {
            views.push(self.slice(dim, start, Some(end), 1)?);
            start = Some(end);
        }
        views.push(self.slice(dim, start, None, 1)?);
        Ok(views)
    }

    /// Returns a view at each index of a dimension, without that dimension: `torch.unbind`.
    pub fn unbind(&self, dim: i64) -> Result<Vec<Tensor>> {
        let division = Division::new("unbind", self, dim, ErrorKind::Index)?;
        let (at, size) = (division.at, division.size);
        let layouts = try_collect(size, (0..size).map(|index| division.part(index, None)))?;
        let (shape, options) = (self.shape().to_vec(), self.options());
        several_views(self, "UnbindBackward0", layouts, move |_, gradients| {
            let parts = parts_or_zeros(gradients, std::iter::repeat_n(None, size), (&shape, at), options)?;
            stack(&parts, signed(at))
        })
    }
}
