//! Orders of numbers. All element types are sorted as integers with the same order, so there is one sorting function.

use crate::storage::fallible_alloc::try_collect;
use crate::{DType, Element, Result};

/// A number with its position. Integers are compared, first of the numbers and then of the positions, so that no two are
/// equal.
pub(crate) type Numbered = u128;

/// Maps a number to an integer, in the order of the numbers: equal numbers have equal integers, and NaN has the greatest.
fn order_of<T: Element>(number: T) -> u64 {
    const SIGN: u64 = 1 << (u64::BITS - 1);
    match T::DTYPE {
        DType::Bool | DType::Int64 => number.cast::<i64>().cast_unsigned() ^ SIGN,
        _ if number.is_nan() => u64::MAX,
        _ => {
            // The sum makes a negative zero positive.
            let bits = (number.to_f64() + 0.0).to_bits();
            if bits & SIGN == 0 { bits | SIGN } else { !bits }
        }
    }
}

/// Returns the numbers of a row with their positions, in an order in which smaller integers come first.
pub(crate) fn numbered<T: Element>(row: &[T], descending: bool) -> Result<Vec<Numbered>> {
    let flip = if descending { u64::MAX } else { 0 };
    let numbers = row.iter().map(|&number| Numbered::from(order_of(number) ^ flip));
    try_collect(row.len(), numbers.zip(0..).map(|(order, position)| order << u64::BITS | position))
}

/// Sorts at least the first `count` numbers. Equal ones keep their order.
pub(crate) fn sort(numbers: &mut [Numbered], count: usize) {
    if count > 0 && count < numbers.len() {
        numbers.select_nth_unstable(count - 1);
    }
    let first = numbers.len().min(count);
    if let Some(first) = numbers.get_mut(..first) {
        first.sort_unstable();
    }
}

/// Returns the number in the middle, or the smaller one of two; 0 if there is none.
pub(crate) fn middle(numbers: &mut [Numbered]) -> Numbered {
    match numbers.len().checked_sub(1) {
        Some(last) => *numbers.select_nth_unstable(last / 2).1,
        None => 0,
    }
}

/// Returns the position of a number.
pub(crate) fn position_of(number: Numbered) -> i64 {
    number as i64
}
