//! Transforms of one signal by MKL, which is found at run time: its interface "DFTI", as declared in Intel's `mkl_dfti.h`.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr;

use interlock::libraries::{LibraryFunctions, MKL};
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use crate::{Error, Result};

/// A descriptor.
type Handle = *mut c_void;

/// The functions of the interface. A status of 0 is success.
struct Functions {
    create: unsafe extern "C" fn(*mut Handle, c_int, c_long) -> c_long,
    set_value: unsafe extern "C" fn(Handle, c_int, ...) -> c_long,
    commit: unsafe extern "C" fn(Handle) -> c_long,
    forward: unsafe extern "C" fn(Handle, *mut c_void, ...) -> c_long,
    backward: unsafe extern "C" fn(Handle, *mut c_void, ...) -> c_long,
    free: unsafe extern "C" fn(*mut Handle) -> c_long,
    message: unsafe extern "C" fn(c_long) -> *const c_char,
}

/// `DFTI_COMPLEX`: pairs of the real and imaginary part.
const COMPLEX: c_int = 32;
/// `DFTI_THREAD_LIMIT`: the number of threads of a transform.
const THREAD_LIMIT: c_int = 27;

static FUNCTIONS: LibraryFunctions<Functions> = LibraryFunctions::new(&MKL, |mkl| {
    // SAFETY: the functions have the types that the header declares.
    unsafe {
        Ok(Functions {
            create: mkl.function(c"DftiCreateDescriptor_d_1d", "fft")?,
            set_value: mkl.function(c"DftiSetValue", "fft")?,
            commit: mkl.function(c"DftiCommitDescriptor", "fft")?,
            forward: mkl.function(c"DftiComputeForward", "fft")?,
            backward: mkl.function(c"DftiComputeBackward", "fft")?,
            free: mkl.function(c"DftiFreeDescriptor", "fft")?,
            message: mkl.function(c"DftiErrorMessage", "fft")?,
        })
    }
});

impl Functions {
    /// Returns the message of a status, unless the call was successful.
    fn check(&self, status: c_long) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: MKL returns a text that it never frees, or null.
        let text = unsafe { (self.message)(status).as_ref().map(|text| CStr::from_ptr(text)) };
        Err(format!("MKL reports {:?}", text.unwrap_or(c"an unknown error")))
    }
}

/// Returns why MKL cannot be used, if it cannot.
pub(super) fn check() -> Result<(), &'static str> {
    FUNCTIONS.get().map(|_| ())
}

/// A committed descriptor of in-place transforms in `float64`.
pub(super) struct Descriptor {
    functions: &'static Functions,
    handle: Handle,
    length: usize,
}

// SAFETY: MKL allows several threads to compute with one committed descriptor, and any thread to free it.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// Prepares transforms of `length` points, or returns why MKL does not.
    pub fn new(length: usize) -> Result<Self, String> {
        let functions = FUNCTIONS.get()?;
        let points = c_long::try_from(length).map_err(|_| format!("MKL cannot transform {length} points"))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is written by the call, and is freed by `Descriptor`, also after an error below.
        functions.check(unsafe { (functions.create)(&raw mut handle, COMPLEX, points) })?;
        let descriptor = Descriptor { functions, handle, length };
        let one: c_long = 1;
        // One thread, because this crate divides signals among threads of its own, and a fork would lose those of MKL.
        // SAFETY: the descriptor exists; the value of this parameter is a `long`.
        functions.check(unsafe { (functions.set_value)(handle, THREAD_LIMIT, one) })?;
        // SAFETY: the descriptor exists.
        functions.check(unsafe { (functions.commit)(handle) })?;
        Ok(descriptor)
    }

    /// Returns the number of points.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Transforms a signal in place.
    pub fn run(&self, direction: FftDirection, signal: &mut [Complex<f64>]) -> Result<()> {
        debug_assert_eq!(signal.len(), self.length, "the points of a signal");
        Error::when(signal.len() != self.length, || Error::resized("fft"))?;
        let compute = match direction {
            FftDirection::Forward => self.functions.forward,
            FftDirection::Inverse => self.functions.backward,
        };
        // SAFETY: the descriptor is committed, and the signal has its number of pairs of doubles.
        let status = unsafe { compute(self.handle, signal.as_mut_ptr().cast()) };
        self.functions.check(status).map_err(|reason| Error::value("fft", "the transform", "succeed", reason))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor exists, and nothing uses it.
        let status = unsafe { (self.functions.free)(&raw mut self.handle) };
        debug_assert_eq!(status, 0, "a descriptor is freed once");
    }
}
