//! The loop of products, whose states are [`Scaled`].
//!
//! Products of a few moderate elements are within the range of `f64`, so that no step needs an exponent. They have the bits of
//! products with exponents, because both multiply in one order, and scaling by powers of two rounds nothing.

use std::marker::PhantomData;

use super::elementwise::load;
use super::real::Real;
use super::reduction::{ROWS, ReduceLoop, begin_states, finish_states, merge_states};
use super::scaled::{LIMIT, Scaled, power_of_two};
use super::vectorized::vectorized;
use crate::DType;

/// The number of lanes among which a row is divided, element `i` to lane `i % LANES`.
const LANES: usize = 32;

/// The number of moderate elements whose product with a mantissa is computed without exponents.
pub(crate) const GROUP: usize = ROWS;

/// The number of elements that are copied, or of states that are multiplied, at once.
const BLOCK: usize = GROUP * LANES;

/// The largest exponent of moderate elements: a mantissa and `GROUP` of them have a product within the range of `f64`.
const MODERATE: i64 = (1000 - LIMIT) / GROUP as i64;

/// Returns whether an element is moderate, or 0 or NaN, whose products need no exponent either. It has no branches.
#[inline(always)]
pub(crate) fn is_moderate<T: Real>(element: T) -> bool {
    let size = element.abs();
    let is_large = size > T::from_f64(power_of_two(MODERATE));
    let is_small = (size < T::from_f64(power_of_two(-MODERATE))) & (size > T::default());
    !(is_large | is_small)
}

/// Elements near 1 have exponents from `-NEAR` to `NEAR - 1`, and are moderate.
const NEAR: u64 = 64;

const _: () = assert!(NEAR.is_power_of_two() && (NEAR as i64) < MODERATE, "elements near 1 are moderate");

/// Returns bits for [`are_near_one`]. It takes two instructions for a vector of elements, where `is_moderate` takes six.
#[inline(always)]
fn distance_from_one(element: f64) -> u64 {
    element.to_bits().wrapping_sub((1023 - NEAR) << 52)
}

/// Returns whether all elements are near 1, and none is 0, of whose distances this is the union.
#[inline(always)]
fn are_near_one(distances: u64) -> bool {
    // All bits of the exponent but those that count to `2 * NEAR`.
    distances & (0x800 - 2 * NEAR) << 52 == 0
}

/// Products of the elements of a row.
struct Lanes {
    mantissas: [f64; LANES],
    exponents: [i64; LANES],
}

impl Lanes {
    const ONES: Lanes = Lanes { mantissas: [1.0; LANES], exponents: [0; LANES] };

    /// Multiplies each lane by its elements of a block.
    #[inline(always)]
    fn multiply<T: Real>(&mut self, block: &[T; BLOCK]) {
        let mut products = self.mantissas;
        let mut distances = 0;
        // Lane by lane: a loop over groups, whose lanes have a variable each, would use no vectors.
        for (lane, product) in products.iter_mut().enumerate() {
            for group in 0..GROUP {
                // SAFETY: a block has `GROUP` groups of `LANES` elements.
                let factor = unsafe { load::<T>(block.as_ptr().cast(), group * LANES + lane) }.to_f64();
                *product *= factor;
                distances |= distance_from_one(factor);
            }
        }
        if are_near_one(distances) || block.iter().fold(true, |all, element| all & is_moderate(*element)) {
            self.mantissas = products;
            self.normalize(LANES);
        } else {
            block.chunks(LANES).for_each(|group| self.multiply_each(group));
        }
    }

    /// Multiplies each lane by any element.
    #[cold]
    fn multiply_each<T: Real>(&mut self, group: &[T]) {
        let lanes = self.mantissas.iter_mut().zip(&mut self.exponents);
        for ((mantissa, exponent), factor) in lanes.zip(group) {
            let product = Scaled { mantissa: *mantissa, exponent: *exponent } * Scaled::new(*factor);
            (*mantissa, *exponent) = (product.mantissa, product.exponent);
        }
    }

    /// Brings the first mantissas to the limits.
    #[inline(always)]
    fn normalize(&mut self, count: usize) {
        let lanes = self.mantissas.iter().take(count);
        if !lanes.fold(true, |all, mantissa| all & Scaled::is_within(*mantissa)) {
            self.normalize_each(count);
        }
    }

    #[cold]
    fn normalize_each(&mut self, count: usize) {
        for (mantissa, exponent) in self.mantissas.iter_mut().zip(&mut self.exponents).take(count) {
            let lane = Scaled { mantissa: *mantissa, exponent: *exponent }.within_limits();
            (*mantissa, *exponent) = (lane.mantissa, lane.exponent);
        }
    }

    /// Returns the product of all lanes.
    #[inline(always)]
    fn product(mut self) -> Scaled {
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            let (left, right) = self.mantissas.split_at_mut(width);
            left.iter_mut().zip(right).for_each(|(left, right)| *left *= *right);
            let (left, right) = self.exponents.split_at_mut(width);
            left.iter_mut().zip(right).for_each(|(left, right)| *left = left.wrapping_add(*right));
            self.normalize(width);
        }
        let [mantissa, ..] = self.mantissas;
        let [exponent, ..] = self.exponents;
        Scaled { mantissa, exponent }
    }
}

/// Returns the product of at most `GROUP` elements in their order.
#[inline(always)]
fn product_of<T: Real>(elements: impl Iterator<Item = T> + Clone) -> Scaled {
    if elements.clone().fold(true, |all, element| all & is_moderate(element)) {
        let mantissa = elements.fold(1.0, |product, element| product * element.to_f64());
        Scaled { mantissa, exponent: 0 }.within_limits()
    } else {
        elements.fold(Scaled::ONE, |product, element| product * Scaled::new(element))
    }
}

/// Returns the product of elements.
///
/// # Safety
/// As for [`ReduceLoop::accumulate`].
unsafe fn product_of_run<T: Real>((source, step): (*const u8, usize), count: usize) -> Scaled {
    // SAFETY: guaranteed by the caller, for elements of the run.
    let element = |index: usize| unsafe { load::<T>(source.wrapping_add(index * step), 0) };
    // Of few elements the product of the lanes would take most of the time.
    if count < 2 * LANES {
        return (0..count).step_by(GROUP).fold(Scaled::ONE, |product, first| {
            product * product_of((first..count.min(first + GROUP)).map(element))
        });
    }
    let has_gaps = step != size_of::<T>();
    vectorized(
        #[inline(always)]
        move || {
            let mut lanes = Lanes::ONES;
            // SAFETY: guaranteed by the caller for elements without gaps.
            let row =
                unsafe { std::slice::from_raw_parts(source.cast::<T>(), if has_gaps { 0 } else { count }) };
            let (blocks, rest) = row.as_chunks::<BLOCK>();
            for block in blocks {
                lanes.multiply(block);
            }
            for first in (blocks.len() * BLOCK..count).step_by(BLOCK) {
                let mut copies = [T::from_f64(1.0); BLOCK];
                if has_gaps {
                    copies.iter_mut().zip(first..count).for_each(|(copy, index)| *copy = element(index));
                } else {
                    copies.iter_mut().zip(rest).for_each(|(copy, element)| *copy = *element);
                }
                lanes.multiply(&copies);
            }
            lanes.product()
        },
    )
}

/// Writes the gradients of the factors of a product with this gradient, which are quotients of the product. Returns false if a
/// factor is 0, or a number is not moderate: then the quotients are wrong.
pub(crate) fn write_quotients<T: Real>(factors: &[T], gradient: T, out: &mut [T]) -> bool {
    // SAFETY: these are the elements of a slice.
    let product = unsafe { product_of_run::<T>((factors.as_ptr().cast(), size_of::<T>()), factors.len()) };
    let (mantissa, gradient) = (product.mantissa, gradient.to_f64());
    let [small, large] = [-MODERATE, MODERATE].map(power_of_two);
    let powers = product.powers();
    vectorized(
        #[inline(always)]
        move || {
            let mut are_moderate = is_moderate(gradient);
            for (out, factor) in out.iter_mut().zip(factors) {
                let factor = factor.to_f64();
                are_moderate &= (factor.abs() >= small) & (factor.abs() <= large);
                *out = T::from_f64(mantissa / factor * gradient * powers[0] * powers[1]);
            }
            are_moderate
        },
    )
}

/// Multiplies each state by an element of each row.
///
/// # Safety
/// As for [`ReduceLoop::accumulate_rows`].
#[inline(always)]
unsafe fn multiply_rows<T: Real, const R: usize>(states: *mut u8, sources: [*const u8; R], count: usize) {
    const { assert!(R <= GROUP, "the products of more rows may be beyond the range") };
    let states = states.cast::<Scaled>();
    for first in (0..count).step_by(BLOCK) {
        let length = BLOCK.min(count - first);
        let mut are_moderate = true;
        vectorized(
            #[inline(always)]
            || {
                // An owned copy, which no store to a product may change.
                let sources = sources.map(<*const u8>::cast::<T>);
                let mut products = [1.0; BLOCK];
                let mut distances = 0;
                for (product, index) in products.iter_mut().zip(first..first + length) {
                    for source in sources {
                        // SAFETY: guaranteed by the caller, here and below.
                        let factor = unsafe { source.add(index).read() }.to_f64();
                        *product *= factor;
                        distances |= distance_from_one(factor);
                    }
                }
                are_moderate = are_near_one(distances)
                    || sources.into_iter().all(|source| {
                        // SAFETY: as above.
                        let row = unsafe { std::slice::from_raw_parts(source.add(first), length) };
                        row.iter().fold(true, |all, element| all & is_moderate(*element))
                    });
                if !are_moderate {
                    return;
                }
                // SAFETY: as above.
                let states = unsafe { std::slice::from_raw_parts_mut(states.add(first), length) };
                let mut are_within = true;
                for (product, state) in products.iter_mut().zip(&*states) {
                    *product *= state.mantissa;
                    are_within &= Scaled::is_within(*product);
                }
                states.iter_mut().zip(&products).for_each(|(state, mantissa)| state.mantissa = *mantissa);
                if !are_within {
                    states.iter_mut().for_each(|state| *state = state.within_limits());
                }
            },
        );
        if !are_moderate {
            for index in first..first + length {
                // SAFETY: as above.
                unsafe {
                    let product = product_of(sources.iter().map(|source| load::<T>(*source, index)));
                    let state = states.add(index);
                    state.write(state.read() * product);
                }
            }
        }
    }
}

/// The loop of [`product`].
#[derive(Clone)]
struct Products<T>(PhantomData<fn() -> T>);

/// Returns the loop that multiplies elements.
pub(crate) fn product<T: Real>() -> impl ReduceLoop {
    Products(PhantomData::<fn() -> T>)
}

impl<T: Real> ReduceLoop for Products<T> {
    fn source(&self) -> DType {
        T::DTYPE
    }

    fn result(&self) -> DType {
        T::DTYPE
    }

    fn state_size(&self) -> usize {
        size_of::<Scaled>()
    }

    unsafe fn begin(&self, states: *mut u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { begin_states(states, count, Scaled::ONE) };
    }

    unsafe fn accumulate(
        &self,
        (states, state_step): (*mut u8, usize),
        (source, step): (*const u8, usize),
        count: usize,
    ) {
        let has_gaps = step != size_of::<T>();
        if state_step == size_of::<Scaled>() && !has_gaps {
            // SAFETY: guaranteed by the caller.
            return unsafe { multiply_rows::<T, 1>(states, [source], count) };
        }
        // SAFETY: guaranteed by the caller, for elements of the run.
        let element = |index: usize| unsafe { load::<T>(source.wrapping_add(index * step), 0) };
        if state_step > 0 {
            for index in 0..count {
                let state = states.wrapping_add(index * state_step).cast::<Scaled>();
                // SAFETY: guaranteed by the caller.
                unsafe { state.write(state.read() * Scaled::new(element(index))) };
            }
            return;
        }
        let state = states.cast::<Scaled>();
        // SAFETY: guaranteed by the caller.
        unsafe { state.write(state.read() * product_of_run::<T>((source, step), count)) };
    }

    unsafe fn accumulate_rows(&self, states: *mut u8, sources: [*const u8; ROWS], count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { multiply_rows::<T, ROWS>(states, sources, count) };
    }

    unsafe fn merge(&self, states: *mut u8, others: *const u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { merge_states(states, others, count, |a: Scaled, b| a * b) };
    }

    unsafe fn finish(&self, results: *mut u8, states: *const u8, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { finish_states(results, states, count, Scaled::to_element::<T>) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;
    use crate::loops::vectorized::{instruction_sets, with_instruction_set};

    /// Returns the product of all elements, of those of a row with gaps, and of three equal columns.
    fn products<T: Real>(elements: &[T]) -> [f64; 3] {
        let row = Tensor::from_slice(elements, &[elements.len()]).unwrap();
        let columns = row.unsqueeze(1).unwrap().expand(&[-1, 3]).unwrap().contiguous().unwrap();
        let with_gaps = columns.t().unwrap().select(0, 1).unwrap();
        let last = |tensor: Tensor| *tensor.to_vec::<f64>().unwrap().last().unwrap();
        let [of_row, of_gaps] = [row, with_gaps].map(|row| last(row.prod(Some(0), false).unwrap()));
        [of_row, of_gaps, last(columns.prod(Some(0), false).unwrap())]
    }

    #[test]
    fn products_do_not_overflow_on_the_way() {
        for count in [1, 7, 21, 85, 86, 127, 1000] {
            for (large, small) in [(1e300, 1e-300), (f64::MAX, f64::from_bits(1)), (2.0, 0.25), (1e28, 1e-28)]
            {
                let factors = [vec![large; count], vec![small; count], vec![1.0 / (large * small); count]];
                for product in products(&factors.concat()) {
                    assert!((product - 1.0).abs() < 1e-11, "{product} of {count} times {large} and {small}");
                }
            }
            let (large, small) = (f32::MAX, f32::from_bits(1));
            let factors =
                [vec![small; count], vec![large; count], vec![1.0 / (large * small); count]].concat();
            for product in products(&factors) {
                assert!((product - 1.0).abs() < 1e-3, "{product} of {count}");
            }
            let with = |special: &[f32]| products(&[&*factors, special, &factors].concat());
            assert!(with(&[f32::INFINITY, 0.0]).iter().chain(&with(&[f32::NAN])).all(|x| x.is_nan()));
            assert_eq!((with(&[0.0]), with(&[-f32::INFINITY])), ([0.0; 3], [f64::NEG_INFINITY; 3]));
        }
    }

    #[test]
    fn moderate_elements_have_the_bits_of_others() {
        let mut generator = fastrand::Rng::with_seed(9);
        for count in [8, 63, 64, 300, 5000] {
            let moderate: Vec<f64> = (0..count).map(|_| generator.f64() + 0.5).collect();
            // Powers of two with the product 1, which no element changes but the first ones: elements that are not moderate,
            // and moderate ones that are not near 1.
            let [others, far] = [500, 80].map(|exponent| {
                let mut others = moderate.clone();
                others[0] *= 2f64.powi(exponent);
                others[1] *= 2f64.powi(-exponent);
                others
            });
            for arch in instruction_sets() {
                let [expected, of_others, of_far] = with_instruction_set(arch, || {
                    [&moderate, &others, &far].map(|factors| products(factors))
                });
                for found in [of_others, of_far] {
                    assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "{count} with {arch:?}");
                }
                assert_eq!(expected[0], expected[1], "gaps");
            }
        }
    }
}
