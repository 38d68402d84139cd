//! Elements as numbers outside of a tensor. Those of a device are waited for.

use crate::dtype::dispatch;
use crate::fallible_alloc::{try_collect, try_with_capacity};
use crate::storage::RawSlice;
use crate::{Element, Error, Result, Scalar, Tensor};

impl Tensor {
    /// The one element. On a device this waits for what is queued, as everything does that needs elements here.
    pub fn item(&self) -> Result<Scalar> {
        let misfit = || Error::Shape {
            op: "item",
            given: self.shape().to_vec(),
            expected: "exactly one element is needed".to_owned(),
        };
        if self.numel() != 1 {
            return Err(misfit());
        }
        if self.is_on_device() {
            return self.to_cpu()?.item();
        }
        let position = self.storage_offset();
        dispatch!(self.dtype(), T => self.read(|data: &[T]| data.get(position).map(|v| v.to_scalar())))
            .ok_or_else(misfit)
    }

    /// All elements in row-major order.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let plain = self.to_cpu()?.cast(T::DTYPE)?.contiguous()?;
        let (start, end) = (plain.storage_offset(), plain.storage_offset().saturating_add(plain.numel()));
        let mut values = try_with_capacity(plain.numel())?;
        plain.read(|data: &[T]| values.extend_from_slice(data.get(start..end).unwrap_or_default()));
        Ok(values)
    }

    /// Reads the whole memory, which is of the processor.
    fn read<T: Element, R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        self.storage_handle().raw_slice().unwrap_or(RawSlice::EMPTY).read(read)
    }

    /// All elements in row-major order, as numbers outside of a tensor.
    pub fn to_scalars(&self) -> Result<Vec<Scalar>> {
        dispatch!(self.dtype(), T => {
            self.to_vec::<T>().and_then(|values| try_collect(values.len(), values.into_iter().map(T::to_scalar)))
        })
    }
}
