//! Elements at positions that tensors name: copied out, written, and added up by the gradient.

use std::sync::Arc;

use super::index::{OP, trim};
use crate::autograd::{Context, Record};
use crate::dtype::dispatch;
use crate::kernel::{self, Rows};
use crate::room::{collected, filled};
use crate::shape::broadcast;
use crate::{Error, Result, Tensor};

pub(super) const PUT: &str = "index_put_";

/// The rows of `source` at positions of its dimensions from `dim` on.
fn rows_at(source: &Tensor, dim: usize, positions: &[Tensor]) -> Result<Rows> {
    let shape = source.shape();
    let (before, rest) = shape.split_at_checked(dim).unwrap_or((shape, &[]));
    let (indexed, after) = rest.split_at_checked(positions.len()).unwrap_or((rest, &[]));
    let wide = positions.iter().try_fold(Vec::new(), |wide, tensor| broadcast(OP, &wide, tensor.shape()));
    let wide = wide.map_err(|error| match error {
        Error::Shapes { left, right, .. } => Error::Indexing {
            message: format!("index tensors of shapes {left:?} and {right:?} do not broadcast"),
        },
        other => other,
    })?;
    let length = after.iter().product();
    let count = crate::shape::checked_numel(&wide, size_of::<i64>())?;
    let mut inner = filled(0usize, count)?;
    let sizes: Vec<i64> = wide.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
    for (position, &size) in positions.iter().zip(indexed) {
        for (place, index) in inner.iter_mut().zip(position.expand(&sizes)?.to_vec::<i64>()?) {
            *place = place.saturating_mul(size).saturating_add(usize::try_from(index).unwrap_or(0));
        }
    }
    let block: usize = indexed.iter().product();
    let outer: usize = before.iter().product();
    let result: Vec<usize> = before.iter().chain(&wide).chain(after).copied().collect();
    crate::shape::checked_numel(&result, source.dtype().size())?;
    // Rows of no elements have no places: there is nothing to copy.
    let outer = if length == 0 { 0 } else { outer };
    let places = (0..outer).flat_map(|start| inner.iter().map(move |place| start * block + place));
    let places = Arc::new(collected(outer.saturating_mul(count), places)?);
    Ok(Rows { places, length, shape: result })
}

impl Tensor {
    /// The elements at positions of the dimensions from `dim` on.
    pub(super) fn gather(&self, dim: usize, positions: &[Tensor]) -> Result<Tensor> {
        self.pick(&Arc::new(rows_at(self, dim, positions)?))
    }

    pub(super) fn pick(&self, rows: &Arc<Rows>) -> Result<Tensor> {
        let out = self.take(rows)?;
        if let Some(mut record) = Record::new("IndexBackward0", &[self])? {
            let (slot, before) = (record.keep(rows.clone()), self.shape().to_vec());
            record.finish(&out, move |context, gradient| {
                Ok(vec![Some(spread(gradient, &context.kept(slot)?, &before)?)])
            });
        }
        Ok(out)
    }

    fn take(&self, rows: &Rows) -> Result<Tensor> {
        let source = self.detached().contiguous()?;
        dispatch!(self.dtype(), T => kernel::take::<T>(OP, &source, rows))
    }

    pub(super) fn scatter(&self, dim: usize, positions: &[Tensor], value: &Tensor) -> Result<()> {
        let rows = rows_at(self, dim, positions)?;
        let value = trim(value, rows.shape.len())?;
        let sizes: Vec<i64> =
            rows.shape.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
        // A number may come from the processor.
        let place = if value.ndim() == 0 { self.device() } else { value.device() };
        let value = value.to((self.dtype(), place), self.is_on_device())?;
        let expanded = value.expand(&sizes)?;
        // Elements that share a place are only given one value.
        if self.layout().overlaps() && value.numel() <= 1 {
            return self.put_one(dim.saturating_add(positions.len()), &rows, &value);
        }
        self.put(&Arc::new(rows), &expanded)
    }

    /// Writes `value` to the rows. Both gradients are recorded operations, which can be differentiated again.
    pub(super) fn put(&self, rows: &Arc<Rows>, value: &Tensor) -> Result<()> {
        let work = |record: Option<&mut Record>| {
            if let Some(record) = record {
                record.keep(rows.clone());
            }
            let whole = self.detached().contiguous_copy()?;
            whole.put_rows(rows, &value.detached())?;
            dispatch!(self.dtype(), T => kernel::update(PUT, self, &whole, |_: T, new: T| new))
        };
        let backward = |context: &Context<'_>, gradient: &Tensor| {
            let rows: Arc<Rows> = context.kept(0)?;
            let left = context.gradient(0, || {
                let left = gradient.contiguous_copy()?;
                left.put(&rows, &Tensor::zeros(&rows.shape, gradient.options())?)?;
                Ok(left)
            })?;
            Ok(vec![left, context.gradient(1, || gradient.pick(&rows))?])
        };
        self.change(PUT, "IndexPutBackward0", &[value], work, backward).map(drop)
    }

    pub(super) fn put_rows(&self, rows: &Rows, value: &Tensor) -> Result<()> {
        let value = value.contiguous()?;
        if value.device() != self.device() {
            return Err(Error::Devices { op: PUT, left: self.device(), right: value.device() });
        }
        dispatch!(self.dtype(), T => kernel::put::<T>(PUT, self, &value, rows))
    }
}

/// A gradient of what was gathered, added up at its places in a tensor of shape `before`.
fn spread(gradient: &Tensor, rows: &Arc<Rows>, before: &[usize]) -> Result<Tensor> {
    let source = gradient.detached().contiguous()?;
    let out = dispatch!(gradient.dtype(), T => kernel::spread::<T>(OP, &source, rows, before))?;
    if let Some(mut record) = Record::new("IndexSpreadBackward0", &[gradient])? {
        let slot = record.keep(rows.clone());
        record.finish(&out, move |context, second| Ok(vec![Some(second.pick(&context.kept(slot)?)?)]));
    }
    Ok(out)
}
