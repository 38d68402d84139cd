//! Elementwise selection by a mask.

use super::along::fill_value;
use super::index::Index;
use super::indexed::{WriteTo, name_of};
use super::nonzero::nonzero_coordinates;
use crate::dtype::{Bool8, dispatch_size};
use crate::layout::{broadcast, check_broadcastable_to, signed, signed_sizes};
use crate::ops::elementwise::operand::{Operand, check_bool, check_same_dtype};
use crate::ops::elementwise::selection::zero_where;
use crate::recording::{BackwardContext, Gradients, NodeBuilder};
use crate::{Element, Error, Result, Scalar, Tensor, iterate};

impl Tensor {
    /// Fills the elements where `mask` is true with a number or a 0-d tensor:
    /// `torch.Tensor.masked_fill`. The mask is broadcast; so is the tensor, unless it is changed in place.
    pub fn masked_fill<'a>(
        &self,
        to: WriteTo,
        mask: &Tensor,
        value: impl Into<Operand<'a>>,
    ) -> Result<Tensor> {
        self.masked_fill_by(to, mask, value.into())
    }

    fn masked_fill_by(&self, to: WriteTo, mask: &Tensor, value: Operand<'_>) -> Result<Tensor> {
        let op = name_of(to, ["masked_fill", "masked_fill_"]);
        check_bool(op, "mask", mask)?;
        let is_tensor = matches!(value, Operand::Tensor(_));
        let node = if is_tensor { "MaskedFillBackward1" } else { "MaskedFillBackward0" };
        let value = match value {
            number @ Operand::Scalar(_) => fill_value(op, &Tensor::zeros(&[], self.dtype())?, number)?,
            tensor => fill_value(op, self, tensor)?,
        };
        let backward = |ctx: &BackwardContext<'_>, gradient: &Tensor| -> Result<Gradients> {
            let mask = ctx.saved(0)?;
            let of_value =
                ctx.gradient(1, || zero_where(&mask.logical_not()?, gradient)?.sum(None, false))?;
            Ok(vec![ctx.gradient(0, || zero_where(&mask, gradient))?, of_value])
        };
        let fill = |target: &Tensor| {
            let (target, value) = (iterate::bits(target), iterate::bits(&value));
            dispatch_size!(target.dtype(), T => fill_where::<T>(op, &target, mask, &value))
        };
        if to == WriteTo::InPlace {
            check_broadcastable_to(self.shape(), op, "mask", mask.shape())?;
            let work = |builder: Option<&mut NodeBuilder>| {
                if let Some(builder) = builder {
                    builder.save(mask)?;
                }
                fill(self)
            };
            return self.run_inplace(op, node, &[&value], work, backward).cloned();
        }
        let shape = broadcast(op, self.shape(), mask.shape())?;
        let source = self.expanded(&shape)?;
        let out = source.detach().contiguous_copy()?;
        fill(&out)?;
        if let Some(mut builder) = NodeBuilder::new(node, &[&source, &value])? {
            builder.save(mask)?;
            builder.set_history(&out, backward)?;
        }
        Ok(out)
    }

    /// Returns the elements where `mask` is true, in row-major order: `torch.masked_select`. Both are broadcast. Waits
    /// for a device.
    pub fn masked_select(&self, mask: &Tensor) -> Result<Tensor> {
        let op = "masked_select";
        check_bool(op, "mask", mask)?;
        let shape = broadcast(op, self.shape(), mask.shape())?;
        let mask = mask.detach().expanded(&shape)?;
        let out = self.expanded(&shape)?.index(&[Index::Tensor(mask)])?;
        if out.ndim() == 1 { Ok(out) } else { out.reshape(&[-1]) }
    }

    /// Replaces the elements where `mask` is true by the first elements of `source`, in row-major order:
    /// `torch.Tensor.masked_scatter`. The mask is broadcast; so is the tensor, unless it is changed in place. Waits for
    /// a device.
    pub fn masked_scatter(&self, to: WriteTo, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
        let op = name_of(to, ["masked_scatter", "masked_scatter_"]);
        check_bool(op, "mask", mask)?;
        check_same_dtype(op, self, source)?;
        if to == WriteTo::Copy {
            let shape = broadcast(op, self.shape(), mask.shape())?;
            if shape != self.shape() {
                return self.expand(&signed_sizes(&shape))?.masked_scatter(to, mask, source);
            }
        }
        check_broadcastable_to(self.shape(), op, "mask", mask.shape())?;
        let mask = mask.detach().expand(&signed_sizes(self.shape()))?;
        let coordinates = nonzero_coordinates(&mask)?;
        // A 0-d tensor has no coordinates.
        let count = match coordinates.first() {
            Some(rows) => rows.numel(),
            None => usize::from(mask.item_for(op)? == Scalar::Bool(true)),
        };
        if source.numel() < count {
            let expected = format!("have at least as many elements as mask is true, {count}");
            return Err(Error::shape(op, "source", expected, source.shape()));
        }
        let first = |count: i64| source.reshape(&[-1])?.slice(0, None, Some(count), 1);
        if coordinates.is_empty() {
            return match source.numel() {
                0 => self.masked_fill(to, &mask, 0i64),
                _ => self.masked_fill(to, &mask, &first(1)?.reshape(&[])?),
            };
        }
        let values = first(signed(count))?;
        let indices: Vec<(Tensor, usize)> = coordinates.into_iter().zip(0..).collect();
        self.index_put_at(to, op, 0, &indices, &values, false)
    }
}

/// Writes the bits of a 0-d value where `mask` is true. It does not wait for a value on a device.
fn fill_where<T: Element>(op: &'static str, target: &Tensor, mask: &Tensor, value: &Tensor) -> Result<()> {
    let number = if value.is_on_device() { T::default() } else { value.item()?.cast() };
    let choose = move |old: T, mask: Bool8| if mask.get() { number } else { old };
    iterate::update(op, target, mask, choose)?;
    if !value.is_on_device() {
        return Ok(());
    }
    // The elements are 0 by now.
    let chosen = move |mask: Bool8, value: T| if mask.get() { value } else { T::default() };
    let added = iterate::zip(op, (target.dtype(), target.shape()), mask, &value.detach(), chosen)?;
    iterate::update(op, target, &added, T::plus)
}
