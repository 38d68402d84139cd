//! Shapes and strides, and the computations on them.

use interlock_core::base::short_sort::sort_short_by;

use crate::error::Tuple;
use crate::{Error, Result};

/// The shape, strides and offset of a tensor in its storage, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    pub offset: usize,
}

/// The order in memory of the elements of a new tensor: `torch.memory_format`. There are no gaps between them.
///
/// ```
/// use interlock_tensor::{DType, MemoryFormat, Tensor};
///
/// let columns = Tensor::zeros(&[2, 3], DType::Float32)?.t()?;
/// assert_eq!(columns.copy_in(MemoryFormat::Preserve)?.strides(), [1, 3]);
/// assert_eq!(columns.copy_in(MemoryFormat::Contiguous)?.strides(), [2, 1]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFormat {
    /// Row-major.
    Contiguous,
    /// The order of the tensor from which the new one is made.
    Preserve,
}

impl Layout {
    /// Returns the row-major layout of a shape, without gaps.
    pub fn contiguous(shape: &[usize]) -> Self {
        Layout { shape: shape.to_vec(), strides: contiguous_strides(shape), offset: 0 }
    }

    /// Returns the error for a layout whose elements are not all within a storage of `capacity` elements.
    pub fn err_beyond(&self, op: &'static str, capacity: usize) -> Error {
        let Layout { shape, strides, offset } = self;
        let expected = format!(
            "be within the {capacity} elements of the storage with strides {} from offset {offset}",
            Tuple(strides)
        );
        Error::sizes(op, "size", expected, shape)
    }

    // Called at 200 places, where the unrolled loop would have 180 bytes.
    #[inline(never)]
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_contiguous(&self) -> bool {
        if self.shape.contains(&0) {
            return true;
        }
        let mut expected = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected *= size;
            }
        }
        true
    }

    /// Returns whether the elements fill a range of memory without gaps or overlaps, in some order of the dimensions:
    /// c10's `is_non_overlapping_and_dense`.
    pub fn is_dense(&self) -> bool {
        if self.is_contiguous() {
            return true;
        }
        let mut dims: Vec<_> = sizes_and_strides(self).into_iter().filter(|&(size, _)| size != 1).collect();
        sort_short_by(&mut dims, |one, next| one.1 <= next.1);
        let mut expected = 1;
        dims.iter().all(|&(size, stride)| {
            let fits = stride == expected;
            expected = stride.saturating_mul(size);
            fits
        })
    }

    /// Returns the layout of a copy that preserves the order of the dimensions in memory: PyTorch's
    /// `torch.preserve_format`.
    pub fn preserve_format(&self) -> Self {
        if self.is_dense() {
            Layout { offset: 0, ..self.clone() }
        } else {
            self.with_dim_order_of(&[&self.strides], 1)
        }
    }

    /// Returns the layout of a copy.
    pub fn in_format(&self, format: MemoryFormat) -> Self {
        match format {
            MemoryFormat::Contiguous => Layout::contiguous(&self.shape),
            MemoryFormat::Preserve => self.preserve_format(),
        }
    }

    /// Returns a dense layout of this shape whose dimensions have the memory order of the operands. For each pair of
    /// dimensions the first operand that orders them determines the order, as in PyTorch's `TensorIterator`. A size of
    /// 0 counts as `empty` in strides.
    fn with_dim_order_of(&self, operands: &[&[usize]], empty: usize) -> Self {
        let size = |dim: usize| self.shape.get(dim).copied().unwrap_or(1);
        // Returns whether `first` must come after `second`, if an operand decides it.
        let after = |first: usize, second: usize| {
            for strides in operands {
                match (strides.get(first).copied().unwrap_or(0), strides.get(second).copied().unwrap_or(0)) {
                    // An expanded dimension does not order others.
                    (0, _) | (_, 0) => {}
                    (a, b) if a != b => return Some(a > b),
                    _ if size(first) > size(second) => return Some(true),
                    _ => {}
                }
            }
            None
        };
        // The innermost dimension first. PyTorch's insertion sort: undecided pairs keep their order.
        let mut order: Vec<usize> = (0..self.shape.len()).rev().collect();
        for next in 1..order.len() {
            let mut moving = next;
            for other in (0..next).rev() {
                let (Some(&first), Some(&second)) = (order.get(other), order.get(moving)) else { break };
                match after(first, second) {
                    Some(true) => {
                        order.swap(other, moving);
                        moving = other;
                    }
                    Some(false) => break,
                    None => {}
                }
            }
        }
        if order.iter().rev().copied().eq(0..self.shape.len()) {
            return Layout::contiguous(&self.shape);
        }
        let mut strides = vec![1; self.shape.len()];
        let mut step = 1usize;
        for dim in order {
            if let Some(stride) = strides.get_mut(dim) {
                *stride = step;
            }
            step = step.saturating_mul(size(dim).max(empty));
        }
        Layout { shape: self.shape.clone(), strides, offset: 0 }
    }

    /// Returns the layout of the result of an elementwise operation whose operands broadcast to `shape`, by the rules
    /// of PyTorch's `TensorIterator`.
    pub fn of_elementwise_result(shape: &[usize], operands: &[&Layout]) -> Self {
        let contiguous = Layout::contiguous(shape);
        if operands.iter().all(|operand| operand.shape == shape) {
            if operands.iter().all(|operand| operand.is_contiguous()) {
                return contiguous;
            }
            if let Some(channels_last) = channels_last(shape)
                && operands.iter().all(|operand| operand.has_strides_of(&channels_last))
            {
                return channels_last;
            }
            let [first, others @ ..] = operands else { return contiguous };
            if first.is_dense()
                && others.iter().all(|other| other.is_dense() && other.strides == first.strides)
            {
                return Layout { offset: 0, ..(*first).clone() };
            }
        }
        let strides: Vec<Vec<usize>> =
            operands.iter().map(|operand| operand.expanded_strides(shape)).collect();
        contiguous.with_dim_order_of(&strides.iter().map(Vec::as_slice).collect::<Vec<_>>(), 0)
    }

    /// Returns whether the strides equal those of another layout of the same shape, apart from dimensions of size 1.
    fn has_strides_of(&self, other: &Layout) -> bool {
        let strides = self.strides.iter().zip(&other.strides);
        self.shape.iter().zip(strides).all(|(&size, (a, b))| size == 1 || a == b)
    }

    /// Returns the strides of this layout expanded to `shape`: 0 where a size of 1 is repeated.
    fn expanded_strides(&self, shape: &[usize]) -> Vec<usize> {
        let missing = shape.len().saturating_sub(self.shape.len());
        let own = sizes_and_strides(self).into_iter().zip(shape.iter().skip(missing));
        std::iter::repeat_n(0, missing)
            .chain(own.map(|((size, stride), &wanted)| if size == 1 && wanted != 1 { 0 } else { stride }))
            .collect()
    }

    /// Returns the dimensions from the outermost to the innermost in memory.
    pub fn memory_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        sort_short_by(&mut order, |&one, &next| self.strides.get(one) >= self.strides.get(next));
        order
    }

    /// Returns whether several elements share a memory location, as far as strides of zero show.
    pub fn has_internal_overlap(&self) -> bool {
        self.numel() > 0
            && self.shape.iter().zip(&self.strides).any(|(&size, &stride)| size > 1 && stride == 0)
    }

    /// Returns whether several elements may share a memory location, whatever the strides: ATen's
    /// `_maybe_overlapping_memory`.
    pub fn may_overlap(&self) -> bool {
        let mut dims: Vec<_> = sizes_and_strides(self).into_iter().filter(|&(size, _)| size > 1).collect();
        sort_short_by(&mut dims, |one, next| one.1 <= next.1);
        // The distance of the last element from the first one, in the dimensions with smaller strides.
        let mut extent = 0usize;
        let overlaps = dims.into_iter().any(|(size, stride)| {
            let overlaps = stride <= extent;
            extent = extent.saturating_add(stride.saturating_mul(size - 1));
            overlaps
        });
        overlaps && self.numel() > 0
    }

    /// Returns the layout with the expanded dimensions (stride 0) reduced to size 1, so that each memory location
    /// occurs once. A layout without elements, whose strides are arbitrary, has none.
    pub fn without_expanded_dims(&self) -> Layout {
        if self.shape.contains(&0) {
            return self.clone();
        }
        let repeats = |(size, stride): (&usize, &usize)| if *size > 1 && *stride == 0 { 1 } else { *size };
        let shape = self.shape.iter().zip(&self.strides).map(repeats).collect();
        Layout { shape, ..self.clone() }
    }

    /// Returns the number of elements that a storage must have for this layout, or `None` on overflow. Without
    /// elements it is 0 at every offset: an empty slice may start beyond the memory, as in PyTorch.
    pub fn required_len(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let mut last = self.offset;
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            last = last.checked_add(size.checked_sub(1)?.checked_mul(stride)?)?;
        }
        last.checked_add(1)
    }

    /// Returns the strides of this layout broadcast to `shape`: 0 for each size of 1.
    pub fn broadcast_strides(&self, shape: &[usize]) -> Vec<usize> {
        let missing = shape.len().saturating_sub(self.shape.len());
        let own = self.shape.iter().zip(&self.strides);
        std::iter::repeat_n(0, missing)
            .chain(own.map(|(&size, &stride)| if size == 1 { 0 } else { stride }))
            .collect()
    }
}

/// Returns the `torch.channels_last` layout of a shape of four dimensions.
fn channels_last(shape: &[usize]) -> Option<Layout> {
    let &[_, channels, height, width] = shape else { return None };
    let row = channels.saturating_mul(width);
    Some(Layout {
        shape: shape.to_vec(),
        strides: vec![row.saturating_mul(height), 1, row, channels],
        offset: 0,
    })
}

/// Returns the error for strides that are not as many as the sizes.
pub(crate) fn err_stride_count(op: &'static str, shape: &[usize], strides: &[usize]) -> Error {
    let expected = format!("have one number for each size of {}", Tuple(shape));
    Error::value(op, "stride", expected, Tuple(strides))
}

/// Returns the row-major strides of a shape. As in PyTorch a size of 0 counts as 1.
pub fn contiguous_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let mut step = 1usize;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1));
    }
    strides
}

/// The maximum number of dimensions of a tensor.
pub const MAX_DIMENSIONS: usize = 64;

/// Returns an error for more dimensions than a tensor can have.
pub(crate) fn checked_ndim(op: &'static str, ndim: usize) -> Result<()> {
    if ndim <= MAX_DIMENSIONS { Ok(()) } else { Err(Error::too_many_dimensions(op, ndim, MAX_DIMENSIONS)) }
}

/// Returns the number of elements of a shape, or an error if that many elements of `size` bytes cannot be addressed.
pub(crate) fn checked_numel(op: &'static str, shape: &[usize], size: usize) -> Result<usize> {
    checked_ndim(op, shape.len())?;
    // Sizes of zero count as 1, so that strides cannot overflow either.
    let slice = shape.iter().try_fold(size, |total, &size| total.checked_mul(size.max(1)));
    match slice {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(shape.iter().product()),
        _ => Err(Error::too_large(op, shape)),
    }
}

/// Returns the shape to which two shapes broadcast.
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
            _ => Err(Error::broadcast(op, left, right)),
        })
        .collect()
}

/// Returns whether a shape can be broadcast to `shape`.
pub(crate) fn is_expandable_to(shape: &[usize], given: &[usize]) -> bool {
    let mut pairs = shape.iter().rev().zip(given.iter().rev());
    given.len() <= shape.len() && pairs.all(|(&size, &given)| given == size || given == 1)
}

/// Returns an error if a shape, that of an argument of `op`, cannot be broadcast to `shape`.
pub(crate) fn check_broadcastable_to(
    shape: &[usize],
    op: &'static str,
    argument: &'static str,
    given: &[usize],
) -> Result<()> {
    if is_expandable_to(shape, given) {
        return Ok(());
    }
    Err(Error::shape(op, argument, format!("be broadcastable to shape {}", Tuple(shape)), given))
}

/// Converts a possibly negative dimension to an index from the front: c10's `maybe_wrap_dim`. A tensor without
/// dimensions counts as having one.
pub(crate) fn wrap_dim(op: &'static str, dim: i64, ndim: usize) -> Result<usize> {
    wrap_argument(op, "dim", dim, ndim)
}

/// Like [`wrap_dim`], for an argument with another name.
pub(crate) fn wrap_argument(
    op: &'static str,
    argument: &'static str,
    dim: i64,
    ndim: usize,
) -> Result<usize> {
    let count = signed(ndim.max(1));
    let counted = if dim < 0 { dim.saturating_add(count) } else { dim };
    match usize::try_from(counted) {
        Ok(found) if counted < count => Ok(found),
        _ => Err(Error::dimension(op, argument, dim, ndim)),
    }
}

/// Returns which dimensions of a tensor an argument names, each at most once.
pub(crate) fn distinct_dims(
    op: &'static str,
    argument: &'static str,
    dims: &[i64],
    ndim: usize,
) -> Result<Vec<bool>> {
    // A 0-d tensor accepts dimension 0, once.
    let mut named = vec![false; ndim.max(1)];
    for &dim in dims {
        let at = wrap_argument(op, argument, dim, ndim)?;
        if let Some(mark) = named.get_mut(at)
            && std::mem::replace(mark, true)
        {
            return Err(Error::value(op, argument, "name each dimension once", Tuple(dims)));
        }
    }
    named.truncate(ndim);
    Ok(named)
}

/// Converts a possibly negative index of dimension `dim` to an index from the front.
pub(crate) fn wrap_index(op: &'static str, index: i64, dim: usize, size: usize) -> Result<usize> {
    let count = signed(size);
    let counted = if index < 0 { index.saturating_add(count) } else { index };
    let found = usize::try_from(counted).ok().filter(|&found| found < size);
    found.ok_or_else(|| Error::index(op, index, dim, size))
}

/// Returns a size, an index or a dimension as the signed number that arguments are.
pub(crate) fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns sizes as the signed numbers that arguments are.
pub(crate) fn signed_sizes(shape: &[usize]) -> Vec<i64> {
    shape.iter().copied().map(signed).collect()
}

/// Returns the sizes and strides as pairs, which `unzip` separates again.
pub(crate) fn sizes_and_strides(layout: &Layout) -> Vec<(usize, usize)> {
    layout.shape.iter().copied().zip(layout.strides.iter().copied()).collect()
}

/// Replaces the -1 in `sizes` by the size that gives the number of elements of `given`: ATen's `infer_size`.
pub(crate) fn infer_size(op: &'static str, sizes: &[i64], given: &[usize]) -> Result<Vec<usize>> {
    checked_ndim(op, sizes.len())?;
    let numel: usize = given.iter().product();
    let err_sizes = |expected: &str| Error::sizes(op, "shape", expected, sizes);
    let unknown = sizes.iter().filter(|&&size| size == -1).count();
    Error::when(unknown > 1, || err_sizes("contain -1 at most once"))?;
    Error::when(sizes.iter().any(|&size| size < -1), || err_sizes("not be negative, except for one -1"))?;
    let err_numel = || err_sizes(&format!("have as many elements as {}", Tuple(given)));
    let known = sizes
        .iter()
        .filter(|&&size| size != -1)
        .try_fold(1usize, |total, &size| total.checked_mul(usize::try_from(size).ok()?));
    let known = known.ok_or_else(err_numel)?;
    let inferred = if unknown == 0 {
        Error::when(known != numel, err_numel)?;
        0
    } else {
        Error::when(known == 0, || err_sizes("not contain 0 beside -1, which could be any size"))?;
        Error::when(!numel.is_multiple_of(known), err_numel)?;
        numel / known
    };
    Ok(sizes.iter().map(|&size| usize::try_from(size).unwrap_or(inferred)).collect())
}

/// Returns the strides of a view of `layout` with another shape, or `None` if a view is impossible: ATen's
/// `computeStride`.
pub(crate) fn view_strides(layout: &Layout, shape: &[usize]) -> Option<Vec<usize>> {
    if layout.shape.is_empty() {
        return Some(vec![1; shape.len()]);
    }
    if layout.numel() == 0 {
        return Some(if layout.shape == shape { layout.strides.clone() } else { contiguous_strides(shape) });
    }
    let mut own = sizes_and_strides(layout).into_iter().rev().peekable();
    let mut wanted = shape.iter().rev().copied().peekable();
    let mut strides = Vec::with_capacity(shape.len());
    // From the innermost dimension on, groups of dimensions that are contiguous with each other.
    while let Some((mut count, step)) = own.next() {
        while let Some(&(size, stride)) = own.peek() {
            if size != 1 && count.checked_mul(step) != Some(stride) {
                break;
            }
            count = count.saturating_mul(size);
            own.next();
        }
        let mut viewed = 1usize;
        while let Some(size) = wanted.next_if(|&size| viewed < count || size == 1) {
            strides.push(viewed.saturating_mul(step));
            viewed = viewed.saturating_mul(size);
        }
        if viewed != count {
            return None;
        }
    }
    if wanted.next().is_some() {
        return None;
    }
    strides.reverse();
    Some(strides)
}
