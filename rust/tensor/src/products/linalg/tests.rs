//! The factors of a matrix give the matrix again.

use std::num::NonZeroUsize;

use super::*;
use crate::testing::doubles;

fn factors_of(routine: Routine, elements: &[f64], shape: [usize; 2]) -> [Vec<f64>; 4] {
    let found = factors("test", None, routine, &doubles(elements, &shape), None).unwrap();
    let [first, second, third] = found.parts.map(|part| part.to_vec().unwrap());
    [first, second, third, found.info.to_vec().unwrap()]
}

/// Multiplies matrices of so many rows, inner elements and columns.
fn product(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let at =
        |row: usize, column: usize| (0..inner).map(|k| a[row * inner + k] * b[k * columns + column]).sum();
    (0..rows * columns).map(|position| at(position / columns, position % columns)).collect()
}

fn transposed(a: &[f64], [rows, columns]: [usize; 2]) -> Vec<f64> {
    (0..rows * columns).map(|position| a[position % rows * columns + position / rows]).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    let scale = expected.iter().fold(1e-300, |a: f64, b| a.max(b.abs()));
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * scale, "{found:?} {expected:?}");
    }
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|position| f64::from(u8::from(position % (size + 1) == 0))).collect()
}

fn random(count: usize, seed: u64) -> Vec<f64> {
    let mut generator = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| generator.f64() * 2.0 - 1.0).collect()
}

#[test]
fn factors_of_random_matrices_multiply_to_them() {
    for (rows, columns) in [(1, 1), (5, 5), (20, 7), (7, 20), (33, 33)] {
        let a = random(rows * columns, 3);
        let [q, r, ..] = factors_of(Routine::Qr { columns: Some(rows) }, &a, [rows, columns]);
        assert_near(&product(&q, &r, [rows, rows, columns]), &a);
        assert_near(&product(&transposed(&q, [rows, rows]), &q, [rows, rows, rows]), &identity(rows));
        let symmetric = product(&a, &transposed(&a, [rows, columns]), [rows, columns, rows]);
        let [values, vectors, ..] = factors_of(Routine::Eigh { has_vectors: true }, &symmetric, [rows, rows]);
        assert!(values.is_sorted());
        let scaled: Vec<f64> = vectors.iter().enumerate().map(|(at, v)| v * values[at % rows]).collect();
        let again = product(&scaled, &transposed(&vectors, [rows, rows]), [rows, rows, rows]);
        assert_near(&again, &symmetric);
        if rows >= columns {
            check_svd(&a, [rows, columns]);
        }
    }
}

fn check_svd(a: &[f64], [rows, columns]: [usize; 2]) {
    let routine = Routine::Svd { left: rows, has_vectors: true };
    let [u, values, vh, info] = factors_of(routine, a, [rows, columns]);
    assert_eq!(info, [0.0]);
    assert!(values.iter().rev().is_sorted());
    assert_near(&product(&transposed(&u, [rows, rows]), &u, [rows, rows, rows]), &identity(rows));
    assert_near(
        &product(&vh, &transposed(&vh, [columns, columns]), [columns, columns, columns]),
        &identity(columns),
    );
    let scaled: Vec<f64> = vh.iter().enumerate().map(|(at, v)| v * values[at / columns]).collect();
    let reduced: Vec<f64> = u.chunks(rows).flat_map(|row| row[..columns].to_vec()).collect();
    assert_near(&product(&reduced, &scaled, [rows, columns, columns]), a);
}

#[test]
fn singular_vectors_of_matrices_without_full_rank_are_orthonormal() {
    check_svd(&[0.0; 12], [4, 3]);
    check_svd(&[1.0; 20], [5, 4]);
    let column = random(8, 5);
    let rank_one: Vec<f64> = (0..32).map(|at| column[at / 4] * column[at % 4]).collect();
    check_svd(&rank_one, [8, 4]);
    // The squares of these numbers overflow, and underflow.
    check_svd(&[1e300, 2e300, 3e300, -4e300], [2, 2]);
    check_svd(&[1e-300, 2e-300, 3e-300, -4e-300], [2, 2]);
    check_svd(&[1.0, 0.0, 0.0, 1e-200, 0.0, 1e-201], [3, 2]);
}

#[test]
fn failures_are_counted_from_1() {
    let info = |routine, elements: &[f64], size| factors_of(routine, elements, [size, size])[3][0];
    assert_eq!(info(Routine::Cholesky, &[4.0, 9.0, 2.0, 5.0], 2), 0.0);
    assert_eq!(info(Routine::Cholesky, &[4.0, 9.0, 2.0, 1.0], 2), 2.0);
    assert_eq!(info(Routine::Cholesky, &[f64::NAN], 1), 1.0);
    assert_eq!(info(Routine::Lu, &[1.0, 2.0, 2.0, 4.0], 2), 2.0);
    assert_eq!(info(Routine::Lu, &[0.0, 1.0, 0.0, 1.0], 2), 1.0);
    assert_eq!(info(Routine::Svd { left: 0, has_vectors: false }, &[f64::NAN], 1), 1.0);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let batch = doubles(&random(40 * 24 * 24, 7), &[40, 24, 24]);
    let run = |threads| {
        interlock::set_num_threads(NonZeroUsize::new(threads).unwrap());
        let found =
            factors("test", None, Routine::Svd { left: 24, has_vectors: true }, &batch, None).unwrap();
        found
            .parts
            .map(|part| part.to_vec::<f64>().unwrap().into_iter().map(f64::to_bits).collect::<Vec<_>>())
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn eigenvalues_of_a_matrix_that_is_not_finite_are_nan() {
    let [values, vectors, _, info] =
        factors_of(Routine::Eigh { has_vectors: true }, &[f64::INFINITY], [1, 1]);
    assert!(values[0].is_nan() && vectors[0].is_nan());
    assert_eq!(info, [0.0]);
}
