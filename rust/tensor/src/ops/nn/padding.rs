//! Constants around the elements of a tensor.

use std::iter::repeat;

use crate::error::{Tuple, check_fits};
use crate::layout::Layout;
use crate::recording::NodeBuilder;
use crate::{Error, Result, Scalar, Tensor, iterate};

/// Where the elements that a padded tensor keeps are, along one dimension.
struct Kept {
    /// The size of the result.
    size: usize,
    /// The first index in the source.
    from: usize,
    /// The first index in the result.
    to: usize,
    length: usize,
}

impl Kept {
    /// Returns what remains of `size` elements with new ones before and after them, or `None` if more are removed than there
    /// are. A negative number of new elements removes some.
    fn new(size: usize, before: i64, after: i64) -> Option<Self> {
        let (from, to) = (removed(before)?, removed(before.checked_neg()?)?);
        let length = size.checked_sub(from)?.checked_sub(removed(after)?)?;
        let size = length.checked_add(to)?.checked_add(removed(after.checked_neg()?)?)?;
        Some(Kept { size, from, to, length })
    }
}

/// Returns the number of elements that a negative number removes.
fn removed(new: i64) -> Option<usize> {
    usize::try_from(new.min(0).unsigned_abs()).ok()
}

/// Returns the elements of a tensor from these indices on, without history.
fn part(tensor: &Tensor, start: impl Iterator<Item = usize>, shape: &[usize]) -> Tensor {
    let Layout { strides, offset, .. } = tensor.layout().clone();
    let offset = offset + start.zip(&strides).map(|(index, stride)| index * stride).sum::<usize>();
    tensor.alias(Layout { shape: shape.to_vec(), strides, offset })
}

impl Tensor {
    /// Returns a copy with `value` around the elements: `torch.nn.functional.pad`. `pad` has the numbers of new elements
    /// before and after those of the last dimension, then of the one before it, and so on. Negative numbers remove elements.
    pub fn pad(&self, pad: &[i64], value: Scalar) -> Result<Tensor> {
        let op = "pad";
        let value = check_fits(value, self.dtype(), op, "value")?;
        let (pairs, rest) = pad.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(Error::value(op, "pad", "have two numbers for each dimension", Tuple(pad)));
        }
        if pairs.len() > self.ndim() {
            let expected = format!("have at most two numbers for each of {} dimensions", self.ndim());
            return Err(Error::value(op, "pad", expected, Tuple(pad)));
        }
        let pairs = pairs.iter().copied().chain(repeat([0, 0]));
        let kept = self
            .shape()
            .iter()
            .rev()
            .zip(pairs)
            .map(|(&size, [before, after])| Kept::new(size, before, after));
        let kept: Option<Vec<Kept>> = kept.collect();
        let Some(mut kept) = kept else {
            let expected = format!("remove no more elements than the shape {} has", Tuple(self.shape()));
            return Err(Error::value(op, "pad", expected, Tuple(pad)));
        };
        kept.reverse();
        let sizes = |of: fn(&Kept) -> usize| kept.iter().map(of).collect::<Vec<usize>>();
        let (shape, inner) = (sizes(|kept| kept.size), sizes(|kept| kept.length));
        let out = iterate::filled(op, self.options(), &shape, value)?;
        if !inner.contains(&0) {
            let source = part(self, kept.iter().map(|kept| kept.from), &inner);
            iterate::copy_into(op, &part(&out, kept.iter().map(|kept| kept.to), &inner), &source)?;
        }
        if let Some(builder) = NodeBuilder::new("ConstantPadNdBackward0", &[self])? {
            let back: Vec<i64> = pad.iter().map(|new| -new).collect();
            builder
                .set_history(&out, move |_, gradient| Ok(vec![Some(gradient.pad(&back, Scalar::Int(0))?)]))?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles};
    use crate::{DType, Tensor};

    #[test]
    fn pad_adds_and_removes_elements_from_the_last_dimension_on() {
        let x = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        for x in [x.clone(), x.t().unwrap().contiguous().unwrap().t().unwrap()] {
            let out = x.pad(&[1, -1, -1, 1], 9.0.into()).unwrap();
            assert_eq!(out.shape(), [2, 3]);
            assert_close(&out, &[9.0, 4.0, 5.0, 9.0, 9.0, 9.0]);
            assert_eq!(x.pad(&[-2, -1, 0, 1], 0.0.into()).unwrap().shape(), [3, 0]);
        }
        assert_close(&doubles(&[2.0], &[]).pad(&[], 0.0.into()).unwrap(), &[2.0]);
    }

    #[test]
    fn pad_names_wrong_sizes_and_values() {
        let x = Tensor::ones(&[2], DType::UInt8).unwrap();
        let wrong: [&[i64]; 5] = [&[1], &[1, 1, 1, 1], &[-2, -1], &[3, -3], &[i64::MIN, 0]];
        for pad in wrong {
            let error = x.pad(pad, 0i64.into()).unwrap_err();
            assert!(error.to_string().starts_with("pad: pad must "), "{error}");
        }
        assert!(x.pad(&[1, 1], 300i64.into()).is_err());
        assert!(x.pad(&[i64::MAX, i64::MAX], 0i64.into()).is_err());
    }
}
