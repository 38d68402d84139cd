//! Automatic differentiation: gradients of several threads, bases of views, and hooks that tensors own.

use std::sync::Arc;

use interlock_tensor::Tensor;

fn leaf(values: &[f64]) -> Tensor {
    let tensor = Tensor::from_slice(values, &[values.len()]).unwrap();
    tensor.set_requires_grad(true).unwrap();
    tensor
}

fn backward_of_sum(tensor: &Tensor) {
    tensor.sum(None, false).unwrap().backward().unwrap();
}

fn gradient(tensor: &Tensor) -> Vec<f64> {
    tensor.grad().unwrap().to_vec().unwrap()
}

#[test]
fn inplace_change_of_a_view_gives_its_base_a_history() {
    let (x, w) = (Tensor::from_slice(&[1.0, 2.0], &[2]).unwrap(), leaf(&[3.0]));
    let before = x.select(0, 1).unwrap();
    x.select(0, 0).unwrap().mul_(&w.select(0, 0).unwrap()).unwrap();
    assert!(x.requires_grad() && before.requires_grad());
    backward_of_sum(&x.mul(&x).unwrap());
    assert_eq!(gradient(&w), [6.0]);
}

#[test]
fn backward_on_several_threads_accumulates_every_gradient() {
    for _ in 0..20 {
        let x = leaf(&[1.0, 2.0, 3.0]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| backward_of_sum(&x.mul(2.0).unwrap()));
            }
        });
        assert_eq!(gradient(&x), [16.0; 3]);
    }
}

#[test]
fn hooks_of_an_unreachable_tensor_are_visited_and_cleared() {
    let x = leaf(&[1.0]);
    x.register_hook(Arc::new(|_: &Tensor| Ok(None))).unwrap();
    let visited = |tensor: &Tensor| {
        let mut count = 0;
        tensor.visit_owned(&mut |_| count += 1);
        count
    };
    assert_eq!(visited(&x), 1);
    let other = x.clone();
    // The other handle owns the hook, too.
    assert_eq!(visited(&x), 0);
    x.clear_owned();
    drop(other);
    assert_eq!(visited(&x), 1);
    x.clear_owned();
    assert_eq!(visited(&x), 0);
}
