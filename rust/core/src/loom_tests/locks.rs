//! `ForkLock`.

use std::sync::Arc;

use super::{explore, spawn};
use crate::base::sync::ForkLock;

#[test]
fn fork_lock_orders_writes_before_the_next_holder() {
    let seen = explore(|| {
        let lock = Arc::new(ForkLock::new(1, (0, 0)));
        let other = {
            let lock = lock.clone();
            spawn(move || {
                let mut value = lock.lock();
                value.0 += 1;
                value.1 += 1;
            })
        };
        let seen = *lock.lock();
        other.join().unwrap();
        assert_eq!(*lock.lock(), (1, 1));
        seen
    });
    assert_eq!(seen, [(0, 0), (1, 1)].into());
}
