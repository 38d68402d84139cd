//! The kinds of flag values and their encoding in 62 bits of a word (the payload).

use std::borrow::Cow;

use super::flag_type::FlagType;
use super::float;
use super::interned::Interned;
use super::priority_order::PriorityOrder;
use super::value::{Float, InputValue, Value};
use crate::Error;
use crate::base::env::{self, SWITCH_WORDS, parse_switch};
use crate::base::invariant::UnwrapOrAssert;
use crate::base::quote::{all_of, one_of};

/// The kind of value that a flag accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// On or off.
    Switch { default: bool },
    /// On, off, or unspecified, which reads as None.
    OptionalSwitch,
    /// An integer from 0 to `max`.
    Count { default: u64, max: u64 },
    /// One of several names; the payload is its position.
    Choice { names: &'static [&'static str], aliases: Aliases, default: u64 },
    /// All of several names, in order of priority.
    PriorityOrder { names: &'static [&'static str], default: PriorityOrder },
    /// A [`Reduction`].
    Reduction,
    /// A whole number from `min` to `max`, both within `MAX_INTEGER` of 0.
    Integer { default: i64, min: i64, max: i64 },
    /// A float from `min` to `max`; never NaN. The default is a payload.
    Float { default: u64, min: f64, max: f64 },
    /// Any text of at most `MAX_TEXT_BYTES` bytes. The default is a payload.
    Text { default: u64 },
    /// A path, which is stored as a text. The default is a payload.
    Path { default: u64 },
    /// At most `MAX_LIST_ITEMS` values of a scalar kind. The default is a payload.
    List { of: &'static Kind, default: u64 },
    /// None, or a value of another kind.
    Optional { of: &'static Kind, default: u64 },
}

/// Aliases of a choice, each with the name that it is an alias of.
pub(super) type Aliases = &'static [(&'static str, &'static str)];

/// The reason why a value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Type,
    Value,
}

impl Refusal {
    /// Returns the error for a refused value.
    pub(super) fn error(self, name: String, given: String, allowed: String) -> Error {
        match self {
            Refusal::Type => Error::FlagType { name, given, allowed },
            Refusal::Value => Error::FlagValue { name, given, allowed },
        }
    }
}

const UNSPECIFIED: u64 = 2;

/// The payload of None for a flag of the kind `Optional`. No other kind uses it.
pub(super) const NONE_PAYLOAD: u64 = (1 << 62) - 1;

/// The payload of the empty text, which is the default of interlock's own flags of texts.
pub(super) const EMPTY_TEXT: u64 = NONE_PAYLOAD - 1;

/// The offset between an integer and its payload, so that negative integers have one.
const INTEGER_SHIFT: i64 = 1 << 60;

/// The largest size of a text that a flag accepts, in bytes: every text is stored until the process exits.
pub const MAX_TEXT_BYTES: usize = 1 << 16;

/// The largest number of items of a list: every list is stored until the process exits.
pub const MAX_LIST_ITEMS: usize = 1024;

static TEXTS: Interned<String> = Interned::new();
static LISTS: Interned<Vec<Value>> = Interned::new();

/// Returns the payload of a text, which is stored until the process exits; `None` if the text is too long.
pub(super) fn payload_of_text(text: &str) -> Option<u64> {
    match text.len() {
        0 => Some(EMPTY_TEXT),
        length => (length <= MAX_TEXT_BYTES).then(|| TEXTS.intern(text).0),
    }
}

/// Returns the text of a payload.
fn text_of_payload(payload: u64) -> Option<&'static str> {
    if payload == EMPTY_TEXT { Some("") } else { TEXTS.get(payload).map(String::as_str) }
}

/// Returns the payload of a path; `None` if it is empty, too long or contains a NUL character.
fn payload_of_path(path: &str) -> Option<u64> {
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    payload_of_text(path)
}

/// Returns a copy of a text that lives until the process exits.
pub fn interned_text(text: &str) -> &'static str {
    TEXTS.intern(text).1
}

impl Kind {
    pub(super) const fn default(self) -> u64 {
        match self {
            Kind::Switch { default } => default as u64,
            Kind::OptionalSwitch => UNSPECIFIED,
            Kind::Count { default, .. } | Kind::Choice { default, .. } => default,
            Kind::PriorityOrder { default, .. } => default.payload(),
            Kind::Reduction => Reduction::ALLOWED.payload(),
            Kind::Integer { default, .. } => default.wrapping_add(INTEGER_SHIFT) as u64,
            Kind::Float { default, .. }
            | Kind::Text { default }
            | Kind::Path { default }
            | Kind::List { default, .. }
            | Kind::Optional { default, .. } => default,
        }
    }

    /// Returns the payload of a value, or refuses the value.
    #[inline]
    pub(super) fn encode(&self, given: &InputValue) -> Result<u64, Refusal> {
        // Most flags are switches: assigning one needs no jump table and no copy of the kind.
        match (self, given) {
            (Kind::Switch { .. } | Kind::OptionalSwitch, InputValue::Bool(value)) => Ok(u64::from(*value)),
            _ => self.encode_by_kind(given),
        }
    }

    fn encode_by_kind(&self, given: &InputValue) -> Result<u64, Refusal> {
        match (*self, given) {
            (Kind::OptionalSwitch, InputValue::None) => Ok(UNSPECIFIED),
            (Kind::Count { .. } | Kind::Integer { .. }, InputValue::HugeInteger { .. }) => {
                Err(Refusal::Value)
            }
            (Kind::Count { max, .. }, InputValue::Integer(number)) => {
                u64::try_from(*number).ok().filter(|number| *number <= max).ok_or(Refusal::Value)
            }
            (Kind::Choice { names, aliases, .. }, InputValue::Text(text)) => {
                let alias = aliases.iter().find(|(alias, _)| alias == text);
                let wanted = alias.map_or(&**text, |(_, name)| name);
                names.iter().position(|name| *name == wanted).map(|index| index as u64).ok_or(Refusal::Value)
            }
            // PyTorch accepts numbers for some of these names, so a number is a wrong value, not a wrong type.
            (Kind::Choice { .. }, InputValue::Integer(_) | InputValue::HugeInteger { .. }) => {
                Err(Refusal::Value)
            }
            (Kind::PriorityOrder { names, .. }, InputValue::List(items)) => {
                PriorityOrder::of(names, items).map(PriorityOrder::payload).ok_or(Refusal::Value)
            }
            (Kind::Reduction, given) => Reduction::of(given).map(Reduction::payload),
            (Kind::Integer { min, max, .. }, InputValue::Integer(number)) if (min..=max).contains(number) => {
                Ok(number.payload())
            }
            (Kind::Integer { .. }, InputValue::Integer(_)) => Err(Refusal::Value),
            (
                Kind::Float { min, max, .. },
                InputValue::Integer(_) | InputValue::Float(_) | InputValue::HugeInteger { .. },
            ) => {
                // A float that the flag does not accept is not stored.
                let number = given.as_float().filter(|number| (min..=max).contains(number));
                number.and_then(float::encode).ok_or(Refusal::Value)
            }
            (Kind::Text { .. }, InputValue::Text(text)) => payload_of_text(text).ok_or(Refusal::Value),
            (Kind::Path { .. }, InputValue::Text(path) | InputValue::Path(path)) => {
                payload_of_path(path).ok_or(Refusal::Value)
            }
            (Kind::List { of, .. }, InputValue::List(items)) => {
                let checked = |item| of.encode(item).map(|payload| of.decode(payload));
                if items.len() > MAX_LIST_ITEMS {
                    return Err(Refusal::Value);
                }
                let items = items.iter().map(checked).collect::<Result<Vec<Value>, _>>()?;
                Ok(LISTS.intern(items.as_slice()).0)
            }
            (Kind::Optional { .. }, InputValue::None) => Ok(NONE_PAYLOAD),
            (Kind::Optional { of, .. }, given) => of.encode(given),
            _ => Err(Refusal::Type),
        }
    }

    /// Returns the value of a payload.
    pub(super) fn decode(&self, payload: u64) -> Value {
        match *self {
            Kind::Switch { .. } => Value::Bool(payload != 0),
            Kind::OptionalSwitch if payload == UNSPECIFIED => Value::None,
            Kind::OptionalSwitch => Value::Bool(payload != 0),
            Kind::Count { .. } => Value::Integer(
                i64::try_from(payload).ok().unwrap_or_assert(i64::MAX, "a payload has 62 bits"),
            ),
            Kind::Choice { names, .. } => {
                let name = names.get(payload as usize).map(|name| Value::Name(name));
                name.unwrap_or_assert(Value::None, "the payload of a choice is the position of a name")
            }
            Kind::PriorityOrder { names, .. } => Value::PriorityOrder(names, PriorityOrder::decode(payload)),
            Kind::Reduction => {
                let reduction = Reduction::decode(payload);
                Value::Pair(reduction.allowed, reduction.split)
            }
            Kind::Integer { .. } => Value::Integer(FlagValue::decode(payload)),
            Kind::Float { .. } => Value::Float(Float::new(float::decode(payload))),
            Kind::Text { .. } => {
                let text = text_of_payload(payload).map(Value::Text);
                text.unwrap_or_assert(Value::None, "the payload of a text is its index")
            }
            Kind::Path { .. } => {
                let path = TEXTS.get(payload).map(|path| Value::Path(path));
                path.unwrap_or_assert(Value::None, "the payload of a path is its index")
            }
            Kind::List { .. } => {
                let items = LISTS.get(payload).map(|items| Value::List(items));
                items.unwrap_or_assert(Value::None, "the payload of a list is its index")
            }
            Kind::Optional { .. } if payload == NONE_PAYLOAD => Value::None,
            Kind::Optional { of, .. } => of.decode(payload),
        }
    }

    /// Returns whether a payload encodes a value that this kind accepts.
    pub(super) fn is_valid_payload(self, payload: u64) -> bool {
        match self {
            Kind::Switch { .. } => payload < UNSPECIFIED,
            Kind::OptionalSwitch => payload <= UNSPECIFIED,
            Kind::Count { max, .. } => payload <= max,
            Kind::Choice { names, .. } => payload < names.len() as u64,
            Kind::PriorityOrder { names, .. } => PriorityOrder::decode(payload).is_of(names.len()),
            Kind::Reduction => Reduction::decode(payload).is_allowed(),
            Kind::Integer { min, max, .. } => (min..=max).contains(&FlagValue::decode(payload)),
            Kind::Float { min, max, .. } => {
                payload != NONE_PAYLOAD && (min..=max).contains(&float::decode(payload))
            }
            Kind::Text { .. } => text_of_payload(payload).is_some(),
            Kind::Path { .. } => TEXTS.get(payload).is_some(),
            Kind::List { of, .. } => LISTS
                .get(payload)
                .is_some_and(|items| items.iter().all(|item| of.encode(&item.to_input()).is_ok())),
            Kind::Optional { of, .. } => payload == NONE_PAYLOAD || of.is_valid_payload(payload),
        }
    }

    /// Returns the accepted values, as a message describes them.
    pub(super) fn accepted(self) -> String {
        match self {
            Kind::Switch { .. } => "a bool".to_owned(),
            Kind::OptionalSwitch => "a bool or None".to_owned(),
            Kind::Count { max, .. } => format!("an int from 0 to {max}"),
            Kind::Choice { names, aliases, .. } => one_of(&all_names(names, aliases)),
            Kind::PriorityOrder { names, .. } => format!("{} in a tuple or list, each once", all_of(names)),
            Kind::Reduction => "a bool, or one or two bools in a tuple or list, of which the second \
                                (split reductions) is not False when the first is True"
                .to_owned(),
            Kind::Integer { min, max, .. } => format!("an int from {min} to {max}"),
            Kind::Float { min, max, .. } => match (min.is_finite(), max.is_finite()) {
                (true, true) => format!("a float from {min:?} to {max:?}"),
                (true, false) => format!("a float from {min:?}"),
                (false, true) => format!("a float up to {max:?}"),
                (false, false) => "a float that is not NaN".to_owned(),
            },
            Kind::Text { .. } => format!("a str of at most {MAX_TEXT_BYTES} bytes"),
            Kind::Path { .. } => {
                format!("a path of 1 to {MAX_TEXT_BYTES} bytes, as a str or an object with __fspath__")
            }
            Kind::List { of, .. } => {
                format!("a tuple or list of at most {MAX_LIST_ITEMS} items, each {}", of.accepted())
            }
            Kind::Optional { of, .. } => format!("{} or None", of.accepted().replace("' or '", "', '")),
        }
    }

    /// Returns the type of the value as a Python annotation.
    pub(super) fn annotation(self) -> String {
        match self {
            Kind::Switch { .. } => "bool".to_owned(),
            Kind::OptionalSwitch => "bool | None".to_owned(),
            Kind::Count { .. } | Kind::Integer { .. } => "int".to_owned(),
            Kind::Float { .. } => "float".to_owned(),
            Kind::Text { .. } => "str".to_owned(),
            Kind::Path { .. } => "Path".to_owned(),
            Kind::List { of, .. } => format!("tuple[{}, ...]", of.annotation()),
            Kind::Optional { of, .. } => format!("{} | None", of.annotation()),
            Kind::Choice { names, .. } => literal(names),
            Kind::PriorityOrder { names, .. } => format!("tuple[{}, ...]", literal(names)),
            Kind::Reduction => "tuple[bool, bool]".to_owned(),
        }
    }

    /// Returns the type that a write accepts as a Python annotation.
    pub(super) fn accepted_annotation(self) -> String {
        match self {
            Kind::Choice { names, aliases, .. } => literal(&all_names(names, aliases)),
            Kind::PriorityOrder { names, .. } => {
                let name = literal(names);
                format!("tuple[{name}, ...] | list[{name}]")
            }
            Kind::Reduction => "bool | tuple[bool] | tuple[bool, bool] | list[bool]".to_owned(),
            Kind::Path { .. } => "str | PathLike[str]".to_owned(),
            Kind::List { of, .. } => {
                let item = of.accepted_annotation();
                format!("tuple[{item}, ...] | list[{item}]")
            }
            Kind::Optional { of, .. } => format!("{} | None", of.accepted_annotation()),
            _ => self.annotation(),
        }
    }

    /// Parses the text of an environment variable. A text that cannot be parsed stays text, which `encode` then
    /// refuses.
    pub(super) fn parse(self, text: &str) -> InputValue<'_> {
        let unread = || InputValue::Text(text.into());
        match self {
            Kind::Switch { .. } | Kind::OptionalSwitch => {
                parse_switch(text).map_or_else(unread, InputValue::Bool)
            }
            Kind::Count { .. } | Kind::Integer { .. } => {
                text.trim().parse().map_or_else(|_| unread(), InputValue::Integer)
            }
            Kind::Float { .. } => text.trim().parse().map_or_else(|_| unread(), InputValue::Float),
            Kind::Text { .. } => unread(),
            Kind::Path { .. } => InputValue::Path(expanded(text)),
            Kind::List { of: of @ Kind::Path { .. }, .. } => {
                let paths = text.split(PATH_SEPARATOR).map(str::trim).filter(|path| !path.is_empty());
                InputValue::List(paths.map(|path| of.parse(path)).collect())
            }
            Kind::List { of, .. } => {
                let items = items_of(text);
                InputValue::List(items.iter().map(|item| of.parse(item).into_owned()).collect())
            }
            // For a flag that accepts any text, "none" is a text.
            Kind::Optional { of, .. } if !matches!(of, Kind::Text { .. }) && is_none(text) => {
                InputValue::None
            }
            Kind::Optional { of, .. } => of.parse(text),
            Kind::Choice { names, aliases, .. } => {
                let text = text.trim();
                let known = all_names(names, aliases);
                let named = known.iter().find(|name| **name == text);
                let alike = || known.iter().find(|name| name.eq_ignore_ascii_case(text));
                InputValue::Text(named.or_else(alike).map_or(text, |name| name).into())
            }
            Kind::PriorityOrder { .. } => {
                let names = text.split(',').map(|name| InputValue::Text(name.trim().to_lowercase().into()));
                InputValue::List(names.collect())
            }
            Kind::Reduction => {
                let parts: Option<Vec<InputValue>> =
                    text.split(',').map(|part| parse_switch(part).map(InputValue::Bool)).collect();
                parts.map_or_else(unread, InputValue::List)
            }
        }
    }

    /// Returns the values that the environment variable accepts, as a message describes them.
    pub(super) fn accepted_text(self) -> String {
        match self {
            Kind::Switch { .. } | Kind::OptionalSwitch => SWITCH_WORDS.to_owned(),
            Kind::Reduction => {
                format!("{SWITCH_WORDS}, or two with a comma between, not the first on and the second off")
            }
            Kind::PriorityOrder { names, .. } => format!("{} with commas between, each once", all_of(names)),
            Kind::Path { .. } => format!("a path of 1 to {MAX_TEXT_BYTES} bytes"),
            Kind::List { of: Kind::Path { .. }, .. } => {
                format!("at most {MAX_LIST_ITEMS} paths with {PATH_SEPARATOR:?} between")
            }
            Kind::List { of, .. } => {
                format!("at most {MAX_LIST_ITEMS} items with commas between, each {}", of.accepted_text())
            }
            Kind::Optional { of: Kind::Text { .. }, .. } => Kind::Text { default: 0 }.accepted_text(),
            Kind::Optional { of, .. } => format!("{} or none", of.accepted_text()),
            _ => self.accepted(),
        }
    }
}

/// The character between the paths of a variable, as in `PATH`.
const PATH_SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };

/// Replaces `~` at the start of a path by the home folder, as a shell does; `~user` stays. Variables are not replaced.
fn expanded(path: &str) -> Cow<'_, str> {
    let path = path.trim();
    let below_home = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below_home, env::read(if cfg!(windows) { "USERPROFILE" } else { "HOME" })) {
        (Some(rest), Some(home)) if !home.is_empty() => {
            format!("{}{rest}", home.trim_end_matches('/')).into()
        }
        _ => path.into(),
    }
}

/// Splits the text of a list at its commas. `\\,` is a comma of an item and `\\\\` a backslash; other backslashes, and
/// spaces inside of an item, stay. A text of spaces is an empty list.
fn items_of(text: &str) -> Vec<String> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut items = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = (letter == '\\').then(|| letters.next_if(|next| matches!(next, ',' | '\\'))).flatten();
        if letter == ',' {
            items.push(String::new());
        } else if let Some(item) = items.last_mut() {
            item.push(escaped.unwrap_or(letter));
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).collect()
}

/// Returns whether the text of a variable means None.
fn is_none(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("none")
}

fn all_names(names: &[&'static str], aliases: Aliases) -> Vec<&'static str> {
    names.iter().copied().chain(aliases.iter().map(|(alias, _)| *alias)).collect()
}

/// Formats names as `Literal["a", "b"]`.
pub(super) fn literal(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("Literal[{}]", quoted.join(", "))
}

/// A Rust type whose values a flag stores as bits.
///
/// An enum that implements the trait provides typed access to a registered choice.
///
/// ```
/// use interlock_core::flags::{FlagDecl, FlagHandle, FlagValue, FlagType, register};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Solver {
///     Fast,
///     Exact,
/// }
///
/// impl FlagValue for Solver {
///     fn payload(self) -> u64 {
///         self as u64
///     }
///
///     fn decode(payload: u64) -> Self {
///         if payload == Solver::Exact as u64 { Solver::Exact } else { Solver::Fast }
///     }
///
///     fn matches_type(flag_type: &FlagType) -> bool {
///         matches!(flag_type, FlagType::Choice { names, .. } if names == &["fast", "exact"])
///     }
/// }
///
/// let flag_type = FlagType::Choice { default: "fast".into(), names: vec!["fast".into(), "exact".into()] };
/// let (spec, _) = register(FlagDecl::new("mylib.solver", flag_type, "Which solver runs."))?;
/// let solver: FlagHandle<Solver> = spec.handle()?;
/// solver.set(Solver::Exact)?;
/// assert_eq!(solver.get(), Solver::Exact);
/// # Ok::<(), interlock_core::Error>(())
/// ```
pub trait FlagValue: Copy {
    /// Returns the payload of the value; the upper two bits are zero.
    fn payload(self) -> u64;
    /// Returns the value of a payload.
    fn decode(payload: u64) -> Self;
    /// Returns the value as a message shows it.
    fn display(self) -> String {
        self.payload().to_string()
    }
    /// Returns whether a registered flag of this type stores values of `Self`. If not, [`FlagSpec::handle`] fails for
    /// `Self`.
    ///
    /// [`FlagSpec::handle`]: super::FlagSpec::handle
    fn matches_type(flag_type: &FlagType) -> bool {
        let _ = flag_type;
        false
    }
}

impl FlagValue for bool {
    fn matches_type(flag_type: &FlagType) -> bool {
        matches!(flag_type, FlagType::Switch { .. })
    }

    #[inline]
    fn payload(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        payload != 0
    }
}

impl FlagValue for Option<bool> {
    fn payload(self) -> u64 {
        self.map_or(UNSPECIFIED, u64::from)
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        (payload != UNSPECIFIED).then_some(payload != 0)
    }
}

/// The type of a switch: `bool`, or `Option<bool>` for a switch that may be unspecified.
///
/// ```
/// use interlock_core::flags::flags::{CUDNN_ENABLED, MKLDNN_ALLOW_TF32};
/// use interlock_core::flags::{Flag, Switch};
///
/// fn name(switch: &Flag<impl Switch>) -> &'static str {
///     switch.name()
/// }
///
/// assert_eq!(name(&CUDNN_ENABLED), "cudnn.enabled");
/// assert_eq!(name(&MKLDNN_ALLOW_TF32), "mkldnn.allow_tf32");
/// ```
pub trait Switch: FlagValue {}

impl Switch for bool {}

impl Switch for Option<bool> {}

/// A text that lists names, with commas between them.
///
/// ```
/// use interlock_core::flags::Names;
///
/// let names = Names::new("matmul, conv2d").unwrap();
/// assert!(names.contains("conv2d") && !names.contains("conv"));
/// assert!(!Names::default().contains(""));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names(u64);

impl Default for Names {
    fn default() -> Self {
        Names(EMPTY_TEXT)
    }
}

impl Names {
    /// Returns the names of a text, which is stored until the process exits; `None` if the text is too long.
    pub fn new(text: &str) -> Option<Self> {
        payload_of_text(text).map(Names)
    }

    /// Returns whether a name is listed.
    #[inline]
    pub fn contains(self, name: &str) -> bool {
        self.0 != EMPTY_TEXT && self.text().split(',').any(|listed| listed.trim() == name)
    }

    fn text(self) -> &'static str {
        text_of_payload(self.0).unwrap_or_assert("", "the payload of a text is its index")
    }
}

impl FlagValue for Names {
    fn payload(self) -> u64 {
        self.0
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        Names(payload)
    }

    fn display(self) -> String {
        format!("'{}'", self.text())
    }
}

/// A count; the kind of the flag sets its maximum.
impl FlagValue for u64 {
    fn matches_type(flag_type: &FlagType) -> bool {
        matches!(flag_type, FlagType::Count { .. })
    }

    fn payload(self) -> u64 {
        self
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        payload
    }
}

/// An integer; the kind of the flag sets its range.
impl FlagValue for i64 {
    fn matches_type(flag_type: &FlagType) -> bool {
        matches!(flag_type, FlagType::Integer { .. })
    }

    fn payload(self) -> u64 {
        self.wrapping_add(INTEGER_SHIFT) as u64
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        (payload as i64).wrapping_sub(INTEGER_SHIFT)
    }

    fn display(self) -> String {
        self.to_string()
    }
}

/// A float; NaN is refused.
impl FlagValue for f64 {
    fn matches_type(flag_type: &FlagType) -> bool {
        matches!(flag_type, FlagType::Float { .. })
    }

    fn payload(self) -> u64 {
        // NaN has no payload: no flag of floats accepts this one.
        float::encode(self).unwrap_or(NONE_PAYLOAD)
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        float::decode(payload)
    }

    fn display(self) -> String {
        format!("{self:?}")
    }
}

/// A count; the kind of the flag sets its maximum.
impl FlagValue for u32 {
    fn matches_type(flag_type: &FlagType) -> bool {
        matches!(flag_type, FlagType::Count { maximum, .. } if *maximum <= u64::from(u32::MAX))
    }

    fn payload(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        payload as u32
    }
}

/// Whether `matmul` may accumulate in the low-precision type of its result.
///
/// ```
/// use interlock_core::flags::Reduction;
/// use interlock_core::flags::flags::CUDA_MATMUL_FP16_REDUCTION;
///
/// let exact = Reduction { allowed: false, split: true };
/// CUDA_MATMUL_FP16_REDUCTION.set(exact)?;
/// assert_eq!(CUDA_MATMUL_FP16_REDUCTION.get(), exact);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// Whether the sum may use lower precision.
    pub allowed: bool,
    /// Whether the sum may also be split into parts; always true if `allowed` is.
    pub split: bool,
}

impl Reduction {
    const ALLOWED: Reduction = Reduction { allowed: true, split: true };

    const fn payload(self) -> u64 {
        self.allowed as u64 | (self.split as u64) << 1
    }

    fn of(given: &InputValue) -> Result<Self, Refusal> {
        let (allowed, split) = match given {
            InputValue::Bool(allowed) => (*allowed, true),
            InputValue::List(items) => match items.as_slice() {
                [InputValue::Bool(allowed)] => (*allowed, true),
                [InputValue::Bool(allowed), InputValue::Bool(split)] => (*allowed, *split),
                _ => return Err(Refusal::Type),
            },
            _ => return Err(Refusal::Type),
        };
        let reduction = Reduction { allowed, split };
        if reduction.is_allowed() { Ok(reduction) } else { Err(Refusal::Value) }
    }

    fn is_allowed(self) -> bool {
        self.split || !self.allowed
    }
}

impl FlagValue for Reduction {
    fn payload(self) -> u64 {
        Reduction::payload(self)
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        Reduction { allowed: payload & 1 != 0, split: payload & 2 != 0 }
    }

    fn display(self) -> String {
        Value::Pair(self.allowed, self.split).to_string()
    }
}
