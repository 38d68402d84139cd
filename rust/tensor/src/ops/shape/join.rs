//! Concatenation of tensors.

use interlock::accelerator::Device;

use crate::iterate::new_of_parts;
use crate::layout::{checked_ndim, contiguous_strides, signed, wrap_dim};
use crate::recording::NodeBuilder;
use crate::storage::fallible_alloc::{try_collect, try_with_capacity};
use crate::{DType, Error, Result, Tensor};

/// Concatenates tensors along `dim`: `torch.cat`. Their other sizes must be equal.
pub fn cat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let op = "cat";
    if tensors.iter().any(|tensor| tensor.ndim() == 0) {
        return Err(Error::shape(op, "each tensor", "have a dimension (stack() adds one)", &[]));
    }
    // As in PyTorch a tensor of shape (0,) can be concatenated with tensors of any shape.
    let is_legacy_empty = |tensor: &&Tensor| tensor.shape() == [0];
    let shaped = tensors.iter().find(|tensor| !is_legacy_empty(tensor));
    let none = || Error::no_tensors(op, "tensors");
    let first = shaped.or(tensors.first()).ok_or_else(none)?;
    let at = if shaped.is_some() { wrap_dim(op, dim, first.ndim())? } else { 0 };
    let dim = signed(at);
    let is_like_first = |tensor: &Tensor| -> bool {
        let sizes = || tensor.shape().iter().zip(first.shape()).enumerate();
        tensor.ndim() == first.ndim() && sizes().all(|(dim, (own, expected))| dim == at || own == expected)
    };
    let mut shape = first.shape().to_vec();
    let mut dtype = first.dtype();
    // The end of each tensor in the result, and whether it is skipped.
    let (mut ends, mut skipped) = (try_with_capacity(tensors.len())?, try_with_capacity(tensors.len())?);
    let mut total = 0i64;
    for tensor in tensors {
        dtype = dtype.promote(tensor.dtype());
        let is_skipped = is_legacy_empty(&tensor) && first.ndim() != 1;
        if !is_skipped {
            if !is_like_first(tensor) {
                return Err(Error::shapes(
                    op,
                    format!("sizes outside of dimension {at} differ"),
                    first.shape(),
                    tensor.shape(),
                ));
            }
            let length = tensor.shape().get(at).copied().unwrap_or(0);
            total = total.saturating_add(signed(length));
        }
        ends.push(total);
        skipped.push(is_skipped);
    }
    if let Some(size) = shape.get_mut(at) {
        *size = usize::try_from(total).unwrap_or(usize::MAX);
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let starts =
        try_collect(tensors.len(), starts.map(|start| usize::try_from(start).unwrap_or(usize::MAX)))?;
    let out = joined(op, tensors, (&shape, dtype), at, &starts, false)?;
    if let Some(builder) = NodeBuilder::for_inputs("CatBackward0", tensors.iter())? {
        builder.set_history_per_input(&out, move |_, gradient, input| {
            if skipped.get(input).copied().unwrap_or_default() {
                return Tensor::zeros(&[0], gradient.options());
            }
            let before = input.checked_sub(1).and_then(|before| ends.get(before));
            gradient.slice(dim, Some(before.copied().unwrap_or(0)), ends.get(input).copied(), 1)
        })?;
    }
    Ok(out)
}

/// Stacks tensors of equal shapes along a new dimension `dim`: `torch.stack`.
pub fn stack(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let op = "stack";
    let none = || Error::no_tensors(op, "tensors");
    let first = tensors.first().ok_or_else(none)?;
    if let Some(other) = tensors.iter().find(|tensor| tensor.shape() != first.shape()) {
        return Err(Error::shapes(op, "sizes differ", first.shape(), other.shape()));
    }
    checked_ndim(op, first.ndim() + 1)?;
    let at = wrap_dim(op, dim, first.ndim() + 1)?;
    let dim = signed(at);
    let mut shape = first.shape().to_vec();
    shape.insert(at, tensors.len());
    let dtype = tensors.iter().map(Tensor::dtype).fold(first.dtype(), DType::promote);
    let starts = try_collect(tensors.len(), 0..)?;
    let out = joined(op, tensors, (&shape, dtype), at, &starts, true)?;
    if let Some(builder) = NodeBuilder::for_inputs("StackBackward0", tensors.iter())? {
        builder.set_history_per_input(&out, move |_, gradient, input| gradient.select(dim, signed(input)))?;
    }
    Ok(out)
}

/// Concatenates tensors side by side: along the second dimension, or the only one: `torch.hstack`.
pub fn hstack(tensors: &[Tensor]) -> Result<Tensor> {
    let parts = at_least("hstack", tensors, 1)?;
    let dim = i64::from(parts.first().is_some_and(|first| first.ndim() > 1));
    cat(&parts, dim).map_err(|error| error.during("hstack"))
}

/// Concatenates tensors as rows: along the first dimension, after vectors became rows of matrices: `torch.vstack`.
pub fn vstack(tensors: &[Tensor]) -> Result<Tensor> {
    cat(&at_least("vstack", tensors, 2)?, 0).map_err(|error| error.during("vstack"))
}

/// Returns the tensors, of which there is one at least, with at least `ndim` dimensions.
fn at_least(op: &'static str, tensors: &[Tensor], ndim: usize) -> Result<Vec<Tensor>> {
    Error::when(tensors.is_empty(), || Error::no_tensors(op, "tensors"))?;
    tensors.iter().map(|tensor| tensor.at_least(ndim)).collect()
}

/// Copies tensors, which must be on one device, to a new tensor of this shape and type. Each begins at its index of `starts`
/// in dimension `at`. The tensors lack this dimension if `is_new_dim`.
fn joined(
    op: &'static str,
    tensors: &[Tensor],
    (shape, dtype): (&[usize], DType),
    at: usize,
    starts: &[usize],
    is_new_dim: bool,
) -> Result<Tensor> {
    let device = tensors.first().map_or(Device::CPU, Tensor::device);
    if let Some(other) = tensors.iter().find(|tensor| tensor.device() != device) {
        return Err(Error::devices(op, device, other.device()));
    }
    let parts = starts.iter().copied().zip(tensors).filter(|(_, tensor)| tensor.numel() > 0);
    if device == Device::CPU {
        let mut strides = contiguous_strides(shape);
        let step = if is_new_dim { strides.remove(at) } else { strides.get(at).copied().unwrap_or(0) };
        let parts = parts.map(|(start, tensor)| (start.saturating_mul(step), tensor));
        let parts = try_collect(tensors.len(), parts)?;
        return new_of_parts(op, (shape, dtype), &strides, &parts);
    }
    let out = Tensor::zeros(shape, (dtype, device))?;
    let dim = signed(at);
    for (start, tensor) in parts {
        let start = signed(start);
        let length = tensor.shape().get(at).map_or(0, |&length| signed(length));
        let part = match is_new_dim {
            true => out.select(dim, start)?,
            false => out.slice(dim, Some(start), Some(start.saturating_add(length)), 1)?,
        };
        part.detach().copy_(&tensor.detach())?;
    }
    // The result is not visible to the program yet, so its version stays 0.
    out.storage_handle().set_version(0);
    Ok(out)
}
