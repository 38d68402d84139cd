//! NVIDIA's management library, which knows the devices without starting the driver.
//!
//! It stays initialised: where nothing else keeps the devices awake, each first initialisation takes as long as
//! waking them. To initialise it again only counts. A forked child goes on with what its parent initialised, which it
//! may, unlike with the driver.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use once_cell::race::OnceBox;

use interlock_core::{Error, Result, libraries};

use super::visible_devices::{Gpu, MigDevice};

/// What its functions answer where this process may not use a device.
pub(crate) const NO_PERMISSION: i32 = 4;

/// What it answers where the kernel's part of the driver is missing.
pub(crate) const DRIVER_NOT_LOADED: i32 = 9;

/// Why the library could not be queried.
#[derive(Debug)]
pub(crate) enum NvmlError {
    /// The library is absent, or lacks a function.
    Absent,
    /// The path that the user gave for it is of no use.
    Path(Error),
    /// One of its functions returned this number.
    Refused(i32),
}

/// What the library calls a device.
type Handle = *mut c_void;

/// Declares functions of the library that are looked up together, each with the type that its interface declares.
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
    /// Its functions, by the names that drivers of CUDA 12 and newer have, and mostly older ones too.
    Functions {
        initialise = c"nvmlInit_v2" ();
        count = c"nvmlDeviceGetCount_v2" (*mut c_uint);
        device = c"nvmlDeviceGetHandleByIndex_v2" (c_uint, *mut Handle);
        uuid = c"nvmlDeviceGetUUID" (Handle, *mut c_char, c_uint);
    }
}

functions! {
    /// What it has for GPUs that are divided.
    Mig {
        mode = c"nvmlDeviceGetMigMode" (Handle, *mut c_uint, *mut c_uint);
        most_parts = c"nvmlDeviceGetMaxMigDeviceCount" (Handle, *mut c_uint);
        part = c"nvmlDeviceGetMigDeviceHandleByIndex" (Handle, c_uint, *mut Handle);
        gpu_instance = c"nvmlDeviceGetGpuInstanceId" (Handle, *mut c_uint);
        compute_instance = c"nvmlDeviceGetComputeInstanceId" (Handle, *mut c_uint);
    }
}

/// The library, with what it has for divided GPUs, if anything.
struct Nvml {
    functions: Functions,
    mig: Option<Mig>,
}

/// The GPUs that this process may use, in the order of the bus. Asked again each time.
pub(crate) fn gpus() -> Result<Vec<Gpu>, NvmlError> {
    // Not a blocking cell: a fork while another thread loads it would leave the child waiting.
    static NVML: OnceBox<Nvml> = OnceBox::new();
    let nvml = NVML.get_or_try_init(|| Nvml::load().map(Box::new));
    match nvml {
        Ok(nvml) => nvml.gpus().map_err(NvmlError::Refused),
        Err(error @ Error::LibraryPath { .. }) => Err(NvmlError::Path(error)),
        Err(_) => Err(NvmlError::Absent),
    }
}

impl Nvml {
    fn load() -> Result<Nvml> {
        Ok(Nvml { functions: Functions::load()?, mig: Mig::load().ok() })
    }

    fn gpus(&self) -> Result<Vec<Gpu>, i32> {
        // SAFETY: may be called at any time.
        succeeded(unsafe { (self.functions.initialise)() })?;
        // SAFETY: writes a number, as the library is initialised.
        let count = written(|count| unsafe { (self.functions.count)(count) })?;
        let mut gpus = Vec::new();
        for index in 0..count {
            match self.gpu(index) {
                Ok(gpu) => gpus.push(gpu),
                // It counts those as well of which the process may open none, and CUDA does not.
                Err(NO_PERMISSION) => {}
                Err(code) => return Err(code),
            }
        }
        if gpus.is_empty() && count > 0 { Err(NO_PERMISSION) } else { Ok(gpus) }
    }

    fn gpu(&self, index: u32) -> Result<Gpu, i32> {
        let handle = handle(|handle| {
            // SAFETY: writes a handle, or fails where there is no such device.
            unsafe { (self.functions.device)(index, handle) }
        })?;
        Ok(Gpu { uuid: self.uuid_of(handle)?, mig: self.parts(handle) })
    }

    fn uuid_of(&self, device: Handle) -> Result<String, i32> {
        // As long as its interface demands of buffers that are long enough for all kinds of devices.
        const LENGTH: c_uint = 96;
        let mut text = [0; LENGTH as usize];
        // SAFETY: writes at most as many bytes.
        succeeded(unsafe { (self.functions.uuid)(device, text.as_mut_ptr(), LENGTH) })?;
        let text = text.map(|letter| letter as u8);
        Ok(CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The parts of a GPU; `None` where it is not divided, or can't be.
    fn parts(&self, gpu: Handle) -> Option<Vec<MigDevice>> {
        const ENABLED: c_uint = 1;
        let mig = self.mig.as_ref()?;
        let mut pending = 0;
        // SAFETY: writes two numbers, or fails where the GPU knows no parts.
        let mode = written(|mode| unsafe { (mig.mode)(gpu, mode, &raw mut pending) }).ok()?;
        if mode != ENABLED {
            return None;
        }
        // SAFETY: writes a number.
        let most = written(|most| unsafe { (mig.most_parts)(gpu, most) }).unwrap_or(0);
        // What is not there, or not for this process, is passed over.
        Some((0..most).filter_map(|index| self.part(mig, gpu, index).ok()).collect())
    }

    fn part(&self, mig: &Mig, gpu: Handle, index: u32) -> Result<MigDevice, i32> {
        // SAFETY: writes a handle, or fails where there is no such part.
        let part = handle(|part| unsafe { (mig.part)(gpu, index, part) })?;
        // SAFETY: both write a number, of a part that was just found.
        let (gpu_instance, compute_instance) = unsafe {
            (
                written(|number| (mig.gpu_instance)(part, number))?,
                written(|number| (mig.compute_instance)(part, number))?,
            )
        };
        Ok(MigDevice { uuid: self.uuid_of(part)?, gpu_instance, compute_instance })
    }
}

fn succeeded(code: c_int) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn written(write: impl FnOnce(*mut c_uint) -> c_int) -> Result<u32, i32> {
    let mut number = 0;
    succeeded(write(&raw mut number)).map(|()| number)
}

fn handle(write: impl FnOnce(*mut Handle) -> c_int) -> Result<Handle, i32> {
    let mut handle = std::ptr::null_mut();
    succeeded(write(&raw mut handle)).map(|()| handle)
}
