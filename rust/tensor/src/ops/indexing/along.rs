//! Reads and writes of slices at the positions of an index along one dimension.

use std::sync::Arc;

use interlock::dispatch::Call;

use super::indexed::{SELECT, WriteTo, name_of};
use super::positions::{IndexRule, Positions};
use super::scatter_kernels::{INDEX_ADD, ScatterArgs, ScatterCall};
use crate::error::{Tuple, check_fits};
use crate::layout::wrap_dim;
use crate::ops::elementwise::operand::{Operand, check_device, check_same_dtype};
use crate::{DType, Error, ErrorKind, Result, Scalar, Tensor};

/// Checks the dimension, and the shape of an index of at most one dimension. Returns the dimension.
fn check_along(op: &'static str, source: &Tensor, dim: i64, index: &Tensor) -> Result<usize> {
    let dim = wrap_dim(op, dim, source.ndim())?;
    if index.ndim() > 1 {
        let shape = Tuple(index.shape());
        let message = format!("index must have at most one dimension, got shape {shape}");
        return Err(Error::new(ErrorKind::Index, op, message));
    }
    Ok(dim)
}

/// Checks an index of at most one dimension.
fn positions_along(rule: IndexRule, source: &Tensor, dim: i64, index: &Tensor) -> Result<Arc<Positions>> {
    let dim = check_along(rule.op, source, dim, index)?;
    Positions::along(rule, source, dim, &index.detach().reshaped(&[index.numel()])?)
}

/// Returns the slices of an argument in the shape of the addressed elements.
fn slices(op: &'static str, source: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let is_single = source.ndim() == 0 && shape.iter().all(|&size| size == 1);
    if source.shape() == shape {
        return Ok(source.clone());
    }
    if is_single {
        return source.reshaped(shape);
    }
    let expected = format!("be of shape {}, the indexed part of the tensor", Tuple(shape));
    Err(Error::shape(op, "source", expected, source.shape()))
}

/// Returns an error unless the source has as many dimensions as the tensor.
fn check_same_ndim(op: &'static str, target: &Tensor, source: &Tensor) -> Result<()> {
    if source.ndim() == target.ndim() {
        return Ok(());
    }
    let expected = format!("have {} dimensions, as the tensor", target.ndim());
    Err(Error::shape(op, "source", expected, source.shape()))
}

/// Returns the factor of `index_add`, converted to a type.
fn factor(op: &'static str, alpha: Scalar, dtype: DType) -> Result<Scalar> {
    let alpha = check_fits(alpha, dtype, op, "alpha")?;
    Ok(match dtype {
        DType::Bool => Scalar::Bool(alpha.cast::<f64>() != 0.0),
        dtype if dtype.is_floating_point() => Scalar::Float(alpha.cast()),
        _ => Scalar::Int(alpha.cast()),
    })
}

/// The rule of `index_add`. As in PyTorch the error of an index depends on the number of dimensions.
fn rule_of_add(op: &'static str, target: &Tensor) -> IndexRule {
    if target.ndim() > 1 { IndexRule::coordinate(op) } else { IndexRule::along(op) }
}

impl Tensor {
    /// Returns the slices of dimension `dim` at the positions in `index`, which has at most one dimension:
    /// `torch.index_select`.
    pub fn index_select(&self, dim: i64, index: &Tensor) -> Result<Tensor> {
        let op = "index_select";
        let positions = positions_along(IndexRule::along(op), self, dim, index)?;
        // A 0-d tensor counts as a 1-d one.
        if self.ndim() == 0 && index.numel() != 1 {
            let expected = "have one element for a 0-d tensor";
            return Err(Error::shape(op, "index", expected, index.shape()));
        }
        let out = self.read_at(SELECT, &positions)?;
        if self.ndim() == 0 { out.reshaped(&[]) } else { Ok(out) }
    }

    /// Adds `alpha` times the slices of `source` to the slices of dimension `dim` at the positions in `index`:
    /// `torch.Tensor.index_add`.
    ///
    /// # Errors
    /// The element types must be equal, and `source` must have the shape of the indexed part.
    pub fn index_add(
        &self,
        to: WriteTo,
        dim: i64,
        index: &Tensor,
        source: &Tensor,
        alpha: Scalar,
    ) -> Result<Tensor> {
        let op = name_of(to, ["index_add", "index_add_"]);
        check_along(op, self, dim, index)?;
        check_same_dtype(op, self, source)?;
        let positions = positions_along(rule_of_add(op, self), self, dim, index)?;
        check_same_ndim(op, self, source)?;
        let alpha = factor(op, alpha, source.dtype())?;
        let source = slices(op, source, &positions.shape())?;
        if alpha.cast::<f64>() == 1.0 {
            return self.add_at(to, op, SELECT, &positions, &source, None);
        }
        let values = source.detach().mul(alpha)?;
        let work = |target: &Tensor| {
            SELECT.scatter.run(
                &ScatterArgs { op, target, values: &values, positions: &positions },
                true,
                None,
            )
        };
        self.write_recorded(
            to,
            (op, SELECT.add_node),
            &[&source],
            &positions,
            work,
            move |ctx, at, gradient| {
                let of_source = ctx.gradient(1, || gradient.read_at(SELECT, at)?.mul(alpha))?;
                Ok(vec![Some(gradient.clone()), of_source])
            },
        )
    }

    /// Returns the choice of a kernel for [`index_add`](Tensor::index_add) now, without running it. The elements of
    /// `index` are not read.
    ///
    /// # Errors
    /// Fails as `index_add` does for shapes, types and devices that do not fit.
    pub fn explain_index_add(&self, dim: i64, index: &Tensor, source: &Tensor) -> Result<Call> {
        let op = "index_add";
        let dim = check_along(op, self, dim, index)?;
        check_same_dtype(op, self, source)?;
        rule_of_add(op, self).check_dtype(index)?;
        for other in [index, source] {
            check_device(op, self, other)?;
        }
        let mut part = self.shape().to_vec();
        match part.get_mut(dim) {
            Some(size) => *size = index.numel(),
            None => part.push(index.numel()),
        }
        check_same_ndim(op, self, source)?;
        Ok(INDEX_ADD.explain(&ScatterCall::new(self, &slices(op, source, &part)?, true)))
    }

    /// Replaces the slices of dimension `dim` at the positions in `index` by those of `source`:
    /// `torch.Tensor.index_copy`. Of several slices for one index the last is stored.
    pub fn index_copy(&self, to: WriteTo, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
        let op = name_of(to, ["index_copy", "index_copy_"]);
        let along = check_along(op, self, dim, index)?;
        if source.ndim() != 0 && source.ndim() != self.ndim().max(1) {
            let (ndim, shape) = (self.ndim(), Tuple(source.shape()));
            let message = format!("source must have {ndim} dimensions, as the tensor, got shape {shape}");
            return Err(Error::new(ErrorKind::Index, op, message));
        }
        check_same_dtype(op, self, source)?;
        let positions = positions_along(IndexRule::along(op), self, dim, index)?;
        let (given, needed) = (source.shape().get(along).copied().unwrap_or(1), index.numel());
        if given != needed {
            let message = format!("source must have one slice for each index, {needed}, got {given}");
            return Err(Error::new(ErrorKind::Index, op, message));
        }
        let values = slices(op, source, &positions.shape())?;
        self.assign_at(to, (op, "IndexCopyBackward0"), SELECT, &positions, &values, None)
    }

    /// Fills the slices of dimension `dim` at the positions in `index`, which may be negative, with a number or a
    /// tensor without dimensions: `torch.Tensor.index_fill`.
    pub fn index_fill<'a>(
        &self,
        to: WriteTo,
        dim: i64,
        index: &Tensor,
        value: impl Into<Operand<'a>>,
    ) -> Result<Tensor> {
        let op = name_of(to, ["index_fill", "index_fill_"]);
        let value = value.into();
        let is_tensor = matches!(value, Operand::Tensor(_));
        let node = if is_tensor { "IndexFillBackward1" } else { "IndexFillBackward0" };
        let value = fill_value(op, self, value)?;
        wrap_dim(op, dim, self.ndim())?;
        // As in PyTorch. In `index_copy` the kinds of these two errors are the other way round.
        if index.dtype() != DType::Int64 {
            let message = format!("index must be int64, got {}; long() converts it", index.dtype());
            return Err(Error::new(ErrorKind::Index, op, message));
        }
        if index.ndim() > 1 {
            return Err(Error::shape(op, "index", "have at most one dimension", index.shape()));
        }
        let positions = positions_along(IndexRule::wrapped(op), self, dim, index)?;
        self.assign_at(to, (op, node), SELECT, &positions, &value, None)
    }
}

/// Returns a value that fills elements of a tensor as a 0-d tensor of its type.
pub(crate) fn fill_value(op: &'static str, target: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    let dtype = target.dtype();
    match value {
        Operand::Scalar(number) => {
            let number = check_fits(number, dtype, op, "value")?;
            Tensor::full(&[], number, (dtype, target.placement()))
        }
        Operand::Tensor(tensor) if tensor.ndim() == 0 => {
            // The value of a CPU tensor is fixed when the operation is called. Pinned memory is read when a copy runs.
            let tensor = if tensor.is_pinned() { &tensor.contiguous_copy()? } else { tensor };
            let options =
                (dtype, if tensor.is_on_device() { tensor.placement() } else { target.placement() });
            tensor.to(options, target.is_on_device())
        }
        Operand::Tensor(tensor) => {
            Err(Error::shape(op, "value", "be a number or a tensor of shape ()", tensor.shape()))
        }
    }
}
