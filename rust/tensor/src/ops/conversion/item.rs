//! Conversion of elements to scalars and vectors. Device tensors are copied to the CPU, which synchronizes with their
//! stream.

use crate::dtype::Bool8;
use crate::error::Tuple;
use crate::layout::{Layout, checked_numel};
use crate::loops::scalar_of;
use crate::storage::RawSlice;
use crate::storage::fallible_alloc::{try_collect, try_with_capacity};
use crate::{DType, Element, Error, Result, Scalar, Tensor, iterate};

/// Converts elements from the order of bytes of this machine to little-endian or back, and bools to 0 and 1.
fn order_bytes(bytes: &mut [u8], dtype: DType) {
    if dtype == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
    }
}

impl Tensor {
    /// Returns the only element of the tensor. For a device tensor this waits for the queued work.
    pub fn item(&self) -> Result<Scalar> {
        self.item_for("item")
    }

    /// Returns the only element like [`item`](Tensor::item), for an operation that errors name.
    pub fn item_for(&self, op: &'static str) -> Result<Scalar> {
        let err_shape = || Error::shape(op, "the tensor", "have exactly one element", self.shape());
        Error::when(self.numel() != 1, err_shape)?;
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

    /// Returns all elements in row-major order as little-endian bytes; those of bools are 0 and 1.
    pub fn to_le_bytes(&self) -> Result<Vec<u8>> {
        let (plain, size) = (self.plain(self.dtype())?, self.dtype().size());
        let (start, count) =
            (plain.storage_offset().saturating_mul(size), plain.numel().saturating_mul(size));
        let mut bytes = try_with_capacity(count)?;
        let end = start.saturating_add(count);
        plain.read(|data: &[u8]| bytes.extend_from_slice(data.get(start..end).unwrap_or_default()));
        order_bytes(&mut bytes, self.dtype());
        Ok(bytes)
    }

    /// Returns a contiguous CPU tensor of elements that [`to_le_bytes`](Tensor::to_le_bytes) returned.
    ///
    /// # Errors
    /// Fails unless there are exactly as many bytes as the shape needs.
    pub fn from_le_bytes(bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Self> {
        let op = "from_le_bytes";
        let needed = checked_numel(op, shape, dtype.size())?.saturating_mul(dtype.size());
        if needed != bytes.len() {
            let expected = format!("have {needed} bytes for {dtype} elements of shape {}", Tuple(shape));
            return Err(Error::value(op, "bytes", expected, bytes.len()));
        }
        let elements = Tensor::build(op, &[bytes.len()], |out: &mut [u8]| {
            out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = *byte);
            order_bytes(out, dtype);
        })?;
        Ok(Tensor::new(elements.storage_handle().clone(), dtype, Layout::contiguous(shape)))
    }

    /// Returns a contiguous tensor of a type on the CPU with the elements.
    fn plain(&self, dtype: DType) -> Result<Tensor> {
        let here = self.to_cpu().map_err(|error| error.during("tolist"))?;
        iterate::cast(&here, dtype)?.contiguous()
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
