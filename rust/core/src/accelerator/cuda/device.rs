//! One device: its context, and what went wrong with it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute, CUresult};
use once_cell::race::OnceBox;

use super::api;
use super::context::{Bound, Context};
use super::errors::{Code, check};
use super::gates::Gates;
use super::pooled_event::SpareEvents;
use crate::accelerator::Device;
use crate::accelerator::driver::DeviceIndex;
use crate::accelerator::driver::va_space::VaSpace;
use crate::{Error, Result};

/// A device of the driver, from its start on.
pub(super) struct CudaDevice {
    pub(super) index: DeviceIndex,
    pub(super) ordinal: CUdevice,
    /// Retained on first use, so that a device which nobody uses has none.
    context: OnceBox<Context>,
    /// The failure after which the context is of no use.
    first_failure: OnceBox<Failure>,
    pub(super) reservations: Mutex<VaSpace>,
    /// The devices that reach its memory.
    peers: Mutex<BTreeSet<DeviceIndex>>,
    pub(super) spare_events: Arc<SpareEvents>,
    pub(super) gates: Arc<Gates>,
}

/// What failed first.
struct Failure {
    operation: &'static str,
    code: Code,
}

impl CudaDevice {
    /// The device of a number that is below their count. Uses no context.
    pub(super) fn new(index: DeviceIndex) -> Result<Self> {
        let mut ordinal = 0;
        // SAFETY: the pointer is valid.
        let found = check(unsafe { api::cuDeviceGet(&raw mut ordinal, i32::from(index)) });
        let device = CudaDevice {
            index,
            ordinal,
            context: OnceBox::new(),
            first_failure: OnceBox::new(),
            reservations: Mutex::default(),
            peers: Mutex::default(),
            spare_events: Arc::default(),
            gates: Arc::default(),
        };
        found.map_err(|code| device.error("accelerator.use", code))?;
        Ok(device)
    }

    /// As a message names it.
    pub(super) fn named(&self) -> Device {
        Device::with_index(Device::CUDA.kind(), self.index)
    }

    /// Its primary context, which is made if nobody has.
    pub(super) fn context(&self, operation: &'static str) -> Result<Context> {
        let retain = || {
            let mut context = std::ptr::null_mut();
            // Two threads may both retain it, which the driver counts.
            // SAFETY: the pointer is valid, and the device is one of the driver's.
            let retained = unsafe { api::cuDevicePrimaryCtxRetain(&raw mut context, self.ordinal) };
            self.check(operation, retained).map(|()| Box::new(Context::of(context)))
        };
        self.context.get_or_try_init(retain).copied()
    }

    /// Whether this driver has used the device.
    pub(super) fn has_context(&self) -> bool {
        self.context.get().is_some()
    }

    /// Whether a failure is known after which its context is of no use.
    pub(super) fn has_failed(&self) -> bool {
        self.first_failure.get().is_some()
    }

    /// Whether anybody has used the device in this process.
    pub(super) fn is_used(&self) -> bool {
        if self.has_context() {
            return true;
        }
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the pointers are valid, and the device is one of the driver's.
        let asked = unsafe { api::cuDevicePrimaryCtxGetState(self.ordinal, &raw mut flags, &raw mut active) };
        check(asked).is_ok() && active != 0
    }

    /// Makes its context current for as long as what this returns lives.
    pub(super) fn bind(&self, operation: &'static str) -> Result<Bound> {
        let context = self.context(operation)?;
        Bound::to(context).map_err(|code| self.error(operation, code))
    }

    /// Calls a function of the driver with the context of this device.
    pub(super) fn call(&self, operation: &'static str, function: impl FnOnce() -> CUresult) -> Result<()> {
        let _bound = self.bind(operation)?;
        self.check(operation, function())
    }

    /// The same for a function that may not be ready, which is no error.
    pub(super) fn is_ready(&self, operation: &'static str, asks: impl FnOnce() -> CUresult) -> Result<bool> {
        let _bound = self.bind(operation)?;
        match check(asks()) {
            Ok(()) => Ok(true),
            Err(Code::NOT_READY) => Ok(false),
            Err(code) => Err(self.error(operation, code)),
        }
    }

    pub(super) fn check(&self, operation: &'static str, result: CUresult) -> Result<()> {
        check(result).map_err(|code| self.error(operation, code))
    }

    /// The error for what a function returned. After a failure that stays the first one is told ever after.
    pub(super) fn error(&self, operation: &'static str, code: Code) -> Error {
        if code.is_of_capture() {
            return Error::Graph { operation, reason: code.told() };
        }
        if code == Code::NOT_SUPPORTED {
            return Error::Unsupported { operation, device: self.named() };
        }
        if let Some(Failure { operation: first, code }) = self.first_failure.get() {
            let reason = format!("{first} had failed: {} (error {})", code.told(), code.number());
            return Error::DeviceLost { device: self.named(), operation: operation.to_owned(), reason };
        }
        if code.is_sticky() {
            // Another thread that noticed it at the same time may have been first.
            let _ = self.first_failure.set(Box::new(Failure { operation, code }));
        }
        Error::Device {
            device: self.named(),
            operation: operation.to_owned(),
            reason: code.told(),
            code: Some(code.number()),
        }
    }

    /// A number that the driver tells of the device; 0 where it does not know the question.
    pub(super) fn attribute(&self, attribute: CUdevice_attribute) -> i32 {
        let mut value = 0;
        // SAFETY: the pointer is valid, and the device is one of the driver's.
        let asked = unsafe { api::cuDeviceGetAttribute(&raw mut value, attribute, self.ordinal) };
        check(asked).map_or(0, |()| value)
    }

    /// The devices that reach its memory, besides itself.
    pub(super) fn reached_by(&self) -> MutexGuard<'_, BTreeSet<DeviceIndex>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
