//! Errors of devices and drivers, with the data of their messages.

use interlock_core::Error as CoreError;

use crate::{Device, OutOfMemory};

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
    /// A device does not exist, or has the wrong type.
    NoSuchDevice {
        /// The function or argument that expects a device, as in the program.
        name: String,
        /// The value that was passed, as shown in the message.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// An operation needs an accelerator and none is available.
    NoAccelerator {
        /// The operation.
        operation: &'static str,
        /// The reason why none is available.
        reason: String,
    },
    /// An operation failed on a device, or an asynchronous error of queued work was reported.
    Device {
        /// The device.
        device: Device,
        /// The failed operation; for an asynchronous error, the queued operation.
        operation: String,
        /// The reason.
        reason: String,
        /// The error code of the driver, if it has one.
        code: Option<i32>,
    },
    /// A device was lost with its memory, and can't be used any more.
    DeviceLost {
        /// The device.
        device: Device,
        /// The operation.
        operation: String,
        /// The reason as far as it is known.
        reason: String,
    },
    /// A driver does not support an operation.
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// The device or the device type of the driver.
        device: Device,
    },
    /// A handle was used in a forked child of the process that created it.
    Forked {
        /// The object.
        what: &'static str,
    },
    /// A graph was used in the wrong order, or a capture can't be repeated.
    Graph {
        /// The operation.
        operation: &'static str,
        /// The reason.
        reason: String,
    },
    /// A driver was selected or registered after one is in use.
    DriverInUse {
        /// The name of the selected driver.
        requested: &'static str,
        /// The name of the driver in use.
        in_use: &'static str,
    },
    /// No driver has this name.
    UnknownDriver {
        /// The name that was passed.
        given: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// An argument has a value that is not accepted.
    Argument {
        /// The argument, as in the program.
        name: &'static str,
        /// The value that was passed, as shown in the message.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// The embedding program interrupted a wait.
    Interrupted,
    /// An allocator could not serve a request.
    OutOfMemory(Box<OutOfMemory>),
}

impl Error {
    /// Creates the error of an argument that is not accepted. `name` is the argument, as in the program.
    pub fn argument(name: &'static str, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Error::Argument { name, given: given.into(), allowed: allowed.into() }
    }

    /// Creates the error of an operation that failed without an error code of the driver.
    pub fn device(device: Device, operation: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Device { device, operation: operation.into(), reason: reason.into(), code: None }
    }

    /// Replaces the operation of a [`DeviceLost`](Error::DeviceLost) error, which an internal call of the driver
    /// reported, with the operation of the caller.
    #[must_use]
    pub fn during(mut self, caller: &str) -> Self {
        if let Error::DeviceLost { operation, .. } = &mut self {
            caller.clone_into(operation);
        }
        self
    }
}

impl OutOfMemory {
    /// Creates the error of a failed request for memory that no allocator caches.
    pub fn error(device: Device, requested: usize) -> Error {
        Error::OutOfMemory(Box::new(OutOfMemory { device, requested, cache: None }))
    }
}

impl From<CoreError> for Error {
    fn from(error: CoreError) -> Self {
        Error::Core(error)
    }
}

interlock_core::messages! { Error {
    Error::Core(error) => "{error}";
    Error::NoSuchDevice { name, given, allowed } => "{name} takes {allowed}, got {given}";
    Error::NoAccelerator { operation, reason } => "{operation} needs an accelerator and there is none: {reason}";
    Error::Device { device, operation, reason, code: Some(code) } =>
        "{operation} failed on {device}: {reason} (error {code})";
    Error::Device { device, operation, reason, code: None } => "{operation} failed on {device}: {reason}";
    Error::DeviceLost { device, operation, reason } =>
        "{operation} is impossible: {device} was lost: {reason}";
    Error::Unsupported { operation, device } => "{operation} is not supported on {device}";
    Error::Forked { what } =>
        "{what} belongs to the process from which this one was forked, and can't be used here; use devices in \
         the child only, or start it with the method spawn or forkserver";
    Error::Graph { operation, reason } => "{operation} failed: {reason}";
    Error::DriverInUse { requested, in_use } =>
        "accelerator.use({requested:?}) comes too late: the driver {in_use:?} is in use, and it is fixed at \
         first use";
    Error::UnknownDriver { given, known } => "there is no driver {given:?}; known: {}", known.join(", ");
    Error::Argument { name, given, allowed } => "{name} takes {allowed}, got {given}";
    Error::Interrupted => "the wait was interrupted";
    Error::OutOfMemory(error) => "{error}";
} }

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Core(error) => Some(error),
            _ => None,
        }
    }
}
