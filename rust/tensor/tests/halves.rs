//! `float16` and `bfloat16` tensors: arithmetic in single precision with one rounding.

use interlock_tensor::elementwise::add_scaled;
use interlock_tensor::{DType, Scalar, Tensor, cat};

const HALVES: [DType; 2] = [DType::Float16, DType::BFloat16];

fn tensor(values: &[f32], dtype: DType) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap().cast(dtype).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

/// Rounds numbers to a type.
fn rounded(values: &[f64], dtype: DType) -> Vec<f64> {
    let singles: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    numbers(&tensor(&singles, dtype))
}

/// Returns a number that no half-precision type holds.
const THIRD: f64 = 1.0 / 3.0;

#[test]
fn conversions_round_to_nearest_even() {
    let exact = [1.0, 2049.0, 2051.0, 65519.0, 65520.0, 1e-8, -0.0];
    let half = numbers(&tensor(&exact, DType::Float16));
    assert_eq!(half, [1.0, 2048.0, 2052.0, 65504.0, f64::INFINITY, 0.0, 0.0]);
    assert!(half[6].is_sign_negative());
    assert_eq!(numbers(&tensor(&[257.0, 259.0, 3.4e38], DType::BFloat16)), [256.0, 260.0, f64::INFINITY]);
    let ints = tensor(&[-2.5, 300.0], DType::Float16).cast(DType::Int64).unwrap();
    assert_eq!(ints.to_vec::<i64>().unwrap(), [-2, 300]);
}

#[test]
fn sums_round_a_number_operand_first_and_products_do_not() {
    for dtype in HALVES {
        let x = tensor(&[1.7, -2.3, 100.1, 0.011], dtype);
        let values = numbers(&x);
        let third = rounded(&[THIRD], dtype)[0];
        let single = f64::from(THIRD as f32);
        // The operations in single precision.
        let expected = |f: &dyn Fn(f32) -> f32| -> Vec<f64> {
            let results: Vec<f64> = values.iter().map(|value| f64::from(f(*value as f32))).collect();
            rounded(&results, dtype)
        };
        let (third, single) = (third as f32, single as f32);
        assert_eq!(numbers(&x.add(THIRD).unwrap()), expected(&|v| v + third));
        assert_eq!(numbers(&x.sub(THIRD).unwrap()), expected(&|v| v - third));
        assert_eq!(numbers(&x.rsub(THIRD).unwrap()), expected(&|v| third - v));
        assert_eq!(numbers(&x.mul(THIRD).unwrap()), expected(&|v| v * single));
        assert_eq!(numbers(&x.div(THIRD).unwrap()), expected(&|v| v / single));
        // A 0-d tensor is a number too, on the right.
        let scalar = Tensor::full(&[], THIRD.into(), DType::Float64).unwrap();
        assert_eq!(numbers(&x.add(&scalar).unwrap()), expected(&|v| v + third));
        assert_eq!(numbers(&x.mul(&scalar).unwrap()), expected(&|v| v * single));
        assert_eq!(numbers(&scalar.mul(&x).unwrap()), expected(&|v| v * third));
        // In place the same.
        let copy = || x.copy().unwrap();
        assert_eq!(numbers(copy().add_(THIRD).unwrap()), expected(&|v| v + third));
        assert_eq!(numbers(copy().mul_(THIRD).unwrap()), expected(&|v| v * single));
        assert_eq!(numbers(copy().div_(&scalar).unwrap()), expected(&|v| v / single));
        // `alpha` is rounded, and its product is not.
        let alpha = Scalar::Float(THIRD);
        assert_eq!(numbers(&add_scaled(&x, &x, alpha).unwrap()), expected(&|v| v + third * v));
        assert_eq!(numbers(copy().sub_scaled_(&x, alpha).unwrap()), expected(&|v| v - third * v));
        assert_eq!(numbers(&add_scaled(&x, 0.7, alpha).unwrap()), {
            let number = rounded(&[0.7], dtype)[0] as f32;
            expected(&|v| v + third * number)
        });
        assert!(x.add(THIRD).unwrap().dtype() == dtype && x.mul(&scalar).unwrap().dtype() == dtype);
    }
}

#[test]
fn comparisons_round_a_number_operand_first() {
    for dtype in HALVES {
        let x = tensor(&[THIRD as f32], dtype);
        assert!(x.equal(THIRD).unwrap().any().unwrap() && !x.less(THIRD).unwrap().any().unwrap());
    }
}

#[test]
fn quotients_of_a_number_are_products_of_rounded_reciprocals() {
    let x = tensor(&[3.0], DType::Float16);
    let reciprocal = rounded(&[THIRD], DType::Float16)[0];
    assert_eq!(numbers(&x.rdiv(7.0).unwrap()), rounded(&[7.0 * reciprocal], DType::Float16));
}

#[test]
fn halves_of_both_kinds_are_promoted_to_float32() {
    let (half, brain) = (tensor(&[1.0], DType::Float16), tensor(&[0.5], DType::BFloat16));
    assert_eq!(half.add(&brain).unwrap().dtype(), DType::Float32);
    assert_eq!(cat(&[half.clone(), brain], 0).unwrap().dtype(), DType::Float32);
    let ints = Tensor::ones(&[1], DType::Int64).unwrap();
    assert_eq!(half.mul(&ints).unwrap().dtype(), DType::Float16);
    assert_eq!(half.div(&ints).unwrap().dtype(), DType::Float16);
}

#[test]
fn reductions_accumulate_in_float32() {
    // A sum in float16 would stop at 2048.
    let ones = Tensor::ones(&[5000], DType::Float16).unwrap();
    assert_eq!(numbers(&ones.sum(None, false).unwrap()), [5000.0]);
    let large = Tensor::full(&[3, 2], 60000.0.into(), DType::Float16).unwrap();
    assert_eq!(numbers(&large.mean(Some(&[0]), false).unwrap()), rounded(&[60000.0; 2], DType::Float16));
    assert_eq!(numbers(&large.sum(Some(&[0]), false).unwrap()), [f64::INFINITY; 2]);
    let x = tensor(&[0.5, f32::NAN, 3.0, -7.0], DType::BFloat16);
    assert!(numbers(&x.max().unwrap())[0].is_nan());
    assert_eq!(x.argmin(None, false).unwrap().to_vec::<i64>().unwrap(), [1]);
    for dtype in HALVES {
        let shares = tensor(&[1.0, 2.0, 3.0], dtype).softmax(0).unwrap();
        assert_eq!(numbers(&shares), rounded(&[0.090_030_573, 0.244_728_47, 0.665_240_96], dtype));
    }
}

#[test]
fn products_are_summed_in_float32_and_rounded_once() {
    for dtype in HALVES {
        let row = Tensor::ones(&[1, 5000], dtype).unwrap();
        let product = row.matmul(&row.t().unwrap()).unwrap();
        assert_eq!((product.dtype(), numbers(&product)), (dtype, rounded(&[5000.0], dtype)));
        // The bias is added before the result is rounded.
        let (x, weight) = (Tensor::ones(&[1, 257], dtype).unwrap(), Tensor::ones(&[1, 257], dtype).unwrap());
        let bias = tensor(&[-256.0], dtype);
        assert_eq!(numbers(&x.linear(&weight, Some(&bias)).unwrap()), [1.0]);
        let sum = bias.addmm(&x, &weight.t().unwrap(), Scalar::Int(1), Scalar::Int(1)).unwrap();
        assert_eq!((sum.dtype(), numbers(&sum)), (dtype, vec![1.0]));
        let expanded = Tensor::ones(&[1, 3], dtype).unwrap().expand(&[4, 3]).unwrap();
        assert_eq!(numbers(&expanded.matmul(&Tensor::ones(&[3], dtype).unwrap()).unwrap()), [3.0; 4]);
    }
}

#[test]
fn gradients_have_the_type_of_the_inputs() {
    for dtype in HALVES {
        let x = tensor(&[1.0, -2.5, 0.5], dtype);
        x.set_requires_grad(true).unwrap();
        let weight = Tensor::ones(&[2, 3], dtype).unwrap();
        let bias = tensor(&[1.0, 2.0], dtype);
        bias.set_requires_grad(true).unwrap();
        let y = x.mul(&x).unwrap().linear(&weight, Some(&bias)).unwrap();
        let y = add_scaled(&y, &bias, 0.5.into()).unwrap();
        y.sum(None, false).unwrap().backward().unwrap();
        let gradient = x.grad().unwrap();
        assert_eq!((gradient.dtype(), numbers(&gradient)), (dtype, vec![4.0, -10.0, 2.0]));
        let gradient = bias.grad().unwrap();
        assert_eq!((gradient.dtype(), numbers(&gradient)), (dtype, vec![1.5, 1.5]));
    }
}

#[test]
fn indexing_and_views_move_halves() {
    let x = tensor(&[1.0, 2.0, 3.0, 4.0], DType::BFloat16).reshape(&[2, 2]).unwrap();
    assert_eq!(numbers(&x.t().unwrap().contiguous().unwrap()), [1.0, 3.0, 2.0, 4.0]);
    x.select(0, 0).unwrap().fill_(THIRD).unwrap();
    assert_eq!(numbers(&x)[..2], [rounded(&[THIRD], DType::BFloat16)[0]; 2]);
    x.copy_(&Tensor::ones(&[2], DType::Float64).unwrap()).unwrap();
    assert_eq!(numbers(&x), [1.0; 4]);
}

#[test]
fn exponents_beyond_the_range_are_refused() {
    let x = tensor(&[1.0], DType::Float16);
    assert!(x.pow(65505.0).is_err() && x.pow(100_000i64).is_err());
    assert_eq!(numbers(&x.pow(f64::INFINITY).unwrap()), [1.0]);
    assert_eq!(numbers(&tensor(&[3.0], DType::BFloat16).pow(2i64).unwrap()), [9.0]);
}

#[test]
fn repr_names_the_type() {
    assert_eq!(tensor(&[1.0, -2.5, 0.1], DType::BFloat16).to_string(), {
        "tensor([ 1.0000, -2.5000,  0.1001], dtype=interlock.bfloat16)"
    });
}
