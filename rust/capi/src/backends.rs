//! Global flags: read with two loads while no thread has a flag scope open.

mod change;

use convert::Convert;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{self, check};
use crate::import::api;
use crate::raw::{handle, items, optional_text, str_of, text};
use crate::state::ScopeGuard;
use crate::sys::*;
use crate::{Error, ErrorCode, Result};

pub use change::{FlagChange, FlagId, Level, on_change};

/// The value of a flag.
///
/// ```no_run
/// use interlock_capi::backends::{Value, find};
///
/// let priority = find::<Value>("cuda.sdp_priority")?;
/// println!("{:?}", priority.get());
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// None. Nodes of the precision tree refuse it: the text `none` empties a node, and an empty node reads as that
    /// text.
    None,
    /// A bool.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// Text, or one of several names.
    Text(&'a str),
    /// Two bools.
    Pair(bool, bool),
    /// A list of names.
    Names(Vec<&'a str>),
}

impl Value<'static> {
    /// # Safety
    /// interlock has set the value.
    unsafe fn from_raw(raw: &InterlockValue) -> Self {
        // SAFETY: the kind selects the field; texts of results are valid until the process exits.
        unsafe {
            match raw.kind {
                INTERLOCK_VALUE_BOOL => Value::Bool(raw.data.integer != 0),
                INTERLOCK_VALUE_INTEGER => Value::Integer(raw.data.integer),
                INTERLOCK_VALUE_FLOAT => Value::Float(raw.data.number),
                INTERLOCK_VALUE_TEXT => Value::Text(str_of(raw.data.text)),
                INTERLOCK_VALUE_PAIR => Value::Pair(raw.data.integer & 1 != 0, raw.data.integer & 2 != 0),
                INTERLOCK_VALUE_NAMES => {
                    let names = raw.data.names;
                    Value::Names(items(names.items, names.count).iter().map(|item| str_of(*item)).collect())
                }
                _ => Value::None,
            }
        }
    }
}

/// A Rust type whose values a flag has: `bool`, `i64`, `u64`, `f64`, `&str` for text and for one of several names, and
/// [`Value`] for every flag. Texts that are read are valid until the process exits; a text that is written may be any
/// `&str`. Other crates cannot implement the trait.
pub trait FlagValue: Convert {}

impl FlagValue for bool {}
impl FlagValue for i64 {}
impl FlagValue for u64 {}
impl FlagValue for f64 {}
impl FlagValue for &'static str {}
impl FlagValue for Value<'static> {}

mod convert {
    use interlock_sys::InterlockValue;

    use super::Value;

    /// The conversions of a type to the values of the table and back.
    pub trait Convert: Sized {
        /// The type of values that are written: this one, with texts of any lifetime.
        type Written<'a>;

        /// Returns whether a flag of this kind (`INTERLOCK_KIND_*`) has such values.
        fn matches(kind: u32) -> bool;

        /// Returns the value of a plain flag from its bits without the bias; `None` if the type needs another read.
        #[inline]
        fn from_plain(_number: i64) -> Option<Self> {
            None
        }

        /// Converts a value that was read.
        fn from_value(value: Value<'static>) -> Option<Self>;

        /// Calls `receive` with the value as the table accepts it.
        fn with_raw<R>(value: Self::Written<'_>, receive: impl FnOnce(InterlockValue) -> R) -> R;
    }
}

fn raw(kind: u32, data: InterlockData) -> InterlockValue {
    InterlockValue { kind, reserved: 0, data }
}

impl Convert for bool {
    type Written<'a> = bool;

    fn matches(kind: u32) -> bool {
        kind == INTERLOCK_KIND_BOOL
    }

    #[inline]
    fn from_plain(number: i64) -> Option<Self> {
        Some(number != 0)
    }

    fn from_value(value: Value<'static>) -> Option<Self> {
        if let Value::Bool(on) = value { Some(on) } else { None }
    }

    fn with_raw<R>(value: bool, receive: impl FnOnce(InterlockValue) -> R) -> R {
        receive(raw(INTERLOCK_VALUE_BOOL, InterlockData { integer: value.into() }))
    }
}

impl Convert for i64 {
    type Written<'a> = i64;

    fn matches(kind: u32) -> bool {
        matches!(kind, INTERLOCK_KIND_COUNT | INTERLOCK_KIND_INTEGER)
    }

    #[inline]
    fn from_plain(number: i64) -> Option<Self> {
        Some(number)
    }

    fn from_value(value: Value<'static>) -> Option<Self> {
        if let Value::Integer(number) = value { Some(number) } else { None }
    }

    fn with_raw<R>(value: i64, receive: impl FnOnce(InterlockValue) -> R) -> R {
        receive(raw(INTERLOCK_VALUE_INTEGER, InterlockData { integer: value }))
    }
}

impl Convert for u64 {
    type Written<'a> = u64;

    fn matches(kind: u32) -> bool {
        kind == INTERLOCK_KIND_COUNT
    }

    #[inline]
    fn from_plain(number: i64) -> Option<Self> {
        Some(number.cast_unsigned())
    }

    fn from_value(value: Value<'static>) -> Option<Self> {
        i64::from_value(value).map(i64::cast_unsigned)
    }

    fn with_raw<R>(value: u64, receive: impl FnOnce(InterlockValue) -> R) -> R {
        let kind =
            if i64::try_from(value).is_ok() { INTERLOCK_VALUE_INTEGER } else { INTERLOCK_VALUE_UNSIGNED };
        receive(raw(kind, InterlockData { integer: value.cast_signed() }))
    }
}

impl Convert for f64 {
    type Written<'a> = f64;

    fn matches(kind: u32) -> bool {
        kind == INTERLOCK_KIND_FLOAT
    }

    fn from_value(value: Value<'static>) -> Option<Self> {
        if let Value::Float(number) = value { Some(number) } else { None }
    }

    fn with_raw<R>(value: f64, receive: impl FnOnce(InterlockValue) -> R) -> R {
        receive(raw(INTERLOCK_VALUE_FLOAT, InterlockData { number: value }))
    }
}

impl Convert for &'static str {
    type Written<'a> = &'a str;

    fn matches(kind: u32) -> bool {
        matches!(kind, INTERLOCK_KIND_CHOICE | INTERLOCK_KIND_TEXT)
    }

    fn from_value(value: Value<'static>) -> Option<Self> {
        if let Value::Text(text) = value { Some(text) } else { None }
    }

    fn with_raw<R>(value: &str, receive: impl FnOnce(InterlockValue) -> R) -> R {
        receive(raw(INTERLOCK_VALUE_TEXT, InterlockData { text: text(value) }))
    }
}

impl Convert for Value<'static> {
    type Written<'a> = Value<'a>;

    fn matches(_kind: u32) -> bool {
        true
    }

    fn from_value(value: Value<'static>) -> Option<Self> {
        Some(value)
    }

    fn with_raw<R>(value: Value<'_>, receive: impl FnOnce(InterlockValue) -> R) -> R {
        match value {
            Value::None => receive(none()),
            Value::Bool(on) => bool::with_raw(on, receive),
            Value::Integer(number) => i64::with_raw(number, receive),
            Value::Float(number) => f64::with_raw(number, receive),
            Value::Text(text) => <&str>::with_raw(text, receive),
            Value::Pair(first, second) => {
                let integer = i64::from(first) | i64::from(second) << 1;
                receive(raw(INTERLOCK_VALUE_PAIR, InterlockData { integer }))
            }
            Value::Names(names) => {
                let items: Vec<InterlockText> = names.iter().map(|name| text(name)).collect();
                let names = InterlockNames { items: items.as_ptr(), count: items.len() };
                receive(raw(INTERLOCK_VALUE_NAMES, InterlockData { names }))
            }
        }
    }
}

fn none() -> InterlockValue {
    raw(INTERLOCK_VALUE_NONE, InterlockData { integer: 0 })
}

/// A flag, of interlock or of a library.
///
/// ```no_run
/// use interlock_capi::backends::find;
///
/// let enabled = find::<bool>("cudnn.enabled")?;
/// let scope = enabled.scope(false)?;
/// let guard = scope.guard()?;
/// assert!(!enabled.get());
/// # drop(guard);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Flag<T> {
    flag: InterlockFlag,
    value: PhantomData<fn() -> T>,
}

// SAFETY: the words are read atomically, and live until the process exits.
unsafe impl<T> Send for Flag<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Flag<T> {}

impl<T> std::fmt::Debug for Flag<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the name of a flag is valid until the process exits.
        write!(f, "Flag({})", unsafe { str_of(self.flag.name) })
    }
}

/// Returns the flag with a dotted name, which may begin with `backends.`.
///
/// # Errors
/// Fails with [`ErrorCode::UnknownFlag`], and with [`ErrorCode::FlagType`] if the flag has values of another type.
pub fn find<T: FlagValue>(name: &str) -> Result<Flag<T>> {
    let mut flag = empty_flag();
    // SAFETY: the text and both places are valid.
    check(|error| unsafe { (api().flag_find)(text(name), &raw mut flag, error) })?;
    Flag::of("find", flag)
}

fn empty_flag() -> InterlockFlag {
    InterlockFlag {
        size: size_of::<InterlockFlag>() as u32,
        id: 0,
        kind: INTERLOCK_KIND_OTHER,
        is_read_only: 0,
        word: std::ptr::null(),
        open_scopes: std::ptr::null(),
        bias: 0,
        name: InterlockText { data: std::ptr::null(), bytes: 0 },
    }
}

/// Reads a word of interlock.
///
/// # Safety
/// `word` is a word of a flag, or their number of scopes.
#[inline]
unsafe fn load(word: *const u64) -> u64 {
    // SAFETY: the words are atomics that live until the process exits.
    unsafe { AtomicU64::from_ptr(word.cast_mut()) }.load(Ordering::Relaxed)
}

/// Returns an error if a flag of this kind (`INTERLOCK_KIND_*`) has values of another type.
fn check_type<T: FlagValue>(function: &str, name: &str, kind: u32) -> Result<()> {
    if T::matches(kind) {
        return Ok(());
    }
    let allowed = match kind {
        INTERLOCK_KIND_BOOL => "bool or Value",
        INTERLOCK_KIND_COUNT => "u64, i64 or Value",
        INTERLOCK_KIND_INTEGER => "i64 or Value",
        INTERLOCK_KIND_FLOAT => "f64 or Value",
        INTERLOCK_KIND_CHOICE | INTERLOCK_KIND_TEXT => "&str or Value",
        _ => "Value",
    };
    let given = std::any::type_name::<T>();
    let text = format!("{function}: the type of the values of {name} must be {allowed}, got {given}");
    Err(Error::new(ErrorCode::FlagType, text))
}

impl<T: FlagValue> Flag<T> {
    fn of(function: &str, flag: InterlockFlag) -> Result<Self> {
        // SAFETY: the name of a flag is valid until the process exits.
        check_type::<T>(function, unsafe { str_of(flag.name) }, flag.kind)?;
        Ok(Flag { flag, value: PhantomData })
    }

    /// Returns the dotted name.
    pub fn name(&self) -> &'static str {
        // SAFETY: the name of a flag is valid until the process exits.
        unsafe { str_of(self.flag.name) }
    }

    /// Returns what identifies the flag in a [`FlagChange`].
    pub fn id(&self) -> FlagId {
        FlagId(self.flag.id)
    }

    /// Returns the value that is active on this thread: two loads for a bool or an integer with a word of its own,
    /// while no thread has a flag scope open.
    #[inline]
    pub fn get(&self) -> T {
        match self.plain().and_then(T::from_plain) {
            Some(value) => value,
            None => self.read(api().flag_read),
        }
    }

    #[inline]
    fn plain(&self) -> Option<i64> {
        if self.flag.word.is_null() {
            return None;
        }
        // SAFETY: interlock has set the addresses.
        let payload = unsafe {
            match load(self.flag.open_scopes) {
                0 => load(self.flag.word) & INTERLOCK_PAYLOAD_MASK,
                _ => (api().flag_payload)(self.flag.id),
            }
        };
        Some(payload.cast_signed() - self.flag.bias)
    }

    /// Returns the effective value, which an operation obeys: the active one, unless another flag or an environment
    /// variable overrides it.
    pub fn effective(&self) -> T {
        self.read(api().flag_read_effective)
    }

    #[allow(clippy::expect_used, reason = "a flag that was found can be read, and has values of its kind")]
    fn read(&self, read: unsafe extern "C" fn(u32, *mut InterlockValue, *mut InterlockError) -> i32) -> T {
        let mut value = none();
        // SAFETY: the out pointer is valid.
        let code = unsafe { read(self.flag.id, &raw mut value, std::ptr::null_mut()) };
        // SAFETY: interlock has set the value, or it is none.
        let value = unsafe { Value::from_raw(&value) };
        T::from_value(value).filter(|_| code == INTERLOCK_OK).expect("a flag has values of its kind")
    }

    /// Writes the flag in the innermost guard or scope that sets it, else for the process. Fails for a value
    /// that the flag does not accept, and while flags are frozen.
    pub fn set(&self, value: T::Written<'_>) -> Result<()> {
        T::with_raw(value, |value| self.write(value))
    }

    /// Unsets the flag, so that the environment or the default applies.
    pub fn unset(&self) -> Result<()> {
        self.write(raw(INTERLOCK_VALUE_UNSET, InterlockData { integer: 0 }))
    }

    fn write(&self, value: InterlockValue) -> Result<()> {
        let write = InterlockWrite { flag: self.flag.id, reserved: 0, value };
        // SAFETY: both places are valid.
        check(|error| unsafe { (api().flags_write)(&raw const write, 1, error) })
    }

    /// Returns a scope that sets this flag on the thread that enters it. Fails for a value that the flag does not
    /// accept.
    pub fn scope(&self, value: T::Written<'_>) -> Result<FlagScope> {
        let scope = T::with_raw(value, |value| {
            let write = InterlockWrite { flag: self.flag.id, reserved: 0, value };
            // SAFETY: all places are valid.
            handle(|scope, error| unsafe { (api().scope_new)(&raw const write, 1, scope, error) })
        });
        scope.map(FlagScope)
    }
}

/// Sets flags for the thread that enters it, until that thread exits it.
///
/// ```no_run
/// use interlock_capi::backends::{FlagScope, find};
///
/// let scope: FlagScope = find::<bool>("cudnn.benchmark")?.scope(true)?;
/// let guard = scope.guard()?;
/// # drop(guard);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Debug)]
pub struct FlagScope(NonNull<InterlockScope>);

// SAFETY: the contract of the handle.
unsafe impl Send for FlagScope {}
// SAFETY: the contract of the handle.
unsafe impl Sync for FlagScope {}

impl FlagScope {
    /// Pushes a layer of these values on this thread until the guard is dropped.
    pub fn guard(&self) -> Result<ScopeGuard> {
        // SAFETY: the handle and both places are valid.
        ScopeGuard::new(|guard, error| unsafe { (api().scope_enter)(self.0.as_ptr(), guard, error) })
    }
}

impl Drop for FlagScope {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle.
        unsafe { (api().scope_free)(self.0.as_ptr()) };
    }
}

/// The type, the range and the default of a registered flag.
///
/// ```
/// use interlock_capi::backends::FlagType;
///
/// let flag_type = FlagType::Integer { default: 0, minimum: -5, maximum: 5 };
/// assert!(matches!(flag_type, FlagType::Integer { maximum: 5, .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlagType<'a> {
    /// On or off.
    Switch {
        /// The default.
        default: bool,
    },
    /// A non-negative integer.
    Count {
        /// The default.
        default: u64,
        /// The maximum, at most 2**60.
        maximum: u64,
    },
    /// An integer.
    Integer {
        /// The default.
        default: i64,
        /// The minimum, at least -2**60.
        minimum: i64,
        /// The maximum, at most 2**60.
        maximum: i64,
    },
    /// A float except NaN.
    Float {
        /// The default.
        default: f64,
        /// The minimum; `-f64::INFINITY` for none.
        minimum: f64,
        /// The maximum; `f64::INFINITY` for none.
        maximum: f64,
    },
    /// One of several names.
    Choice {
        /// The default.
        default: &'a str,
        /// The accepted names.
        names: &'a [&'a str],
    },
    /// Any text. Every text that the flag was set to stays in memory until the process exits.
    Text {
        /// The default.
        default: &'a str,
    },
}

/// The declaration of a flag of a library, for [`register`].
///
/// ```no_run
/// use interlock_capi::backends::{FlagDecl, FlagType, register};
///
/// let flag_type = FlagType::Count { default: 4, maximum: 64 };
/// let declaration = FlagDecl::new("mylib.threads", flag_type, "How many threads mylib starts.");
/// let (threads, warning) = register::<u64>(&declaration)?;
/// assert_eq!(threads.get(), 4);
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlagDecl<'a> {
    /// The dotted name, which begins with the name of the library.
    pub name: &'a str,
    /// The type, the range and the default.
    pub flag_type: FlagType<'a>,
    /// The documentation, in a sentence.
    pub doc: &'a str,
    /// The environment variable that sets it, if it is not the name in capitals.
    pub variable: Option<&'a str>,
    /// The operations that the flag affects, for `explain`.
    pub affects: Option<&'a str>,
}

impl<'a> FlagDecl<'a> {
    /// Declares a flag with the default variable and effect.
    pub fn new(name: &'a str, flag_type: FlagType<'a>, doc: &'a str) -> Self {
        FlagDecl { name, flag_type, doc, variable: None, affects: None }
    }
}

/// Registers a flag. Registering an equal declaration again returns the same flag.
///
/// The second result is a warning if the environment variable of the flag cannot be parsed; the variable is then
/// ignored.
///
/// # Errors
/// Fails with [`ErrorCode::FlagRegistration`], and with [`ErrorCode::FlagType`] if `T` is not the type of its values.
pub fn register<T: FlagValue>(declaration: &FlagDecl) -> Result<(Flag<T>, Option<Error>)> {
    let integer = |integer| raw(INTERLOCK_VALUE_INTEGER, InterlockData { integer });
    let count = |number| u64::with_raw(number, |value| value);
    let float = |number| raw(INTERLOCK_VALUE_FLOAT, InterlockData { number });
    let words = |words: &str| raw(INTERLOCK_VALUE_TEXT, InterlockData { text: text(words) });
    let choices: Vec<InterlockText> = match declaration.flag_type {
        FlagType::Choice { names, .. } => names.iter().map(|name| text(name)).collect(),
        _ => Vec::new(),
    };
    let (kind, default_value, minimum, maximum) = match declaration.flag_type {
        FlagType::Switch { default } => {
            (INTERLOCK_KIND_BOOL, bool::with_raw(default, |value| value), none(), none())
        }
        FlagType::Count { default, maximum } => {
            (INTERLOCK_KIND_COUNT, count(default), none(), count(maximum))
        }
        FlagType::Integer { default, minimum, maximum } => {
            (INTERLOCK_KIND_INTEGER, integer(default), integer(minimum), integer(maximum))
        }
        FlagType::Float { default, minimum, maximum } => {
            (INTERLOCK_KIND_FLOAT, float(default), float(minimum), float(maximum))
        }
        FlagType::Choice { default, .. } => (INTERLOCK_KIND_CHOICE, words(default), none(), none()),
        FlagType::Text { default } => (INTERLOCK_KIND_TEXT, words(default), none(), none()),
    };
    // First, because a registered flag exists until the process exits.
    check_type::<T>("register", declaration.name, kind)?;
    let declaration = InterlockFlagDecl {
        size: size_of::<InterlockFlagDecl>() as u32,
        kind,
        is_optional: 0,
        reserved: 0,
        name: text(declaration.name),
        doc: text(declaration.doc),
        variable: optional_text(declaration.variable),
        affects: optional_text(declaration.affects),
        default_value,
        minimum,
        maximum,
        choices: InterlockNames { items: choices.as_ptr(), count: choices.len() },
    };
    let (mut flag, mut warning) = (empty_flag(), error::empty());
    // SAFETY: all places are valid.
    check(|error| unsafe {
        (api().flag_register)(&raw const declaration, &raw mut flag, &raw mut warning, error)
    })?;
    Ok((Flag::of("register", flag)?, error::warning_of(&warning)))
}

/// Returns a count that changes with every write of a flag of the process. With [`layer_epoch`] it is a key for caching
/// results that depend on flags: read both before the flags.
pub fn epoch() -> u64 {
    // SAFETY: the function accepts every call.
    unsafe { (api().epoch)() }
}

/// Returns a count that changes when the flags that scopes of this thread set change.
pub fn layer_epoch() -> u64 {
    // SAFETY: the function accepts every call.
    unsafe { (api().layer_epoch)() }
}
