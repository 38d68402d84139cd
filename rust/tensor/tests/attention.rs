//! Attention on devices of the host driver, and kernels of attention that other crates register.

use std::sync::Once;

use interlock::accelerator::{Device, DeviceType};
use interlock::backends::flags::{CUDA_CUDNN_SDP, CUDA_FLASH_SDP, CUDA_MATH_SDP, CUDA_MEM_EFFICIENT_SDP};
use interlock::dispatch::{Kernel, Reason};
use interlock_tensor::{ATTENTION, Attention, AttentionOptions, DType, Tensor};

use crate::device;

/// Registers a kernel for a single key on devices, which computes elements and has no history.
fn register_single_key() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let kernel =
            Kernel::<Attention>::new("single_key", |_, _, args| Ok(args.value.detach().copy()?.into()));
        let kernel = kernel.condition(|call| match call.shapes() {
            [[.., 1, _], [.., 1, _], _] if call.device().kind() != DeviceType::Cpu => Ok(()),
            _ => Err(Reason::from("needs one query and one key on a device")),
        });
        ATTENTION.register(kernel).unwrap();
    });
}

fn tensor(values: &[f32], shape: &[usize], device: Device) -> Tensor {
    let tensor = Tensor::from_slice(values, shape).unwrap().to((DType::Float32, device), false).unwrap();
    tensor.set_requires_grad(true).unwrap();
    tensor
}

fn explained(x: &Tensor) -> (Option<&'static str>, Vec<&'static str>) {
    let call = x.explain_scaled_dot_product_attention(x, x, &AttentionOptions::default()).unwrap();
    (call.kernel(), call.considered.iter().map(|considered| considered.kernel).collect())
}

#[test]
fn registered_kernel_has_the_position_of_overrideable_on_devices() {
    register_single_key();
    let x = tensor(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 1, 4], device(0));
    let (chosen, order) = explained(&x);
    assert_eq!(chosen, Some("efficient"));
    assert_eq!(order, ["flash", "efficient", "math", "cudnn", "single_key"]);
    let switches = [&CUDA_FLASH_SDP, &CUDA_MEM_EFFICIENT_SDP, &CUDA_MATH_SDP, &CUDA_CUDNN_SDP];
    let _off = switches.map(|switch| switch.scope(false).unwrap().guard());
    assert_eq!(explained(&x).0, Some("single_key"));
    let out = x.scaled_dot_product_attention(&x, &x, &AttentionOptions::default()).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let two = tensor(&[1.0; 8], &[1, 1, 2, 4], device(0));
    let error = two.scaled_dot_product_attention(&two, &two, &AttentionOptions::default()).unwrap_err();
    assert!(error.to_string().contains("single_key: needs one query and one key on a device"), "{error}");
}

#[test]
fn registered_kernel_without_history_is_differentiated_in_blocks() {
    register_single_key();
    let [query, key, value] = [1.0, 2.0, 3.0].map(|x| tensor(&[x, -x, x, -x], &[1, 1, 1, 4], device(0)));
    let switches = [&CUDA_FLASH_SDP, &CUDA_MEM_EFFICIENT_SDP, &CUDA_MATH_SDP, &CUDA_CUDNN_SDP];
    let off = switches.map(|switch| switch.scope(false).unwrap().guard());
    let out = query.scaled_dot_product_attention(&key, &value, &AttentionOptions::default()).unwrap();
    drop(off);
    let node = out.grad_fn().unwrap().unwrap();
    assert_eq!(node.name(), "ScaledDotProductFusedAttentionOverrideableBackward0");
    out.mul(&out).unwrap().sum(None, false).unwrap().backward().unwrap();
    let grad = |tensor: &Tensor| tensor.grad().unwrap().to_vec::<f32>().unwrap();
    assert_eq!(grad(&value), [6.0, -6.0, 6.0, -6.0]);
    assert_eq!([grad(&query), grad(&key)], [[0.0; 4]; 2].map(|zeros| zeros.to_vec()));
}
