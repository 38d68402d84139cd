//! Tests of multi-head attention.

use super::*;
use crate::testing::{assert_close, waves};

/// Returns the weights and biases of the operands and of the results, of 4 elements and 2 heads.
fn weights() -> [Tensor; 4] {
    [waves(&[12, 4], 0.0), waves(&[12], 1.0), waves(&[4, 4], 2.0), waves(&[4], 3.0)]
}

fn args<'a>(x: &'a Tensor, [in_proj, in_bias, out_proj, out_bias]: &'a [Tensor; 4]) -> MultiHeadArgs<'a> {
    MultiHeadArgs {
        in_proj_bias: Some(in_bias),
        out_proj_bias: Some(out_bias),
        ..MultiHeadArgs::new([x, x, x], 2, in_proj, out_proj)
    }
}

/// Returns a mask that hides the keys after the position of a query.
fn causal_mask() -> Tensor {
    Tensor::from_slice(&[0i64, 1, 1, 0, 0, 1, 0, 0, 0], &[3, 3]).unwrap().greater(0).unwrap()
}

#[test]
fn weights_of_rows_sum_to_1_and_give_the_same_result() {
    let (x, weights) = (waves(&[2, 3, 4], 4.0), weights());
    let mask = causal_mask();
    let padding = Tensor::from_slice(&[0i64, 0, 0, 0, 1, 0], &[2, 3]).unwrap().greater(0).unwrap();
    let masked =
        MultiHeadArgs { attn_mask: Some(&mask), key_padding_mask: Some(&padding), ..args(&x, &weights) };
    let expected = masked.forward().unwrap().0.to_vec::<f64>().unwrap();
    let (out, shares) = MultiHeadArgs { need_weights: true, ..masked }.forward().unwrap();
    assert_close(&out, &expected);
    let shares = shares.unwrap();
    assert_eq!(shares.shape(), [2, 3, 3]);
    assert_close(&shares.sum(Some(&[2]), false).unwrap(), &[1.0; 6]);
    let shares = shares.to_vec::<f64>().unwrap();
    assert_eq!([shares[1], shares[5], shares[9 + 4]], [0.0; 3], "masked by position and by padding");
    let each = MultiHeadArgs { need_weights: true, average_attn_weights: false, ..masked };
    assert_eq!(each.forward().unwrap().1.unwrap().shape(), [2, 2, 3, 3]);
}

#[test]
fn causal_hint_equals_the_mask() {
    let (x, weights) = (waves(&[1, 3, 4], 4.0), weights());
    let mask = causal_mask();
    let masked = MultiHeadArgs { attn_mask: Some(&mask), ..args(&x, &weights) };
    let expected = masked.forward().unwrap().0.to_vec::<f64>().unwrap();
    assert_close(&MultiHeadArgs { is_causal: true, ..masked }.forward().unwrap().0, &expected);
    let error = MultiHeadArgs { is_causal: true, ..args(&x, &weights) }.forward().unwrap_err();
    assert!(error.to_string().contains("attn_mask must be a causal mask"), "{error}");
}

#[test]
fn record_says_why_the_fastpath_was_not_taken() {
    let (x, weights) = (waves(&[1, 3, 4], 4.0), weights());
    let copy = x.copy().unwrap();
    let grad = x.copy().unwrap();
    grad.set_requires_grad(true).unwrap();
    let floats = waves(&[3, 3], 0.0);
    let plain = args(&x, &weights);
    let odd = MultiHeadArgs { num_heads: 1, ..plain };
    for (args, expected) in [
        (MultiHeadArgs { key: &copy, ..plain }, "needs query, key and value that are one tensor"),
        (MultiHeadArgs { is_training: true, ..plain }, "needs evaluation mode"),
        (odd, "needs an even number of heads, got 1"),
        (MultiHeadArgs { in_proj_bias: None, ..plain }, "needs biases"),
        (MultiHeadArgs { batch_first: false, ..plain }, "needs batch_first"),
        (MultiHeadArgs { attn_mask: Some(&floats), ..plain }, "needs masks of bools"),
        (
            MultiHeadArgs { query: &grad, key: &grad, value: &grad, ..plain },
            "needs gradients that are not recorded",
        ),
    ] {
        let call = MULTI_HEAD_ATTENTION.explain(&MultiHeadCall::new(&args));
        assert_eq!(call.kernel(), Some("composed"));
        assert!(call.to_string().ends_with(&format!("| fastpath: {expected}")), "{call}");
    }
}
