//! Sorted elements along one dimension, and the largest or smallest of them.

use super::along_dim::{RowIndices, indices_along, select_along, size_of_dim, with_layout};
use super::order;
use crate::ops::elementwise::operand::check_numeric;
use crate::{Element, Error, Result, Tensor};

/// Writes the indices of a row in the order of its elements, of which at least the first `count` are sorted. Equal
/// elements keep their order. NaN is larger than all numbers.
struct SortedIndices {
    descending: bool,
    count: usize,
}

impl RowIndices for SortedIndices {
    const IS_SINGLE: bool = false;

    fn write<T: Element>(&self, row: &[T], out: &mut [i64]) -> Result<()> {
        let mut numbers = order::numbered(row, self.descending)?;
        order::sort(&mut numbers, self.count);
        out.iter_mut().zip(numbers).for_each(|(out, number)| *out = order::position_of(number));
        Ok(())
    }
}

impl Tensor {
    /// Returns the sorted elements along `dim` and their indices. The order of equal elements is preserved; NaN is
    /// larger than all numbers. Both results have the memory order of the tensor.
    pub fn sort(&self, dim: i64, descending: bool) -> Result<(Tensor, Tensor)> {
        let names = ("sort", "SortBackward0");
        let indices = self.sorted_indices(names.0, dim, descending)?;
        Ok((select_along(names, self, dim, &indices)?, indices))
    }

    /// Returns the indices that sort the elements along `dim`, as [`sort`](Tensor::sort).
    pub fn argsort(&self, dim: i64, descending: bool) -> Result<Tensor> {
        self.sorted_indices("argsort", dim, descending)
    }

    fn sorted_indices(&self, op: &'static str, dim: i64, descending: bool) -> Result<Tensor> {
        let count = size_of_dim(op, self, dim)?;
        let indices = indices_along(op, self, dim, SortedIndices { descending, count })?;
        with_layout(indices, &self.layout().preserve_format())
    }

    /// Returns the `count` largest elements along `dim`, or the smallest, in order, and their indices.
    pub fn topk(&self, count: i64, dim: i64, largest: bool) -> Result<(Tensor, Tensor)> {
        let names = ("topk", "TopkBackward0");
        let size = size_of_dim(names.0, self, dim)?;
        check_numeric(names.0, "input", self.dtype(), "; byte() converts it")?;
        let Some(chosen) = usize::try_from(count).ok().filter(|&chosen| chosen <= size) else {
            let expected = format!("be from 0 to {size}, the size of the dimension");
            return Err(Error::value(names.0, "k", expected, count));
        };
        let order = SortedIndices { descending: largest, count: chosen };
        let mut indices = indices_along(names.0, self, dim, order)?;
        if self.ndim() > 0 && chosen < size {
            indices = indices.slice(dim, None, Some(count), 1)?.contiguous_copy()?;
        }
        Ok((select_along(names, self, dim, &indices)?, indices))
    }
}
