//! Elementwise operations on tensors.

use super::copy::copy_as;
use super::{into_target, launch_zeros, new_result, on_device_of, result_placement};
use crate::layout::Layout;
use crate::loops::{self, ElementLoop};
use crate::storage::{Placement, TensorOptions};
use crate::{DType, Element, Result, Scalar, Tensor};

/// Applies `f` to each element, in the type in which arithmetic is done. A result of that type is stored as the
/// source is. The result preserves the source's order of dimensions in memory.
pub(crate) fn map<T: Element, U: Element>(
    op: &'static str,
    source: &Tensor,
    f: impl Fn(T) -> U + Clone + Send + Sync + 'static,
) -> Result<Tensor> {
    let result = if U::DTYPE == T::DTYPE { source.dtype() } else { U::DTYPE };
    map_with(op, source, result, &loops::map(f))
}

/// Like [`map`], with a loop and the type of the result. It is not generic, so it is compiled once.
pub(crate) fn map_with(
    op: &'static str,
    source: &Tensor,
    dtype: DType,
    element_loop: &dyn ElementLoop,
) -> Result<Tensor> {
    let layout = Layout::of_elementwise_result(source.shape(), &[source.layout()]);
    new_result(op, source.placement(), (layout, dtype), &[source], element_loop)
}

/// Applies `f` to each pair of elements of two operands that are broadcast to `shape`, in the types in which
/// arithmetic is done. The result is stored as `dtype`, in the memory order of the operands.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    op: &'static str,
    (dtype, shape): (DType, &[usize]),
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(A, B) -> U + Clone + Send + Sync + 'static,
) -> Result<Tensor> {
    zip_with(op, (dtype, shape), a, b, &loops::zip(f))
}

/// Like [`zip`], with a loop. It is not generic, so it is compiled once.
pub(crate) fn zip_with(
    op: &'static str,
    (dtype, shape): (DType, &[usize]),
    a: &Tensor,
    b: &Tensor,
    element_loop: &dyn ElementLoop,
) -> Result<Tensor> {
    let placement = result_placement(a, b);
    let (a, b) = (on_device_of(op, placement, a)?, on_device_of(op, placement, b)?);
    let layout = Layout::of_elementwise_result(shape, &[a.layout(), b.layout()]);
    new_result(op, placement, (layout, dtype), &[&a, &b], element_loop)
}

/// Applies `f` to the elements of three operands that are broadcast to `shape`, in the type in which arithmetic is done.
/// The result is stored as `dtype`, in the memory order of the operands.
pub(crate) fn zip3<A: Element, T: Element>(
    op: &'static str,
    (dtype, shape): (DType, &[usize]),
    operands: [&Tensor; 3],
    f: impl Fn(A, T, T) -> T + Clone + Send + Sync + 'static,
) -> Result<Tensor> {
    zip3_with(op, (dtype, shape), operands, &loops::zip3(f))
}

/// Like [`zip3`], with a loop. It is not generic, so it is compiled once.
fn zip3_with(
    op: &'static str,
    (dtype, shape): (DType, &[usize]),
    operands: [&Tensor; 3],
    element_loop: &dyn ElementLoop,
) -> Result<Tensor> {
    let on_device = operands.iter().find(|operand| operand.is_on_device());
    let placement = on_device.map_or(Placement::Cpu, |operand| operand.placement());
    let [a, b, c] = operands.map(|operand| on_device_of(op, placement, operand));
    let layout = Layout::of_elementwise_result(shape, &operands.map(Tensor::layout));
    new_result(op, placement, (layout, dtype), &[&*a?, &*b?, &*c?], element_loop)
}

/// Replaces each element of `target` by `f` of it and the element of `source`, which is broadcast, in the types in which
/// arithmetic is done. The caller increments the version counter.
pub(crate) fn update<A: Element, B: Element>(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    f: impl Fn(A, B) -> A + Clone + Send + Sync + 'static,
) -> Result<()> {
    update_with(op, target, source, &loops::update(f))
}

/// Like [`update`]. Not generic: it exists once.
pub(super) fn update_with(
    op: &'static str,
    target: &Tensor,
    source: &Tensor,
    element_loop: &dyn ElementLoop,
) -> Result<()> {
    let source = on_device_of(op, target.placement(), source)?;
    if !target.storage_handle().overlaps(source.storage_handle()) {
        return into_target(op, target, &[&source], element_loop);
    }
    // Source and target share memory: the source is copied before it is overwritten.
    let copy = copy_as(op, &source, source.layout().preserve_format())?;
    into_target(op, target, &[&copy], element_loop)
}

/// Returns a new contiguous tensor of one number, which is converted to an element.
pub(crate) fn filled(
    op: &'static str,
    options: TensorOptions,
    shape: &[usize],
    value: Scalar,
) -> Result<Tensor> {
    let (dtype, layout) = (options.dtype, Layout::contiguous(shape));
    new_result(op, options.placement, (layout, dtype), &[], &loops::fill(value, dtype))
}

/// Converts the elements to another type. Returns the same tensor if it has that type already.
pub(crate) fn cast(source: &Tensor, dtype: DType) -> Result<Tensor> {
    if source.dtype() == dtype {
        return Ok(source.clone());
    }
    let layout = source.layout().preserve_format();
    let element_loop = loops::convert(source.dtype(), dtype);
    new_result("to", source.placement(), (layout, dtype), &[source], &element_loop)
}

/// Returns a new tensor of `capacity` elements to which the elements of `source` are added at the positions of
/// `layout`.
pub(crate) fn add_strided<T: Element>(capacity: usize, layout: &Layout, source: &Tensor) -> Result<Tensor> {
    let op = "as_strided";
    let out = launch_zeros(op, source.options(), &[capacity])?;
    into_target(op, &out.alias(layout.clone()), &[source], &loops::update(T::plus))?;
    Ok(out)
}
