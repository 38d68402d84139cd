//! Indexing with the semantics of `tensor[...]` in Python.

use interlock::dispatch::Call;

use super::advanced_index::INDEX_PUT;
use super::indexed::{INDEX, WriteTo, name_of};
use super::nonzero::nonzero_coordinates;
use super::positions::Positions;
use crate::error::Tuple;
use crate::layout::{signed, wrap_index};
use crate::ops::elementwise::operand::check_same_dtype;
use crate::{DType, Error, ErrorCause, ErrorKind, Result, Scalar, Tensor};

pub(crate) const OP: &str = "index";
const SET_OP: &str = "set_index";

/// One item of an index expression, as ATen's `TensorIndex`.
#[derive(Clone, Debug)]
pub enum Index {
    /// Selects one index of a dimension and removes the dimension.
    Integer(i64),
    /// Selects a range of a dimension.
    Slice {
        /// The first index; `None` is the beginning.
        start: Option<i64>,
        /// The end, exclusive; `None` is the end of the dimension.
        end: Option<i64>,
        /// The step.
        step: i64,
    },
    /// Inserts a new dimension of size 1: `None` in Python.
    NewAxis,
    /// All dimensions that no other item indexes: `...` in Python.
    Ellipsis,
    /// Selects the elements at positions with a constant distance: a range in Python.
    Range {
        /// The first position.
        first: i64,
        /// The last position, inclusive.
        last: i64,
        /// The distance of neighbours.
        step: i64,
    },
    /// Selects the elements at these positions (`int64` or `int32`), or where the mask is true (`bool`).
    Tensor(Tensor),
}

/// An index that contains tensors, after the other items were applied: `indices` index the dimensions of `view` from
/// `dim` on, one tensor each, with the number of the dimension before the other items were applied.
struct AdvancedIndex {
    view: Tensor,
    dim: usize,
    indices: Vec<(Tensor, usize)>,
}

impl Tensor {
    /// Returns the indexed part: a view, or a copy if `indices` contain a tensor.
    pub fn index(&self, indices: &[Index]) -> Result<Tensor> {
        let at = self.resolve(OP, indices)?;
        if at.indices.is_empty() {
            return Ok(at.view);
        }
        at.view.read_at(INDEX, &Positions::of_expression(INDEX.read, &at.view, at.dim, &at.indices)?)
    }

    /// Assigns `value`, which is broadcast, to the indexed part. If `indices` contain a tensor the types must be
    /// equal, except for a single element that is assigned through a mask.
    pub fn set_index(&self, indices: &[Index], value: &Tensor) -> Result<()> {
        let at = self.resolve(SET_OP, indices)?;
        if at.indices.is_empty() {
            let value = squeeze_leading_ones(value, at.view.ndim())?;
            return at.view.copy_(&value).map(drop).map_err(err_assignment);
        }
        // As in PyTorch only a single mask converts the type, and only of a single element.
        let mut tensors =
            indices.iter().filter(|index| matches!(index, Index::Tensor(_) | Index::Range { .. }));
        let is_mask = matches!(
            (tensors.next(), tensors.next()),
            (Some(Index::Tensor(mask)), None) if mask.dtype() == DType::Bool && mask.ndim() > 0
        );
        if value.dtype() != self.dtype() && !(is_mask && value.numel() == 1) {
            let expected = format!("of dtype {} where tensors or lists are indices", self.dtype());
            return Err(Error::dtype(SET_OP, "value", expected, value.dtype()));
        }
        let target = self.target_of(&at);
        let done = target.index_put_at(WriteTo::InPlace, INDEX_PUT, at.dim, &at.indices, value, false);
        done.map(drop).map_err(err_assignment)
    }

    /// Adds `values`, which are broadcast, to the elements at `indices`, or replaces them: `torch.Tensor.index_put`.
    /// The indices are tensors of the first dimensions. Of several values for one element the last replaces it.
    ///
    /// # Errors
    /// The element types must be equal.
    pub fn index_put(
        &self,
        to: WriteTo,
        indices: &[Index],
        values: &Tensor,
        accumulate: bool,
    ) -> Result<Tensor> {
        let op = name_of(to, ["index_put", "index_put_"]);
        check_same_dtype(op, self, values)?;
        let at = self.resolve(op, indices)?;
        if !at.indices.is_empty() && std::ptr::eq(self.target_of(&at), self) {
            return self.index_put_at(to, op, at.dim, &at.indices, values, accumulate);
        }
        if let WriteTo::Copy = to {
            let out = self.copy()?;
            out.index_put(WriteTo::InPlace, indices, values, accumulate)?;
            return Ok(out);
        }
        if at.indices.is_empty() {
            let target = if accumulate { at.view.add_(values) } else { at.view.copy_(values) };
            target?;
        } else {
            at.view.index_put_at(to, op, at.dim, &at.indices, values, accumulate)?;
        }
        Ok(self.clone())
    }

    /// Returns the choice of a kernel for [`index_put`](Tensor::index_put) now, without running it. Only masks are read.
    ///
    /// # Errors
    /// Fails as `index_put` does for shapes, types and devices that do not fit.
    pub fn explain_index_put(&self, indices: &[Index], values: &Tensor, accumulate: bool) -> Result<Call> {
        let op = "index_put";
        check_same_dtype(op, self, values)?;
        let at = self.resolve(op, indices)?;
        at.view.explain_index_put_at(at.dim, &at.indices, values, accumulate)
    }

    /// Returns the tensor whose elements an assignment changes: this tensor itself, if the view has all of its elements
    /// in their order, so that the history is not that of a changed view.
    fn target_of<'a>(&'a self, at: &'a AdvancedIndex) -> &'a Tensor {
        if at.view.layout() == self.layout() { self } else { &at.view }
    }

    fn resolve(&self, op: &'static str, indices: &[Index]) -> Result<AdvancedIndex> {
        let named = |index: &Index| match index {
            Index::Integer(_) | Index::Slice { .. } | Index::Range { .. } => 1,
            Index::NewAxis | Index::Ellipsis => 0,
            Index::Tensor(mask) if mask.dtype() == DType::Bool => mask.ndim(),
            Index::Tensor(_) => 1,
        };
        for index in indices {
            if let Index::Tensor(index) = index
                && index.is_on_device()
                && index.device() != self.device()
            {
                return Err(Error::devices(op, self.device(), index.device()));
            }
        }
        let count: usize = indices.iter().map(named).sum();
        let rest = self.ndim().checked_sub(count).ok_or_else(|| match self.ndim() {
            0 => Error::no_dimensions(op),
            ndim => err_index(
                op,
                format!("the index must have at most {ndim} items for {ndim} dimensions, got {count}"),
            ),
        })?;
        let ellipses = indices.iter().filter(|index| matches!(index, Index::Ellipsis)).count();
        if ellipses > 1 {
            let message = format!("the index must contain ... at most once, got it {ellipses} times");
            return Err(err_index(op, message));
        }
        let mut view = self.clone();
        let mut dim = 0usize;
        // The dimension of this tensor that the next item indexes, for errors.
        let mut source_dim = 0usize;
        let mut indexed: Vec<(Tensor, usize)> = Vec::new();
        // The dimension of the view of each of them.
        let mut dims = Vec::new();
        for index in indices {
            let at = signed(dim);
            // The tensors that index the dimensions of the view from `dim` on, and the dimensions that the item skips.
            let (found, skipped) = match index {
                Index::Integer(position) => {
                    wrap_index(op, *position, source_dim, view.shape().get(dim).copied().unwrap_or(0))?;
                    view = view.select(at, *position)?;
                    (Vec::new(), 0)
                }
                // As in PyTorch a whole dimension needs no view.
                Index::Slice { start: None, end: None, step: 1 } => (Vec::new(), 1),
                Index::Slice { start, end, step } => {
                    view = view.slice(at, *start, *end, *step)?;
                    (Vec::new(), 1)
                }
                Index::NewAxis => {
                    view = view.unsqueeze(at)?;
                    (Vec::new(), 1)
                }
                Index::Ellipsis => (Vec::new(), rest),
                &Index::Range { first, last, step } => {
                    // Before the positions are listed: the range may be long.
                    let size = view.shape().get(dim).copied().unwrap_or(0);
                    wrap_index(op, first, source_dim, size)?;
                    wrap_index(op, last, source_dim, size)?;
                    let (end, step) = (Scalar::Int(last + step.signum()), Scalar::Int(step));
                    (vec![Tensor::arange(Scalar::Int(first), end, step, DType::Int64)?], 0)
                }
                // A single bool is a new dimension of size 1, of which index 0 is selected if it is true and none if
                // it is false.
                Index::Tensor(value) if value.ndim() == 0 && value.dtype() == DType::Bool => {
                    let size: i64 = value.item()?.cast();
                    view = view.unsqueeze(at)?;
                    (vec![Tensor::zeros(&[usize::try_from(size).unwrap_or(0)], DType::Int64)?], 0)
                }
                Index::Tensor(tensor) => {
                    (to_indices(op, tensor, view.shape().get(dim..).unwrap_or_default())?, 0)
                }
            };
            dims.extend((dim..).take(found.len()));
            dim += found.len() + skipped;
            indexed.extend(found.into_iter().zip(source_dim..));
            source_dim += if matches!(index, Index::Ellipsis) { rest } else { named(index) };
        }
        if view.is(self) && indexed.is_empty() {
            // The result is never the tensor itself.
            view = self.alias_view()?;
        }
        let first = dims.first().copied().unwrap_or(0);
        if dims.iter().copied().eq((first..).take(dims.len())) {
            return Ok(AdvancedIndex { view, dim: first, indices: indexed });
        }
        // Dimensions that other items separate become the first ones.
        let others = (0..view.ndim()).filter(|dim| !dims.contains(dim));
        let order = dims.iter().copied().chain(others).map(signed);
        let view = view.permute(&order.collect::<Vec<_>>())?;
        Ok(AdvancedIndex { view, dim: 0, indices: indexed })
    }

    fn alias_view(&self) -> Result<Tensor> {
        if self.ndim() == 0 { self.unsqueeze(0)?.squeeze(Some(0)) } else { self.slice(0, None, None, 1) }
    }
}

fn err_index(op: &'static str, message: String) -> Error {
    Error::new(ErrorKind::Index, op, message)
}

/// Returns the error of an assignment for the error of the operation that writes the value.
fn err_assignment(error: Error) -> Error {
    match error.cause() {
        ErrorCause::Refused { kind: ErrorKind::Shape, argument: Some(_), message, .. } => {
            Error::argument(ErrorKind::Shape, SET_OP, "value", message.as_str())
        }
        _ => error.during(SET_OP),
    }
}

/// Removes leading dimensions of size 1 beyond `ndim`: ATen's `slicePrefix1sSize`.
pub(crate) fn squeeze_leading_ones(value: &Tensor, ndim: usize) -> Result<Tensor> {
    let mut value = value.clone();
    while value.ndim() > ndim && value.shape().first() == Some(&1) {
        value = value.squeeze(Some(0))?;
    }
    Ok(value)
}

/// Converts an index tensor to one int64 tensor for each dimension that it indexes, of these sizes.
fn to_indices(op: &'static str, tensor: &Tensor, sizes: &[usize]) -> Result<Vec<Tensor>> {
    match tensor.dtype() {
        DType::Int64 | DType::Int32 => Ok(vec![tensor.detach().cast(DType::Int64)?]),
        DType::Bool => {
            let own = sizes.get(..tensor.ndim()).unwrap_or_default();
            if own != tensor.shape() {
                let (own, given) = (Tuple(own), Tuple(tensor.shape()));
                let message = format!(
                    "a mask in the index must be of shape {own}, as the dimensions that it indexes, got shape {given}"
                );
                return Err(err_index(op, message));
            }
            nonzero_coordinates(tensor)
        }
        given => {
            Err(err_index(op, format!("each tensor of the index must be int64, int32 or bool, got {given}")))
        }
    }
}
