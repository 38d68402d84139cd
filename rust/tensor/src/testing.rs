//! Test helpers.

use crate::Tensor;

/// Returns a `float64` tensor on the CPU.
pub fn doubles(values: &[f64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(values, shape).unwrap()
}

/// Returns numbers in (-1, 1) without a pattern.
pub fn random(seed: u64, shape: &[usize]) -> Tensor {
    let mut generator = fastrand::Rng::with_seed(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| generator.f64() * 2.0 - 1.0).collect();
    doubles(&values, shape)
}

/// Asserts that the elements in row-major order equal `expected` within a relative tolerance of 1e-9.
pub fn assert_close(tensor: &Tensor, expected: &[f64]) {
    let values = tensor.to_vec::<f64>().unwrap();
    assert_eq!(values.len(), expected.len(), "got {values:?}, expected {expected:?}");
    for (value, expected) in values.iter().zip(expected) {
        assert!(
            (value - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            "got {values:?}, expected {expected:?}"
        );
    }
}
