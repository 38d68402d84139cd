//! A device: its primary context and its sticky error.

use cudarc::driver::sys::{CUdevice, CUdevice_attribute, CUresult};
use once_cell::race::OnceBox;

use interlock_core::device::Device;
use interlock_driver::{DeviceIndex, Error, OutOfMemory, Result};

use crate::sys::api;
use crate::sys::context_guard::{Context, ContextGuard, RelaxedCapture};
use crate::sys::error::{Code, check, read};

/// A device of the started driver.
pub(crate) struct CudaDevice {
    index: DeviceIndex,
    ordinal: CUdevice,
    /// Retained on first use, so that an unused device has no context.
    context: OnceBox<Context>,
    /// The first error that made the context unusable.
    sticky_error: OnceBox<StickyError>,
}

struct StickyError {
    operation: &'static str,
    code: Code,
}

impl CudaDevice {
    /// Returns the device of an index. Uses no context.
    pub(crate) fn new(index: DeviceIndex) -> Result<Self> {
        let mut device =
            CudaDevice { index, ordinal: 0, context: OnceBox::new(), sticky_error: OnceBox::new() };
        // SAFETY: the pointer is valid.
        let ordinal = read(0, |ordinal| unsafe { api::cuDeviceGet(ordinal, i32::from(index)) });
        device.ordinal = ordinal.map_err(|code| device.error("accelerator.use", code))?;
        Ok(device)
    }

    pub(crate) fn index(&self) -> DeviceIndex {
        self.index
    }

    /// Returns the driver's ordinal (`CUdevice`) of the device.
    pub(crate) fn ordinal(&self) -> CUdevice {
        self.ordinal
    }

    /// Returns the device as messages name it.
    pub(crate) fn device_id(&self) -> Device {
        Device::with_index(Device::CUDA.kind(), self.index)
    }

    /// Returns the primary context, which is created if it does not exist.
    pub(crate) fn context(&self, operation: &'static str) -> Result<Context> {
        let retain = || {
            // If two threads retain the context at once, the driver counts both.
            let context = read(std::ptr::null_mut(), |context| {
                // SAFETY: the pointer is valid, and the device is one of the driver's.
                unsafe { api::cuDevicePrimaryCtxRetain(context, self.ordinal) }
            });
            context.map(|raw| Box::new(Context::new(raw))).map_err(|code| self.error(operation, code))
        };
        self.context.get_or_try_init(retain).copied()
    }

    /// Returns whether this driver has used the device.
    pub(crate) fn has_context(&self) -> bool {
        self.context.get().is_some()
    }

    /// Returns whether a sticky error has made the context unusable.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.sticky_error.get().is_some()
    }

    /// Returns whether any library has used the device in this process.
    pub(crate) fn is_used(&self) -> bool {
        if self.has_context() {
            return true;
        }
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the pointers are valid, and the device is one of the driver's.
        let queried =
            unsafe { api::cuDevicePrimaryCtxGetState(self.ordinal, &raw mut flags, &raw mut active) };
        check(queried).is_ok() && active != 0
    }

    /// Begins an operation that may call any driver function.
    pub(crate) fn begin(&self, operation: &'static str) -> Result<DeviceOp<'_>> {
        let mut op = self.begin_on_stream(operation)?;
        op.relaxed = Some(RelaxedCapture::enter());
        Ok(op)
    }

    /// Begins an operation that only queues work on streams, which captures of other streams never forbid.
    pub(crate) fn begin_on_stream(&self, operation: &'static str) -> Result<DeviceOp<'_>> {
        let guard = ContextGuard::enter(self.context(operation)?);
        let _context = guard.map_err(|code| self.error(operation, code))?;
        Ok(DeviceOp { relaxed: None, _context, device: self, operation })
    }

    /// Calls a driver function that destroys an object. Its error poisons the device if it is sticky, and is otherwise
    /// ignored.
    pub(crate) fn destroy(&self, operation: &'static str, act: impl FnOnce() -> CUresult) {
        if let Ok(op) = self.begin(operation) {
            let _ = op.check(act());
        }
    }

    /// Returns the error of a driver function that needs no context.
    pub(crate) fn check(&self, operation: &'static str, result: CUresult) -> Result<()> {
        check(result).map_err(|code| self.error(operation, code))
    }

    /// Returns the error of an operation on a device that a sticky error has made unusable; `None` for other devices.
    pub(crate) fn lost_error(&self, operation: &'static str) -> Option<Error> {
        let StickyError { operation: first, code } = self.sticky_error.get()?;
        let reason = format!("{first} had failed: {} (error {})", code.describe(), code.number());
        Some(Error::DeviceLost { device: self.device_id(), operation: operation.to_owned(), reason })
    }

    /// Returns the error for a code. After a sticky error, every operation reports the first sticky error.
    pub(crate) fn error(&self, operation: &'static str, code: Code) -> Error {
        if code.is_capture_error() {
            return Error::Graph { operation, reason: code.describe() };
        }
        if code == Code::NOT_SUPPORTED {
            return Error::Unsupported { operation, device: self.device_id() };
        }
        if let Some(lost) = self.lost_error(operation) {
            return lost;
        }
        if code.is_sticky() {
            // Another thread may have set it first.
            let _ = self.sticky_error.set(Box::new(StickyError { operation, code }));
        }
        Error::Device {
            device: self.device_id(),
            operation: operation.to_owned(),
            reason: code.describe(),
            code: Some(code.number()),
            cause: None,
        }
    }

    /// Returns an attribute of the device, or 0 if the driver does not know the attribute.
    pub(crate) fn attribute(&self, attribute: CUdevice_attribute) -> i32 {
        // SAFETY: the pointer is valid, and the device is one of the driver's.
        read(0, |value| unsafe { api::cuDeviceGetAttribute(value, attribute, self.ordinal) }).unwrap_or(0)
    }
}

/// An operation on a device, whose context is current until this is dropped.
pub(crate) struct DeviceOp<'d> {
    // Declared first, so that the capture mode is restored before the context.
    relaxed: Option<RelaxedCapture>,
    _context: ContextGuard,
    device: &'d CudaDevice,
    operation: &'static str,
}

impl<'d> DeviceOp<'d> {
    pub(crate) fn device(&self) -> &'d CudaDevice {
        self.device
    }

    /// Allows driver functions that do not queue work, until the returned guard is dropped.
    pub(crate) fn relax(&self) -> Option<RelaxedCapture> {
        self.relaxed.is_none().then(RelaxedCapture::enter)
    }

    /// Passes a pointer to `initial` to a driver function and returns the value that the function writes.
    pub(crate) fn read<T>(&self, initial: T, query: impl FnOnce(*mut T) -> CUresult) -> Result<T> {
        read(initial, query).map_err(|code| self.error(code))
    }

    /// Returns the error of a driver function, if it failed.
    #[inline]
    pub(crate) fn check(&self, result: CUresult) -> Result<()> {
        match result {
            CUresult::CUDA_SUCCESS => Ok(()),
            failed => self.device.check(self.operation, failed),
        }
    }

    /// Like [`check`](DeviceOp::check), for a driver function that may run out of memory for `bytes`.
    pub(crate) fn check_memory(&self, bytes: usize, result: CUresult) -> Result<()> {
        self.read_memory(bytes, (), |_| result)
    }

    /// Like [`read`](DeviceOp::read), for a driver function that may run out of memory for `bytes`.
    pub(crate) fn read_memory<T>(
        &self,
        bytes: usize,
        initial: T,
        query: impl FnOnce(*mut T) -> CUresult,
    ) -> Result<T> {
        read(initial, query).map_err(|code| match code.is_out_of_memory() {
            true => OutOfMemory::error(self.device.device_id(), bytes),
            false => self.error(code),
        })
    }

    /// Returns whether a query succeeded; `CUDA_ERROR_NOT_READY` is not an error.
    pub(crate) fn is_ready(&self, result: CUresult) -> Result<bool> {
        match check(result) {
            Ok(()) => Ok(true),
            Err(Code::NOT_READY) => Ok(false),
            Err(code) => Err(self.error(code)),
        }
    }

    /// Returns the error for a code.
    pub(crate) fn error(&self, code: Code) -> Error {
        self.device.error(self.operation, code)
    }
}
