//! The errors of this crate, with the data of their messages.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::location::SourceLocation;
use crate::base::quote::{quoted, quoted_path};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of flags, device names, vendor libraries or tasks. The call that returns it has had no effect.
///
/// ```
/// use interlock_core::Error;
/// use interlock_core::flags::find;
///
/// match find("cudnn.benchmrk") {
///     Err(error @ Error::UnknownFlag { .. }) => assert!(error.to_string().contains("cudnn.benchmark")),
///     _ => panic!("the name is misspelt"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A value of a flag has the wrong type.
    FlagType {
        /// The flag, as a program names it.
        name: String,
        /// The value, as a message shows it.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// A value of a flag has the right type and is not accepted.
    FlagValue {
        /// The flag, as a program names it.
        name: String,
        /// The value, as a message shows it.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// A flag was written while flags are frozen.
    FlagsFrozen {
        /// The flag or the function, as a program names it.
        name: String,
        /// The source location of the call that froze the flags.
        by: SourceLocation,
        /// Whether `name` is a function, which changes several flags or modes.
        is_function: bool,
    },
    /// A namespace of flags is named where a flag is required.
    FlagNamespace {
        /// The namespace.
        name: String,
        /// The names of its flags in the namespace.
        flags: Vec<&'static str>,
    },
    /// No flag has this name.
    UnknownFlag {
        /// The unknown name.
        name: String,
        /// The known name that is most similar.
        suggestion: Option<String>,
    },
    /// The validator of a flag refused a value.
    FlagRefused {
        /// The flag, as a program names it.
        name: String,
        /// The value, as a message shows it.
        given: String,
        /// The name of the validator.
        validator: String,
        /// The reason that the validator gives.
        reason: String,
    },
    /// A flag was used through a handle after it was unregistered.
    UnregisteredFlag {
        /// The flag, as a program names it.
        name: String,
    },
    /// A flag of interlock cannot be unregistered.
    FlagUnregistration {
        /// The dotted name of the flag.
        name: String,
    },
    /// A flag cannot be registered.
    FlagRegistration {
        /// The dotted name of the flag.
        name: String,
        /// Why it cannot be registered.
        reason: String,
    },
    /// A flag cannot be registered, because its default is not one of its values.
    FlagDefault {
        /// The dotted name of the flag.
        name: String,
        /// The error of the default.
        error: Box<Error>,
    },
    /// A kernel was registered under a name that another kernel of the operation has.
    KernelName {
        /// The name of the operation.
        operation: &'static str,
        /// The name of both kernels.
        name: &'static str,
    },
    /// A member of the description of a foreign kernel is invalid.
    KernelDescriptor {
        /// The member.
        argument: &'static str,
        /// The value, as shown in the message.
        given: String,
        /// The accepted values.
        allowed: String,
    },
    /// A requirement in the description of a foreign kernel has a value that the flag does not accept.
    KernelRequirement {
        /// The error of the flag.
        error: Box<Error>,
    },
    /// An environment variable has interlock's prefix and an unknown name.
    UnknownVariable {
        /// The name of the variable.
        name: String,
        /// A similar variable, and the values that it accepts.
        suggestion: Option<(String, String)>,
    },
    /// An environment variable has a name that resembles the variable of a registered flag, and no registered flag
    /// reads it.
    UnreadVariable {
        /// The name of the variable.
        name: String,
        /// A similar variable, and the values that it accepts.
        suggestion: (String, String),
    },
    /// The flag is read-only.
    ReadOnlyFlag {
        /// The flag, as a program names it.
        name: String,
    },
    /// No device type has this name.
    UnknownDeviceType {
        /// The unknown name.
        given: String,
        /// The device types that this process can use, if they were queried.
        available: Option<String>,
    },
    /// A device index that is out of range.
    DeviceIndex {
        /// The number that was passed.
        given: String,
        /// The largest index that is accepted.
        max: u8,
    },
    /// The name of a device with an index that is malformed or out of range.
    DeviceName {
        /// The name that was passed.
        given: String,
        /// The largest index that is accepted.
        max: u8,
    },
    /// An operation needs a vendor library that is not found or cannot be used.
    LibraryNotFound {
        /// The library, as its vendor spells it.
        library: &'static str,
        /// The name of the operation.
        operation: String,
        /// Where the library was searched, or why the file that was found cannot be used.
        reason: String,
    },
    /// A user-supplied path is not a vendor library that can be used.
    LibraryPath {
        /// The library, as its vendor spells it.
        library: &'static str,
        /// The variable or call that supplied the path.
        by: String,
        /// The path, as the user supplied it.
        path: PathBuf,
        /// Why the library at the path cannot be used.
        reason: String,
    },
    /// No variant of an enum has this name.
    UnknownName {
        /// The enum.
        of: &'static str,
        /// The unknown name.
        given: String,
        /// The names of the variants.
        allowed: String,
    },
    /// No vendor library has this name.
    UnknownLibrary {
        /// The unknown name.
        name: String,
        /// The known name that is most similar.
        suggestion: Option<&'static str>,
        /// The names of all vendor libraries.
        allowed: String,
    },
    /// A function of a vendor library failed.
    LibraryRefused {
        /// The library, as its vendor spells it.
        library: &'static str,
        /// The name of the operation.
        operation: String,
        /// The status code that the function of the library returned.
        status: i32,
    },
    /// A slot that a scope of the current context sets was written by native code while that context is not current.
    ContextNotAtHand {
        /// The slot, as a program names it.
        name: String,
    },
    /// The carrier of contexts could not store the state of the current context, because memory ran out.
    ContextNotStored {
        /// The action that failed, such as "set grad".
        action: String,
    },
    /// A scope was entered, or a mode, a device or a base written, after the destructors of the thread had dropped its
    /// layers.
    ThreadEnded {
        /// The action that failed, such as "set grad".
        action: String,
    },
    /// A carried value was registered under a name that another one has.
    CarriedName {
        /// The name of both values.
        name: String,
    },
    /// A step of a task began while another step of it runs.
    TaskIsRunning,
    /// Hooks of saved tensors were activated where they are disabled, or disabled where they are active.
    SavedTensorHooksDisabled {
        /// The message of the caller that disabled them.
        message: Arc<str>,
    },
}

crate::messages! { Error {
    Error::FlagType { name, given, allowed } => "{name} must be {allowed}, got {given}";
    Error::FlagValue { name, given, allowed } => "{name} must be {allowed}, got {given}";
    Error::FlagsFrozen { name, by, is_function: false } => "{name} cannot be set: flags were frozen at {by}";
    Error::FlagsFrozen { name, by, is_function: true } => "{name} cannot change flags: they were frozen at {by}";
    Error::FlagNamespace { name, flags } => "{name} is a namespace, not a flag; its flags: {}", flags.join(", ");
    Error::UnknownFlag { name, suggestion: Some(suggestion) } => "there is no flag {name}; did you mean {suggestion}?";
    Error::UnknownFlag { name, suggestion: None } => "there is no flag {name}";
    Error::FlagRefused { name, given, validator, reason } => "{name}: {validator} refused {given}: {reason}";
    Error::UnregisteredFlag { name } => "{name} was unregistered";
    Error::FlagUnregistration { name } => "unregister({}): it is a flag of interlock; only flags of other libraries can be unregistered", quoted(name);
    Error::FlagRegistration { name, reason } => "register({}): {reason}", quoted(name);
    Error::FlagDefault { name, error } => "register({}): default: {error}", quoted(name);
    Error::KernelName { operation, name } => "register: {operation} has a kernel named {}; names must be unique", quoted(name);
    Error::KernelDescriptor { argument, given, allowed } => "register_foreign_kernel: {argument} must be {allowed}, got {given}";
    Error::KernelRequirement { error } => "register_foreign_kernel: requirements: value of {error}";
    Error::UnknownVariable { name, suggestion: Some((suggestion, allowed)) } =>
        "there is no variable {name}; did you mean {suggestion}, which accepts {allowed}?";
    Error::UnknownVariable { name, suggestion: None } =>
        "there is no variable {name}, and the prefix INTERLOCK_ is reserved";
    Error::UnreadVariable { name, suggestion: (suggestion, allowed) } =>
        "no flag registered so far reads {name}; did you mean {suggestion}, which accepts {allowed}?";
    Error::ReadOnlyFlag { name } => "{name} is read-only";
    Error::UnknownDeviceType { given, available: Some(available) } =>
        "unknown device {}; available here: {available}", quoted(given);
    Error::UnknownDeviceType { given, available: None } =>
        "unknown device {}; a device is a type such as cpu or cuda, or a type and an index such as cuda:0", quoted(given);
    Error::DeviceIndex { given, max } => "a device index must be a number from 0 to {max}, got {given}";
    Error::DeviceName { given, max } =>
        "a device index must be a number from 0 to {max} without sign or leading zeros, got {}", quoted(given);
    Error::LibraryNotFound { library, operation, reason } => "{operation} needs {library}: {reason}";
    Error::LibraryPath { library, by, path, reason } =>
        "{by}: {} cannot be used as {library}: {reason}", quoted_path(path);
    Error::UnknownName { of, given, allowed } => "{of} must be {allowed}, got {}", quoted(given);
    Error::UnknownLibrary { name, suggestion: Some(suggestion), .. } =>
        "unknown vendor library {}; did you mean {suggestion:?}?", quoted(name);
    Error::UnknownLibrary { name, suggestion: None, allowed } =>
        "unknown vendor library {}; known: {allowed}", quoted(name);
    Error::LibraryRefused { library, operation, status } => "{operation} failed: {library} returned status {status}";
    Error::ContextNotAtHand { name } =>
        "{name} cannot be set here: a scope of the interpreter sets it, and this thread is not attached; set it with a guard, or attach first";
    Error::ContextNotStored { action } =>
        "cannot {action}: memory ran out when the interpreter stored the state of the current context";
    Error::ThreadEnded { action } => "cannot {action}: the thread-local variables of this thread are destroyed";
    Error::CarriedName { name } => "register_carried: name {} is registered already", quoted(name);
    Error::TaskIsRunning => "the state of this task is active already: another step of the task is running";
    Error::SavedTensorHooksDisabled { message } => "{message}";
} }

impl std::error::Error for Error {}
