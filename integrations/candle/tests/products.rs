//! Products and attention of candle on interlock's kernels: values under precision flags, records, gradients, layouts and
//! errors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

use candle_core::{DType, Device, Result, Tensor, Var};
use interlock::autograd;
use interlock::backends::flags::{CUDA_FLASH_SDP, MKLDNN_NUMERICS};
use interlock::backends::{MkldnnNumerics, Node, Precision};
use interlock::dispatch::Recording;
use interlock_candle::{AttentionOptions, broadcast_matmul, matmul, scaled_dot_product_attention};

/// Returns numbers from -1 to 1 that neither TensorFloat-32 nor bfloat16 represents.
fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|index| ((index * 37 % 101) as f32 * 0.0197).sin()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f32 {
    assert_eq!((a.dims(), a.dtype()), (b.dims(), b.dtype()));
    let difference = (a.to_dtype(DType::F32).unwrap() - b.to_dtype(DType::F32).unwrap()).unwrap();
    difference.abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

/// Calls a function under a precision of oneDNN's model, and returns the result and the lines of the record.
fn under<T>(precision: Precision, function: impl FnOnce() -> T) -> (T, Vec<String>) {
    let model = MKLDNN_NUMERICS.scope(MkldnnNumerics::Model).unwrap();
    let precision = Node::MkldnnMatmul.scope(precision).unwrap();
    let recording = Recording::default();
    let _guards = (model.guard(), precision.guard(), recording.guard());
    let result = function();
    (result, recording.calls().iter().map(ToString::to_string).collect())
}

/// Returns the number with a mantissa of so many bits, rounded to the nearest even one.
fn rounded(number: f32, bits: u32) -> f32 {
    let drop = 23 - bits;
    let word = number.to_bits();
    let half = (1 << (drop - 1)) - 1 + (word >> drop & 1);
    f32::from_bits((word + half) >> drop << drop)
}

#[test]
fn precision_flags_decide_on_the_cpu_and_the_record_shows_it() {
    let (a, b) = (numbers(&[16, 24]), numbers(&[24, 8]));
    let exact = a.matmul(&b).unwrap();
    let expect = |precision: Precision, bits: Option<u32>, inputs: &str| {
        let (product, lines) = under(precision, || matmul(&a, &b).unwrap());
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with(&format!("matmul cpu float32 16x24 @ 24x8 -> mkldnn (model){inputs} |")),
            "{lines:?}"
        );
        let of_candle = match bits {
            None => exact.clone(),
            Some(bits) => {
                let round = |tensor: &Tensor| {
                    let values = tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    let values: Vec<f32> = values.into_iter().map(|number| rounded(number, bits)).collect();
                    Tensor::from_vec(values, tensor.dims(), &Device::Cpu).unwrap()
                };
                round(&a).matmul(&round(&b)).unwrap()
            }
        };
        assert!(largest_difference(&product, &of_candle) < 1e-5, "{precision:?}");
        largest_difference(&product, &exact)
    };
    assert!(expect(Precision::Ieee, None, "") < 1e-5);
    let tf32 = expect(Precision::Tf32, Some(10), ", inputs tf32");
    let bf16 = expect(Precision::Bf16, Some(7), ", inputs bf16");
    assert!(1e-5 < tf32 && tf32 < bf16, "{tf32} {bf16}");
    // Outside of the scopes the runtime's own kernel computes.
    let recording = Recording::default();
    let _guard = recording.guard();
    assert!(largest_difference(&matmul(&a, &b).unwrap(), &exact) < 1e-5);
    assert_eq!(recording.calls()[0].kernel(), Some("native"));
}

#[test]
fn strided_batched_and_broadcast_operands_give_what_candle_computes() -> Result<()> {
    let close = |a: &Tensor, b: &Tensor| assert!(largest_difference(a, b) < 1e-5);
    let (a, b) = (numbers(&[3, 4, 5]), numbers(&[3, 5, 6]));
    close(&matmul(&a, &b)?, &a.matmul(&b)?);
    // Transposed, of a part of another tensor, and with strides of 0.
    let transposed = numbers(&[3, 6, 5]).transpose(1, 2)?;
    close(&matmul(&a, &transposed)?, &a.matmul(&transposed)?);
    let part = numbers(&[5, 7, 9]).narrow(0, 1, 3)?.narrow(1, 2, 4)?.narrow(2, 3, 5)?;
    close(&matmul(&part, &b)?, &part.contiguous()?.matmul(&b)?);
    let repeated = numbers(&[1, 5, 6]).broadcast_as((3, 5, 6))?;
    close(&matmul(&a, &repeated)?, &a.matmul(&repeated.contiguous()?)?);
    let matrix = numbers(&[5, 2]);
    close(&broadcast_matmul(&a, &matrix)?, &a.broadcast_matmul(&matrix)?);
    let (left, right) = (numbers(&[2, 1, 4, 5]), numbers(&[3, 5, 6]));
    close(&broadcast_matmul(&left, &right)?, &left.broadcast_matmul(&right)?);
    for (rows, inner, columns) in [(0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 1, 1)] {
        let (a, b) = (
            Tensor::zeros((rows, inner), DType::F32, &Device::Cpu)?,
            Tensor::zeros((inner, columns), DType::F32, &Device::Cpu)?,
        );
        assert_eq!(matmul(&a, &b)?.to_vec2::<f32>()?, a.matmul(&b)?.to_vec2::<f32>()?);
    }
    Ok(())
}

#[test]
fn all_float_types_keep_their_type() -> Result<()> {
    let (a, b) = (numbers(&[4, 5]), numbers(&[5, 3]));
    let exact = a.matmul(&b)?;
    for (dtype, tolerance) in
        [(DType::F64, 1e-6), (DType::F32, 1e-6), (DType::F16, 2e-3), (DType::BF16, 2e-2)]
    {
        let product = matmul(&a.to_dtype(dtype)?, &b.to_dtype(dtype)?)?;
        assert_eq!(product.dtype(), dtype);
        assert!(largest_difference(&product.to_dtype(DType::F32)?, &exact) < tolerance, "{dtype:?}");
    }
    Ok(())
}

/// Returns the gradients of the sum of the squares of a result.
fn gradients(inputs: &[&Var], result: &Tensor) -> Vec<Tensor> {
    let store = result.sqr().unwrap().sum_all().unwrap().backward().unwrap();
    inputs.iter().map(|input| store.get(input).unwrap().clone()).collect()
}

#[test]
fn gradients_are_those_of_candle() -> Result<()> {
    let vars = |shape_a: &[usize], shape_b: &[usize]| {
        (Var::from_tensor(&numbers(shape_a)).unwrap(), Var::from_tensor(&numbers(shape_b)).unwrap())
    };
    let check = |a: &Var, b: &Var, ours: Tensor, theirs: Tensor| {
        for (ours, theirs) in gradients(&[a, b], &ours).iter().zip(gradients(&[a, b], &theirs)) {
            assert!(largest_difference(ours, &theirs) < 1e-4);
        }
    };
    let (a, b) = vars(&[4, 5], &[5, 3]);
    check(&a, &b, matmul(&a, &b)?, a.matmul(&b)?);
    let (a, b) = vars(&[2, 4, 5], &[2, 5, 3]);
    check(&a, &b, matmul(&a, &b)?, a.matmul(&b)?);
    let (a, b) = vars(&[2, 5, 4], &[2, 3, 5]);
    let (transposed_a, transposed_b) = (a.transpose(1, 2)?, b.transpose(1, 2)?);
    check(&a, &b, matmul(&transposed_a, &transposed_b)?, transposed_a.matmul(&transposed_b)?);
    let (a, b) = vars(&[2, 1, 4, 5], &[3, 5, 3]);
    check(&a, &b, broadcast_matmul(&a, &b)?, a.broadcast_matmul(&b)?);
    Ok(())
}

#[test]
fn the_backward_pass_obeys_the_flags_of_its_thread() -> Result<()> {
    let (a, b) = (Var::from_tensor(&numbers(&[4, 5]))?, Var::from_tensor(&numbers(&[5, 3]))?);
    let product = matmul(&a, &b)?.sum_all()?;
    let (_, lines) = under(Precision::Bf16, || product.backward().unwrap());
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line.contains("mkldnn (model), inputs bf16")), "{lines:?}");
    Ok(())
}

#[test]
fn a_result_under_no_grad_has_no_history() -> Result<()> {
    let x = Var::from_tensor(&numbers(&[4, 4]))?;
    for guard in [autograd::no_grad, || autograd::inference_mode(true)] {
        let _guard = guard();
        let attention = scaled_dot_product_attention(&x, &x, &x, &AttentionOptions::default())?;
        let store = (matmul(&x, &x)? + attention)?.sum_all()?.backward()?;
        assert!(store.get(&x).is_none());
    }
    assert!(matmul(&x, &x)?.sum_all()?.backward()?.get(&x).is_some());
    Ok(())
}

/// Computes an attention by operations of candle.
fn by_candle(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: Option<&Tensor>,
    scale: f64,
) -> Result<Tensor> {
    let scores = (query.matmul(&key.transpose(2, 3)?.contiguous()?)? * scale)?;
    let scores = match mask {
        Some(mask) => scores.broadcast_add(mask)?,
        None => scores,
    };
    let shares = scores.broadcast_sub(&scores.max_keepdim(3)?)?.exp()?;
    shares.broadcast_div(&shares.sum_keepdim(3)?)?.matmul(value)
}

#[test]
fn attention_and_its_gradients_are_those_of_candle() -> Result<()> {
    let var = |shape: &[usize], factor: f64| Var::from_tensor(&(numbers(shape) * factor).unwrap()).unwrap();
    let (query, key, value) = (var(&[2, 3, 4, 8], 1.0), var(&[2, 3, 5, 8], -2.0), var(&[2, 3, 5, 6], 0.5));
    let blocked: Vec<u8> = (0..4 * 5).map(|index| u8::from(index % 5 <= index / 5)).collect();
    let allowed = Tensor::from_vec(blocked, (4, 5), &Device::Cpu)?;
    let zeros = Tensor::zeros((4, 5), DType::F32, &Device::Cpu)?;
    let blocked = Tensor::full(f32::NEG_INFINITY, (4, 5), &Device::Cpu)?;
    let added = allowed.where_cond(&zeros, &blocked)?;
    let default = AttentionOptions::default;
    let scale = 1.0 / 8.0_f64.sqrt();
    for (options, mask, scale) in [
        (default(), None, scale),
        (AttentionOptions { scale: Some(0.7), ..default() }, None, 0.7),
        (AttentionOptions { is_causal: true, ..default() }, Some(&added), scale),
        (AttentionOptions { mask: Some(allowed.clone()), ..default() }, Some(&added), scale),
        (AttentionOptions { mask: Some(added.clone()), ..default() }, Some(&added), scale),
    ] {
        let ours = scaled_dot_product_attention(&query, &key, &value, &options)?;
        let theirs = by_candle(&query, &key, &value, mask, scale)?;
        assert!(largest_difference(&ours, &theirs) < 1e-5, "{options:?}");
        let inputs = [&query, &key, &value];
        for (ours, theirs) in gradients(&inputs, &ours).iter().zip(gradients(&inputs, &theirs)) {
            assert!(largest_difference(ours, &theirs) < 1e-4, "{options:?}");
        }
    }
    // Transposed from (batch, rows, heads, size), as models have them.
    let strided = numbers(&[2, 4, 3, 8]).transpose(1, 2)?;
    let ours = scaled_dot_product_attention(&strided, &strided, &strided, &default())?;
    let plain = strided.contiguous()?;
    assert!(largest_difference(&ours, &by_candle(&plain, &plain, &plain, None, scale)?) < 1e-5);
    // Two heads of queries share one of keys.
    let shared = numbers(&[1, 2, 5, 8]);
    let options = AttentionOptions { enable_gqa: true, ..default() };
    let ours = scaled_dot_product_attention(&numbers(&[1, 4, 5, 8]), &shared, &shared, &options)?;
    let heads = Tensor::stack(&[&shared, &shared], 2)?.reshape((1, 4, 5, 8))?;
    assert!(
        largest_difference(&ours, &by_candle(&numbers(&[1, 4, 5, 8]), &heads, &heads, None, scale)?) < 1e-5
    );
    Ok(())
}

#[test]
fn the_record_of_attention_shows_what_flags_refuse() -> Result<()> {
    let x = numbers(&[1, 2, 4, 8]);
    let recording = Recording::default();
    let flash = CUDA_FLASH_SDP.scope(false).unwrap();
    let _guards = (recording.guard(), flash.guard());
    scaled_dot_product_attention(&x, &x, &x, &AttentionOptions::default())?;
    let lines: Vec<String> = recording.calls().iter().map(ToString::to_string).collect();
    let line = lines.iter().find(|line| line.starts_with("scaled_dot_product_attention")).unwrap();
    assert!(line.contains("flash: backends.cuda.flash_sdp is False"), "{line}");
    Ok(())
}

#[test]
fn backward_of_attention_runs_under_no_grad_and_inference_mode() -> Result<()> {
    let x = Var::from_tensor(&numbers(&[1, 1, 4, 8]))?;
    let result = scaled_dot_product_attention(&x, &x, &x, &AttentionOptions::default())?.sum_all()?;
    let plain = result.backward()?.get(&x).unwrap().clone();
    for guard in [autograd::no_grad, || autograd::inference_mode(true)] {
        let _guard = guard();
        assert!(largest_difference(result.backward()?.get(&x).unwrap(), &plain) == 0.0);
        assert!(!autograd::is_grad_enabled());
    }
    Ok(())
}

#[test]
fn errors_are_those_of_candle_and_name_the_function() {
    let error = |result: Result<Tensor>| result.unwrap_err().to_string().lines().next().unwrap().to_owned();
    let (a, b, row) = (numbers(&[2, 3]), numbers(&[2, 3]), numbers(&[3]));
    let batch = numbers(&[2, 3, 4]);
    assert_eq!(
        error(matmul(&a, &b)),
        "matmul: inner dimensions differ (3 and 2) for shapes [2, 3] and [2, 3]"
    );
    assert_eq!(
        error(matmul(&a, &row)),
        "matmul: tensors must have at least 2 dimensions, got shapes [2, 3] and [3]"
    );
    assert_eq!(
        error(matmul(&a, &batch)),
        "matmul: batches must be equal, got shapes [2, 3] and [2, 3, 4]; use broadcast_matmul"
    );
    assert_eq!(
        error(broadcast_matmul(&numbers(&[5, 2, 3]), &batch)),
        "matmul: batches cannot be broadcast for shapes [5, 2, 3] and [2, 3, 4]"
    );
    let long = a.t().unwrap().to_dtype(DType::I64).unwrap();
    assert_eq!(error(matmul(&a, &long)), "matmul: dtypes must match, got f32 and i64");
    assert_eq!(
        error(matmul(&a.to_dtype(DType::I64).unwrap(), &long)),
        "matmul: tensors must be f16, bf16, f32 or f64, got i64"
    );
    let options = AttentionOptions::default;
    let attention =
        |key: &Tensor, options| error(scaled_dot_product_attention(&batch, key, &batch, &options));
    assert_eq!(
        attention(&numbers(&[2, 3, 5]), options()),
        "scaled_dot_product_attention: the last dimensions of query and key differ (4 and 5) for shapes (2, 3, 4) and \
         (2, 3, 5)"
    );
    let masked = AttentionOptions { mask: Some(numbers(&[3, 3])), is_causal: true, ..options() };
    let message = attention(&batch, masked);
    assert!(
        message.starts_with("scaled_dot_product_attention: attn_mask must be None if is_causal"),
        "{message}"
    );
    let wrong = AttentionOptions { mask: Some(long), ..options() };
    let message = attention(&batch, wrong);
    assert!(message.starts_with("scaled_dot_product_attention: "), "{message}");
}
