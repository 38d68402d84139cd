//! Values of flags.

use interlock::backends::{InputValue, PriorityOrder, Value};
use interlock_core::binding::flags::{PlainValue, interned_text};
use interlock_sys::*;
use once_cell::race::OnceBox;

use crate::arguments::{array, check_zero, flag_bit, static_text, text};
use crate::entry::{Failure, Result};

/// Returns a value for C.
pub(crate) fn to_c(value: Value) -> InterlockValue {
    let of = |kind, data| InterlockValue { kind, reserved: 0, data };
    match value {
        Value::None => none(),
        Value::Bool(on) => of(INTERLOCK_VALUE_BOOL, InterlockData { integer: i64::from(on) }),
        Value::Integer(integer) => of(INTERLOCK_VALUE_INTEGER, InterlockData { integer }),
        Value::Float(float) => of(INTERLOCK_VALUE_FLOAT, InterlockData { number: float.get() }),
        Value::Name(name) | Value::Text(name) | Value::Path(name) => {
            of(INTERLOCK_VALUE_TEXT, InterlockData { text: static_text(name) })
        }
        Value::Pair(first, second) => {
            let integer = i64::from(first) | i64::from(second) << 1;
            of(INTERLOCK_VALUE_PAIR, InterlockData { integer })
        }
        Value::List(items) => {
            let text = |item: &Value| match *item {
                Value::Name(text) | Value::Text(text) | Value::Path(text) => text,
                item => interned_text(&item.to_string()),
            };
            of(INTERLOCK_VALUE_NAMES, InterlockData { names: Names::of(items.iter().map(text)) })
        }
        Value::Names(names) => {
            of(INTERLOCK_VALUE_NAMES, InterlockData { names: Names::of(names.iter().copied()) })
        }
        Value::PriorityOrder(names, order) => {
            of(INTERLOCK_VALUE_NAMES, InterlockData { names: ordered(names, order) })
        }
    }
}

/// Returns the value of a plain flag for C.
#[inline]
pub(crate) fn plain_to_c(value: PlainValue) -> InterlockValue {
    let (kind, integer) = match value {
        PlainValue::Bool(on) => (INTERLOCK_VALUE_BOOL, i64::from(on)),
        PlainValue::Integer(integer) => (INTERLOCK_VALUE_INTEGER, integer),
    };
    InterlockValue { kind, reserved: 0, data: InterlockData { integer } }
}

pub(crate) fn none() -> InterlockValue {
    InterlockValue { kind: INTERLOCK_VALUE_NONE, reserved: 0, data: InterlockData { integer: 0 } }
}

fn ordered(names: &[&'static str], order: PriorityOrder) -> InterlockNames {
    Names::of(order.names(names))
}

/// A list of names that lives until the process exits. Flags have few such lists: permutations of a few names.
struct Names {
    items: Vec<InterlockText>,
    next: OnceBox<Names>,
}

// SAFETY: the texts are static.
unsafe impl Send for Names {}
// SAFETY: as above.
unsafe impl Sync for Names {}

/// The lists that were read so far. A linked list, which grows without a lock.
static LISTS: Names = Names { items: Vec::new(), next: OnceBox::new() };

impl Names {
    /// Returns the list with these names.
    fn of(names: impl Iterator<Item = &'static str>) -> InterlockNames {
        let items: Vec<InterlockText> = names.map(static_text).collect();
        let is_same = |known: &Names| {
            known.items.len() == items.len()
                && known
                    .items
                    .iter()
                    .zip(&items)
                    .all(|(one, other)| one.data == other.data && one.bytes == other.bytes)
        };
        let mut list = &LISTS;
        while !is_same(list) {
            list = list.next.get_or_init(|| Box::new(Names { items: items.clone(), next: OnceBox::new() }));
        }
        InterlockNames { items: list.items.as_ptr(), count: list.items.len() }
    }
}

/// Returns a value of the caller, whose texts are borrowed; `None` if the flag is to be unset. An error begins with the
/// field.
///
/// # Safety
/// `value` is set as its kind requires, and its texts are valid during `'a`.
pub(crate) unsafe fn from_c<'a>(value: &InterlockValue) -> Result<Option<InputValue<'a>>> {
    check_zero("reserved", value.reserved)?;
    if let Some(number) = unsigned(value) {
        let huge = |_| InputValue::HugeInteger { display: number.to_string(), nearest: Some(number as f64) };
        return Ok(Some(i64::try_from(number).map_or_else(huge, InputValue::Integer)));
    }
    // SAFETY: the kind selects the field, here and below.
    let integer = || unsafe { value.data.integer };
    Ok(Some(match value.kind {
        INTERLOCK_VALUE_NONE => InputValue::None,
        INTERLOCK_VALUE_BOOL => InputValue::Bool(flag_bit("data.integer", integer())?),
        INTERLOCK_VALUE_INTEGER => InputValue::Integer(integer()),
        // SAFETY: as above.
        INTERLOCK_VALUE_FLOAT => InputValue::Float(unsafe { value.data.number }),
        // SAFETY: as above, and guaranteed by the caller.
        INTERLOCK_VALUE_TEXT => InputValue::Text(unsafe { text("data.text", value.data.text)? }.into()),
        INTERLOCK_VALUE_PAIR => {
            InputValue::List(vec![InputValue::Bool(integer() & 1 != 0), InputValue::Bool(integer() & 2 != 0)])
        }
        // SAFETY: as above, and guaranteed by the caller.
        INTERLOCK_VALUE_NAMES => InputValue::List(unsafe { list("data.names", value.data.names)? }),
        INTERLOCK_VALUE_UNSET => return Ok(None),
        other => return Err(Failure::argument("kind", "one of INTERLOCK_VALUE_*", other)),
    }))
}

/// Returns an integer without a sign; `None` for a value of another kind.
pub(crate) fn unsigned(value: &InterlockValue) -> Option<u64> {
    // SAFETY: the kind selects the field.
    (value.kind == INTERLOCK_VALUE_UNSIGNED).then(|| unsafe { value.data.integer }.cast_unsigned())
}

/// # Safety
/// The names and their texts are valid during `'a`.
unsafe fn list<'a>(name: &str, names: InterlockNames) -> Result<Vec<InputValue<'a>>> {
    // SAFETY: guaranteed by the caller.
    let names: Vec<&'a str> = unsafe { names_from_c(name, names)? };
    Ok(names.into_iter().map(|name| InputValue::Text(name.into())).collect())
}

/// Returns a list of names.
///
/// # Safety
/// The names and their texts are valid during `'a`.
pub(crate) unsafe fn names_from_c<'a>(name: &str, names: InterlockNames) -> Result<Vec<&'a str>> {
    // SAFETY: guaranteed by the caller.
    let items = unsafe { array(name, names.items, names.count)? };
    // SAFETY: guaranteed by the caller.
    items.iter().map(|item| unsafe { text(name, *item) }).collect()
}
