//! Devices and their properties.

use std::ffi::{c_char, c_int, c_uint};

use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUuuid};

use crate::call::{Out, exported};
use crate::errors::{INVALID_DEVICE, INVALID_VALUE};
use crate::settings::Settings;

/// One more than the largest attribute.
const ATTRIBUTES_END: c_uint = Attribute::CU_DEVICE_ATTRIBUTE_MAX as c_uint;

fn attribute(number: c_uint, settings: &Settings, physical: u8) -> c_int {
    const VALUES: [(Attribute, c_int); 16] = [
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024),
        (Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10),
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10),
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10),
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65_536),
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65_536),
        (Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048),
        (Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1_000_000),
        (Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4),
        (Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20),
        (Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2),
        (Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
        (Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9),
        (Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0),
        (Attribute::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
    ];
    let of_settings = [
        (Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, c_int::from(physical)),
        (Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
        (Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, settings.virtual_memory.into()),
    ];
    let mut all = VALUES.into_iter().chain(of_settings);
    all.find(|(attribute, _)| *attribute as c_uint == number).map_or(0, |(_, value)| value)
}

/// Returns the index of a device among all devices of the machine, visible or not.
fn physical(settings: &Settings, device: u8) -> Result<u8, c_int> {
    settings.devices.get(usize::from(device)).copied().ok_or(INVALID_DEVICE)
}

exported! {
    /// Returns the number of visible devices.
    fn cuDeviceGetCount(count: Out<c_int>) |fake| {
        count.put(fake.state().contexts.len() as c_int)
    }

    /// Returns the device of an ordinal.
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) |fake| {
        device.put(fake.state().device(ordinal)?.into())
    }

    /// Writes the name of a device.
    fn cuDeviceGetName(name: Out<c_char>, length: c_int, device: c_int) |fake| {
        fake.state().device(device)?;
        name.put_text("Fake CUDA device", length)
    }

    /// Returns the UUID of a device.
    fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, device: c_int) |fake| {
        let state = fake.state();
        let mut bytes = [0; 16];
        if let Some(last) = bytes.last_mut() {
            *last = physical(&state.settings, state.device(device)?)? as c_char;
        }
        uuid.put(CUuuid { bytes })
    }

    /// Returns the bytes of memory of a device.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) |fake| {
        let state = fake.state();
        state.device(device)?;
        bytes.put(state.settings.memory as usize)
    }

    /// Returns an attribute of a device; 0 for attributes that the fake does not define.
    fn cuDeviceGetAttribute(value: Out<c_int>, number: c_uint, device: c_int) |fake| {
        let state = fake.state();
        let device = state.device(device)?;
        if !(1..ATTRIBUTES_END).contains(&number) {
            return Err(INVALID_VALUE);
        }
        value.put(attribute(number, &state.settings, physical(&state.settings, device)?))
    }

    /// Writes the PCI bus ID of a device.
    fn cuDeviceGetPCIBusId(text: Out<c_char>, length: c_int, device: c_int) |fake| {
        let state = fake.state();
        let bus = physical(&state.settings, state.device(device)?)?;
        let bus_id = format!("0000:{bus:02X}:00.0");
        if usize::try_from(length).is_ok_and(|length| length > bus_id.len()) {
            text.put_text(&bus_id, length)
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// Returns whether a device can access the memory of another device: true unless both are one device.
    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) |fake| {
        let state = fake.state();
        can.put((state.device(device)? != state.device(peer)?).into())
    }
}
