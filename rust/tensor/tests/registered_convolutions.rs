//! Convolutions of other crates, which obey the flags of libraries that interlock has no kernels of. They stay
//! registered until the process exits, so no other test file has them.

#![cfg(not(loom))]
// Clippy does not treat test helpers as tests; a panic is their intended way to fail.
#![allow(clippy::unwrap_used)]

use interlock::backends::find;
use interlock::backends::flags::{MIOPEN_IMMEDIATE, NNPACK_ENABLED};
use interlock::dispatch::{FlagRequirement, Kernel, Reason};
use interlock_tensor::{CONV2D, Conv2d, ConvCall, ConvOptions, ConvPass, DType, Tensor};

static NNPACK_REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::on(&NNPACK_ENABLED)];
static MIOPEN_REQUIREMENTS: [FlagRequirement; 1] = [FlagRequirement::on(&MIOPEN_IMMEDIATE)];

/// The conditions of PyTorch for NNPACK.
fn suits_nnpack(call: &ConvCall) -> Result<(), Reason> {
    let ([batch, ..], [_, _, rows, columns]) = (call.input_shape(), call.weight_shape());
    if call.pass() != ConvPass::Forward || call.dtype() != DType::Float32 || call.dilation() != [1, 1] {
        return Err(Reason::from("needs an output in float32 without dilation"));
    }
    if batch < 16 || rows.max(columns) >= 17 {
        return Err(Reason::from(format!("needs at least 16 images, got {batch}")));
    }
    Ok(())
}

fn is_wide(call: &ConvCall) -> Result<(), Reason> {
    let [_, _, _, columns] = call.input_shape();
    if columns == 9 { Ok(()) } else { Err(Reason::from("needs 9 columns")) }
}

#[test]
fn registered_convolutions_obey_the_gates_of_nnpack_and_miopen() {
    // Their results differ from those of the other kernels.
    let nnpack =
        Kernel::<Conv2d>::new("nnpack", |call, _, _| Ok(Tensor::zeros(&call.output_shape(), call.dtype())?));
    CONV2D.register(nnpack.requires(&NNPACK_REQUIREMENTS).condition(suits_nnpack)).unwrap();
    let miopen = Kernel::<Conv2d>::new("miopen", |call, _, _| {
        Ok(Tensor::full(&call.output_shape(), 7.0.into(), call.dtype())?)
    });
    CONV2D.register(miopen.requires(&MIOPEN_REQUIREMENTS).condition(is_wide)).unwrap();
    let ones = |shape: &[usize]| Tensor::ones(shape, DType::Float32).unwrap();
    let output = |batch: usize, columns: usize| {
        let out = ones(&[batch, 1, 2, columns]).conv2d(&ones(&[1, 1, 2, 2]), &ConvOptions::default());
        out.unwrap().to_vec::<f32>().unwrap()[0]
    };
    assert_eq!([output(16, 4), output(15, 4), output(1, 9)], [0.0, 4.0, 4.0]);
    let disabled = NNPACK_ENABLED.scope(false).unwrap().guard();
    assert_eq!(output(16, 4), 4.0);
    drop(disabled);
    let _immediate = MIOPEN_IMMEDIATE.scope(true).unwrap().guard();
    assert_eq!([output(1, 9), output(1, 4)], [7.0, 4.0]);
    for flag in ["nnpack.enabled", "miopen.immediate"] {
        let affects = find(flag).unwrap().affects();
        assert!(affects.ends_with(": obeyed by conv2d"), "{affects}");
    }
}
