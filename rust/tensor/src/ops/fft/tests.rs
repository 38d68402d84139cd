use interlock::dispatch::Recording;

use super::{FftFunction, FftNorm, FftOptions};
use crate::testing::{assert_close, doubles};
use crate::{Error, Tensor};

fn numbers(shape: &[usize]) -> Tensor {
    let mut generator = fastrand::Rng::with_seed(7);
    let elements: Vec<f64> = (0..shape.iter().product()).map(|_| generator.f64() - 0.5).collect();
    Tensor::from_slice(&elements, shape).unwrap()
}

#[test]
fn inverses_return_the_signal_with_every_norm() {
    let (complex, real) = (numbers(&[3, 4, 5, 2]), numbers(&[3, 4, 5]));
    for norm in [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward] {
        for (there, back) in [
            (FftOptions::new(FftFunction::Fft), FftOptions::new(FftFunction::Ifft)),
            (FftOptions::new(FftFunction::Fft2), FftOptions::new(FftFunction::Ifft2)),
            (FftOptions::new(FftFunction::Fftn), FftOptions::new(FftFunction::Ifftn)),
        ] {
            let spectrum = complex.fft(&FftOptions { norm, ..there }).unwrap();
            let again = spectrum.fft(&FftOptions { norm, ..back }).unwrap();
            assert_close(&again, &complex.to_vec::<f64>().unwrap());
        }
        for dim in [0, 1, 2] {
            let dims = [dim];
            let there = FftOptions { norm, dims: Some(&dims), ..FftOptions::new(FftFunction::Rfft) };
            let size = [i64::try_from(real.shape()[usize::try_from(dim).unwrap()]).unwrap()];
            let back = FftOptions {
                norm,
                dims: Some(&dims),
                sizes: Some(&size),
                ..FftOptions::new(FftFunction::Irfft)
            };
            assert_close(&real.fft(&there).unwrap().fft(&back).unwrap(), &real.to_vec::<f64>().unwrap());
        }
    }
}

#[test]
fn half_spectra_are_the_first_frequencies_of_complex_ones() {
    for points in [1, 2, 3, 4, 6, 7, 8, 10, 12, 22, 100, 105, 128] {
        let real = numbers(&[points]);
        let pairs: Vec<f64> = real.to_vec::<f64>().unwrap().into_iter().flat_map(|x| [x, 0.0]).collect();
        let whole = doubles(&pairs, &[points, 2]).fft(&FftOptions::new(FftFunction::Fft)).unwrap();
        let half = real.fft(&FftOptions::new(FftFunction::Rfft)).unwrap();
        let expected = &whole.to_vec::<f64>().unwrap()[..half.numel()];
        assert_close(&half, expected);
        let size = [points as i64];
        let back = FftOptions { sizes: Some(&size), ..FftOptions::new(FftFunction::Irfft) };
        assert_close(&half.fft(&back).unwrap(), &real.to_vec::<f64>().unwrap());
    }
    // Numbers that own their mirror are real, without a rounding error.
    let spectrum = doubles(&[0.0, 1.0, 0.0, 0.0], &[4]).fft(&FftOptions::new(FftFunction::Rfft)).unwrap();
    assert_eq!(spectrum.to_vec::<f64>().unwrap(), [1.0, 0.0, 0.0, -1.0, -1.0, 0.0]);
}

#[test]
fn operands_without_complex_numbers_or_points_are_errors() {
    let error = |tensor: Tensor, options: FftOptions<'_>| tensor.fft(&options).unwrap_err();
    assert!(matches!(
        error(numbers(&[4]), FftOptions::new(FftFunction::Fft)),
        Error::Shape { op: "fft", .. }
    ));
    assert!(matches!(
        error(numbers(&[4, 3]), FftOptions::new(FftFunction::Ifft2)),
        Error::Shape { op: "ifft2", .. }
    ));
    assert!(matches!(
        error(numbers(&[0]), FftOptions::new(FftFunction::Rfft)),
        Error::Value { op: "rfft", .. }
    ));
    assert!(matches!(
        error(numbers(&[1, 2]), FftOptions::new(FftFunction::Irfft)),
        Error::Value { op: "irfft", .. }
    ));
    assert!(matches!(
        error(numbers(&[4, 2]), FftOptions::new(FftFunction::Fft2)),
        Error::Indexing { op: "fft2", .. }
    ));
    let twice = FftOptions { dims: Some(&[0, -2]), ..FftOptions::new(FftFunction::Fftn) };
    assert_eq!(
        error(numbers(&[4, 4, 2]), twice).to_string(),
        "fftn: dim must name each dimension once, got (0, -2)"
    );
}

#[test]
fn transforms_are_recorded_with_their_sizes() {
    let recording = Recording::default();
    let guard = recording.guard();
    numbers(&[3, 4, 5, 2]).fft(&FftOptions::new(FftFunction::Fft2)).unwrap();
    drop(guard);
    let expected = "fft cpu float64 c2c forward 4x5, batch 3 -> ";
    let call = &recording.calls()[0];
    assert!(call.to_string().starts_with(expected), "{call}");
    assert!(call.to_string().contains("cufft: needs a device, got cpu"), "{call}");
}
