//! The lock by itself.

use std::sync::Arc;

use super::{explore, spawn};
use crate::base::sync::ForkLock;

#[test]
fn what_is_done_under_the_lock_is_seen_by_who_takes_it_next() {
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
