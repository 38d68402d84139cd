//! Results, errors, gradients and records of linear algebra.

use interlock::backends::LinalgLibrary;
use interlock::backends::flags::CUDA_LINALG_LIBRARY;
use interlock::dispatch::Recording;

use super::qr::QrMode;
use crate::testing::{assert_close, doubles};
use crate::{DType, Error, Tensor};

fn leaf(elements: &[f64], shape: &[usize]) -> Tensor {
    let tensor = doubles(elements, shape);
    tensor.set_requires_grad(true).unwrap();
    tensor
}

#[test]
fn factors_multiply_to_the_matrix() {
    let a = doubles(&[4.0, 2.0, 2.0, 5.0], &[2, 2]);
    let elements = a.to_vec::<f64>().unwrap();
    let lower = a.cholesky(false).unwrap();
    assert_close(&lower.matmul(&lower.t().unwrap()).unwrap(), &elements);
    let upper = a.cholesky(true).unwrap();
    assert_close(&upper.t().unwrap().matmul(&upper).unwrap(), &elements);
    let (p, l, u) = a.lu(true).unwrap();
    assert_close(&p.matmul(&l).unwrap().matmul(&u).unwrap(), &elements);
    let (q, r) = a.qr(QrMode::Reduced).unwrap();
    assert_close(&q.matmul(&r).unwrap(), &elements);
    let (values, vectors) = a.eigh(false).unwrap();
    let scaled = vectors.mul(&values).unwrap();
    assert_close(&scaled.matmul(&vectors.t().unwrap()).unwrap(), &elements);
    let (u, values, vh) = a.svd(true).unwrap();
    assert_close(&u.mul(&values).unwrap().matmul(&vh).unwrap(), &elements);
    assert_close(&a.inv().unwrap().matmul(&a).unwrap(), &[1.0, 0.0, 0.0, 1.0]);
    assert_close(&a.det().unwrap(), &[16.0]);
}

#[test]
fn errors_name_the_matrix_of_the_batch() {
    let batch = doubles(&[1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0], &[2, 2, 2]);
    let singular = "a singular matrix, whose pivot 2 is 0 (batch element 1)".to_owned();
    let expected = |op| Error::LinAlg { op, argument: "A", expected: "invertible", given: singular.clone() };
    assert_eq!(batch.inv().err(), Some(expected("inv")));
    assert_eq!(batch.lu_factor(true).err(), Some(expected("lu_factor")));
    assert_eq!(batch.solve(&batch, true).err(), Some(expected("solve")));
    let minor = "a matrix whose leading minor of order 2 is not positive (batch element 1)";
    let error = batch.cholesky(false).unwrap_err();
    assert_eq!(error.to_string(), format!("cholesky: input must be positive-definite, got {minor}"));
    assert_eq!(batch.inv_ex(false).unwrap().1.to_vec::<i32>(), Ok(vec![0, 2]));
}

#[test]
fn determinant_of_a_singular_matrix_has_the_gradient_of_the_cofactors() {
    let a = leaf(&[1.0, 2.0, 2.0, 4.0], &[2, 2]);
    a.det().unwrap().backward().unwrap();
    assert_close(&a.grad().unwrap(), &[4.0, -2.0, -2.0, 1.0]);
}

#[test]
fn triangular_factor_alone_has_no_gradient() {
    let (_, r) = leaf(&[1.0, 2.0, 3.0, 4.0], &[2, 2]).qr(QrMode::OnlyR).unwrap();
    let error = r.sum(None, false).unwrap().backward().unwrap_err();
    assert!(matches!(error, Error::NotDifferentiable { op: "qr", .. }), "{error}");
}

#[test]
fn records_name_the_operation_and_the_function_that_uses_it() {
    let recording = Recording::default();
    let guard = recording.guard();
    Tensor::eye(2, 2, DType::Float32).unwrap().inv().unwrap();
    drop(guard);
    let calls: Vec<String> = recording.calls().iter().map(ToString::to_string).collect();
    let refusals = "cusolver: needs a device, got cpu | magma: needs a device, got cpu";
    // Libraries of the system may compute, whose reasons differ.
    assert!(calls[0].starts_with("lu_factor cpu float32 2x2 -> "), "{}", calls[0]);
    assert!(calls[0].contains(&format!(", in inv | {refusals} | ")), "{}", calls[0]);
    assert_eq!(calls.len(), 3, "and two triangular systems");
    let _library = CUDA_LINALG_LIBRARY.scope(LinalgLibrary::Magma).unwrap().guard();
    let chosen = doubles(&[1.0], &[1, 1]).explain_cholesky().unwrap();
    assert!(chosen.to_string().contains(&format!(" | {refusals} | ")), "{chosen}");
}
