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
        // A size that cannot be counted is refused with the others that are too large.
        let size = length.saturating_add(to).saturating_add(removed(after.checked_neg()?)?);
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
