//! Methods that change elements at the positions of an index in place.

use interlock_tensor::WriteTo;
use pyo3::prelude::*;

use super::args::{Arg, OptionalArg};
use super::{Tensor, index_ops};
use crate::switches;

#[pymethods]
impl Tensor {
    /// In-place version of `index_add`.
    ///
    /// Sums of several floating-point values for one element have no fixed order, unless
    /// `backends.deterministic_algorithms` is set.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     index: Indices of slices, int64, of at most one dimension. Not negative.
    ///     source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
    ///         `index`.
    ///     alpha: A number by which `source` is multiplied first; None means 1.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
    ///     ShapeError: The shapes are incompatible.
    ///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (dim, index, source, *, alpha = None))]
    fn index_add_<'py>(
        slf: Bound<'py, Self>,
        dim: Arg<'_, 'py>,
        index: Arg<'_, 'py>,
        source: Arg<'_, 'py>,
        alpha: OptionalArg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::index_add(WriteTo::InPlace, &slf.get().0, dim, index, source, alpha)?;
        Ok(slf)
    }

    /// In-place version of `index_copy`.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     index: Indices of slices, int64, of at most one dimension. Not negative. Of several slices for one position
    ///         the last is stored.
    ///     source: The slices, of the dtype of the tensor. It has the shape of the tensor, but in `dim` the size of
    ///         `index`.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
    ///     ShapeError: The shapes are incompatible.
    ///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn index_copy_<'py>(
        slf: Bound<'py, Self>,
        dim: Arg<'_, 'py>,
        index: Arg<'_, 'py>,
        source: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::index_copy(WriteTo::InPlace, &slf.get().0, dim, index, source)?;
        Ok(slf)
    }

    /// In-place version of `index_fill`.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     index: Indices of slices, int64, of at most one dimension. Negative indices count from the end.
    ///     value: A number, or a 0-d tensor.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: An index is out of bounds, or the tensor does not have dimension `dim`.
    ///     DTypeError: `index` is not int64.
    ///     ArgumentError: The dtype cannot hold the number.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn index_fill_<'py>(
        slf: Bound<'py, Self>,
        dim: Arg<'_, 'py>,
        index: Arg<'_, 'py>,
        value: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::index_fill(WriteTo::InPlace, &slf.get().0, dim, index, value)?;
        Ok(slf)
    }

    /// In-place version of `index_put`.
    ///
    /// Sums of several floating-point values for one element have no fixed order, unless
    /// `backends.deterministic_algorithms` is set.
    ///
    /// Args:
    ///     indices: A tuple or list of tensors that index the first dimensions: int64 indices, which may be negative,
    ///         or bool masks. None means a whole dimension.
    ///     values: The values, of the dtype of the tensor. Broadcast to the indexed part.
    ///     accumulate: Whether the values are added to the elements. If it is False, the last of several values for one
    ///         element is stored.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: An index is out of bounds, or there are more indices than dimensions.
    ///     ShapeError: The shapes are incompatible.
    ///     DTypeError: The dtypes of the tensor and of `values` differ.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (indices, values, accumulate = false))]
    fn index_put_<'py>(
        slf: Bound<'py, Self>,
        indices: Arg<'_, 'py>,
        values: Arg<'_, 'py>,
        #[pyo3(from_py_with = switches::index_put_::accumulate)] accumulate: bool,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::index_put(WriteTo::InPlace, &slf.get().0, indices, values, accumulate)?;
        Ok(slf)
    }

    /// In-place version of `masked_fill`.
    ///
    /// Args:
    ///     mask: The mask, bool. Broadcast with the tensor.
    ///     value: A number, or a 0-d tensor.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: `mask` is not bool.
    ///     ShapeError: The shapes cannot be broadcast.
    ///     ArgumentError: The dtype cannot hold the number.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn masked_fill_<'py>(
        slf: Bound<'py, Self>,
        mask: Arg<'_, 'py>,
        value: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::masked_fill(WriteTo::InPlace, &slf.get().0, mask, value)?;
        Ok(slf)
    }

    /// In-place version of `masked_scatter`.
    ///
    /// Args:
    ///     mask: The mask, bool. Broadcast to the tensor.
    ///     source: The elements, in row-major order, of the dtype of the tensor. At least as many as the mask is True.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: `mask` is not bool, or the dtypes differ.
    ///     ShapeError: The shapes are incompatible.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn masked_scatter_<'py>(
        slf: Bound<'py, Self>,
        mask: Arg<'_, 'py>,
        source: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::masked_scatter(WriteTo::InPlace, &slf.get().0, mask, source)?;
        Ok(slf)
    }

    /// In-place version of `put`.
    ///
    /// Args:
    ///     index: Flat indices of elements in row-major order, int64. Negative indices count from the end.
    ///     source: The values, of the dtype of the tensor. As many elements as `index`.
    ///     accumulate: Whether the values are added to the elements. If it is False, and several values target one
    ///         element, which one is stored is unspecified.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: An index is out of bounds.
    ///     DTypeError: The dtypes of the tensor and of `source` differ, or `index` is not int64.
    ///     RuntimeError: `accumulate` is False while `backends.deterministic_algorithms` is set. With
    ///         `deterministic_algorithms_warn_only` it is a UserWarning.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (index, source, accumulate = false))]
    fn put_<'py>(
        slf: Bound<'py, Self>,
        index: Arg<'_, 'py>,
        source: Arg<'_, 'py>,
        #[pyo3(from_py_with = switches::put_::accumulate)] accumulate: bool,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::put(WriteTo::InPlace, &slf.get().0, index, source, accumulate)?;
        Ok(slf)
    }

    /// In-place version of `scatter`.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
    ///         `index[j]` along `dim` and at j in the other dimensions. Of several values for one element the last is
    ///         stored.
    ///     src: The values, of the dtype of the tensor and at least as large as `index`; or a number.
    ///     value: A number, instead of `src`.
    ///     reduce: "add" or "multiply" combines the values with the elements; None replaces these. "multiply" has no
    ///         gradient.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The shapes are incompatible.
    ///     DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
    ///     RuntimeError: An index is negative or out of bounds.
    ///     ArgumentError: `reduce` has another value.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (dim, index, src = None, *, value = None, reduce = None))]
    fn scatter_<'py>(
        slf: Bound<'py, Self>,
        dim: Arg<'_, 'py>,
        index: Arg<'_, 'py>,
        src: OptionalArg<'_, 'py>,
        value: OptionalArg<'_, 'py>,
        reduce: OptionalArg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::scatter(WriteTo::InPlace, &slf.get().0, dim, index, src, value, reduce)?;
        Ok(slf)
    }

    /// In-place version of `scatter_add`.
    ///
    /// Sums of several floating-point values for one element have no fixed order, unless
    /// `backends.deterministic_algorithms` is set.
    ///
    /// Args:
    ///     dim: The dimension.
    ///     index: Indices along `dim`, int64, with as many dimensions as the tensor. Element j of `src` is written at
    ///         `index[j]` along `dim` and at j in the other dimensions.
    ///     src: The values, of the dtype of the tensor and at least as large as `index`.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ShapeError: The shapes are incompatible.
    ///     DTypeError: The dtypes of the tensor and of `src` differ, or `index` is not int64.
    ///     RuntimeError: An index is negative or out of bounds.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    fn scatter_add_<'py>(
        slf: Bound<'py, Self>,
        dim: Arg<'_, 'py>,
        index: Arg<'_, 'py>,
        src: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, Self>> {
        index_ops::scatter_add(WriteTo::InPlace, &slf.get().0, dim, index, src)?;
        Ok(slf)
    }
}
