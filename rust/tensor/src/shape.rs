//! Shapes, strides and what can be told from them alone.

use crate::{Error, Result};

/// Where the elements of a tensor lie in its storage, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    pub offset: usize,
}

impl Layout {
    /// Row-major, without gaps.
    pub fn contiguous(shape: &[usize]) -> Self {
        Layout { shape: shape.to_vec(), strides: contiguous_strides(shape), offset: 0 }
    }

    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size == 0 {
                return true;
            }
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected *= size;
            }
        }
        true
    }

    /// Whether two elements lie in the same place, as far as strides of zero tell.
    pub fn overlaps(&self) -> bool {
        self.numel() > 0
            && self.shape.iter().zip(&self.strides).any(|(&size, &stride)| size > 1 && stride == 0)
    }

    /// One past the largest position used, or `None` beyond what can be addressed.
    pub fn end(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(self.offset);
        }
        let mut last = self.offset;
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            last = last.checked_add(size.checked_sub(1)?.checked_mul(stride)?)?;
        }
        last.checked_add(1)
    }

    /// The strides to read this layout as if it had `shape`, which it broadcasts to.
    pub fn strides_as(&self, shape: &[usize]) -> Vec<usize> {
        let missing = shape.len().saturating_sub(self.shape.len());
        let own = self.shape.iter().zip(&self.strides);
        std::iter::repeat_n(0, missing)
            .chain(own.map(|(&size, &stride)| if size == 1 { 0 } else { stride }))
            .collect()
    }
}

/// The strides of a row-major tensor. As in PyTorch a size of 0 counts as 1.
pub(crate) fn contiguous_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let mut step = 1usize;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1));
    }
    strides
}

/// More dimensions than anyone has use for: what walks over them may use the stack.
pub(crate) const MAX_DIMENSIONS: usize = 64;

pub(crate) fn checked_ndim(ndim: usize) -> Result<()> {
    if ndim <= MAX_DIMENSIONS {
        Ok(())
    } else {
        Err(Error::TooManyDimensions { given: ndim, limit: MAX_DIMENSIONS })
    }
}

/// The number of elements, if so many elements of `size` bytes can be addressed.
pub(crate) fn checked_numel(shape: &[usize], size: usize) -> Result<usize> {
    checked_ndim(shape.len())?;
    // Sizes of zero count as one, so that strides cannot overflow either.
    let span = shape.iter().try_fold(size, |total, &size| total.checked_mul(size.max(1)));
    match span {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(shape.iter().product()),
        _ => Err(Error::TooLarge { shape: shape.to_vec() }),
    }
}

/// The shape that both broadcast to.
pub(crate) fn broadcast(op: &'static str, left: &[usize], right: &[usize]) -> Result<Vec<usize>> {
    let ndim = left.len().max(right.len());
    let aligned = |shape: &[usize]| -> Vec<usize> {
        std::iter::repeat_n(1, ndim - shape.len()).chain(shape.iter().copied()).collect()
    };
    let sizes = aligned(left).into_iter().zip(aligned(right));
    sizes
        .map(|pair| match pair {
            (a, b) if a == b => Ok(a),
            (1, b) => Ok(b),
            (a, 1) => Ok(a),
            _ => Err(Error::Shapes {
                op,
                left: left.to_vec(),
                right: right.to_vec(),
                allowed: "counted from the last, sizes must be equal or 1",
            }),
        })
        .collect()
}

/// A dimension counted from the front; a tensor without dimensions is treated as having one.
pub(crate) fn dimension(op: &'static str, dim: i64, ndim: usize) -> Result<usize> {
    let count = i64::try_from(ndim.max(1)).unwrap_or(i64::MAX);
    let counted = if dim < 0 { dim.saturating_add(count) } else { dim };
    match usize::try_from(counted) {
        Ok(found) if counted < count => Ok(found),
        _ => Err(Error::Dimension { op, dim, ndim }),
    }
}

/// Shape and strides as pairs, to be taken apart again with `unzip`.
pub(crate) fn pairs(layout: &Layout) -> Vec<(usize, usize)> {
    layout.shape.iter().copied().zip(layout.strides.iter().copied()).collect()
}

/// The sizes that `sizes` (one of which may be -1) stand for, with `numel` elements in all.
pub(crate) fn infer_size(op: &'static str, sizes: &[i64], given: &[usize]) -> Result<Vec<usize>> {
    checked_ndim(sizes.len())?;
    let numel: usize = given.iter().product();
    let wrong = |allowed: String| Error::Shape { op, given: given.to_vec(), allowed };
    let unknown = sizes.iter().filter(|&&size| size == -1).count();
    if unknown > 1 {
        return Err(wrong(format!("only one size of {sizes:?} can be inferred")));
    }
    if let Some(size) = sizes.iter().find(|&&size| size < -1) {
        return Err(wrong(format!("size {size} of {sizes:?} is negative")));
    }
    let misfit = || wrong(format!("{numel} elements cannot have the shape {sizes:?}"));
    let known = sizes
        .iter()
        .filter(|&&size| size != -1)
        .try_fold(1usize, |total, &size| total.checked_mul(usize::try_from(size).ok()?));
    let known = known.ok_or_else(misfit)?;
    let inferred = if unknown == 0 {
        if known != numel {
            return Err(misfit());
        }
        0
    } else {
        if known == 0 {
            return Err(wrong(format!("the size -1 of {sizes:?} is ambiguous beside a size of 0")));
        }
        if !numel.is_multiple_of(known) {
            return Err(misfit());
        }
        numel / known
    };
    Ok(sizes.iter().map(|&size| usize::try_from(size).unwrap_or(inferred)).collect())
}

/// The strides with which memory of `layout` can be read as `shape` (as many elements), if it can.
pub(crate) fn view_strides(layout: &Layout, shape: &[usize]) -> Option<Vec<usize>> {
    if layout.numel() == 0 {
        return Some(contiguous_strides(shape));
    }
    // Runs of dimensions that lie in memory as if they were one: (size, stride of the last).
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (size, stride) in pairs(layout) {
        if size == 1 {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.1 == stride.saturating_mul(size) => *run = (run.0.saturating_mul(size), stride),
            _ => runs.push((size, stride)),
        }
    }
    let mut strides = vec![0; shape.len()];
    let mut run = runs.pop().unwrap_or((1, 1));
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        if run.0 == 1 && size != 1 {
            run = runs.pop()?;
        }
        *stride = run.1;
        if size != 1 {
            if !run.0.is_multiple_of(size) {
                return None;
            }
            run = (run.0 / size, run.1.saturating_mul(size));
        }
    }
    Some(strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_last_size() {
        assert_eq!(broadcast("add", &[3, 1], &[4]), Ok(vec![3, 4]));
        assert_eq!(broadcast("add", &[], &[2, 0]), Ok(vec![2, 0]));
        assert!(matches!(broadcast("add", &[2], &[3]), Err(Error::Shapes { .. })));
    }

    #[test]
    fn too_many_elements_are_an_error_even_beside_a_zero() {
        assert!(checked_numel(&[usize::MAX, 2], 4).is_err());
        assert!(checked_numel(&[0, usize::MAX, 2], 4).is_err());
        assert_eq!(checked_numel(&[0, 5], 8), Ok(0));
    }

    #[test]
    fn a_transposed_matrix_has_no_flat_view() {
        let transposed = Layout { shape: vec![3, 2], strides: vec![1, 3], offset: 0 };
        assert_eq!(view_strides(&transposed, &[6]), None);
        assert_eq!(view_strides(&transposed, &[3, 1, 2]).map(|s| (s[0], s[2])), Some((1, 3)));
        assert_eq!(view_strides(&Layout::contiguous(&[2, 3]), &[3, 2]), Some(vec![2, 1]));
    }

    #[test]
    fn one_size_can_be_inferred() {
        assert_eq!(infer_size("view", &[2, -1], &[6]), Ok(vec![2, 3]));
        assert!(infer_size("view", &[4], &[6]).is_err());
        assert!(infer_size("view", &[-1, -1], &[6]).is_err());
        assert!(infer_size("view", &[-1, 0], &[0]).is_err());
    }
}
