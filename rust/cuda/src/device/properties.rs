//! Device properties, which are queried without a context.

use std::ffi::{CStr, c_char};

use cudarc::driver::sys::{CUdevice_attribute, CUresult, CUuuid};

use interlock_driver::{DeviceProperties, Result};

use super::device::CudaDevice;
use crate::sys::api;
use crate::sys::error::read;

const OPERATION: &str = "accelerator.device_properties";

/// Returns the bytes of memory of a device.
pub(crate) fn total_memory(device: &CudaDevice) -> Result<usize> {
    // SAFETY: the pointer is valid, and the device is one of the driver's.
    let bytes = read(0, |bytes| unsafe { api::cuDeviceTotalMem_v2(bytes, device.ordinal()) });
    bytes.map_err(|code| device.error(OPERATION, code))
}

pub(crate) fn properties(device: &CudaDevice) -> Result<DeviceProperties> {
    // SAFETY: the pointer is valid for `bytes` bytes, and the device is one of the driver's.
    let name = text(device, |text, bytes| unsafe { api::cuDeviceGetName(text, bytes, device.ordinal()) })?;
    // SAFETY: the pointer is valid for `bytes` bytes, and the device is one of the driver's.
    let bus_id =
        text(device, |text, bytes| unsafe { api::cuDeviceGetPCIBusId(text, bytes, device.ordinal()) })?;
    let number = |attribute| device.attribute(attribute);
    let capability = format!(
        "{}.{}",
        number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    );
    let has = |attribute| if number(attribute) == 0 { "no" } else { "yes" }.to_owned();
    let units = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let extra = vec![
        ("compute_capability", capability),
        ("uuid", uuid(device)?),
        ("pci_bus_id", bus_id),
        ("memory_pools", has(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)),
        ("virtual_memory", has(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)),
    ];
    Ok(DeviceProperties {
        name,
        total_memory: total_memory(device)? as u64,
        multi_processor_count: u32::try_from(units).unwrap_or(0),
        extra,
    })
}

/// Returns the UUID of a device in the format of `nvidia-smi`.
fn uuid(device: &CudaDevice) -> Result<String> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: the pointer is valid, and the device is one of the driver's.
    let queried = unsafe { api::cuDeviceGetUuid_v2(&raw mut uuid, device.ordinal()) };
    device.check(OPERATION, queried)?;
    let mut text = String::from("GPU-");
    for (index, byte) in uuid.bytes.into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", u8::from_ne_bytes(byte.to_ne_bytes())));
    }
    Ok(text)
}

fn text(device: &CudaDevice, query: impl FnOnce(*mut c_char, i32) -> CUresult) -> Result<String> {
    let mut bytes = [0u8; 256];
    // One byte less, so that the text always ends with a NUL.
    device.check(OPERATION, query(bytes.as_mut_ptr().cast(), bytes.len() as i32 - 1))?;
    Ok(CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy().into_owned())
}
