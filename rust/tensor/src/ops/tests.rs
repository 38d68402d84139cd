//! Kernels whose operands another thread resizes between the reading of their layouts and the acquisition of the locks.

use super::indexing::gather_scatter::{IndexedLayout, ScatterReduce, gather_at, scatter};
use super::indexing::positions::Order;
use super::nn::class_grid::ClassGrid;
use super::nn::layer_norm_rows::{NormResults, NormRows, layer_norm, layer_norm_backward};
use super::random::samples::{bernoulli, multinomial};
use crate::iterate::{Plan, PlanOperand, zip_rows};
use crate::layout::Layout;
use crate::products::{
    AttentionHeads, ConvAlgorithm, ConvGeometry, ConvPass, Matrix, MatrixBatch, add_columns, attention,
    convolve, matmul,
};
use crate::testing::doubles;
use crate::{DType, ErrorKind, Result, Tensor};

/// Returns whether a launch has refused an operand.
fn is_refused<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == Some(ErrorKind::Resized))
}

/// Returns a tensor of this many elements.
fn elements(count: usize) -> Tensor {
    doubles(&vec![0.5; count], &[count])
}

fn indices(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

#[test]
fn kernels_of_rows_refuse_operands_smaller_than_their_layouts() {
    let rows = NormRows { rows: 4, length: 3 };
    let norm = |input: &Tensor, weight: Option<&Tensor>| {
        layer_norm::<f64>("test", rows, input, [weight, None], 1e-5)
    };
    assert!(norm(&elements(12), Some(&elements(3))).is_ok());
    assert!(is_refused(norm(&elements(9), None)));
    assert!(is_refused(norm(&elements(12), Some(&elements(2)))));
    let backward = |mean: usize| {
        let [input, mean, rstd] = [12, mean, 4].map(elements);
        let saved = NormResults { gradient: &input, mean: &mean, rstd: &rstd };
        layer_norm_backward::<f64>("test", rows, &input, None, &saved, [true; 2])
    };
    assert!(backward(4).is_ok() && is_refused(backward(3)));
    let zipped = |other: usize| {
        zip_rows("test", &elements(6), &elements(other), 3, |a: &[f64], _, out| {
            out.copy_from_slice(a);
            Ok(())
        })
    };
    assert!(zipped(6).is_ok() && is_refused(zipped(3)) && is_refused(zipped(9)));
    let drawn = |rows: usize| multinomial::<f64>("test", &doubles(&[0.5; 6], &[2, 3]), &[rows, 1], true, 1);
    assert!(drawn(2).is_ok() && is_refused(drawn(3)));
}

#[test]
fn kernels_of_classes_refuse_operands_smaller_than_their_grid() {
    let (grid, targets) = (ClassGrid { classes: 3, inner: 1, ignore_index: -100 }, indices(&[0, 2]));
    let select = |scores: usize| grid.select("test", &elements(scores), &targets);
    assert!(select(6).is_ok() && is_refused(select(5)));
    let weights = |count: usize| grid.weights("test", Some(&elements(count)), &targets, DType::Float64);
    assert!(weights(3).is_ok() && is_refused(weights(2)));
    let distribute =
        |gradients: usize, shape: &[usize]| grid.distribute("test", &elements(gradients), &targets, shape);
    assert!(distribute(2, &[2, 3]).is_ok());
    assert!(is_refused(distribute(1, &[2, 3])) && is_refused(distribute(2, &[3, 3])));
}

#[test]
fn kernels_of_indices_refuse_operands_smaller_than_their_layouts() {
    let (index, source) = (indices(&[0, 3]), elements(4));
    let layout = IndexedLayout::rows(&Layout::contiguous(&[4]), 0, &[2]);
    let gather = |source: &Tensor, index: &Tensor| gather_at::<f64>("test", source, &layout, index);
    assert!(gather(&source, &index).is_ok());
    assert!(is_refused(gather(&elements(3), &index)) && is_refused(gather(&source, &indices(&[0]))));
    let write = |target: usize, values: usize| {
        let (target, values) = (elements(target), elements(values));
        let [any, order] = [(ScatterReduce::Add, Order::Any), (ScatterReduce::Replace, Order::RowMajor)]
            .map(|(reduce, order)| scatter::<f64>("test", &target, &layout, &index, &values, reduce, order));
        assert_eq!(any.is_ok(), order.is_ok());
        order
    };
    assert!(write(4, 2).is_ok() && is_refused(write(3, 2)));
}

#[test]
fn kernels_of_products_refuse_operands_smaller_than_their_matrices() {
    let matrix = Matrix::from_rows(2, 3, 3);
    let product = |a: usize, right: Matrix, shape: &[usize]| {
        let operands = [PlanOperand { strides: &[], offset: 0, size: 1 }; 2];
        let pairs = Plan::new(&Layout::contiguous(&[]), &operands);
        let batch = MatrixBatch { pairs, left: matrix, right };
        matmul::<f64>(shape, &elements(a), &elements(6), batch)
    };
    assert!(product(6, matrix.transposed(), &[2, 2]).is_ok());
    assert!(is_refused(product(5, matrix.transposed(), &[2, 2])));
    assert!(is_refused(product(6, matrix, &[2, 3])) && is_refused(product(6, matrix.transposed(), &[3, 2])));
    let attend = |key: usize, mask: usize, value: Matrix| {
        let operands = [PlanOperand { strides: &[], offset: 0, size: 1 }; 4];
        let heads = AttentionHeads {
            plan: Plan::new(&Layout::contiguous(&[]), &operands),
            group: 1,
            query: matrix,
            key: matrix,
            value,
            mask: Some([2, 1]),
            scale: 1.0,
            is_causal: false,
        };
        let tensors = [6, key, 6].map(elements);
        attention::<f64>("test", heads, &[], tensors.each_ref(), Some(&elements(mask)))
    };
    assert!(attend(6, 4, matrix).is_ok());
    assert!(is_refused(attend(5, 4, matrix)) && is_refused(attend(6, 3, matrix)));
    assert!(is_refused(attend(6, 4, matrix.transposed())));
    let geometry = ConvGeometry {
        batch: 1,
        groups: 1,
        channels: 1,
        filters: 1,
        input: [3, 3],
        kernel: [2, 2],
        output: [2, 2],
        stride: [1, 1],
        dilation: [1, 1],
        padding: [0, 0],
    };
    for algorithm in [ConvAlgorithm::Gemm, ConvAlgorithm::Unordered, ConvAlgorithm::Direct] {
        for (pass, [first, second]) in [
            (ConvPass::Forward, [9, 4]),
            (ConvPass::InputGradient, [4, 4]),
            (ConvPass::WeightGradient, [4, 9]),
        ] {
            let run = |first: usize, second: usize| {
                let operands = [&elements(first), &elements(second)];
                convolve::<f64>("test", algorithm, pass, geometry, operands, None)
            };
            assert!(run(first, second).is_ok(), "{algorithm:?} {pass:?}");
            assert!(is_refused(run(first - 1, second)) && is_refused(run(first, second - 1)));
        }
    }
    let patches = |count: usize| add_columns::<f64>("test", geometry, &elements(count));
    assert!(patches(16).is_ok() && is_refused(patches(15)));
}

#[test]
fn a_source_without_elements_may_be_anywhere() {
    let far = elements(2).alias(Layout { shape: vec![0], strides: vec![1], offset: 9 });
    assert_eq!(bernoulli("test", &far, 1).unwrap().numel(), 0);
}
