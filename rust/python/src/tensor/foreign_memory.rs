//! Tensors over memory that another library owns.

use std::any::Any;
use std::ptr::NonNull;

use interlock::accelerator::Device;
use interlock::accelerator::memory::RawBuffer;
use interlock_tensor::{DType, Result, Storage, Tensor};

/// Returns a tensor over CPU memory whose first element is at `pointer`. The strides count elements.
///
/// # Safety
/// `owner` keeps the elements of this shape and these strides valid for reads and writes, and `pointer` is aligned for
/// them. The program does not write on one thread while an operation runs on another, as for arrays.
pub(super) unsafe fn tensor_over(
    pointer: NonNull<u8>,
    dtype: DType,
    (shape, strides): (&[usize], &[usize]),
    owner: Box<dyn Any + Send + Sync>,
) -> Result<Tensor> {
    let last =
        shape.iter().zip(strides).map(|(&size, &stride)| size.saturating_sub(1).saturating_mul(stride));
    let count = last.fold(1, usize::saturating_add);
    let bytes = if shape.contains(&0) { 0 } else { count.saturating_mul(dtype.size()) };
    // SAFETY: the last element ends `bytes` after the address; the caller guarantees the rest.
    let storage = unsafe { Storage::foreign(RawBuffer::foreign(pointer, bytes, Device::CPU, owner)) };
    Tensor::from_storage(storage, dtype, shape, strides, 0)
}
