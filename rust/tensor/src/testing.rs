//! Test helpers.

use crate::{Result, Tensor};

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

/// Returns points of a sine.
pub fn waves(shape: &[usize], phase: f64) -> Tensor {
    let count: usize = shape.iter().product();
    doubles(&(0..count).map(|i| (i as f64 * 1.7 + phase).sin() * 0.8).collect::<Vec<_>>(), shape)
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

/// Compares the analytical gradients of a weighted sum of `f` with central finite differences, as
/// `torch.autograd.gradcheck` does.
pub fn gradcheck(f: impl Fn(&[Tensor]) -> Result<Tensor>, inputs: &[Tensor]) {
    let weighted = |inputs: &[Tensor]| {
        let out = f(inputs)?.reshape(&[-1])?;
        let weights: Vec<f64> = (0..out.numel()).map(|i| 1.0 + 0.3 * i as f64).collect();
        out.mul(&doubles(&weights, &[weights.len()]))?.sum(None, false)
    };
    let leaves: Vec<Tensor> = inputs.iter().map(|input| input.detach().contiguous_copy().unwrap()).collect();
    for leaf in &leaves {
        leaf.set_requires_grad(true).unwrap();
    }
    weighted(&leaves).unwrap().backward().unwrap();
    let step = 1e-6;
    for (index, input) in inputs.iter().enumerate() {
        let values = input.to_vec::<f64>().unwrap();
        let numerical = |at: usize| {
            let value_at = |offset: f64| {
                let mut values = values.clone();
                values[at] += offset;
                let mut shifted = inputs.to_vec();
                shifted[index] = doubles(&values, input.shape());
                weighted(&shifted).unwrap().to_vec::<f64>().unwrap()[0]
            };
            (value_at(step) - value_at(-step)) / (2.0 * step)
        };
        let gradient = leaves[index].grad().map_or(vec![0.0; values.len()], |grad| grad.to_vec().unwrap());
        for (at, gradient) in gradient.iter().enumerate() {
            let numerical = numerical(at);
            let tolerance = 1e-5 * numerical.abs().max(1.0);
            assert!(
                (gradient - numerical).abs() < tolerance,
                "input {index}, element {at}: {gradient} but finite differences give {numerical}"
            );
        }
    }
}
