//! One transform along dimensions, and its adjoint.

use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::plan::Plan;
use crate::{Element, Result};

/// What a transform reads and writes. A complex number is two elements, and half a spectrum has the frequencies from 0 up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Transform {
    /// Complex signals from complex signals.
    Complex(FftDirection),
    /// Half spectra of real signals, of which the frequencies with a mirrored one are multiplied by `mirrored`.
    RealToHalf { mirrored: f64 },
    /// The real signals of half spectra, whose frequencies with a mirrored one are multiplied by `mirrored`.
    HalfToReal { mirrored: f64 },
}

impl Transform {
    /// Returns the transform by the adjoint matrix of real numbers, which computes gradients.
    pub fn adjoint(self) -> Self {
        match self {
            Transform::Complex(direction) => Transform::Complex(direction.opposite_direction()),
            // The signal of half a spectrum has each mirrored frequency twice.
            Transform::RealToHalf { mirrored } => Transform::HalfToReal { mirrored: mirrored / 2.0 },
            Transform::HalfToReal { mirrored } => Transform::RealToHalf { mirrored: mirrored * 2.0 },
        }
    }

    /// Returns the sign of the exponent.
    pub fn direction(self) -> FftDirection {
        match self {
            Transform::Complex(direction) => direction,
            Transform::RealToHalf { .. } => FftDirection::Forward,
            Transform::HalfToReal { .. } => FftDirection::Inverse,
        }
    }

    /// Returns the name of the transform in plans and records, as in cuFFT.
    pub fn name(self) -> &'static str {
        match self {
            Transform::Complex(FftDirection::Forward) => "c2c forward",
            Transform::Complex(FftDirection::Inverse) => "c2c inverse",
            Transform::RealToHalf { .. } => "r2c",
            Transform::HalfToReal { .. } => "c2r",
        }
    }

    /// Returns the name of the node in the autograd graph, as in PyTorch.
    pub fn node(self) -> &'static str {
        match self {
            Transform::Complex(_) => "FftC2CBackward0",
            Transform::RealToHalf { .. } => "FftR2CBackward0",
            Transform::HalfToReal { .. } => "FftC2RBackward0",
        }
    }

    /// Returns whether the transform reads complex numbers, and whether it writes them.
    pub fn has_pairs(self) -> (bool, bool) {
        (!matches!(self, Transform::RealToHalf { .. }), !matches!(self, Transform::HalfToReal { .. }))
    }

    /// Returns the numbers of elements that a transform of `length` points reads and writes.
    pub fn widths(self, length: usize) -> [usize; 2] {
        let (complex, half) = (length.saturating_mul(2), half(length).saturating_mul(2));
        match self {
            Transform::Complex(_) => [complex, complex],
            Transform::RealToHalf { .. } => [length, half],
            Transform::HalfToReal { .. } => [half, length],
        }
    }

    /// Transforms `count` signals and multiplies the results by `scale`, in `float64`.
    pub fn run<T: Element>(
        self,
        plan: &Plan,
        scale: f64,
        count: usize,
        source: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (read, written, roots) = (source.len() / count, out.len() / count, plan.roots());
        let (mut rows, mut results) = (source.chunks_exact(read), out.chunks_exact_mut(written));
        plan.run(
            count,
            |signal| self.load(rows.next().unwrap_or_default(), roots, signal),
            |signal| self.store(signal, roots, scale, results.next().unwrap_or_default()),
        )
    }

    /// Writes the signal that the plan transforms. With roots it has half the length, and the numbers of a real signal are its
    /// pairs.
    fn load<T: Element>(self, source: &[T], roots: &[Complex<f64>], signal: &mut [Complex<f64>]) {
        let (pairs, _) = source.as_chunks::<2>();
        let complex = |&[real, imaginary]: &[T; 2]| Complex::new(real.to_f64(), imaginary.to_f64());
        match self {
            Transform::RealToHalf { .. } if roots.is_empty() => {
                signal.iter_mut().zip(source).for_each(|(to, &real)| *to = real.to_f64().into());
            }
            Transform::HalfToReal { mirrored } if roots.is_empty() => {
                let length = signal.len();
                // A real signal has real numbers at the frequencies that are their own mirrors.
                for (frequency, pair) in pairs.iter().enumerate() {
                    let number = complex(pair);
                    let mirror = (length - frequency) % length;
                    let number = if mirror == frequency { number.re.into() } else { number * mirrored };
                    for (at, number) in [(frequency, number), (mirror, number.conj())] {
                        debug_assert!(at < length, "half a spectrum of {length} has no {frequency}");
                        if let Some(to) = signal.get_mut(at) {
                            *to = number;
                        }
                    }
                }
            }
            Transform::HalfToReal { mirrored } => {
                let ([zero, pairs @ .., last], [to_zero, signal @ ..]) = (pairs, signal) else { return };
                let (zero, last) = (complex(zero).re, complex(last).re);
                *to_zero = Complex::new(zero + last, zero - last);
                let both = pairs.iter().zip(pairs.iter().rev()).zip(roots.iter().skip(1));
                for (to, ((pair, mirror), root)) in signal.iter_mut().zip(both) {
                    let (number, mirror) = (complex(pair), complex(mirror).conj());
                    *to = (number + mirror + root * (number - mirror)) * mirrored;
                }
            }
            Transform::Complex(_) | Transform::RealToHalf { .. } => {
                signal.iter_mut().zip(pairs).for_each(|(to, pair)| *to = complex(pair));
            }
        }
    }

    fn store<T: Element>(self, signal: &[Complex<f64>], roots: &[Complex<f64>], scale: f64, out: &mut [T]) {
        let length = signal.len();
        let write = |(to, number): (&mut [T; 2], Complex<f64>)| {
            *to = [T::from_f64(number.re), T::from_f64(number.im)];
        };
        if matches!(self, Transform::HalfToReal { .. }) && roots.is_empty() {
            let numbers = out.iter_mut().zip(signal);
            numbers.for_each(|(to, number)| *to = T::from_f64(number.re * scale));
            return;
        }
        let (pairs, _) = out.as_chunks_mut::<2>();
        if let Transform::RealToHalf { mirrored } = self
            && !roots.is_empty()
        {
            let ([zero, signal @ ..], [to_zero, pairs @ .., to_last]) = (signal, pairs) else { return };
            write((to_zero, ((zero.re + zero.im) * scale).into()));
            write((to_last, ((zero.re - zero.im) * scale).into()));
            let both = signal.iter().zip(signal.iter().rev()).zip(roots.iter().skip(1));
            for (to, ((number, mirror), root)) in pairs.iter_mut().zip(both) {
                let mirror = mirror.conj();
                write((to, (number + mirror + root * (number - mirror)) * (0.5 * mirrored * scale)));
            }
            return;
        }
        let factor = |frequency: usize| match self {
            Transform::RealToHalf { mirrored } if (length - frequency) % length != frequency => {
                mirrored * scale
            }
            _ => scale,
        };
        let numbers = signal.iter().enumerate().map(|(frequency, number)| number * factor(frequency));
        pairs.iter_mut().zip(numbers).for_each(write);
    }
}

/// Returns the number of frequencies of half a spectrum.
pub(super) fn half(length: usize) -> usize {
    length / 2 + 1
}
