//! An order of preference among a few names, in a word.

use std::fmt;

use super::kind::FlagValue;
use super::value::InputValue;

/// An order of preference among a few names: their positions in a list, the preferred one first.
///
/// ```
/// use interlock_core::flags::{Value, find};
///
/// if let Value::PriorityOrder(names, ranking) = find("cuda.sdp_priority")?.read() {
///     assert_eq!(ranking.names(names).next(), Some("flash_attention"));
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityOrder {
    /// A digit of three bits for each rank, the lowest first.
    digits: u64,
    length: u8,
}

const DIGIT_BITS: u32 = 3;
const DIGIT: u64 = (1 << DIGIT_BITS) - 1;
/// The length lies above the digits.
const LENGTH_SHIFT: u32 = 48;

impl PriorityOrder {
    /// The order in which these positions stand; each is below 8.
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

    /// The positions, the preferred one first.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..u32::from(self.length)).map(move |rank| (self.digits >> (rank * DIGIT_BITS) & DIGIT) as usize)
    }

    /// The same as names; positions that the list lacks are left out.
    pub fn names<'a>(self, names: &'a [&'static str]) -> impl Iterator<Item = &'static str> + 'a {
        self.positions().filter_map(|position| names.get(position).copied())
    }

    /// The ranking that these items spell, if each name is there once.
    pub(super) fn of(names: &[&str], items: &[InputValue]) -> Option<Self> {
        let position = |item: &InputValue| match item {
            InputValue::Text(text) => names.iter().position(|name| name == text),
            _ => None,
        };
        let positions: Vec<u8> =
            items.iter().map(|item| position(item).map(|place| place as u8)).collect::<Option<_>>()?;
        let ranking = (positions.len() == names.len()).then(|| PriorityOrder::new(&positions));
        ranking.filter(|ranking| ranking.is_of(names.len()))
    }

    /// Whether each of so many positions is there once.
    pub(super) fn is_of(self, length: usize) -> bool {
        let mut positions: Vec<usize> = self.positions().collect();
        positions.sort_unstable();
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
    fn a_ranking_keeps_its_order_in_a_word() {
        let ranking = PriorityOrder::new(&[2, 0, 1]);
        assert_eq!(PriorityOrder::decode(ranking.payload()), ranking);
        assert_eq!(ranking.names(NAMES).collect::<Vec<_>>(), ["efficient", "math", "flash"]);
    }

    #[test]
    fn every_name_must_be_there_once() {
        let ranking = |names: &[&str]| {
            let items: Vec<InputValue> = names.iter().map(|name| InputValue::Text((*name).into())).collect();
            PriorityOrder::of(NAMES, &items)
        };
        assert_eq!(ranking(&["flash", "math", "efficient"]), Some(PriorityOrder::new(&[1, 0, 2])));
        assert_eq!(ranking(&["flash", "math"]), None);
        assert_eq!(ranking(&["flash", "math", "math"]), None);
        assert_eq!(ranking(&["flash", "math", "other"]), None);
    }
}
