//! A fake of NVIDIA's management library (NVML), with the functions that count devices and no others.
//!
//! - `FAKE_CUDA_DEVICES`: the number of GPUs; 2 by default.
//! - `FAKE_NVML_INIT`: the result of `nvmlInit_v2`; 0 by default.
//! - `FAKE_NVML_MIG`: the GPUs in MIG mode, each with its number of MIG devices: `0:2,3:0`.
//! - `FAKE_NVML_FAILS`: the GPUs that can't be opened, each with the error code: `1:4`.
//!
//! Every call reads the environment.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

type Handle = *mut c_void;

const SUCCESS: c_int = 0;
const UNINITIALIZED: c_int = 1;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
const INSUFFICIENT_SIZE: c_int = 7;

/// Larger than the number of MIG devices of any GPU.
const MIG_RADIX: usize = 16;

static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// A GPU or a MIG device. Its handle is a number that is not 0.
#[derive(Clone, Copy)]
struct Device {
    gpu: usize,
    mig: Option<usize>,
}

impl Device {
    fn handle(self) -> Handle {
        let mig = self.mig.map_or(0, |mig| mig + 1);
        std::ptr::without_provenance_mut((self.gpu + 1) * MIG_RADIX + mig)
    }

    fn from_handle(handle: Handle) -> Option<Device> {
        let gpu = (handle.addr() / MIG_RADIX).checked_sub(1)?;
        Some(Device { gpu, mig: (handle.addr() % MIG_RADIX).checked_sub(1) })
    }

    /// Returns a UUID that ends with the index of the GPU, after the index of the MIG device.
    fn uuid(self) -> String {
        match self.mig {
            None => format!("GPU-00000000-0000-0000-0000-{:012x}", self.gpu),
            Some(mig) => format!("MIG-00000000-0000-0000-{mig:04x}-{:012x}", self.gpu),
        }
    }
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns the number of a GPU in a variable of the form `GPU:NUMBER,GPU:NUMBER`.
fn number_of_gpu(gpu: usize, variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    let mut pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
    let (_, number) = pairs.find(|(index, _)| index.parse() == Ok(gpu))?;
    number.parse().ok()
}

/// Writes a result. Fails before `nvmlInit_v2` and for a null pointer.
///
/// # Safety
/// `to` is null or valid for writes.
unsafe fn write<T>(to: *mut T, value: T) -> c_int {
    if !INITIALIZED.load(Ordering::Relaxed) {
        return UNINITIALIZED;
    }
    if to.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller guarantees that the pointer is valid.
    unsafe { to.write(value) };
    SUCCESS
}

/// Initializes the library.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    let code = number("FAKE_NVML_INIT", 0);
    INITIALIZED.store(code == 0, Ordering::Relaxed);
    c_int::try_from(code).unwrap_or(c_int::MAX)
}

/// Returns the number of GPUs.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> c_int {
    // SAFETY: the caller guarantees that the pointers are null or valid.
    unsafe { write(count, number("FAKE_CUDA_DEVICES", 2) as c_uint) }
}

/// Returns the GPU of an index.
///
/// # Safety
/// `device` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut Handle) -> c_int {
    let gpu = index as usize;
    if gpu >= number("FAKE_CUDA_DEVICES", 2) {
        return INVALID_ARGUMENT;
    }
    match number_of_gpu(gpu, "FAKE_NVML_FAILS") {
        Some(code) => c_int::try_from(code).unwrap_or(c_int::MAX),
        // SAFETY: the caller guarantees that the pointers are null or valid.
        None => unsafe { write(device, Device { gpu, mig: None }.handle()) },
    }
}

/// Writes the UUID of a device.
///
/// # Safety
/// `text` is valid for writes of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: Handle, text: *mut c_char, length: c_uint) -> c_int {
    let Some(device) = Device::from_handle(device) else { return INVALID_ARGUMENT };
    let uuid = device.uuid();
    if uuid.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    for (index, byte) in uuid.bytes().chain([0]).enumerate() {
        // SAFETY: the buffer is longer than the text and its NUL.
        unsafe { text.add(index).write(byte as c_char) };
    }
    SUCCESS
}

/// Returns whether MIG mode of a GPU is enabled, now and after the next reset.
///
/// # Safety
/// Both pointers are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(device: Handle, now: *mut c_uint, later: *mut c_uint) -> c_int {
    let Some(device) = Device::from_handle(device) else { return INVALID_ARGUMENT };
    if std::env::var_os("FAKE_NVML_MIG").is_none() {
        return NOT_SUPPORTED;
    }
    let mode = c_uint::from(number_of_gpu(device.gpu, "FAKE_NVML_MIG").is_some());
    // SAFETY: the caller guarantees that the pointers are null or valid.
    unsafe { write(now, mode).max(write(later, mode)) }
}

/// Returns the maximum number of MIG devices of a GPU.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(_: Handle, count: *mut c_uint) -> c_int {
    // SAFETY: the caller guarantees that the pointers are null or valid.
    unsafe { write(count, 7) }
}

/// Returns a MIG device by its index. Index 0 is always empty.
///
/// # Safety
/// `mig` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: Handle,
    index: c_uint,
    mig: *mut Handle,
) -> c_int {
    let Some(device) = Device::from_handle(device) else { return INVALID_ARGUMENT };
    let count = number_of_gpu(device.gpu, "FAKE_NVML_MIG").unwrap_or(0);
    match (index as usize).checked_sub(1).filter(|number| *number < count) {
        // SAFETY: the caller guarantees that the pointers are null or valid.
        Some(number) => unsafe { write(mig, Device { mig: Some(number), ..device }.handle()) },
        None => NOT_FOUND,
    }
}

/// Returns the GPU instance ID of a MIG device: 7 for the first.
///
/// # Safety
/// `number` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(device: Handle, number: *mut c_uint) -> c_int {
    match Device::from_handle(device).and_then(|device| device.mig) {
        // SAFETY: the caller guarantees that the pointers are null or valid.
        Some(mig) => unsafe { write(number, 7 + mig as c_uint) },
        None => NOT_FOUND,
    }
}

/// Returns the compute instance ID of a MIG device: always 0.
///
/// # Safety
/// `number` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(device: Handle, number: *mut c_uint) -> c_int {
    match Device::from_handle(device).and_then(|device| device.mig) {
        // SAFETY: the caller guarantees that the pointers are null or valid.
        Some(_) => unsafe { write(number, 0) },
        None => NOT_FOUND,
    }
}
