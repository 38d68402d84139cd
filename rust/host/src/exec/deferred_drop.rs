//! What others handed in and nobody needs any more.

use interlock_core::base::catch::drop_catching_panic;

/// Things to be dropped once the lock is released: what they own may call the driver, or panic.
#[derive(Default)]
pub(crate) struct DeferredDrops(Vec<Box<dyn Send>>);

impl DeferredDrops {
    pub(crate) fn add(&mut self, thing: impl Send + 'static) {
        self.0.push(Box::new(thing));
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
    fn what_panics_while_it_is_dropped_keeps_nothing_else_alive() {
        let other = std::sync::Arc::new(());
        let mut waste = DeferredDrops::default();
        waste.add(PanicsWhenDropped);
        waste.add(other.clone());
        drop(waste);
        assert_eq!(std::sync::Arc::strong_count(&other), 1);
    }
}
