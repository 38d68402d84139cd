//! Floats in the 62 bits of a flag's payload.
//!
//! A payload consists of the sign, the significand and nine exponent bits of a float, which covers magnitudes from
//! about 1e-76 to 1e76. Zeros and infinities have special codes. Other numbers are rare: they are interned, and the
//! payload is the index.

use super::interned::Interned;
use crate::base::invariant::UnwrapOrAssert;

const SIGNIFICAND_BITS: u32 = 52;
const SIGNIFICAND: u64 = (1 << SIGNIFICAND_BITS) - 1;
const EXPONENT_BITS: u32 = 9;
/// The largest exponent of a number, chosen so that no number has the payload `NONE_PAYLOAD`.
const LARGEST_EXPONENT: u64 = (1 << EXPONENT_BITS) - 2;
/// The bias between the exponent of a payload and that of an `f64`: both halves of the range have the same size.
const EXPONENT_SHIFT: u64 = 1023 - 255;
const SIGN_SHIFT: u32 = SIGNIFICAND_BITS + EXPONENT_BITS;

/// The significand of zero. Payloads with an exponent of 0 store a code in place of the significand.
const ZERO: u64 = 0;
/// The significand of infinity.
const INFINITY: u64 = 1;
/// The significand of the first interned number.
const FIRST_INDEX: u64 = 2;

/// The bits of the magnitudes out of range.
static OTHERS: Interned<u64> = Interned::new();

/// Returns the payload of a number; `None` for NaN.
pub(super) fn encode(number: f64) -> Option<u64> {
    if number.is_nan() {
        return None;
    }
    let bits = number.to_bits();
    let sign = bits >> 63 << SIGN_SHIFT;
    let exponent = bits >> SIGNIFICAND_BITS & 0x7ff;
    let payload = match exponent.checked_sub(EXPONENT_SHIFT) {
        _ if number == 0.0 => ZERO,
        _ if number.is_infinite() => INFINITY,
        Some(exponent @ 1..=LARGEST_EXPONENT) => exponent << SIGNIFICAND_BITS | bits & SIGNIFICAND,
        _ => OTHERS.intern(&number.abs().to_bits()).0 + FIRST_INDEX,
    };
    Some(sign | payload)
}

/// Returns the number of a payload.
pub(super) fn decode(payload: u64) -> f64 {
    let exponent = payload >> SIGNIFICAND_BITS & ((1 << EXPONENT_BITS) - 1);
    let significand = payload & SIGNIFICAND;
    let magnitude = match (exponent, significand) {
        (0, ZERO) => 0.0,
        (0, INFINITY) => f64::INFINITY,
        (0, index) => {
            let number = OTHERS.get(index - FIRST_INDEX).map(|bits| f64::from_bits(*bits));
            number.unwrap_or_assert(f64::NAN, "the significand of a number out of range is its index")
        }
        _ => f64::from_bits((exponent + EXPONENT_SHIFT) << SIGNIFICAND_BITS | significand),
    };
    if payload >> SIGN_SHIFT & 1 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::super::kind::NONE_PAYLOAD;
    use super::*;

    #[test]
    fn decode_returns_the_bits_that_were_encoded() {
        let mut numbers = vec![
            0.0,
            1.0,
            0.1,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::MAX,
            f64::EPSILON,
            f64::INFINITY,
            1e76,
            1e77,
            1e-76,
            1e-77,
            std::f64::consts::PI,
        ];
        // Knuth's linear congruential generator.
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        numbers.extend((0..100_000).map(|_| {
            let exponent = 1023 - 255 + (random() >> 32) % 510;
            f64::from_bits(exponent << SIGNIFICAND_BITS | random() >> 12)
        }));
        for number in numbers.into_iter().flat_map(|number| [number, -number]) {
            let payload = encode(number).unwrap();
            assert_eq!(decode(payload).to_bits(), number.to_bits(), "{number:e}");
            assert!(payload < NONE_PAYLOAD, "{number:e}");
        }
    }

    #[test]
    fn encode_refuses_nan() {
        assert_eq!([f64::NAN, -f64::NAN].map(encode), [None, None]);
    }
}
