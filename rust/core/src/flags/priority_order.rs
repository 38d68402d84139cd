//! Priority orders: permutations of a few names, stored in a word.

use std::fmt;

use super::kind::FlagValue;
use super::value::InputValue;
use crate::base::short_sort::sort_short_by;

/// A permutation of a few names in descending priority, as positions in a list.
///
/// ```
/// use interlock_core::flags::{Value, find};
///
/// if let Value::PriorityOrder(names, order) = find("cuda.sdp_priority")?.read() {
///     assert_eq!(order.names(names).next(), Some("flash_attention"));
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PriorityOrder {
    /// Three bits for each rank, the highest priority in the lowest bits.
    digits: u64,
    length: u8,
}

const DIGIT_BITS: u32 = 3;
const DIGIT: u64 = (1 << DIGIT_BITS) - 1;
/// The bits of the length are above the digits.
const LENGTH_SHIFT: u32 = 48;

impl PriorityOrder {
    /// Creates an order of positions, each less than 8.
    pub(super) const fn new(positions: &[u8]) -> Self {
        let mut digits = 0;
        let mut rest = positions;
        while let [others @ .., last] = rest {
            digits = digits << DIGIT_BITS | *last as u64 & DIGIT;
            rest = others;
        }
        PriorityOrder { digits, length: positions.len() as u8 }
    }

    pub(super) const fn payload(self) -> u64 {
        self.digits | (self.length as u64) << LENGTH_SHIFT
    }

    /// Iterates over the positions in descending priority.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..u32::from(self.length)).map(move |rank| (self.digits >> (rank * DIGIT_BITS) & DIGIT) as usize)
    }

    /// Iterates over the names in descending priority; positions beyond the list are omitted.
    pub fn names<'a>(self, names: &'a [&'static str]) -> impl Iterator<Item = &'static str> + 'a {
        self.positions().filter_map(|position| names.get(position).copied())
    }

    /// Parses a list of names; `None` unless it has each name once.
    pub(super) fn of(names: &[&str], items: &[InputValue]) -> Option<Self> {
        let position = |item: &InputValue| match item {
            InputValue::Text(text) => names.iter().position(|name| name == text),
            _ => None,
        };
        let positions: Vec<u8> =
            items.iter().map(|item| position(item).map(|position| position as u8)).collect::<Option<_>>()?;
        let order = (positions.len() == names.len()).then(|| PriorityOrder::new(&positions));
        order.filter(|order| order.is_of(names.len()))
    }

    /// Returns whether it is a permutation of `length` positions.
    pub(super) fn is_of(self, length: usize) -> bool {
        let mut positions: Vec<usize> = self.positions().collect();
        sort_short_by(&mut positions, usize::le);
        positions.into_iter().eq(0..length)
    }

    pub(super) fn show(self, names: &[&'static str], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<String> = self.names(names).map(|name| format!("'{name}'")).collect();
        write!(f, "({})", quoted.join(", "))
    }
}

impl FlagValue for PriorityOrder {
    fn payload(self) -> u64 {
        PriorityOrder::payload(self)
    }

    #[inline]
    fn decode(payload: u64) -> Self {
        PriorityOrder { digits: payload & ((1 << LENGTH_SHIFT) - 1), length: (payload >> LENGTH_SHIFT) as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["math", "flash", "efficient"];

    #[test]
    fn decode_returns_the_order_of_a_payload() {
        let order = PriorityOrder::new(&[2, 0, 1]);
        assert_eq!(PriorityOrder::decode(order.payload()), order);
        assert_eq!(order.names(NAMES).collect::<Vec<_>>(), ["efficient", "math", "flash"]);
    }

    #[test]
    fn of_requires_each_name_once() {
        let order = |names: &[&str]| {
            let items: Vec<InputValue> = names.iter().map(|name| InputValue::Text((*name).into())).collect();
            PriorityOrder::of(NAMES, &items)
        };
        assert_eq!(order(&["flash", "math", "efficient"]), Some(PriorityOrder::new(&[1, 0, 2])));
        assert_eq!(order(&["flash", "math"]), None);
        assert_eq!(order(&["flash", "math", "math"]), None);
        assert_eq!(order(&["flash", "math", "other"]), None);
    }
}
