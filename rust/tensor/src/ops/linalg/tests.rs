//! Records of linear algebra.

use interlock::backends::LinalgLibrary;
use interlock::backends::flags::CUDA_LINALG_LIBRARY;
use interlock::dispatch::Recording;

use crate::testing::doubles;
use crate::{DType, Tensor};

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
