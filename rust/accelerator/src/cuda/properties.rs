//! What a device tells of itself. Uses no context.

use std::ffi::{CStr, c_char};

use cudarc::driver::sys::{CUdevice_attribute, CUresult, CUuuid};

use super::api;
use super::device::CudaDevice;
use crate::Result;
use crate::driver::DeviceProperties;

const OPERATION: &str = "accelerator.device_properties";

impl CudaDevice {
    pub(super) fn properties(&self) -> Result<DeviceProperties> {
        // SAFETY: the pointer is valid for so many bytes.
        let name = self.text(|text, bytes| unsafe { api::cuDeviceGetName(text, bytes, self.ordinal) })?;
        let number = |attribute| self.attribute(attribute);
        let capability = format!(
            "{}.{}",
            number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        );
        let has = |attribute| if number(attribute) == 0 { "no" } else { "yes" }.to_owned();
        let units = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        let more = vec![
            ("compute_capability", capability),
            ("uuid", self.uuid()?),
            ("pci_bus_id", self.pci_bus_id()?),
            ("memory_pools", has(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)),
            (
                "virtual_memory",
                has(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
            ),
        ];
        Ok(DeviceProperties {
            name,
            total_memory: self.total_memory()? as u64,
            multi_processor_count: u32::try_from(units).unwrap_or(0),
            more,
        })
    }

    /// As NVIDIA's own tools write it.
    fn uuid(&self) -> Result<String> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the pointer is valid, and the device is one of the driver's.
        let asked = unsafe { api::cuDeviceGetUuid_v2(&raw mut uuid, self.ordinal) };
        self.check(OPERATION, asked)?;
        let mut text = String::from("GPU-");
        for (place, byte) in uuid.bytes.into_iter().enumerate() {
            if [4, 6, 8, 10].contains(&place) {
                text.push('-');
            }
            text.push_str(&format!("{:02x}", byte.cast_unsigned()));
        }
        Ok(text)
    }

    fn pci_bus_id(&self) -> Result<String> {
        // SAFETY: the pointer is valid for so many bytes.
        self.text(|text, bytes| unsafe { api::cuDeviceGetPCIBusId(text, bytes, self.ordinal) })
    }

    fn text(&self, ask: impl FnOnce(*mut c_char, i32) -> CUresult) -> Result<String> {
        let mut bytes = [0u8; 256];
        // One byte less, so that there is always a zero at the end.
        self.check(OPERATION, ask(bytes.as_mut_ptr().cast(), bytes.len() as i32 - 1))?;
        Ok(CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy().into_owned())
    }
}
