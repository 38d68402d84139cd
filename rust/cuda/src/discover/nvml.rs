//! NVIDIA's management library (NVML), which lists the devices without starting the driver.
//!
//! NVML stays initialized: without persistence mode, each first initialization takes as long as waking the devices, and
//! a later one only increases a counter. Unlike the driver, NVML may be used in a child whose parent initialized it.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use once_cell::race::OnceBox;

use interlock_core::{Error, Result, libraries};

use super::visible_devices::{Gpu, MigDevice};

/// `NVML_ERROR_NO_PERMISSION`: this process may not use a device.
pub(crate) const NO_PERMISSION: i32 = 4;

/// `NVML_ERROR_DRIVER_NOT_LOADED`: the kernel module is not loaded.
pub(crate) const DRIVER_NOT_LOADED: i32 = 9;

/// The reason why NVML could not be queried.
#[derive(Debug)]
pub(crate) enum NvmlError {
    /// The library is absent, or lacks a function.
    Absent,
    /// The library at the user's path can't be loaded.
    Path(Error),
    /// A function returned this `nvmlReturn_t`.
    Code(i32),
}

/// `nvmlDevice_t`.
type Handle = *mut c_void;

/// Declares a table of functions of the library, with their types.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($name:ident = $symbol:literal ($($argument:ty),*);)+ }) => {
        $(#[$doc])*
        struct $table {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)+
        }

        impl $table {
            fn load() -> Result<Self> {
                // SAFETY: each field has the type that the library's interface declares for the name.
                unsafe { Ok($table { $($name: libraries::NVML.function($symbol, "counting devices")?,)+ }) }
            }
        }
    };
}

functions! {
    /// The functions that are needed, with the names that drivers for CUDA 12 and newer have.
    Functions {
        init = c"nvmlInit_v2" ();
        count = c"nvmlDeviceGetCount_v2" (*mut c_uint);
        device = c"nvmlDeviceGetHandleByIndex_v2" (c_uint, *mut Handle);
        uuid = c"nvmlDeviceGetUUID" (Handle, *mut c_char, c_uint);
    }
}

functions! {
    /// The functions for MIG (Multi-Instance GPU) devices.
    Mig {
        mode = c"nvmlDeviceGetMigMode" (Handle, *mut c_uint, *mut c_uint);
        max_count = c"nvmlDeviceGetMaxMigDeviceCount" (Handle, *mut c_uint);
        device = c"nvmlDeviceGetMigDeviceHandleByIndex" (Handle, c_uint, *mut Handle);
        gpu_instance = c"nvmlDeviceGetGpuInstanceId" (Handle, *mut c_uint);
        compute_instance = c"nvmlDeviceGetComputeInstanceId" (Handle, *mut c_uint);
    }
}

/// The loaded library.
struct Nvml {
    functions: Functions,
    mig: Option<Mig>,
}

/// Returns the GPUs that this process may use, in PCI bus order. Queries NVML in every call.
pub(crate) fn gpus() -> Result<Vec<Gpu>, NvmlError> {
    // Not a blocking cell: a child forked while another thread loads the library would wait forever.
    static NVML: OnceBox<Nvml> = OnceBox::new();
    let nvml = NVML.get_or_try_init(|| Nvml::load().map(Box::new));
    match nvml {
        Ok(nvml) => nvml.gpus().map_err(NvmlError::Code),
        Err(error @ Error::LibraryPath { .. }) => Err(NvmlError::Path(error)),
        Err(_) => Err(NvmlError::Absent),
    }
}

impl Nvml {
    fn load() -> Result<Nvml> {
        Ok(Nvml { functions: Functions::load()?, mig: Mig::load().ok() })
    }

    fn gpus(&self) -> Result<Vec<Gpu>, i32> {
        // SAFETY: the function may be called at any time.
        check(unsafe { (self.functions.init)() })?;
        // SAFETY: the pointer is valid, and the library is initialized.
        let count = read_uint(|count| unsafe { (self.functions.count)(count) })?;
        let mut gpus = Vec::new();
        for index in 0..count {
            match self.gpu(index) {
                Ok(gpu) => gpus.push(gpu),
                // NVML counts devices that this process may not open; CUDA does not.
                Err(NO_PERMISSION) => {}
                Err(code) => return Err(code),
            }
        }
        if gpus.is_empty() && count > 0 { Err(NO_PERMISSION) } else { Ok(gpus) }
    }

    fn gpu(&self, index: u32) -> Result<Gpu, i32> {
        // SAFETY: the pointer is valid; the function fails if there is no device of this index.
        let handle = read_handle(|handle| unsafe { (self.functions.device)(index, handle) })?;
        Ok(Gpu { uuid: self.uuid_of(handle)?, mig: self.mig_devices(handle) })
    }

    fn uuid_of(&self, device: Handle) -> Result<String, i32> {
        // NVML_DEVICE_UUID_V2_BUFFER_SIZE, sufficient for GPUs and MIG devices.
        const LENGTH: c_uint = 96;
        let mut text = [0; LENGTH as usize];
        // SAFETY: the buffer has `LENGTH` bytes.
        check(unsafe { (self.functions.uuid)(device, text.as_mut_ptr(), LENGTH) })?;
        let text = text.map(|letter| letter as u8);
        Ok(CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy().into_owned())
    }

    /// Returns the MIG devices of a GPU; `None` if MIG mode is disabled or not supported.
    fn mig_devices(&self, gpu: Handle) -> Option<Vec<MigDevice>> {
        const ENABLED: c_uint = 1;
        let mig = self.mig.as_ref()?;
        let mut pending = 0;
        // SAFETY: the pointers are valid; the function fails if the GPU does not support MIG.
        let mode = read_uint(|mode| unsafe { (mig.mode)(gpu, mode, &raw mut pending) }).ok()?;
        if mode != ENABLED {
            return None;
        }
        // SAFETY: the pointer is valid.
        let max_count = read_uint(|count| unsafe { (mig.max_count)(gpu, count) }).unwrap_or(0);
        // Skips devices that do not exist or that this process may not use.
        Some((0..max_count).filter_map(|index| self.mig_device(mig, gpu, index).ok()).collect())
    }

    fn mig_device(&self, mig: &Mig, gpu: Handle, index: u32) -> Result<MigDevice, i32> {
        // SAFETY: the pointer is valid; the function fails if there is no MIG device of this index.
        let device = read_handle(|device| unsafe { (mig.device)(gpu, index, device) })?;
        // SAFETY: the pointers and the handle are valid.
        let (gpu_instance, compute_instance) = unsafe {
            (
                read_uint(|number| (mig.gpu_instance)(device, number))?,
                read_uint(|number| (mig.compute_instance)(device, number))?,
            )
        };
        Ok(MigDevice { uuid: self.uuid_of(device)?, gpu_instance, compute_instance })
    }
}

fn check(code: c_int) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn read_uint(query: impl FnOnce(*mut c_uint) -> c_int) -> Result<u32, i32> {
    let mut number = 0;
    check(query(&raw mut number)).map(|()| number)
}

fn read_handle(query: impl FnOnce(*mut Handle) -> c_int) -> Result<Handle, i32> {
    let mut handle = std::ptr::null_mut();
    check(query(&raw mut handle)).map(|()| handle)
}
