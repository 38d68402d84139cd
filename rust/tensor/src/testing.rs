//! Helpers of the tests.

use crate::{Result, Tensor};

/// A tensor of doubles.
pub fn doubles(values: &[f64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(values, shape).unwrap()
}

/// Whether the elements in row-major order are nearly `expected`.
pub fn assert_close(tensor: &Tensor, expected: &[f64]) {
    let values = tensor.to_vec::<f64>().unwrap();
    assert_eq!(values.len(), expected.len(), "{values:?} against {expected:?}");
    for (value, expected) in values.iter().zip(expected) {
        assert!(
            (value - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            "{values:?} against {expected:?}"
        );
    }
}

/// Compares the gradients of a weighted sum of `f` with finite differences of it.
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
    for (which, input) in inputs.iter().enumerate() {
        let values = input.to_vec::<f64>().unwrap();
        let slope = |at: usize| {
            let at_distance = |distance: f64| {
                let mut values = values.clone();
                values[at] += distance;
                let mut moved = inputs.to_vec();
                moved[which] = doubles(&values, input.shape());
                weighted(&moved).unwrap().to_vec::<f64>().unwrap()[0]
            };
            (at_distance(step) - at_distance(-step)) / (2.0 * step)
        };
        let gradient = leaves[which].grad().map_or(vec![0.0; values.len()], |grad| grad.to_vec().unwrap());
        for (at, gradient) in gradient.iter().enumerate() {
            let slope = slope(at);
            let tolerance = 1e-5 * slope.abs().max(1.0);
            assert!(
                (gradient - slope).abs() < tolerance,
                "input {which}, element {at}: {gradient} against {slope}"
            );
        }
    }
}
