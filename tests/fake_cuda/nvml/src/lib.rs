//! A stand-in for NVIDIA's management library: the functions with which devices are counted, and no others.
//!
//! - `FAKE_CUDA_DEVICES`: how many GPUs there are; two unless it is set.
//! - `FAKE_NVML_INIT`: what `nvmlInit_v2` returns; 0 unless it is set.
//! - `FAKE_NVML_MIG`: GPUs that are divided, and into how many parts: `0:2,3:0`.
//! - `FAKE_NVML_FAILS`: GPUs that can't be opened, and what opening them returns: `1:4`.
//!
//! Each question reads the environment afresh.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

type Handle = *mut c_void;

const SUCCESS: c_int = 0;
const UNINITIALIZED: c_int = 1;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
const INSUFFICIENT_SIZE: c_int = 7;

/// More parts than a GPU can have.
const MOST_PARTS: usize = 16;

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// A GPU, or a part of one. As a handle it is a number that is not 0.
#[derive(Clone, Copy)]
struct Device {
    gpu: usize,
    part: Option<usize>,
}

impl Device {
    fn handle(self) -> Handle {
        let part = self.part.map_or(0, |part| part + 1);
        std::ptr::without_provenance_mut((self.gpu + 1) * MOST_PARTS + part)
    }

    fn of(handle: Handle) -> Option<Device> {
        let gpu = (handle.addr() / MOST_PARTS).checked_sub(1)?;
        Some(Device { gpu, part: (handle.addr() % MOST_PARTS).checked_sub(1) })
    }

    /// `GPU-`, zeros and the number of the GPU; of a part, the number of the part stands before it.
    fn uuid(self) -> String {
        match self.part {
            None => format!("GPU-00000000-0000-0000-0000-{:012x}", self.gpu),
            Some(part) => format!("MIG-00000000-0000-0000-{part:04x}-{:012x}", self.gpu),
        }
    }
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What a variable of the form `GPU:NUMBER,GPU:NUMBER` says of a GPU.
fn said_of(gpu: usize, variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    let mut pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
    let (_, said) = pairs.find(|(place, _)| place.parse() == Ok(gpu))?;
    said.parse().ok()
}

/// Writes an answer, if there is a place for it.
///
/// # Safety
/// The place is null or may be written.
unsafe fn write<T>(place: *mut T, answer: T) -> c_int {
    if !INITIALISED.load(Ordering::Relaxed) {
        return UNINITIALIZED;
    }
    if place.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(answer) };
    SUCCESS
}

/// Makes the library ready.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    let answer = number("FAKE_NVML_INIT", 0);
    INITIALISED.store(answer == 0, Ordering::Relaxed);
    c_int::try_from(answer).unwrap_or(c_int::MAX)
}

/// How many GPUs there are.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { write(count, number("FAKE_CUDA_DEVICES", 2) as c_uint) }
}

/// A GPU by its place.
///
/// # Safety
/// `device` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut Handle) -> c_int {
    let gpu = index as usize;
    if gpu >= number("FAKE_CUDA_DEVICES", 2) {
        return INVALID_ARGUMENT;
    }
    match said_of(gpu, "FAKE_NVML_FAILS") {
        Some(code) => c_int::try_from(code).unwrap_or(c_int::MAX),
        // SAFETY: the caller's promise.
        None => unsafe { write(device, Device { gpu, part: None }.handle()) },
    }
}

/// The text by which CUDA knows a device.
///
/// # Safety
/// `text` may be written for as many bytes as `length` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: Handle, text: *mut c_char, length: c_uint) -> c_int {
    let Some(device) = Device::of(device) else { return INVALID_ARGUMENT };
    let uuid = device.uuid();
    if uuid.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    for (place, letter) in uuid.bytes().chain([0]).enumerate() {
        // SAFETY: there is room for the text and the zero that ends it.
        unsafe { text.add(place).write(letter as c_char) };
    }
    SUCCESS
}

/// Whether a GPU is divided, now and after the next reset.
///
/// # Safety
/// Both places are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(device: Handle, now: *mut c_uint, later: *mut c_uint) -> c_int {
    let Some(device) = Device::of(device) else { return INVALID_ARGUMENT };
    if std::env::var_os("FAKE_NVML_MIG").is_none() {
        return NOT_SUPPORTED;
    }
    let mode = c_uint::from(said_of(device.gpu, "FAKE_NVML_MIG").is_some());
    // SAFETY: the caller's promise.
    unsafe { write(now, mode).max(write(later, mode)) }
}

/// How many parts a GPU may have.
///
/// # Safety
/// `count` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(_: Handle, count: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { write(count, 7) }
}

/// A part of a GPU by its place, of which the first is never taken.
///
/// # Safety
/// `part` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: Handle,
    index: c_uint,
    part: *mut Handle,
) -> c_int {
    let Some(device) = Device::of(device) else { return INVALID_ARGUMENT };
    let parts = said_of(device.gpu, "FAKE_NVML_MIG").unwrap_or(0);
    match (index as usize).checked_sub(1).filter(|part| *part < parts) {
        // SAFETY: the caller's promise.
        Some(number) => unsafe { write(part, Device { part: Some(number), ..device }.handle()) },
        None => NOT_FOUND,
    }
}

/// The number of a part's share of the GPU: 7 for the first.
///
/// # Safety
/// `number` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(device: Handle, number: *mut c_uint) -> c_int {
    match Device::of(device).and_then(|device| device.part) {
        // SAFETY: the caller's promise.
        Some(part) => unsafe { write(number, 7 + part as c_uint) },
        None => NOT_FOUND,
    }
}

/// The number of a part within its share: always 0.
///
/// # Safety
/// `number` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(device: Handle, number: *mut c_uint) -> c_int {
    match Device::of(device).and_then(|device| device.part) {
        // SAFETY: the caller's promise.
        Some(_) => unsafe { write(number, 0) },
        None => NOT_FOUND,
    }
}
