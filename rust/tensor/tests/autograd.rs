//! Hooks that tensors own.

use std::sync::Arc;

use interlock_tensor::Tensor;

#[test]
fn hooks_of_an_unreachable_tensor_are_visited_and_cleared() {
    let x = Tensor::from_slice(&[1.0], &[1]).unwrap();
    x.set_requires_grad(true).unwrap();
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
