//! Tests of convolutions on the CPU.

use super::*;
use crate::testing::{assert_close, doubles, gradcheck};
use crate::{DType, Error};

/// Returns numbers in (-1, 1) without a pattern.
fn random(seed: u64, shape: &[usize]) -> Tensor {
    let mut generator = fastrand::Rng::with_seed(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| generator.f64() * 2.0 - 1.0).collect();
    doubles(&values, shape)
}

/// Computes a convolution by its definition.
fn by_definition(input: &Tensor, weight: &Tensor, options: &ConvOptions<'_>) -> Vec<f64> {
    let g = shape::geometry(input, weight, options).unwrap();
    let (x, w) = (input.to_vec::<f64>().unwrap(), weight.to_vec::<f64>().unwrap());
    let bias = options.bias.map(|bias| bias.to_vec::<f64>().unwrap());
    let ([batch, filters, rows, columns], [_, channels, height, width]) = (g.output_shape(), g.input_shape());
    let mut out = Vec::new();
    for at in 0..batch * filters * rows * columns {
        let (column, row) = (at % columns, at / columns % rows);
        let (filter, image) = (at / columns / rows % filters, at / columns / rows / filters);
        let mut sum = bias.as_ref().map_or(0.0, |bias| bias[filter]);
        for channel in 0..g.channels {
            for [tap_row, tap_column] in [0, 1, 2, 3, 4].into_iter().flat_map(|a| (0..5).map(move |b| [a, b]))
            {
                if tap_row >= g.kernel[0] || tap_column >= g.kernel[1] {
                    continue;
                }
                let y = (row * g.stride[0] + tap_row * g.dilation[0]).checked_sub(g.padding[0]);
                let x_at = (column * g.stride[1] + tap_column * g.dilation[1]).checked_sub(g.padding[1]);
                let (Some(y), Some(x_at)) = (y, x_at) else { continue };
                if y < height && x_at < width {
                    let plane = image * channels + filter / g.filters * g.channels + channel;
                    let tap = (filter * g.channels + channel) * g.kernel[0] * g.kernel[1];
                    let factor = w[tap + tap_row * g.kernel[1] + tap_column];
                    sum += factor * x[(plane * height + y) * width + x_at];
                }
            }
        }
        out.push(sum);
    }
    out
}

const PAIRS: [[i64; 2]; 3] = [[1, 1], [2, 1], [3, 2]];

/// Calls `f` with inputs and options of many kinds.
fn for_each_case(mut f: impl FnMut(&[Tensor; 3], ConvOptions<'static>)) {
    for (groups, channels, filters) in [(1, 3, 4), (2, 2, 3), (3, 1, 2), (4, 1, 1)] {
        for stride in PAIRS {
            for dilation in PAIRS {
                for padding in [ConvPadding::Sizes([0, 0]), ConvPadding::Sizes([2, 1]), ConvPadding::Same] {
                    if padding == ConvPadding::Same && stride != [1, 1] {
                        continue;
                    }
                    let all = groups * filters;
                    let x = random(1, &[2, groups * channels, 9, 8]);
                    let inputs = [x, random(2, &[all, channels, 3, 2]), random(3, &[all])];
                    let groups = groups as i64;
                    f(&inputs, ConvOptions { stride, padding, dilation, groups, bias: None });
                }
            }
        }
    }
}

#[test]
fn conv2d_computes_its_definition() {
    for_each_case(|[x, w, bias], options| {
        let expected = by_definition(x, w, &options);
        assert_close(&x.conv2d(w, &options).unwrap(), &expected);
        let options = ConvOptions { bias: Some(bias), ..options };
        assert_close(&x.conv2d(w, &options).unwrap(), &by_definition(x, w, &options));
    });
}

#[test]
fn conv2d_of_pointwise_filters_and_strided_operands() {
    let x = random(1, &[2, 6, 5, 4]).transpose(1, 2).unwrap();
    let w = random(2, &[7, 5, 1, 1]);
    let options = ConvOptions::default();
    let copy = x.contiguous_copy().unwrap();
    assert_close(&x.conv2d(&w, &options).unwrap(), &by_definition(&copy, &w, &options));
}

#[test]
fn algorithms_agree_on_values_and_gradients() {
    use super::kernels::run_algorithm;
    use crate::products::ConvAlgorithm;
    for_each_case(|[x, w, bias], options| {
        let geometry = shape::geometry(x, w, &options).unwrap();
        let gradient = random(5, &geometry.output_shape());
        for (pass, operands) in [
            (ConvPass::Forward, [x, w]),
            (ConvPass::InputGradient, [&gradient, w]),
            (ConvPass::WeightGradient, [&gradient, x]),
        ] {
            let bias = (pass == ConvPass::Forward).then_some(bias);
            let call = ConvCall::new(pass, geometry, &ConvArgs::new(operands[0], operands[1], bias));
            let run = |algorithm| run_algorithm::<f64>(algorithm, &call, operands, bias).unwrap();
            let expected = run(ConvAlgorithm::Direct).to_vec::<f64>().unwrap();
            assert_close(&run(ConvAlgorithm::Gemm), &expected);
            assert_close(&run(ConvAlgorithm::Unordered), &expected);
            let args = ConvArgs::new(operands[0], operands[1], bias);
            let Ok(out) = im2col::run_im2col(&call, interlock::dispatch::Numerics::default(), &args) else {
                panic!("im2col refuses");
            };
            assert_close(&out, &expected);
        }
    });
}

#[test]
fn conv2d_passes_gradcheck() {
    for (groups, stride, padding, dilation) in [
        (1, [1, 1], ConvPadding::Same, [2, 1]),
        (1, [2, 1], ConvPadding::Sizes([1, 0]), [1, 1]),
        (2, [1, 2], ConvPadding::Valid, [1, 2]),
    ] {
        let inputs = [random(1, &[2, 2, 5, 4]), random(2, &[2, 2 / groups, 3, 2]), random(3, &[2])];
        let options = ConvOptions { stride, padding, dilation, groups: groups as i64, bias: None };
        let squares =
            |x: &[Tensor]| x[0].conv2d(&x[1], &ConvOptions { bias: Some(&x[2]), ..options })?.pow(2.0);
        gradcheck(squares, &inputs);
    }
}

#[test]
fn conv2d_of_no_images_has_zero_gradients() {
    let (x, w) = (random(1, &[0, 2, 4, 4]), random(2, &[3, 2, 3, 3]));
    w.set_requires_grad(true).unwrap();
    let out = x.conv2d(&w, &ConvOptions::default()).unwrap();
    assert_eq!(out.shape(), [0, 3, 2, 2]);
    out.sum(None, false).unwrap().backward().unwrap();
    assert_close(&w.grad().unwrap(), &[0.0; 54]);
}

#[test]
fn conv2d_of_integers_and_halves() {
    let (x, w) = (random(1, &[2, 2, 5, 5]), random(2, &[3, 2, 3, 3]));
    let ints = |t: &Tensor| t.mul(9.0).unwrap().cast(DType::Int64).unwrap();
    let options = ConvOptions::default();
    let doubles = |t: &Tensor| ints(t).cast(DType::Float64).unwrap();
    let expected = by_definition(&doubles(&x), &doubles(&w), &options);
    let out = ints(&x).conv2d(&ints(&w), &options).unwrap();
    assert_close(&out.cast(DType::Float64).unwrap(), &expected);
    let halves = |t: &Tensor| t.cast(DType::Float16).unwrap();
    let singles = |t: &Tensor| halves(t).cast(DType::Float32).unwrap();
    let once = singles(&x).conv2d(&singles(&w), &options).unwrap().cast(DType::Float16).unwrap();
    let out = halves(&x).conv2d(&halves(&w), &options).unwrap();
    assert_eq!(
        out.cast(DType::Float64).unwrap().to_vec::<f64>(),
        once.cast(DType::Float64).unwrap().to_vec()
    );
}

#[test]
fn conv2d_reports_arguments_that_do_not_fit() {
    let (x, w) = (random(1, &[2, 4, 5, 6]), random(2, &[6, 4, 3, 2]));
    let error =
        |x: &Tensor, w: &Tensor, options: ConvOptions<'_>| x.conv2d(w, &options).unwrap_err().to_string();
    let plain = ConvOptions::default();
    let cases = [
        (ConvOptions { stride: [0, 1], ..plain }, "stride must be positive, got (0, 1)"),
        (ConvOptions { dilation: [1, -1], ..plain }, "dilation must be positive, got (1, -1)"),
        (
            ConvOptions { padding: ConvPadding::Sizes([-1, 0]), ..plain },
            "padding must not be negative, got (-1, 0)",
        ),
        (ConvOptions { groups: 0, ..plain }, "groups must be positive, got 0"),
        (ConvOptions { groups: 4, ..plain }, "filters that groups (4) divides"),
        (ConvOptions { groups: 2, ..plain }, "4 * 2 channels, the second size of weight times groups, got 4"),
        (ConvOptions { dilation: [3, 1], ..plain }, "no larger than the padded input"),
        (ConvOptions { stride: [2, 1], padding: ConvPadding::Same, ..plain }, "got 'same'"),
        (ConvOptions { bias: Some(&x), ..plain }, "bias must have shape (6,)"),
        (ConvOptions { padding: ConvPadding::Sizes([i64::MAX, 0]), ..plain }, "padding must be at most"),
        (ConvOptions { padding: ConvPadding::Sizes([i64::MAX / 4, i64::MAX / 4]), ..plain }, "more elements"),
    ];
    for (options, expected) in cases {
        let message = error(&x, &w, options);
        assert!(message.contains(expected), "{message}");
    }
    let message = error(&random(1, &[4, 5]), &w, plain);
    assert!(message.contains("input must have 4 dimensions"), "{message}");
    let message = error(&x, &random(1, &[4, 5, 3]), plain);
    assert!(message.contains("weight must have 4 dimensions"), "{message}");
    let message = error(&x, &random(1, &[6, 4, 0, 2]), plain);
    assert!(message.contains("weight must have rows and columns"), "{message}");
    let singles = w.cast(DType::Float32).unwrap();
    assert!(matches!(x.conv2d(&singles, &plain), Err(Error::DTypes { op: "conv2d", .. })));
}
