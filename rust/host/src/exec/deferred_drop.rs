//! Values of the caller that are dropped after the lock is released.

use interlock_core::base::catch::drop_catching_panic;

/// Values to drop after the lock is released: their destructors may call the driver, or panic.
#[derive(Default)]
pub(crate) struct DeferredDrops(Vec<Box<dyn Send>>);

impl DeferredDrops {
    pub(crate) fn add(&mut self, value: impl Send + 'static) {
        self.0.push(Box::new(value));
    }
}

impl Drop for DeferredDrops {
    fn drop(&mut self) {
        self.0.drain(..).for_each(drop_catching_panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn deferred_drops_continue_after_a_destructor_panics() {
        let other = std::sync::Arc::new(());
        let mut deferred = DeferredDrops::default();
        deferred.add(PanicsWhenDropped);
        deferred.add(other.clone());
        drop(deferred);
        assert_eq!(std::sync::Arc::strong_count(&other), 1);
    }
}
