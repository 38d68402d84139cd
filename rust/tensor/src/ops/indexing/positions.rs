//! Checked positions of elements, which index tensors address.

use std::sync::Arc;

use super::gather_scatter::{self, IndexBounds, IndexedLayout, ScatterReduce};
use crate::dtype::{Bool8, dispatch_float, dispatch_size};
use crate::error::Tuple;
use crate::layout::{Layout, broadcast, checked_numel, view_strides, wrap_dim};
use crate::ops::elementwise::operand::check_device;
use crate::storage::Placement;
use crate::storage::fallible_alloc::try_collect;
use crate::{DType, Error, ErrorKind, Result, Tensor, iterate};

/// The name of the argument with the indices, but for a few functions.
const INDEX: &str = "index";

/// The operation whose index a [`Positions`] is. It determines which indices are errors.
#[derive(Clone, Copy)]
pub(crate) struct IndexRule {
    pub op: &'static str,
    /// The argument with the indices.
    pub argument: &'static str,
    /// Whether negative indices count from the end.
    pub wraps: bool,
    /// Whether the index may be of an integer type of 32 bits.
    pub narrow: bool,
    /// An index whose elements are neither read nor written.
    pub skipped: Option<i64>,
    /// Creates the error for an index.
    pub error: fn(IndexBounds, i64) -> Error,
}

impl IndexRule {
    /// The rule of `index_select` and similar operations: indices that are not negative, or an `IndexError`.
    pub fn along(op: &'static str) -> Self {
        let error = |IndexBounds { rule, size, .. }: IndexBounds, index| {
            let IndexRule { op, argument, wraps, .. } = rule;
            let least = if wraps && size > 0 { format!("-{size}, ") } else { String::new() };
            let message = format!("must contain positions of range({least}{size}), got {index}");
            Error::argument(ErrorKind::Index, op, argument, message)
        };
        IndexRule { op, argument: INDEX, wraps: false, narrow: true, skipped: None, error }
    }

    /// The rule of `take` and `put`: like [`along`](IndexRule::along), with negative indices from the end, and
    /// int64 only.
    pub fn wrapped(op: &'static str) -> Self {
        IndexRule { wraps: true, narrow: false, ..IndexRule::along(op) }
    }

    /// The rule of `gather` and `scatter`: indices that are not negative, or a `RuntimeError`.
    pub fn coordinate(op: &'static str) -> Self {
        let error = |IndexBounds { rule, dim, size }: IndexBounds, index| {
            let message = format!("must contain positions of range({size}) in dimension {dim}, got {index}");
            Error::argument(ErrorKind::State, rule.op, rule.argument, message)
        };
        IndexRule { error, ..IndexRule::along(op) }
    }

    /// The rule of `embedding`: like [`along`](IndexRule::along), for its first argument.
    pub fn embedding(skipped: Option<i64>) -> Self {
        IndexRule { argument: "input", skipped, ..IndexRule::along("embedding") }
    }

    /// The rule of `one_hot`: classes, or a `RuntimeError`.
    pub fn classes(op: &'static str) -> Self {
        let error = |IndexBounds { rule, size, .. }: IndexBounds, given| {
            let message = format!("must contain classes of range({size}), got {given}");
            Error::argument(ErrorKind::State, rule.op, rule.argument, message)
        };
        IndexRule { argument: "tensor", error, ..IndexRule::coordinate(op) }
    }

    /// The rule of an index expression.
    pub fn expression(op: &'static str) -> Self {
        let error =
            |IndexBounds { rule, dim, size }: IndexBounds, index| Error::index(rule.op, index, dim, size);
        IndexRule { wraps: true, error, ..IndexRule::along(op) }
    }
}

/// Which elements of a tensor an index addresses.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// Checked indices of a dimension, contiguous.
    index: Tensor,
    kind: Kind,
    /// The shape of the indexed tensor.
    source: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The index replaces `count` dimensions from `first` on, over which it counts in row-major order.
    Rows { first: usize, count: usize },
    /// The index has as many dimensions as the tensor: each of its elements is at its own position, but along one
    /// dimension.
    Elements { dim: usize },
}

impl IndexRule {
    /// Returns an index as a kernel reads it.
    fn int64_index(self, index: &Tensor) -> Result<Tensor> {
        self.check_dtype(index)?;
        iterate::cast(&index.detach(), DType::Int64)
    }

    /// Returns an error for an index of a type that the operation does not accept.
    pub fn check_dtype(self, index: &Tensor) -> Result<()> {
        let (op, argument, given) = (self.op, self.argument, index.dtype());
        let is_narrow = !given.is_floating_point() && given.size() == size_of::<i32>();
        if given == DType::Int64 || self.narrow && is_narrow {
            return Ok(());
        }
        let expected = if self.narrow { "int64 or int32" } else { "int64" };
        Err(Error::dtype(op, argument, expected, given).with_hint("; long() converts it"))
    }
}

/// Returns the common shape of the tensors of an index expression.
pub(crate) fn broadcast_indices(op: &'static str, indices: &[(Tensor, usize)]) -> Result<Vec<usize>> {
    indices.iter().try_fold(Vec::new(), |wide, (index, _)| {
        broadcast(op, &wide, index.shape()).map_err(|_| {
            let (left, right) = (Tuple(&wide), Tuple(index.shape()));
            let problem = "the tensors of the index must be broadcastable";
            let message = format!("{problem}, got shapes {left} and {right}");
            Error::new(ErrorKind::Index, op, message)
        })
    })
}

/// Checks the shape, the type and the device of an index of [`Positions::coordinates`]. Returns the dimension.
pub(crate) fn check_coordinates(rule: IndexRule, source: &Tensor, dim: i64, index: &Tensor) -> Result<usize> {
    let op = rule.op;
    let dim = wrap_dim(op, dim, source.ndim())?;
    check_device(op, source, index)?;
    // An index without elements addresses nothing, whatever its shape and type: that of an empty list is float32.
    if index.numel() == 0 {
        return Ok(dim);
    }
    rule.check_dtype(index)?;
    if index.ndim().max(1) != source.ndim().max(1) {
        let expected = format!("have as many dimensions as the tensor of shape {}", Tuple(source.shape()));
        return Err(Error::shape(op, "index", expected, index.shape()));
    }
    let mut sizes = index.shape().iter().zip(source.shape()).enumerate();
    if !sizes.all(|(own, (index, size))| own == dim || index <= size) {
        let expected = format!("not be larger than shape {} but in dimension {dim}", Tuple(source.shape()));
        return Err(Error::shape(op, "index", expected, index.shape()));
    }
    Ok(dim)
}

impl Positions {
    /// Checks the indices of the dimensions of `source` from `first` on, one tensor for each. They are broadcast, and
    /// may be on the CPU. `dims` are the numbers of the dimensions in errors.
    pub fn of_expression(
        op: &'static str,
        source: &Tensor,
        first: usize,
        indices: &[(Tensor, usize)],
    ) -> Result<Arc<Self>> {
        let (wide, shape) = (broadcast_indices(op, indices)?, source.shape());
        let mut checked: Option<Tensor> = None;
        for (number, (index, dim)) in indices.iter().enumerate() {
            let size = shape.get(first.saturating_add(number)).copied().unwrap_or(0);
            let rule = IndexRule::expression(op);
            let (bounds, own) = (IndexBounds { rule, dim: *dim, size }, rule.int64_index(index)?);
            let next = match &checked {
                Some(before) => {
                    let (before, own) = on_one_device(op, before, &own)?;
                    gather_scatter::check_index(&own, Some(&before), &wide, bounds)?
                }
                None => gather_scatter::check_index(&own, None, &wide, bounds)?,
            };
            checked = Some(next);
        }
        let index = match checked {
            Some(index) => on_placement(op, index, source.placement())?,
            None => Tensor::zeros(&wide, (DType::Int64, source.placement()))?,
        };
        Self::checked(op, source.dtype(), shape, index, Kind::Rows { first, count: indices.len() })
    }

    /// Checks an index of one dimension of `source`, which replaces this dimension.
    pub fn along(rule: IndexRule, source: &Tensor, dim: usize, index: &Tensor) -> Result<Arc<Self>> {
        check_device(rule.op, source, index)?;
        let (shape, kind) = (source.shape(), Kind::Rows { first: dim, count: 1.min(source.ndim()) });
        let bounds = IndexBounds { rule, dim, size: shape.get(dim).copied().unwrap_or(1) };
        Self::of_index(source.dtype(), shape, index, bounds, kind)
    }

    /// Checks an index that counts over all elements of `source` in row-major order.
    pub fn of_elements(rule: IndexRule, source: &Tensor, index: &Tensor) -> Result<Arc<Self>> {
        check_device(rule.op, source, index)?;
        let shape = source.shape();
        let bounds = IndexBounds { rule, dim: 0, size: shape.iter().product() };
        Self::of_index(source.dtype(), shape, index, bounds, Kind::Rows { first: 0, count: shape.len() })
    }

    /// Checks an index with the dimensions of `source`, each of whose elements is at its own position, but along `dim`.
    /// A 0-d tensor counts as a 1-d one.
    pub fn coordinates(op: &'static str, source: &Tensor, dim: i64, index: &Tensor) -> Result<Arc<Self>> {
        Self::coordinates_by(IndexRule::coordinate(op), source, dim, index)
    }

    /// Checks an index like [`coordinates`](Positions::coordinates), by another rule.
    pub fn coordinates_by(rule: IndexRule, source: &Tensor, dim: i64, index: &Tensor) -> Result<Arc<Self>> {
        let dim = check_coordinates(rule, source, dim, index)?;
        let (dtype, shape, kind) = (source.dtype(), source.shape(), Kind::Elements { dim });
        if index.numel() == 0 {
            let index = Tensor::zeros(index.shape(), (DType::Int64, index.placement()))?;
            return Self::checked(rule.op, dtype, shape, index, kind);
        }
        let bounds = IndexBounds { rule, dim, size: shape.get(dim).copied().unwrap_or(1) };
        Self::of_index(dtype, shape, index, bounds, kind)
    }

    /// Checks the elements of an index of a tensor of a type and a shape.
    fn of_index(
        dtype: DType,
        shape: &[usize],
        index: &Tensor,
        bounds: IndexBounds,
        kind: Kind,
    ) -> Result<Arc<Self>> {
        let given = bounds.rule.int64_index(index)?;
        let index = gather_scatter::check_index(&given, None, index.shape(), bounds)?;
        Self::checked(bounds.rule.op, dtype, shape, index, kind)
    }

    /// Returns the numbers of rows of `source`, which count over the first `count` dimensions, as positions. They are
    /// on the CPU.
    pub fn from_rows(op: &'static str, source: &Tensor, rows: &Tensor, count: usize) -> Result<Arc<Self>> {
        let index = on_placement(op, rows.clone(), source.placement())?;
        Self::checked(op, source.dtype(), source.shape(), index, Kind::Rows { first: 0, count })
    }

    /// Returns the same positions in a tensor of another shape, with the same sizes of the indexed dimensions.
    pub fn for_shape(&self, shape: &[usize]) -> Self {
        Positions { source: shape.to_vec(), ..self.clone() }
    }

    /// Returns the numbers of the rows, which count over the indexed dimensions and those before them. Waits for a
    /// device.
    pub fn row_numbers(&self) -> Result<Vec<usize>> {
        let (first, count) = match self.kind {
            Kind::Rows { first, count } => (first, count),
            Kind::Elements { dim } => (dim, 1),
        };
        let outer: usize = self.source.iter().take(first).product();
        let block: usize = self.source.iter().skip(first).take(count).product();
        let index = self.index.to_vec::<i64>()?;
        let rows = (0..outer).flat_map(|outer| {
            let row = move |&index: &i64| {
                outer.saturating_mul(block).saturating_add(usize::try_from(index).unwrap_or(0))
            };
            index.iter().map(row)
        });
        try_collect(outer.saturating_mul(index.len()), rows)
    }

    /// Returns positions in a tensor of a type and the shape whose sizes bounded the index.
    fn checked(
        op: &'static str,
        dtype: DType,
        shape: &[usize],
        index: Tensor,
        kind: Kind,
    ) -> Result<Arc<Self>> {
        let positions = Positions { index, kind, source: shape.to_vec() };
        checked_numel(op, &positions.shape(), dtype.size())?;
        Ok(Arc::new(positions))
    }

    /// Returns the shape of the indexed tensor.
    pub fn source(&self) -> &[usize] {
        &self.source
    }

    /// Returns the shape of the elements that are read or written.
    pub fn shape(&self) -> Vec<usize> {
        match self.kind {
            Kind::Elements { .. } => self.index.shape().to_vec(),
            Kind::Rows { first, count } => {
                let before = self.source.iter().take(first);
                let after = self.source.iter().skip(first.saturating_add(count));
                before.chain(self.index.shape()).chain(after).copied().collect()
            }
        }
    }

    /// Returns how the elements of a layout correspond to the index, or `None` if the indexed dimensions are not
    /// equally spaced in memory.
    ///
    /// # Errors
    /// Fails if the tensor does not have the shape whose sizes bounded the index: another thread has resized it.
    fn layout(&self, op: &'static str, tensor: &Layout) -> Result<Option<IndexedLayout>> {
        Error::when(tensor.shape != self.source, || Error::resized(op))?;
        Ok(match self.kind {
            Kind::Elements { dim } => Some(IndexedLayout::elements(tensor, dim, self.index.shape())),
            Kind::Rows { first, count } => merge_dims(tensor, first, count)
                .map(|merged| IndexedLayout::rows(&merged, first, self.index.shape())),
        })
    }

    /// Returns a copy of the addressed elements, without recording.
    pub fn read(&self, op: &'static str, source: &Tensor) -> Result<Tensor> {
        let source = source.detach();
        let (source, layout) = match self.layout(op, source.layout())? {
            Some(layout) => (source, layout),
            None => {
                let copy = source.contiguous_copy()?;
                let layout = self.layout(op, copy.layout())?.ok_or_else(|| Error::overlap(op))?;
                (copy, layout)
            }
        };
        let (bits, index) = (iterate::bits(&source), &self.index);
        let out =
            dispatch_size!(source.dtype(), T => gather_scatter::gather_at::<T>(op, &bits, &layout, index))?;
        Ok(iterate::reinterpret(&out, source.dtype()))
    }

    /// Writes values, which are broadcast and of the type of `target`, to the addressed elements, without recording.
    pub fn write(
        &self,
        op: &'static str,
        target: &Tensor,
        values: &Tensor,
        combine: ScatterReduce,
        order: Order,
    ) -> Result<()> {
        check_device(op, target, values)?;
        let (dtype, compute) = match combine {
            ScatterReduce::Add | ScatterReduce::Multiply if target.dtype().is_half() => {
                (target.dtype(), DType::Float32)
            }
            _ => (target.dtype(), target.dtype()),
        };
        let layout = if dtype == compute { self.layout(op, target.layout())? } else { None };
        let Some(layout) = layout else {
            // Halves are rounded once, after the last of several additions to one element.
            let whole = iterate::cast(&target.detach(), compute)?;
            let whole =
                if dtype == compute || !whole.is_contiguous() { whole.contiguous_copy()? } else { whole };
            let layout = self.layout(op, whole.layout())?.ok_or_else(|| Error::overlap(op))?;
            self.write_layout(op, &whole, &iterate::cast(values, compute)?, &layout, combine, order)?;
            let whole = iterate::cast(&whole, dtype)?;
            return iterate::copy_into(op, target, &whole);
        };
        self.write_layout(op, target, values, &layout, combine, order)
    }

    fn write_layout(
        &self,
        op: &'static str,
        target: &Tensor,
        values: &Tensor,
        layout: &IndexedLayout,
        combine: ScatterReduce,
        order: Order,
    ) -> Result<()> {
        // The values are read while the target is written.
        let overlaps = target.storage_handle().overlaps(values.storage_handle());
        let values = if overlaps { values.detach().contiguous_copy()? } else { values.detach() };
        let index = &self.index;
        // The bits of integers are added and multiplied: their sign makes no difference.
        if combine == ScatterReduce::Replace || target.dtype().is_integer() {
            let (target, values) = (&iterate::bits(target), &iterate::bits(&values));
            return dispatch_size!(target.dtype(), T => {
                gather_scatter::scatter::<T>(op, target, layout, index, values, combine, order)
            });
        }
        if target.dtype() == DType::Bool {
            return gather_scatter::scatter::<Bool8>(op, target, layout, index, &values, combine, order);
        }
        dispatch_float!(target.dtype(), T => {
            gather_scatter::scatter::<T>(op, target, layout, index, &values, combine, order)
        })
    }
}

/// The order in which values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order of the values.
    RowMajor,
    /// An order that is not determined, on several threads.
    Any,
}

/// Returns two indices on one device: that of an index on a device, if one of them is.
fn on_one_device(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let placement = if a.is_on_device() { a.placement() } else { b.placement() };
    Ok((on_placement(op, a.clone(), placement)?, on_placement(op, b.clone(), placement)?))
}

fn on_placement(op: &'static str, index: Tensor, placement: Placement) -> Result<Tensor> {
    match placement {
        Placement::Device(_) if !index.is_on_device() => {
            gather_scatter::index_on_device(op, &index, placement)
        }
        _ => Ok(index),
    }
}

/// Returns a layout whose `count` dimensions from `first` on are one, or `None` if they are not equally spaced. Without
/// dimensions a dimension of size 1 is inserted.
fn merge_dims(layout: &Layout, first: usize, count: usize) -> Option<Layout> {
    let end = first.saturating_add(count);
    let (before, rest) = layout.shape.split_at_checked(first)?;
    let (sizes, after) = rest.split_at_checked(count)?;
    let part = Layout {
        shape: sizes.to_vec(),
        strides: layout.strides.get(first..end)?.to_vec(),
        offset: layout.offset,
    };
    let size = sizes.iter().product();
    let stride = match part.strides.as_slice() {
        [stride] => *stride,
        _ => view_strides(&part, &[size])?.first().copied()?,
    };
    let strides = [layout.strides.get(..first)?, &[stride], layout.strides.get(end..)?].concat();
    Some(Layout { shape: [before, &[size], after].concat(), strides, offset: layout.offset })
}
