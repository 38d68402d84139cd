//! Single elements as bytes, the loop that writes one everywhere, and copies of several elements.

use super::convert::conversion;
use super::element_loop::{ElementLoop, Run};
use super::elementwise::{load, store};
use super::vectorized::vectorized;
use crate::dtype::dispatch_size;
use crate::{DType, Element, Scalar};

/// The size of the largest element.
const LARGEST: usize = 8;

/// Returns the bytes of a number as an element of a type, which it is converted to.
pub(crate) fn element_bytes(value: Scalar, dtype: DType) -> [u8; LARGEST] {
    let given = match value {
        Scalar::Bool(value) => i64::from(value).to_ne_bytes(),
        Scalar::Int(value) => value.to_ne_bytes(),
        Scalar::Float(value) => value.to_ne_bytes(),
    };
    let from = if matches!(value, Scalar::Float(_)) { DType::Float64 } else { DType::Int64 };
    let mut bytes = [0; LARGEST];
    // SAFETY: each of the arrays holds one element of any type.
    unsafe { conversion(from, dtype).run((bytes.as_mut_ptr(), LARGEST), (given.as_ptr(), LARGEST), 1) };
    bytes
}

/// Returns the element whose bytes come first as a number, or `None` if there are too few bytes.
pub(crate) fn scalar_of(dtype: DType, bytes: &[u8]) -> Option<Scalar> {
    bytes.get(..dtype.size())?;
    let to = match dtype {
        DType::Bool => DType::Bool,
        dtype if dtype.is_floating_point() => DType::Float64,
        _ => DType::Int64,
    };
    let mut number = [0; LARGEST];
    // SAFETY: the bytes are those of an element, and the array holds one of any type.
    unsafe { conversion(dtype, to).run((number.as_mut_ptr(), LARGEST), (bytes.as_ptr(), LARGEST), 1) };
    Some(match to {
        DType::Bool => Scalar::Bool(number.first().is_some_and(|&byte| byte != 0)),
        DType::Int64 => Scalar::Int(i64::from_ne_bytes(number)),
        _ => Scalar::Float(f64::from_ne_bytes(number)),
    })
}

/// A loop that writes the bytes of an element everywhere.
#[derive(Clone, Copy)]
struct Fill {
    dtype: [DType; 1],
    bytes: [u8; LARGEST],
}

/// Returns the loop that writes a number, converted to an element, everywhere.
pub(crate) fn fill(value: Scalar, dtype: DType) -> impl ElementLoop {
    Fill { dtype: [dtype], bytes: element_bytes(value, dtype) }
}

impl ElementLoop for Fill {
    fn dtypes(&self) -> &[DType] {
        &self.dtype
    }

    fn accepts_gaps(&self) -> bool {
        true
    }

    unsafe fn run(&self, run: &Run) {
        let Run { pointers: [out, ..], steps: [step, ..], count } = *run;
        let [dtype] = self.dtype;
        // SAFETY: guaranteed by the caller; an element is as large as the type that is written.
        dispatch_size!(dtype, T => unsafe {
            let element = self.bytes.as_ptr().cast::<T>().read_unaligned();
            if step == size_of::<T>() {
                std::slice::from_raw_parts_mut(out.cast::<std::mem::MaybeUninit<T>>(), count)
                    .fill(std::mem::MaybeUninit::new(element));
            } else {
                for index in 0..count {
                    out.add(index * step).cast::<T>().write(element);
                }
            }
        });
    }
}

/// Writes each of some values several times, one after the other.
///
/// # Safety
/// The values are initialized, and there is memory for all copies. Both are aligned.
pub(crate) unsafe fn repeat_each<T: Element>(
    target: *mut u8,
    values: *const u8,
    (number, times): (usize, usize),
) {
    vectorized(
        #[inline(always)]
        move || {
            for index in 0..number {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let value = load::<T>(values, index);
                    (0..times).for_each(|copy| store(target, index * times + copy, value));
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_numbers_are_converted_like_scalars() {
        let numbers =
            [Scalar::Bool(true), Scalar::Int(-300), Scalar::Float(-1.7), Scalar::Float(f64::INFINITY)];
        for dtype in DType::ALL {
            for number in numbers {
                let expected = crate::dtype::dispatch!(dtype, T => {
                    crate::Element::to_scalar(number.cast::<T>())
                });
                assert_eq!(
                    scalar_of(dtype, &element_bytes(number, dtype)),
                    Some(expected),
                    "{number} as {dtype}"
                );
            }
        }
        assert_eq!(scalar_of(DType::Float32, &[0; 3]), None);
    }
}
