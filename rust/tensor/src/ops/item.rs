//! Conversion of elements to scalars and vectors. Device tensors are copied to the CPU, which synchronizes with their
//! stream.

use crate::element::Bool8;
use crate::fallible_alloc::{try_collect, try_with_capacity};
use crate::loops::scalar_of;
use crate::storage::RawSlice;
use crate::{DType, Element, Error, Result, Scalar, Tensor};

impl Tensor {
    /// Returns the only element of the tensor. For a device tensor this waits for the queued work.
    pub fn item(&self) -> Result<Scalar> {
        self.item_for("item")
    }

    /// Returns the only element like [`item`](Tensor::item), for an operation that errors name.
    pub fn item_for(&self, op: &'static str) -> Result<Scalar> {
        let err_shape = || Error::shape(op, "the tensor", "have exactly one element", self.shape());
        if self.numel() != 1 {
            return Err(err_shape());
        }
        if self.is_on_device() {
            return self.to_cpu().map_err(|error| error.during(op))?.item_for(op);
        }
        let start = self.storage_offset().saturating_mul(self.dtype().size());
        let number = self.read(|bytes: &[u8]| scalar_of(self.dtype(), bytes.get(start..)?));
        number.ok_or_else(err_shape)
    }

    /// Returns all elements in row-major order.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let plain = self.plain(T::DTYPE)?;
        let (start, end) = (plain.storage_offset(), plain.storage_offset().saturating_add(plain.numel()));
        let mut values = try_with_capacity(plain.numel())?;
        plain.read(|data: &[T]| values.extend_from_slice(data.get(start..end).unwrap_or_default()));
        Ok(values)
    }

    /// Returns a contiguous tensor of a type on the CPU with the elements.
    fn plain(&self, dtype: DType) -> Result<Tensor> {
        self.to_cpu().map_err(|error| error.during("tolist"))?.cast(dtype)?.contiguous()
    }

    /// Calls `read` with all elements of the storage, which is on the CPU.
    fn read<T: Element, R>(&self, read: impl FnOnce(&[T]) -> R) -> R {
        self.storage_handle().raw_slice().unwrap_or(RawSlice::EMPTY).read(read)
    }

    /// Returns all elements in row-major order as scalars.
    pub fn to_scalars(&self) -> Result<Vec<Scalar>> {
        fn scalars<T: Element>(tensor: &Tensor) -> Result<Vec<Scalar>> {
            let values = tensor.to_vec::<T>()?;
            try_collect(values.len(), values.into_iter().map(T::to_scalar))
        }
        match self.dtype() {
            DType::Bool => scalars::<Bool8>(self),
            dtype if dtype.is_floating_point() => scalars::<f64>(self),
            _ => scalars::<i64>(self),
        }
    }
}
