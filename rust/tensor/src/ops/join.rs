//! Several tensors as one.

use crate::autograd::Record;
use crate::shape::dimension;
use crate::{Error, Result, Tensor};

/// The tensors one after the other along `dim`; their other sizes are equal.
pub fn cat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let op = "cat";
    if tensors.iter().any(|tensor| tensor.ndim() == 0) {
        let allowed = "tensors without dimensions can't be joined; stack makes a dimension".to_owned();
        return Err(Error::Shape { op, given: Vec::new(), allowed });
    }
    // As in PyTorch, a tensor of shape (0,) can be joined with tensors of any shape.
    let is_legacy_empty = |tensor: &&Tensor| tensor.shape() == [0];
    let shaped = tensors.iter().find(|tensor| !is_legacy_empty(tensor));
    let none = || Error::Value { op, message: "at least one tensor is needed".to_owned() };
    let first = shaped.or(tensors.first()).ok_or_else(none)?;
    let at = if shaped.is_some() { dimension(op, dim, first.ndim())? } else { 0 };
    let dim = i64::try_from(at).unwrap_or(0);
    let other = |tensor: &Tensor| {
        let mut shape = tensor.shape().to_vec();
        shape.get_mut(at).map(std::mem::take).map(|size| (shape, size))
    };
    let mut shape = first.shape().to_vec();
    let mut dtype = first.dtype();
    let mut lengths = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        dtype = dtype.max(tensor.dtype());
        if is_legacy_empty(&tensor) && first.ndim() != 1 {
            lengths.push(0);
            continue;
        }
        let (Some((own, length)), Some((expected, _))) = (other(tensor), other(first)) else {
            return Err(none());
        };
        if own != expected {
            return Err(Error::Shapes {
                op,
                left: first.shape().to_vec(),
                right: tensor.shape().to_vec(),
                allowed: "all sizes but that of the joined dimension must be equal",
            });
        }
        lengths.push(i64::try_from(length).unwrap_or(i64::MAX));
    }
    if let Some(size) = shape.get_mut(at) {
        *size = usize::try_from(lengths.iter().fold(0i64, |sum, &length| sum.saturating_add(length)))
            .unwrap_or(usize::MAX);
    }
    let device = first.device();
    if let Some(other) = tensors.iter().find(|tensor| tensor.device() != device) {
        return Err(Error::Devices { op, left: device, right: other.device() });
    }
    let out = Tensor::zeros(&shape, (dtype, device))?;
    let mut start = 0;
    for (tensor, &length) in tensors.iter().zip(&lengths).filter(|(tensor, _)| tensor.numel() > 0) {
        let part = out.detached().slice(dim, Some(start), Some(start + length), 1)?;
        part.detached().copy_(&tensor.detached())?;
        start += length;
    }
    // The parts were written before anyone could see the result.
    out.storage_handle().set_version(0);
    let inputs: Vec<&Tensor> = tensors.iter().collect();
    let is_skipped: Vec<bool> = tensors.iter().map(|tensor| tensor.ndim() != first.ndim()).collect();
    if let Some(record) = Record::new("CatBackward0", &inputs)? {
        record.finish(&out, move |context, gradient| {
            let mut start = 0;
            let parts = lengths.iter().zip(&is_skipped).enumerate().map(|(input, (&length, &is_skipped))| {
                let from = start;
                start += length;
                context.gradient(input, || match is_skipped {
                    true => Tensor::zeros(&[0], gradient.options()),
                    false => gradient.slice(dim, Some(from), Some(from + length), 1),
                })
            });
            parts.collect()
        });
    }
    Ok(out)
}

/// Tensors of one shape along a new dimension `dim`.
pub fn stack(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let first = tensors.first().map(Tensor::shape).unwrap_or_default();
    if let Some(other) = tensors.iter().find(|tensor| tensor.shape() != first) {
        return Err(Error::Shapes {
            op: "stack",
            left: first.to_vec(),
            right: other.shape().to_vec(),
            allowed: "all shapes must be equal",
        });
    }
    let at = i64::try_from(dimension("stack", dim, first.len() + 1)?).unwrap_or(0);
    let tensors = tensors.iter().map(|tensor| tensor.unsqueeze(at)).collect::<Result<Vec<_>>>()?;
    cat(&tensors, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, doubles, gradcheck};

    #[test]
    fn tensors_are_joined_along_old_and_new_dimensions() {
        let (a, b) = (doubles(&[1.0, 2.0], &[1, 2]), doubles(&[3.0, 4.0], &[1, 2]));
        assert_close(&cat(&[a.clone(), b.clone()], 0).unwrap(), &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(cat(&[a.clone(), b.clone()], -1).unwrap().shape(), [1, 4]);
        assert_eq!(stack(&[a.clone(), b.clone()], -1).unwrap().shape(), [1, 2, 2]);
        assert!(cat(&[], 0).is_err() && stack(&[], 0).is_err());
        assert!(cat(&[a.clone(), doubles(&[0.0; 3], &[1, 3])], 0).is_err());
        assert!(stack(&[a, doubles(&[0.0; 3], &[1, 3])], 0).is_err());
        gradcheck(|x| cat(&[x[0].clone(), x[0].mul(2.0)?], 1)?.pow(2.0), &[b]);
    }
}
