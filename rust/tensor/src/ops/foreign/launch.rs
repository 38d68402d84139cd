//! Launch of kernels of other libraries: synchronously on the CPU. On a device the kernel is called on the thread that
//! calls the operation and queues its work itself.

use std::ffi::c_void;

use interlock::accelerator::driver::Owners;
use interlock::accelerator::{Device, DeviceType, current_stream};
use interlock::dispatch::{ForeignArgs, ForeignKernel, ForeignTensor, KernelError, Numerics};
use interlock::sys::{
    INTERLOCK_TENSOR_CPU, INTERLOCK_TENSOR_CUDA, INTERLOCK_TENSOR_EXTENSION, InterlockTensorDevice,
};

use crate::layout::{Layout, checked_numel};
use crate::storage::fallible_alloc::check_memory;
use crate::storage::{Placement, RawSlice, Storage};
use crate::{DType, Error, Result, Tensor};

/// A call of a foreign kernel.
pub(crate) struct ForeignLaunch<'a> {
    pub op: &'static str,
    pub kernel: &'a ForeignKernel,
    pub numerics: Numerics,
    /// The operands, each with the layout in which the kernel reads it.
    pub operands: &'a [(&'a Tensor, Layout)],
    pub placement: Placement,
    pub dtype: DType,
    /// The shape of the result.
    pub shape: &'a [usize],
    /// The options of the operation, valid for the call, or null.
    pub options: *const c_void,
}

impl ForeignLaunch<'_> {
    /// Runs the kernel and returns its result, which is contiguous.
    pub fn run(&self) -> Result<Tensor, KernelError<Error>> {
        check_memory()?;
        let (op, size) = (self.op, self.dtype.size());
        let bytes = checked_numel(op, self.shape, size)?.saturating_mul(size);
        let storage = Storage::new(op, self.placement, bytes)?;
        let result = Tensor::new(storage, self.dtype, Layout::contiguous(self.shape));
        self.check_devices()?;
        match self.placement {
            Placement::Device(device) => self.queue(device, &result)?,
            Placement::Cpu | Placement::Pinned => self.run_on_cpu(&result)?,
        }
        Ok(result)
    }

    fn check_devices(&self) -> Result<()> {
        let left = match self.placement {
            Placement::Device(device) => device,
            Placement::Cpu | Placement::Pinned => Device::CPU,
        };
        let other = self.operands.iter().map(|(operand, _)| operand.device()).find(|device| *device != left);
        other.map_or(Ok(()), |right| Err(Error::devices(self.op, left, right)))
    }

    /// Calls the kernel while the locks of the operands are held. No other thread has the result yet.
    fn run_on_cpu(&self, result: &Tensor) -> Result<(), KernelError<Error>> {
        let slices = self.operands.iter().filter_map(|(operand, _)| operand.storage_handle().raw_slice());
        // The address of a storage does not change while its lock is held.
        RawSlice::read_all(&slices.collect::<Vec<_>>(), || {
            let address = |tensor: &Tensor| tensor.storage_handle().pointer();
            self.call(result, &self.tensors(result).map(address).collect::<Vec<_>>(), 0)
        })
    }

    /// Calls the kernel, which queues its work on the current stream.
    fn queue(&self, device: Device, result: &Tensor) -> Result<(), KernelError<Error>> {
        let stream = current_stream(Some(device)).map_err(Error::from)?;
        let (mut owners, mut addresses) = (Owners::default(), Vec::new());
        for tensor in self.tensors(result) {
            let (address, own) = tensor.storage_handle().prepare_use(&stream)?;
            addresses.push(address);
            owners.extend(own);
        }
        self.call(result, &addresses, stream.handle().map_err(Error::from)?.raw)?;
        // Queried after the call, so that a capture that has begun meanwhile is included.
        stream.retain_in_graph(self.op, owners).map_err(Error::from)?;
        Ok(())
    }

    /// Returns the operands and the result.
    fn tensors<'a>(&'a self, result: &'a Tensor) -> impl Iterator<Item = &'a Tensor> {
        self.operands.iter().map(|(operand, _)| *operand).chain([result])
    }

    /// Calls the kernel with the addresses of the storages of the operands and of the result.
    fn call(&self, result: &Tensor, addresses: &[*mut u8], stream: u64) -> Result<(), KernelError<Error>> {
        let mut addresses = addresses.iter();
        let mut described = |tensor: &Tensor, layout: &Layout| {
            described(tensor, layout, addresses.next().copied().unwrap_or(std::ptr::null_mut()))
        };
        let inputs: Vec<_> =
            self.operands.iter().map(|(operand, layout)| described(operand, layout)).collect();
        let outputs = [described(result, result.layout())];
        let (numerics, options) = (self.numerics, self.options);
        let args = ForeignArgs { inputs: &inputs, outputs: &outputs, numerics, stream, options };
        // SAFETY: the operands are locked or on a device, whose memory the stream keeps for work that is queued now. No
        // other thread has the result.
        unsafe { self.kernel.run(&args) }.map_err(|stop| match stop {
            KernelError::Declined(reason) => KernelError::Declined(reason),
            KernelError::Failed(message) => {
                KernelError::Failed(Error::kernel(self.op, self.kernel.name(), &message))
            }
        })
    }
}

/// Describes a tensor with a layout of its storage, which is at an address.
fn described(tensor: &Tensor, layout: &Layout, address: *mut u8) -> ForeignTensor {
    let data = address.wrapping_add(layout.offset.wrapping_mul(tensor.dtype().size()));
    foreign_tensor(tensor.device(), tensor.dtype(), &layout.shape)
        .with_strides(&layout.strides)
        .with_data(data.cast())
}

/// Describes a tensor without memory.
pub(crate) fn foreign_tensor(device: Device, dtype: DType, shape: &[usize]) -> ForeignTensor {
    let device_type = match device.kind() {
        DeviceType::Cpu => INTERLOCK_TENSOR_CPU,
        DeviceType::Cuda => INTERLOCK_TENSOR_CUDA,
        _ => INTERLOCK_TENSOR_EXTENSION,
    };
    let device = InterlockTensorDevice { device_type, device_id: device.index().unwrap_or(0).into() };
    ForeignTensor::new(device, dtype.dlpack(), shape)
}
