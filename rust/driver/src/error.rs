//! Errors of devices and drivers, with the data of their messages.

use std::borrow::Cow;

use interlock_core::Error as CoreError;
use interlock_core::base::quote::quoted;

use crate::{Cause, Device, Failure, OutOfMemory};

/// The result of an operation on a device.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation on a device. The call that returns it has had no effect.
///
/// ```
/// use interlock_driver::{Device, Error};
///
/// let error = Error::Unsupported { operation: "Graph.replay", device: Device::CPU };
/// assert_eq!(error.to_string(), "Graph.replay is not supported on cpu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An error of flags, names of devices or vendor libraries.
    Core(CoreError),
    /// An argument names the wrong device, or an object of the wrong device.
    NoSuchDevice {
        /// The function and the argument, as in the program.
        name: String,
        /// The value that was passed, as shown in the message.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// This process cannot use a device: it does not exist, or belongs to a driver that is not in use.
    DeviceUnavailable {
        /// The name of the operation.
        operation: String,
        /// The requested device.
        device: Device,
        /// The reason, which names the available devices if there are any.
        reason: String,
    },
    /// An operation needs an accelerator and none is available.
    NoAccelerator {
        /// The name of the operation.
        operation: &'static str,
        /// The reason why none is available.
        reason: String,
    },
    /// An operation failed on a device, or an asynchronous error of queued work was reported.
    Device {
        /// The device on which the operation failed.
        device: Device,
        /// The failed operation; for an asynchronous error, the queued operation.
        operation: String,
        /// The driver's description of the error.
        reason: String,
        /// The error code of the driver, if it has one.
        code: Option<i32>,
        /// The object of the program that caused the error of a host function.
        cause: Option<Cause>,
    },
    /// A host function waited for the stream that runs it, or for the device of the stream: the wait would never end.
    SelfWait {
        /// The device of the stream.
        device: Device,
        /// The operation that waited.
        operation: String,
    },
    /// A device was lost with its memory, and can't be used any more.
    DeviceLost {
        /// The lost device.
        device: Device,
        /// The name of the operation.
        operation: String,
        /// The reason as far as it is known.
        reason: String,
    },
    /// A driver does not support an operation.
    Unsupported {
        /// The name of the operation.
        operation: &'static str,
        /// The device or the device type of the driver.
        device: Device,
    },
    /// A handle was used in a forked child of the process that created it.
    Forked {
        /// The object that was used, as the message names it.
        what: &'static str,
    },
    /// A graph was used in the wrong order, or a capture can't be repeated.
    Graph {
        /// The name of the operation.
        operation: &'static str,
        /// The violated rule, as text for the message.
        reason: String,
    },
    /// A driver was selected or registered after one is in use.
    DriverInUse {
        /// The name of the selected driver.
        requested: &'static str,
        /// The driver in use and its devices, in one sentence.
        in_use: String,
    },
    /// No driver has this name.
    UnknownDriver {
        /// The name that was passed.
        given: String,
        /// The known name that is most similar, with the number of devices that was passed.
        suggestion: Option<String>,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// An argument has a value that is not accepted.
    Argument {
        /// The function and the argument, as in the program.
        name: Cow<'static, str>,
        /// The value that was passed, as shown in the message.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// A configuration of the allocators has an unknown key.
    UnknownKey {
        /// The unknown key.
        key: String,
        /// The known key that is most similar.
        suggestion: Option<&'static str>,
        /// The names of all keys.
        known: Vec<&'static str>,
    },
    /// An environment variable is invalid, for the reason of another error.
    Variable {
        /// The name of the variable.
        variable: &'static str,
        /// The error of its value.
        error: Box<Error>,
    },
    /// The embedding program interrupted a wait.
    Interrupted,
    /// An allocator could not serve a request.
    OutOfMemory(Box<OutOfMemory>),
}

impl Error {
    /// Creates the error of an argument that is not accepted. `name` is the function and the argument, as in the program.
    pub fn argument(
        name: impl Into<Cow<'static, str>>,
        given: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Error::Argument { name: name.into(), given: given.into(), allowed: allowed.into() }
    }

    /// Names the flag that sets the size of a request for memory.
    #[must_use]
    pub fn of_size(mut self, flag: &'static str) -> Self {
        if let Error::OutOfMemory(oom) = &mut self {
            oom.flag = Some(flag);
        }
        self
    }

    /// Creates the error of an operation that failed without an error code of the driver.
    pub fn device(device: Device, operation: impl Into<String>, failure: impl Into<Failure>) -> Self {
        let Failure { reason, cause } = failure.into();
        Error::Device { device, operation: operation.into(), reason, code: None, cause }
    }

    /// Replaces the operation of an error for a lost or unavailable device, or for a wait of a host function for its own
    /// stream, which an internal call reported, with the operation of the caller.
    #[must_use]
    pub fn during(mut self, caller: &'static str) -> Self {
        match &mut self {
            Error::DeviceLost { operation, .. }
            | Error::DeviceUnavailable { operation, .. }
            | Error::SelfWait { operation, .. } => {
                caller.clone_into(operation);
            }
            Error::NoAccelerator { operation, .. } => *operation = caller,
            _ => {}
        }
        self
    }
}

impl OutOfMemory {
    /// Creates the error of a failed request for memory that no allocator caches.
    pub fn error(device: Device, requested: usize) -> Error {
        Error::OutOfMemory(Box::new(OutOfMemory { device, requested, flag: None, cache: None }))
    }
}

impl From<CoreError> for Error {
    fn from(error: CoreError) -> Self {
        Error::Core(error)
    }
}

interlock_core::messages! { Error {
    Error::Core(error) => "{error}";
    Error::NoSuchDevice { name, given, allowed } => "{name} must be {allowed}, got {given}";
    Error::DeviceUnavailable { operation, device, reason } =>
        "{operation}: device \"{device}\" is not available: {reason}";
    Error::NoAccelerator { operation, reason } => "{operation}: {reason}";
    Error::Device { device, operation, reason, code: Some(code), .. } =>
        "{operation} failed on {device}: {reason} (error {code})";
    Error::Device { device, operation, reason, code: None, .. } => "{operation} failed on {device}: {reason}";
    Error::SelfWait { device, operation } =>
        "{operation} failed on {device}: a function that runs on a stream cannot wait for that stream, or for its \
         device; read memory of a host device with DeviceBuffer::pointer; otherwise queue a copy of it to CPU memory before the function";
    Error::DeviceLost { device, operation, reason } =>
        "{operation} failed: the device {device} was lost: {reason}";
    Error::Unsupported { operation, device } => "{operation} is not supported on {device}";
    Error::Forked { what } =>
        "{what} belongs to the parent of this forked process, and cannot be used here; use devices in the child \
         only, or start the child with std::process::Command";
    Error::Graph { operation, reason } => "{operation} failed: {reason}";
    Error::DriverInUse { requested, in_use } =>
        "accelerator::use_driver: cannot select the driver {requested:?} now: {in_use}. Call use_driver() before the first use of a \
         device";
    Error::UnknownDriver { given, suggestion: Some(suggestion), known } =>
        "accelerator::use_named: name must be one of {}, got {}; did you mean {suggestion:?}?",
        known.join(", "), quoted(given);
    Error::UnknownDriver { given, suggestion: None, known } =>
        "accelerator::use_named: name must be one of {}, got {}", known.join(", "), quoted(given);
    Error::Argument { name, given, allowed } => "{name} must be {allowed}, got {given}";
    Error::UnknownKey { key, suggestion: Some(suggestion), .. } =>
        "unknown key {}; did you mean {suggestion:?}?", quoted(key);
    Error::UnknownKey { key, suggestion: None, known } => "unknown key {}; the keys are {}", quoted(key), known.join(", ");
    Error::Variable { variable, error } => "{variable}: {error}";
    Error::Interrupted => "the wait was interrupted";
    Error::OutOfMemory(error) => "{error}";
} }

// No error has a source: a message contains the texts of the errors that caused it.
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use std::error::Error as StdError;
    use std::iter::successors;

    use super::*;

    #[test]
    fn errors_print_each_cause_once() {
        let flag = || CoreError::UnknownFlag { name: "verbose".to_owned(), suggestion: None };
        let default = CoreError::FlagDefault { name: "mylib.x".to_owned(), error: Box::new(flag()) };
        let requirement = CoreError::KernelRequirement { error: Box::new(flag()) };
        let variable = Error::Variable { variable: "X", error: Box::new(Error::Core(flag())) };
        for error in [Error::Core(default), Error::Core(requirement), Error::Core(flag()), variable] {
            let chain = successors(Some(&error as &dyn StdError), |&error| error.source());
            let printed = chain.map(ToString::to_string).collect::<String>();
            assert_eq!(printed.matches("there is no flag verbose").count(), 1, "{printed}");
        }
    }
}
