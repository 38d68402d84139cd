//! Ids of flags and addresses of their words, for readers in other languages.

use super::FlagSpec;
use super::flag_spec::{Backing, Projection};
use super::kind::{FlagValue, Kind};
use super::precision::{Node, Precision};
use super::{registry, table};
use crate::base::invariant::UnwrapOrAssert;

/// The kind of a flag's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagKind {
    /// None of the others: a view, a compound flag, or a flag that also accepts None.
    Other,
    /// True or false.
    Bool,
    /// An integer from 0.
    Count,
    /// An integer of either sign.
    Integer,
    /// A floating-point number.
    Float,
    /// One of a few names.
    Choice,
    /// Any text, or a path.
    Text,
}

/// A word of the process that contains a bool or an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainWord {
    /// The word; its two upper bits are the level. Never 0.
    pub address: *const u64,
    /// The difference between the payload and the value.
    pub bias: i64,
}

/// The value of a flag with a [`PlainWord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainValue {
    /// The value of a flag whose kind is [`FlagKind::Bool`].
    Bool(bool),
    /// The value of a flag of integers.
    Integer(i64),
}

/// Returns whether the payload of a word is a bool or an integer.
const fn is_plain(kind: Kind) -> bool {
    matches!(kind, Kind::Switch { .. } | Kind::Count { .. } | Kind::Integer { .. })
}

/// Returns the flag with this id; `None` if it was unregistered.
#[inline]
pub fn of_id(id: u32) -> Option<&'static FlagSpec> {
    of_id_to_read(id).filter(|spec| !spec.is_unregistered())
}

/// Returns the flag with this id, also if it was unregistered: reads then return what they did.
#[inline]
pub fn of_id_to_read(id: u32) -> Option<&'static FlagSpec> {
    let number = id as usize;
    let (flags, aliases) = table::own_tables();
    let own = flags.get(number).or_else(|| aliases.get(number.checked_sub(flags.len())?));
    let registered = || registry::spec(number.checked_sub(flags.len() + aliases.len())?);
    own.or_else(registered)
}

/// Returns the id of a flag, which is valid until the flag is unregistered.
pub fn id_of(spec: &'static FlagSpec) -> u32 {
    let position =
        table::own_flag_specs().chain(registry::all_flag_specs()).position(|other| std::ptr::eq(other, spec));
    let id = position.and_then(|position| u32::try_from(position).ok());
    id.unwrap_or_assert(u32::MAX, "the table has every flag")
}

/// Returns the kind of the values of a flag.
pub fn kind_of(spec: &FlagSpec) -> FlagKind {
    match &spec.backing {
        Backing::Word(word, Projection::Whole) => match word.kind {
            Kind::Switch { .. } => FlagKind::Bool,
            Kind::Count { .. } => FlagKind::Count,
            Kind::Integer { .. } => FlagKind::Integer,
            Kind::Float { .. } => FlagKind::Float,
            Kind::Choice { .. } => FlagKind::Choice,
            Kind::Text { .. } | Kind::Path { .. } => FlagKind::Text,
            Kind::OptionalSwitch
            | Kind::PriorityOrder { .. }
            | Kind::Reduction
            | Kind::List { .. }
            | Kind::Optional { .. } => FlagKind::Other,
        },
        Backing::Node(_) => FlagKind::Choice,
        Backing::Tf32(_) => FlagKind::Bool,
        Backing::Word(..) | Backing::Constant(_) => FlagKind::Other,
    }
}

/// Returns the word of a flag that is a bool or an integer and has a word of its own.
#[cfg(not(loom))]
pub fn plain_word(spec: &FlagSpec) -> Option<PlainWord> {
    let Backing::Word(word, Projection::Whole) = spec.backing else { return None };
    let bias = match word.kind {
        Kind::Switch { .. } | Kind::Count { .. } => 0,
        // The payload of 0 is the difference.
        Kind::Integer { .. } => i64::try_from(FlagValue::payload(0_i64)).ok()?,
        _ => return None,
    };
    Some(PlainWord { address: word.resolved_address(), bias })
}

/// Returns the active value on this thread of a flag with a [plain word](plain_word), and of an alias of
/// nodes, which is a bool. Never panics.
#[inline]
pub fn plain_value(spec: &FlagSpec) -> Option<PlainValue> {
    let word = match spec.backing {
        Backing::Word(word, Projection::Whole) => word,
        Backing::Tf32(nodes) => return Some(PlainValue::Bool(Node::all_read(nodes, Precision::Tf32))),
        _ => return None,
    };
    match word.kind {
        Kind::Switch { .. } => Some(PlainValue::Bool(FlagValue::decode(word.payload()))),
        Kind::Count { .. } => Some(PlainValue::Integer(u64::decode(word.payload()).cast_signed())),
        Kind::Integer { .. } => Some(PlainValue::Integer(FlagValue::decode(word.payload()))),
        _ => None,
    }
}

/// Returns the active payload on this thread of a flag with a [plain word](plain_word).
#[inline]
pub fn plain_payload(spec: &FlagSpec) -> Option<u64> {
    match spec.backing {
        Backing::Word(word, Projection::Whole) if is_plain(word.kind) => Some(word.payload()),
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{FlagDecl, FlagType, find, register};
    use super::*;

    #[test]
    fn of_id_returns_every_flag_by_its_id() {
        let flag_type = FlagType::Integer { default: -3, minimum: -5, maximum: 5 };
        register(FlagDecl::new("address_test.offset", flag_type, "A flag of a test.")).unwrap();
        for (position, spec) in table::flag_specs().enumerate() {
            assert_eq!(id_of(spec) as usize, position);
            assert!(std::ptr::eq(of_id(id_of(spec)).unwrap(), spec), "{}", spec.name());
        }
        let count = table::flag_specs().count() as u32;
        assert!([count, u32::MAX].into_iter().all(|id| of_id(id).is_none()));
    }

    #[test]
    fn plain_word_contains_the_value_of_the_process() {
        let read = |name: &str| {
            let word = plain_word(find(name).unwrap()).unwrap();
            // SAFETY: the word of a flag lives until the process exits; the test has one thread.
            let bits = unsafe { *word.address };
            (bits << 2 >> 2) as i64 - word.bias
        };
        assert_eq!((read("cudnn.enabled"), read("cudnn.benchmark_limit")), (1, 10));
        super::super::flags::CUDNN_BENCHMARK_LIMIT.set(3).unwrap();
        assert_eq!(read("cudnn.benchmark_limit"), 3);
        let flag_type = FlagType::Integer { default: -3, minimum: -5, maximum: 5 };
        register(FlagDecl::new("address_test.negative", flag_type, "A flag of a test.")).unwrap();
        assert_eq!(read("address_test.negative"), -3);
        let value = |name: &str| plain_value(find(name).unwrap());
        assert_eq!(value("cudnn.enabled"), Some(PlainValue::Bool(true)));
        assert_eq!(value("cudnn.benchmark_limit"), Some(PlainValue::Integer(3)));
        assert_eq!(value("address_test.negative"), Some(PlainValue::Integer(-3)));
    }

    #[test]
    fn views_and_compound_flags_have_no_plain_word() {
        let names = [
            ("cudnn.allow_tf32", FlagKind::Bool),
            ("cuda.matmul.fp32_precision", FlagKind::Choice),
            ("cuda.sdp_priority", FlagKind::Other),
            ("cuda.matmul.allow_fp16_reduced_precision_reduction", FlagKind::Other),
            ("quantized.supported_engines", FlagKind::Other),
        ];
        for (name, kind) in names {
            let spec = find(name).unwrap();
            assert_eq!((plain_word(spec), kind_of(spec)), (None, kind), "{name}");
            let alias = (kind == FlagKind::Bool).then_some(PlainValue::Bool(true));
            assert_eq!(plain_value(spec), alias, "{name}");
        }
    }
}
