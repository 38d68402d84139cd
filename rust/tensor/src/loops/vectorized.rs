//! Functions for each instruction set of the CPU.

use std::hint::black_box;

#[cfg(not(test))]
use once_cell::race::OnceBox;
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

/// Calls a function compiled for the widest vector instructions of the CPU. Arithmetic has the same results in each: the
/// compiler fuses operations only where the function says so (`mul_add`). The function owns what it uses: what it refers to
/// could change with each store, as far as the compiler knows. Where a step of its loop is long, the loop is a `for`: the
/// compiler may leave a long closure of an iterator's `fold` or `for_each` in a function without these instructions. A generic
/// function is compiled in the crate that calls it, and the bindings are optimized for size: so those that the bindings call
/// reach a loop through a function that is not generic.
#[inline(always)]
pub(crate) fn vectorized<R>(body: impl FnOnce() -> R) -> R {
    struct Body<F>(F);

    impl<R, F: FnOnce() -> R> NullaryFnOnce for Body<F> {
        type Output = R;

        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }

    arch().dispatch(Body(body))
}

/// Calls a function as [`vectorized`] does, and returns true. On a CPU without vector instructions it returns false instead:
/// there the caller's loop over elements with gaps serves for those without gaps too.
#[inline(always)]
pub(super) fn try_vectorized(body: impl FnOnce()) -> bool {
    struct Body<F>(F);

    impl<F: FnOnce()> WithSimd for Body<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) {
            (self.0)();
        }
    }

    try_vectorized_with(Body(body))
}

/// Like [`try_vectorized`], of a function that uses the instructions of the CPU by name.
#[inline(always)]
pub(super) fn try_vectorized_with(body: impl WithSimd<Output = ()>) -> bool {
    struct Body<F>(F);

    impl<F: WithSimd<Output = ()>> WithSimd for Body<F> {
        type Output = bool;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> bool {
            if !S::IS_SCALAR {
                self.0.with_simd(simd);
            }
            !S::IS_SCALAR
        }
    }

    arch().dispatch(Body(body))
}

/// Calls a function for each index below `count`, compiled as by [`vectorized`]. CPUs without AVX2 or NEON are rare: for them
/// the compiler does not unroll the loop, because that code would be as large as each of the others.
#[inline(always)]
pub(super) fn for_each_index(count: usize, function: impl Fn(usize)) {
    struct Body<F>(usize, F);

    impl<F: Fn(usize)> WithSimd for Body<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) {
            let Body(count, function) = self;
            for index in 0..count {
                function(if S::IS_SCALAR { black_box(index) } else { index });
            }
        }
    }

    arch().dispatch(Body(count, function));
}

/// Returns the widest instruction set of the CPU.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn arch() -> Arch {
    /// Each loop reads this, which is less code than the detection.
    static ARCH: OnceBox<Arch> = OnceBox::new();
    *ARCH.get_or_init(|| Box::new(Arch::new()))
}

#[cfg(test)]
pub(super) use tests::{arch, instruction_sets, with_instruction_set};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::{atan2, hypot};
    use crate::{DType, Result, Tensor};

    thread_local!(static FORCED: std::cell::Cell<Option<Arch>> = const { std::cell::Cell::new(None) });

    /// Returns the instruction set that the test forces, or the widest one.
    pub(in crate::loops) fn arch() -> Arch {
        FORCED.get().unwrap_or_default()
    }

    /// Returns the instruction sets of this CPU.
    pub(in crate::loops) fn instruction_sets() -> Vec<Arch> {
        let mut all = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        all.extend(pulp::x86::V3::try_new().map(Arch::V3));
        all
    }

    /// Calls a function that uses an instruction set.
    pub(in crate::loops) fn with_instruction_set<T>(arch: Arch, function: impl FnOnce() -> T) -> T {
        FORCED.set(Some(arch));
        let result = function();
        FORCED.set(None);
        result
    }

    /// Returns the bits of the results of operations on tensors of a type.
    fn results(dtype: DType) -> Result<Vec<Vec<u64>>> {
        let mut generator = fastrand::Rng::with_seed(7);
        let numbers: Vec<f64> = (0..3 * 511).map(|_| generator.f64() * 6.0 - 3.0).collect();
        let x = Tensor::from_slice(&numbers, &[3, 511])?.cast(dtype)?;
        let y = x.flip(&[1])?;
        let mut all = vec![
            x.add(&y)?,
            x.mul(1.7)?,
            x.div(&y)?,
            x.t()?.sub(&y.t()?)?,
            x.equal(&y)?,
            x.sum(None, false)?,
            x.sum(Some(&[0]), false)?,
            x.sum(Some(&[1]), false)?,
            x.amax(Some(&[1]), false)?,
            x.argmax(Some(1), false)?,
        ];
        let functions: [fn(&Tensor) -> Result<Tensor>; 24] = [
            Tensor::exp,
            Tensor::expm1,
            Tensor::log,
            Tensor::log1p,
            Tensor::tanh,
            Tensor::sigmoid,
            Tensor::sqrt,
            Tensor::floor,
            |x| x.softmax(1)?.add(&x.log_softmax(1)?),
            |x| x.softmax(0)?.add(&x.log_softmax(0)?),
            |x| hypot(x, &x.flip(&[1])?),
            |x| x.cumprod(0),
            |x| x.cumprod(1),
            Tensor::sin,
            Tensor::tan,
            Tensor::acos,
            Tensor::atan,
            Tensor::sinh,
            Tensor::asinh,
            |x| atan2(x, &x.flip(&[1])?),
            Tensor::erf,
            |x| x.pow(2.5)?.add(&x.pow(3i64)?),
            |x| x.prod(Some(1), false),
            |x| x.layer_norm(&[511], None, None, 1e-5),
        ];
        for function in functions {
            all.push(function(&x)?);
        }
        // Bits, because NaN differs from itself.
        let bits = |tensor: Tensor| -> Result<Vec<u64>> {
            let values = tensor.cast(DType::Float64)?.to_vec::<f64>()?;
            Ok(values.into_iter().map(f64::to_bits).collect())
        };
        all.into_iter().map(bits).collect()
    }

    #[test]
    fn results_have_the_same_bits_with_every_instruction_set() {
        for dtype in [DType::Float32, DType::Float64, DType::Float16, DType::BFloat16] {
            let with = |arch: Arch| with_instruction_set(arch, || results(dtype)).unwrap();
            let expected = with(Arch::Scalar);
            for arch in instruction_sets() {
                assert!(with(arch) == expected, "{dtype} with {arch:?}");
            }
        }
    }
}
