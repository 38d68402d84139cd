//! Automatic differentiation: graphs, modes, versions and inference tensors.

use interlock::autograd::{enable_grad, inference_mode, no_grad};
use interlock_tensor::autograd::{BackwardArgs, backward, grad};
use interlock_tensor::{DType, Error, Result, Tensor};

fn leaf(values: &[f64]) -> Tensor {
    let tensor = Tensor::from_slice(values, &[values.len()]).unwrap();
    tensor.set_requires_grad(true).unwrap();
    tensor
}

fn plain(values: &[f64]) -> Tensor {
    leaf(values).detach()
}

fn sum(tensor: &Tensor) -> Tensor {
    tensor.sum(None, false).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

fn gradient(tensor: &Tensor) -> Vec<f64> {
    values(&tensor.grad().unwrap())
}

fn grad_of(output: &Tensor, inputs: &[Tensor], create_graph: bool) -> Result<Vec<Option<Tensor>>> {
    let (outputs, gradients) = (std::slice::from_ref(output), &[None]);
    grad(&BackwardArgs { outputs, gradients, retain_graph: create_graph, create_graph }, inputs, true)
}

#[test]
fn backward_and_drop_of_a_long_chain_do_not_recurse() {
    // The stack is small: recursion would overflow it.
    let small = std::thread::Builder::new().stack_size(256 * 1024);
    let run = || {
        let x = leaf(&[1.0]);
        let mut y = x.mul(1.0).unwrap();
        for _ in 0..100_000 {
            y = y.add(1.0).unwrap();
        }
        y.backward().unwrap();
        assert_eq!(gradient(&x), [1.0]);
        let unused = (0..100_000).fold(x.mul(1.0).unwrap(), |y, _| y.mul(1.0).unwrap());
        drop(unused);
    };
    small.spawn(run).unwrap().join().unwrap();
}

#[test]
fn backward_accumulates_over_uses_and_passes() {
    let x = leaf(&[2.0, 3.0]);
    for passes in 1..=2 {
        sum(&x.mul(&x).unwrap().add(&x).unwrap()).backward().unwrap();
        assert_eq!(gradient(&x), [5.0 * f64::from(passes), 7.0 * f64::from(passes)]);
    }
}

#[test]
fn backward_twice_reports_the_freed_node_unless_retained() {
    let x = leaf(&[2.0]);
    let y = x.mul(&x).unwrap();
    let outputs = std::slice::from_ref(&y);
    let request = BackwardArgs { outputs, gradients: &[None], retain_graph: true, create_graph: false };
    backward(&request, None).unwrap();
    y.backward().unwrap();
    assert_eq!(gradient(&x), [8.0]);
    let error = y.backward().unwrap_err();
    assert_eq!(error, Error::GraphFreed { node: "MulBackward0".into() });
    // A sum saves nothing: its graph can be run again.
    let z = x.add(1.0).unwrap();
    z.backward().unwrap();
    z.backward().unwrap();
}

#[test]
fn backward_requires_a_graph_and_a_gradient_of_matching_shape() {
    assert!(matches!(plain(&[1.0]).backward(), Err(Error::NoGraph { op: "backward" })));
    let y = leaf(&[1.0, 2.0]).mul(2.0).unwrap();
    assert!(matches!(y.backward(), Err(Error::ImplicitGradient { op: "backward", shape }) if shape == [2]));
    let gradients = [Some(plain(&[1.0]))];
    let outputs = std::slice::from_ref(&y);
    let request = BackwardArgs { outputs, gradients: &gradients, retain_graph: false, create_graph: false };
    assert!(matches!(backward(&request, None), Err(Error::Shape { .. })));
}

#[test]
fn grad_returns_gradients_without_accumulating() {
    let (x, unrelated) = (leaf(&[2.0]), leaf(&[1.0]));
    let y = x.mul(3.0).unwrap();
    let z = y.mul(&y).unwrap();
    let found = grad_of(&z, &[x.clone(), y.clone(), z.clone(), unrelated.clone()], false).unwrap();
    let found: Vec<_> = found.iter().map(|gradient| gradient.as_ref().map(values)).collect();
    assert_eq!(found, [Some(vec![36.0]), Some(vec![12.0]), Some(vec![1.0]), None]);
    assert!(x.grad().is_none());
    let outputs = [x.mul(2.0).unwrap()];
    let request =
        BackwardArgs { outputs: &outputs, gradients: &[None], retain_graph: false, create_graph: false };
    assert!(matches!(grad(&request, &[unrelated], false), Err(Error::Unused { index: 0 })));
    assert!(matches!(grad(&request, &[plain(&[1.0])], false), Err(Error::NoGraph { op: "grad" })));
}

#[test]
fn backward_with_inputs_accumulates_only_there() {
    let (x, w) = (leaf(&[2.0]), leaf(&[5.0]));
    let y = x.mul(&w).unwrap();
    let outputs = std::slice::from_ref(&y);
    let request = BackwardArgs { outputs, gradients: &[None], retain_graph: false, create_graph: false };
    backward(&request, Some(std::slice::from_ref(&x))).unwrap();
    assert_eq!(gradient(&x), [5.0]);
    assert!(w.grad().is_none());
}

#[test]
fn grad_with_create_graph_can_be_differentiated_again() {
    let x = leaf(&[0.5, 2.0]);
    let y = sum(&x.mul(&x).unwrap().mul(&x).unwrap());
    let first = grad_of(&y, std::slice::from_ref(&x), true).unwrap().remove(0).unwrap();
    assert_eq!(values(&first), [0.75, 12.0]);
    let second = grad_of(&sum(&first), std::slice::from_ref(&x), false).unwrap().remove(0).unwrap();
    assert_eq!(values(&second), [3.0, 12.0]);
}

#[test]
fn no_grad_and_inference_mode_disable_recording() {
    let x = leaf(&[1.0]);
    let _mode = no_grad();
    assert!(!x.mul(2.0).unwrap().requires_grad());
    {
        let _mode = enable_grad();
        assert!(x.mul(2.0).unwrap().requires_grad());
    }
    let _mode = inference_mode(true);
    let y = x.mul(2.0).unwrap();
    assert!(!y.requires_grad() && y.is_inference() && y.version().is_err());
    let _mode = enable_grad();
    assert!(!x.mul(2.0).unwrap().requires_grad());
}

#[test]
fn backward_without_create_graph_does_not_record() {
    let x = leaf(&[1.0]);
    x.mul(&x).unwrap().backward().unwrap();
    assert!(!x.grad().unwrap().requires_grad());
}

#[test]
fn backward_reports_a_modified_saved_tensor_with_versions() {
    let x = leaf(&[1.0]);
    let y = x.mul(1.0).unwrap();
    let z = y.exp().unwrap();
    z.add_(1.0).unwrap();
    let error = z.backward().unwrap_err();
    assert_eq!(error, Error::Modified { node: "ExpBackward0".into(), shape: vec![1], saved: 0, now: 1 });
    // A sum saves nothing, so the in-place change is harmless.
    let y = x.mul(2.0).unwrap();
    let z = y.add(1.0).unwrap();
    y.add_(1.0).unwrap();
    z.backward().unwrap();
}

#[test]
fn inplace_change_of_a_leaf_requires_no_grad() {
    let x = leaf(&[1.0, 2.0]);
    assert!(matches!(x.add_(1.0), Err(Error::LeafInPlace { view: false, .. })));
    assert!(matches!(x.select(0, 0).unwrap().add_(1.0), Err(Error::LeafInPlace { view: true, .. })));
    let _mode = no_grad();
    x.add_(1.0).unwrap();
    assert_eq!((values(&x), x.version()), (vec![2.0, 3.0], Ok(1)));
}

#[test]
fn inplace_change_of_a_view_from_no_grad_is_an_error() {
    let y = leaf(&[1.0, 2.0]).mul(1.0).unwrap();
    let view = {
        let _mode = no_grad();
        y.select(0, 0).unwrap()
    };
    assert!(view.requires_grad() && view.is_leaf().unwrap());
    assert!(matches!(
        view.mul_(2.0),
        Err(Error::UntrackedView { op: "mul_", inference: false, created_at: None })
    ));
    {
        let _mode = no_grad();
        view.mul_(2.0).unwrap();
    }
    assert!(matches!(view.grad_fn(), Err(Error::UntrackedView { .. })));
}

#[test]
fn inplace_change_of_a_view_gives_its_base_a_history() {
    let (x, w) = (plain(&[1.0, 2.0]), leaf(&[3.0]));
    let before = x.select(0, 1).unwrap();
    x.select(0, 0).unwrap().mul_(&w.select(0, 0).unwrap()).unwrap();
    assert!(x.requires_grad() && before.requires_grad());
    sum(&x.mul(&x).unwrap()).backward().unwrap();
    assert_eq!(gradient(&w), [6.0]);
}

#[test]
fn inference_tensors_cannot_be_saved_or_changed_outside_the_mode() {
    let inside = || {
        let _mode = inference_mode(true);
        Tensor::ones(&[1], DType::Float64).unwrap()
    };
    let (x, fixed) = (leaf(&[2.0]), inside());
    assert!(matches!(x.mul(&fixed), Err(Error::Inference { .. })));
    assert!(x.add(&fixed).unwrap().requires_grad());
    assert!(matches!(fixed.add_(1.0), Err(Error::Inference { .. })));
    assert!(matches!(fixed.set_requires_grad(true), Err(Error::Inference { .. })));
    assert!(fixed.select(0, 0).unwrap().is_inference() && !fixed.mul(2.0).unwrap().is_inference());
    assert!(!fixed.copy().unwrap().is_inference());
    let _mode = inference_mode(true);
    fixed.add_(1.0).unwrap();
    x.add_(1.0).unwrap();
    assert_eq!(x.version(), Ok(1));
}

#[test]
fn retain_grad_accumulates_the_gradient_of_a_result() {
    let x = leaf(&[3.0]);
    let y = x.mul(2.0).unwrap();
    y.retain_grad().unwrap();
    y.mul_(&x).unwrap();
    y.mul(10.0).unwrap().backward().unwrap();
    assert_eq!(gradient(&y), [10.0]);
    assert_eq!(gradient(&x), [120.0]);
    assert!(plain(&[1.0]).retain_grad().is_err());
}

#[test]
fn set_requires_grad_accepts_only_floating_point_leaves() {
    let ints = Tensor::ones(&[1], DType::Int64).unwrap();
    assert!(matches!(ints.set_requires_grad(true), Err(Error::DType { op: "requires_grad", .. })));
    let y = leaf(&[1.0]).mul(2.0).unwrap();
    assert!(matches!(y.set_requires_grad(false), Err(Error::NotLeaf { .. })));
    y.set_requires_grad(true).unwrap();
    assert!(y.detach().set_requires_grad(false).is_ok());
}

#[test]
fn set_grad_requires_matching_shape_and_type() {
    let x = leaf(&[1.0]);
    assert!(x.set_grad(Some(plain(&[1.0, 2.0]))).is_err());
    assert!(x.set_grad(Some(plain(&[1.0]).cast(DType::Float32).unwrap())).is_err());
    x.set_grad(Some(plain(&[4.0]))).unwrap();
    x.mul(2.0).unwrap().backward().unwrap();
    assert_eq!(gradient(&x), [6.0]);
}

#[test]
fn backward_on_several_threads_accumulates_every_gradient() {
    for _ in 0..20 {
        let x = leaf(&[1.0, 2.0, 3.0]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| sum(&x.mul(2.0).unwrap()).backward().unwrap());
            }
        });
        assert_eq!(gradient(&x), [16.0; 3]);
    }
}

#[test]
fn grad_on_several_threads_over_shared_tensors() {
    let x = leaf(&[1.0, 2.0, 3.0]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let y = sum(&x.mul(&x).unwrap());
                    let found = grad_of(&y, std::slice::from_ref(&x), false).unwrap();
                    assert_eq!(values(found[0].as_ref().unwrap()), [2.0, 4.0, 6.0]);
                }
            });
        }
    });
}
