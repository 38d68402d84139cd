//! Requirements and conditions of kernels of several operations.

use interlock::accelerator::{Device, DeviceType};
use interlock::backends::flags::{MKLDNN_ENABLED, MKLDNN_NUMERICS};
use interlock::dispatch::{FlagRequirement, Reason};

use crate::DType;
use crate::products::onednn;

/// The requirements of kernels that emulate oneDNN.
pub(crate) static MODEL_OF_ONEDNN: [FlagRequirement; 2] =
    [FlagRequirement::on(&MKLDNN_ENABLED), FlagRequirement::is(&MKLDNN_NUMERICS, "model")];

/// Acceptance of a call, or the reason against it.
pub(crate) type Condition = Result<(), Reason>;

/// Returns the reason, unless the condition `holds`.
#[inline]
pub(crate) fn require<R: Into<Reason>>(holds: bool, reason: impl FnOnce() -> R) -> Condition {
    if holds { Ok(()) } else { Err(reason().into()) }
}

/// Accepts a number of something that is worth a kernel. `what` is in the plural.
#[inline]
pub(crate) fn at_least(least: usize, what: &'static str, given: usize) -> Condition {
    require(given >= least, || Reason::TooFew { what, least, given })
}

#[inline]
pub(crate) fn on_cpu(device: Device) -> Condition {
    require(device.kind() == DeviceType::Cpu, || format!("needs cpu, got {device}"))
}

#[inline]
pub(crate) fn on_device(device: Device) -> Condition {
    require(device.kind() != DeviceType::Cpu, || "needs a device, got cpu")
}

/// Accepts a type if it `is_accepted`.
#[inline]
pub(crate) fn of_dtype(accepted: &str, dtype: DType, is_accepted: bool) -> Condition {
    require(is_accepted, || format!("needs {accepted}, got {dtype}"))
}

#[inline]
pub(crate) fn of_float(dtype: DType) -> Condition {
    of_dtype("a float dtype", dtype, dtype.is_floating_point())
}

#[inline]
pub(crate) fn of_float32(dtype: DType) -> Condition {
    of_dtype("float32", dtype, dtype == DType::Float32)
}

/// Accepts what oneDNN computes, if the number of multiplications is worth a call of it.
pub(crate) fn by_onednn(device: Device, dtype: DType, least: usize, work: usize) -> Condition {
    on_cpu(device)?;
    at_least(least, "multiplications", work)?;
    of_dtype("float32 or a 16-bit float", dtype, dtype == DType::Float32 || dtype.is_half())?;
    onednn::check().map_err(Reason::from)
}
