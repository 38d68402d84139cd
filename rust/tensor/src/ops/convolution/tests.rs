//! Tests of convolutions on the CPU.

use super::*;
use crate::testing::{assert_close, random};

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
            let args = ConvArgs::new(operands[0], operands[1], bias);
            let call = ConvCall::new(pass, geometry, &args);
            let run = |algorithm| run_algorithm::<f64>(algorithm, &call, operands, bias).unwrap();
            let expected = run(ConvAlgorithm::Direct).to_vec::<f64>().unwrap();
            assert_close(&run(ConvAlgorithm::Gemm), &expected);
            assert_close(&run(ConvAlgorithm::Unordered), &expected);
            assert_close(&im2col::run(&call, &args).unwrap(), &expected);
        }
    });
}
