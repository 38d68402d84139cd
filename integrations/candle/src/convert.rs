//! Tensors of candle as tensors of interlock, and back.
//!
//! The elements are copied: a kernel that a program has registered may keep its operands, and candle lends its storage
//! for the call only.

use candle_core::{CpuStorage, DType, Error, Layout, Result, Shape, Storage, Tensor, bail};
use interlock_tensor::{self as il, Element};

/// Converts an error of interlock, whose message begins with the operation.
pub(crate) fn failed(error: il::Error) -> Error {
    Error::Msg(error.to_string()).bt()
}

/// Fails if an operand has a type that `op` does not compute.
pub(crate) fn check_dtype(op: &str, name: &str, dtype: DType) -> Result<()> {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Ok(()),
        other => bail!("{op}: {name} must be f16, bf16, f32 or f64, got {}", other.as_str()),
    }
}

/// Copies a tensor of the CPU, with its strides.
pub(crate) fn to_interlock(op: &str, storage: &CpuStorage, layout: &Layout) -> Result<il::Tensor> {
    match storage {
        CpuStorage::F16(values) => copied(values, layout),
        CpuStorage::BF16(values) => copied(values, layout),
        CpuStorage::F32(values) => copied(values, layout),
        CpuStorage::F64(values) => copied(values, layout),
        // A mask: where it is not 0, a query sees a key.
        CpuStorage::U8(values) => copied(values, layout)?.to(il::DType::Bool, false).map_err(failed),
        other => bail!("{op}: dtype must be f16, bf16, f32 or f64, got {}", dtype_of(other).as_str()),
    }
}

fn dtype_of(storage: &CpuStorage) -> DType {
    candle_core::backend::BackendStorage::dtype(storage)
}

/// Copies the tensor itself, which must be on the CPU.
pub(crate) fn tensor_to_interlock(op: &str, tensor: &Tensor) -> Result<il::Tensor> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => to_interlock(op, storage, layout),
        _ => bail!("{op}: all tensors must be on the CPU, got one on {:?}", tensor.device().location()),
    }
}

/// Copies the elements between the first and the last one of a layout: broadcast dimensions stay strides of 0.
fn copied<T: Element>(values: &[T], layout: &Layout) -> Result<il::Tensor> {
    let (shape, strides, start) = (layout.dims(), layout.stride(), layout.start_offset());
    if shape.contains(&0) {
        return il::Tensor::from_slice::<T>(&[], shape).map_err(failed);
    }
    let span: usize = shape.iter().zip(strides).map(|(size, stride)| (size - 1) * stride).sum();
    // A layout of candle is within the storage.
    let values = values.get(start..=start + span).unwrap_or_default();
    let all = il::Tensor::from_slice(values, &[values.len()]).map_err(failed)?;
    all.as_strided(shape, strides, Some(0)).map_err(failed)
}

/// Copies a result to candle.
pub(crate) fn to_candle(tensor: &il::Tensor) -> Result<(CpuStorage, Shape)> {
    let storage = match tensor.dtype() {
        il::DType::Float16 => CpuStorage::F16(tensor.to_vec().map_err(failed)?),
        il::DType::BFloat16 => CpuStorage::BF16(tensor.to_vec().map_err(failed)?),
        il::DType::Float64 => CpuStorage::F64(tensor.to_vec().map_err(failed)?),
        _ => CpuStorage::F32(tensor.to_vec().map_err(failed)?),
    };
    Ok((storage, Shape::from(tensor.shape())))
}

/// Copies a gradient to candle.
pub(crate) fn to_tensor(tensor: &il::Tensor) -> Result<Tensor> {
    let (storage, shape) = to_candle(tensor)?;
    let cpu = &candle_core::Device::Cpu;
    match storage {
        CpuStorage::F16(values) => Tensor::from_vec(values, shape, cpu),
        CpuStorage::BF16(values) => Tensor::from_vec(values, shape, cpu),
        CpuStorage::F32(values) => Tensor::from_vec(values, shape, cpu),
        CpuStorage::F64(values) => Tensor::from_vec(values, shape, cpu),
        other => bail!("a gradient must be of a float type, got {}", dtype_of(&other).as_str()),
    }
}
