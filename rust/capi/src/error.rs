//! Errors.

use std::ffi::c_char;
use std::fmt;

use crate::sys::*;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of interlock. The call that returns it has had no effect.
///
/// ```no_run
/// use interlock_capi::{ErrorCode, backends};
///
/// match backends::find::<bool>("cudnn.benchmrk") {
///     Err(error) if error.code() == ErrorCode::UnknownFlag => eprintln!("{error}"),
///     _ => unreachable!("the name is misspelt"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: i32,
    text: String,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:ident,)+) => {
        /// The kind of an error: each has a class in `interlock.errors`.
        ///
        /// ```
        /// use interlock_capi::ErrorCode;
        ///
        /// assert_eq!(ErrorCode::OutOfMemory as i32, interlock_capi::sys::INTERLOCK_ERROR_OUT_OF_MEMORY);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant = $code,)+
        }

        fn code_of(number: i32) -> ErrorCode {
            match number {
                $($code => ErrorCode::$variant,)+
                _ => ErrorCode::Other,
            }
        }
    };
}

codes! {
    /// An argument is not accepted.
    Argument = INTERLOCK_ERROR_ARGUMENT,
    /// A value of a flag has the wrong type.
    FlagType = INTERLOCK_ERROR_FLAG_TYPE,
    /// A value of a flag is not accepted.
    FlagValue = INTERLOCK_ERROR_FLAG_VALUE,
    /// Flags are frozen.
    FlagsFrozen = INTERLOCK_ERROR_FLAGS_FROZEN,
    /// A flag cannot be registered.
    FlagRegistration = INTERLOCK_ERROR_FLAG_REGISTRATION,
    /// No flag has the name.
    UnknownFlag = INTERLOCK_ERROR_UNKNOWN_FLAG,
    /// The flag is read-only.
    ReadOnlyFlag = INTERLOCK_ERROR_READ_ONLY_FLAG,
    /// A device is unknown or cannot be used.
    Device = INTERLOCK_ERROR_DEVICE,
    /// No accelerator is available.
    NoAccelerator = INTERLOCK_ERROR_NO_ACCELERATOR,
    /// A device has too little memory.
    OutOfMemory = INTERLOCK_ERROR_OUT_OF_MEMORY,
    /// An operation failed on a device, or an asynchronous error is reported.
    Accelerator = INTERLOCK_ERROR_ACCELERATOR,
    /// A device was lost with its memory.
    DeviceLost = INTERLOCK_ERROR_DEVICE_LOST,
    /// The driver or this process does not support the operation, or the thread-local variables of this thread are
    /// destroyed.
    Unsupported = INTERLOCK_ERROR_UNSUPPORTED,
    /// The object belongs to the parent of this forked process.
    ForkedProcess = INTERLOCK_ERROR_FORKED_PROCESS,
    /// A graph was used in the wrong order.
    Graph = INTERLOCK_ERROR_GRAPH,
    /// The driver of the process is fixed already.
    DriverInUse = INTERLOCK_ERROR_DRIVER_IN_USE,
    /// A wait was interrupted by a signal.
    Interrupted = INTERLOCK_ERROR_INTERRUPTED,
    /// interlock panicked.
    Panic = INTERLOCK_ERROR_PANIC,
    /// The interlock of this process cannot be used by this crate.
    Import = INTERLOCK_ERROR_IMPORT,
    /// Any other error.
    Other = INTERLOCK_ERROR_OTHER,
}

impl Error {
    /// Creates an error with the code and text of interlock.
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Error { code: code as i32, text: text.into() }
    }

    /// Returns the kind of the error.
    pub fn code(&self) -> ErrorCode {
        code_of(self.code)
    }

    pub(crate) fn to_raw(&self) -> InterlockError {
        let mut raw = empty();
        raw.code = self.code;
        fill_text(&mut raw.text, &self.text);
        raw
    }
}

/// Copies a text with a null byte behind it, and cuts it between two characters if it is too long.
pub(crate) fn fill_text(target: &mut [c_char], text: &str) {
    let mut end = text.len().min(target.len().saturating_sub(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let bytes = text.as_bytes().iter().take(end).map(|byte| *byte as c_char);
    target.iter_mut().zip(bytes.chain([0])).for_each(|(target, byte)| *target = byte);
}

/// Returns an error to be passed to the table.
pub(crate) fn empty() -> InterlockError {
    InterlockError { size: size_of::<InterlockError>() as u32, code: INTERLOCK_OK, text: [0; 1016] }
}

fn from_raw(raw: &InterlockError) -> Error {
    let bytes: Vec<u8> = raw.text.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    Error { code: raw.code, text: String::from_utf8_lossy(&bytes).into_owned() }
}

/// Calls a function of the table with an out pointer for its error.
pub(crate) fn check(call: impl FnOnce(*mut InterlockError) -> i32) -> Result<()> {
    // Its text is read only if the call fails, so it is not initialized.
    let mut error = std::mem::MaybeUninit::<InterlockError>::uninit();
    let out = error.as_mut_ptr();
    // SAFETY: the struct is ours.
    unsafe { (*out).size = size_of::<InterlockError>() as u32 };
    match call(out) {
        INTERLOCK_OK => Ok(()),
        _ => {
            // SAFETY: a call that fails sets the code, and the text up to a null byte; the rest is not read.
            Err(unsafe { read_uninit(out) })
        }
    }
}

/// Reads an error whose text is initialized up to its null byte.
///
/// # Safety
/// The code is set, and the text up to a null byte.
unsafe fn read_uninit(out: *const InterlockError) -> Error {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let code = (*out).code;
        let text = std::ffi::CStr::from_ptr((&raw const (*out).text).cast());
        Error { code, text: text.to_string_lossy().into_owned() }
    }
}

/// Returns the warning of a call that has succeeded.
pub(crate) fn warning_of(raw: &InterlockError) -> Option<Error> {
    (raw.code != INTERLOCK_OK).then(|| from_raw(raw))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
