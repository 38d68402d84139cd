//! The frame of each entry: it catches panics and reports errors.

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use interlock::accelerator;
use interlock_core::base::catch::drop_catching_panic;
use interlock_core::base::quote::one_line;
use interlock_sys::*;

/// The code and the text of an error.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    text: String,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Creates the error of an argument that is not accepted, in the words of interlock's other errors.
    pub(crate) fn argument(name: &str, allowed: &str, given: impl std::fmt::Display) -> Self {
        Failure { code: INTERLOCK_ERROR_ARGUMENT, text: format!("{name} must be {allowed}, got {given}") }
    }

    /// Adds the entry, and the argument that the name in the text is part of. Only errors pay for it.
    pub(crate) fn within(self, outer: std::fmt::Arguments<'_>) -> Self {
        Failure { text: format!("{outer}{}", self.text), ..self }
    }

    /// Creates the error of an id that no flag has.
    pub(crate) fn unknown_flag(name: &str, allowed: &str, given: u32) -> Self {
        Failure { code: INTERLOCK_ERROR_UNKNOWN_FLAG, ..Failure::argument(name, allowed, given) }
    }

    /// Creates the error of a function that this process or thread lacks.
    pub(crate) fn unsupported(text: &str) -> Self {
        Failure { code: INTERLOCK_ERROR_UNSUPPORTED, text: text.to_owned() }
    }

    /// Creates the error of a call that writes state of a thread whose thread-local variables are destroyed.
    pub(crate) fn ended(what: &str) -> Self {
        Self::unsupported(&format!("{what} on a thread whose thread-local variables are destroyed"))
    }

    /// Returns the error with the code and text of a callback.
    pub(crate) fn from_callback(code: i32, text: String) -> Self {
        Failure { code, text }
    }

    pub(crate) fn text(self) -> String {
        self.text
    }
}

impl From<interlock::Error> for Failure {
    fn from(error: interlock::Error) -> Self {
        Failure { code: core_code(&error), text: error.to_string() }
    }
}

impl From<accelerator::Error> for Failure {
    fn from(error: accelerator::Error) -> Self {
        Failure { code: code(&error), text: error.to_string() }
    }
}

fn core_code(error: &interlock::Error) -> i32 {
    use interlock::Error;
    match error {
        Error::FlagType { .. } => INTERLOCK_ERROR_FLAG_TYPE,
        Error::FlagValue { .. } | Error::FlagRefused { .. } => INTERLOCK_ERROR_FLAG_VALUE,
        Error::FlagsFrozen { .. } => INTERLOCK_ERROR_FLAGS_FROZEN,
        Error::FlagRegistration { .. } | Error::FlagDefault { .. } | Error::FlagUnregistration { .. } => {
            INTERLOCK_ERROR_FLAG_REGISTRATION
        }
        Error::UnknownFlag { .. } | Error::FlagNamespace { .. } | Error::UnregisteredFlag { .. } => {
            INTERLOCK_ERROR_UNKNOWN_FLAG
        }
        Error::ReadOnlyFlag { .. } => INTERLOCK_ERROR_READ_ONLY_FLAG,
        Error::UnknownDeviceType { .. } | Error::DeviceIndex { .. } | Error::DeviceName { .. } => {
            INTERLOCK_ERROR_DEVICE
        }
        Error::KernelName { .. }
        | Error::KernelDescriptor { .. }
        | Error::CarriedName { .. }
        | Error::UnknownName { .. } => INTERLOCK_ERROR_ARGUMENT,
        Error::KernelRequirement { error } => core_code(error),
        Error::ContextNotAtHand { .. } | Error::ThreadEnded { .. } => INTERLOCK_ERROR_UNSUPPORTED,
        _ => INTERLOCK_ERROR_OTHER,
    }
}

fn code(error: &accelerator::Error) -> i32 {
    use accelerator::Error;
    match error {
        Error::Core(error) => core_code(error),
        Error::NoSuchDevice { .. } | Error::DeviceUnavailable { .. } | Error::UnknownDriver { .. } => {
            INTERLOCK_ERROR_DEVICE
        }
        Error::NoAccelerator { .. } => INTERLOCK_ERROR_NO_ACCELERATOR,
        Error::Device { .. } | Error::SelfWait { .. } => INTERLOCK_ERROR_ACCELERATOR,
        Error::DeviceLost { .. } => INTERLOCK_ERROR_DEVICE_LOST,
        Error::Unsupported { .. } => INTERLOCK_ERROR_UNSUPPORTED,
        Error::Forked { .. } => INTERLOCK_ERROR_FORKED_PROCESS,
        Error::Graph { .. } => INTERLOCK_ERROR_GRAPH,
        Error::DriverInUse { .. } => INTERLOCK_ERROR_DRIVER_IN_USE,
        Error::Argument { .. } | Error::UnknownKey { .. } => INTERLOCK_ERROR_ARGUMENT,
        Error::Variable { error, .. } => code(error),
        Error::Interrupted => INTERLOCK_ERROR_INTERRUPTED,
        Error::OutOfMemory(_) => INTERLOCK_ERROR_OUT_OF_MEMORY,
        _ => INTERLOCK_ERROR_OTHER,
    }
}

/// Runs the body of an entry. Returns its code, and sets the error of the caller if it fails or panics.
///
/// # Safety
/// `error` is null, or an `InterlockError` of the caller whose `size` is set.
pub(crate) unsafe fn run(error: *mut InterlockError, body: impl FnOnce() -> Result<()>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(panicked(payload)));
    match outcome {
        Ok(()) => INTERLOCK_OK,
        Err(failure) => {
            // SAFETY: guaranteed by the caller.
            unsafe { report(error, failure.code, &failure.text) };
            failure.code
        }
    }
}

/// Runs the body of an entry that cannot fail. A panic has no effect.
pub(crate) fn run_infallible(body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        drop_catching_panic(payload);
    }
}

fn panicked(payload: Box<dyn std::any::Any + Send>) -> Failure {
    let text = payload.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    drop_catching_panic(payload);
    let reason = text.unwrap_or_else(|| "unknown reason".to_owned());
    Failure { code: INTERLOCK_ERROR_PANIC, text: format!("interlock panicked: {reason}") }
}

/// Sets the error of the caller, unless it is null. A text that is too long is cut between two characters.
///
/// # Safety
/// `error` is null, or an `InterlockError` of the caller whose `size` is set.
pub(crate) unsafe fn report(error: *mut InterlockError, code: i32, text: &str) {
    const CODE: usize = std::mem::offset_of!(InterlockError, code);
    const TEXT: usize = std::mem::offset_of!(InterlockError, text);
    if error.is_null() {
        return;
    }
    // SAFETY: the struct begins with its size.
    let size = unsafe { (*error).size } as usize;
    if size >= CODE + size_of::<i32>() {
        // SAFETY: the field is within the size.
        unsafe { (*error).code = code };
    }
    let Some(room) = size.checked_sub(TEXT + 1) else { return };
    // A text of the caller, such as a name, may contain a null byte, which would end the message.
    let escaped = text.contains('\0').then(|| text.replace('\0', "\\0"));
    let text = escaped.as_deref().unwrap_or(text);
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // SAFETY: the text and the null byte after it are within the size.
    unsafe {
        let target = error.cast::<u8>().add(TEXT);
        std::ptr::copy_nonoverlapping(text.as_ptr(), target, end);
        *target.add(end) = 0;
    }
}

/// Returns the code and the text, on one line, of an error that the caller set.
///
/// # Safety
/// `error` is null, or an `InterlockError` whose fields are set.
pub(crate) unsafe fn read_error(error: *const InterlockError) -> Option<(i32, String)> {
    if error.is_null() {
        return None;
    }
    const TEXT: usize = std::mem::offset_of!(InterlockError, text);
    // SAFETY: the struct begins with its size.
    let size = unsafe { (*error).size } as usize;
    let room = size.checked_sub(TEXT)?;
    // SAFETY: the text is within the size.
    let bytes = unsafe { std::slice::from_raw_parts(error.cast::<u8>().add(TEXT), room) };
    let text: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte != 0).collect();
    // SAFETY: the code is before the text.
    let code = unsafe { (*error).code };
    Some((code, one_line(&String::from_utf8_lossy(&text)).into_owned()))
}

/// Returns an error without code and text, for a callback to set.
pub(crate) fn empty_error() -> InterlockError {
    InterlockError { size: size_of::<InterlockError>() as u32, code: INTERLOCK_OK, text: [0 as c_char; 1016] }
}
