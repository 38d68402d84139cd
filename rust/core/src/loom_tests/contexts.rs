//! Layers of contexts that are exited elsewhere, and what a thread has seen of them.

use super::{explore, explore_up_to, spawn};
use crate::modes::{Mode, is_grad_enabled, no_grad};
use crate::process_defaults::ProcessDefaults;
use crate::thread::loom_layer::ContextLayer;
use crate::thread::{any_flag_layer, look};

#[test]
fn layer_that_ends_elsewhere_is_dropped_with_a_look() {
    let seen = explore(|| {
        let layer = ContextLayer::no_grad();
        let mark = layer.mark();
        let ending = spawn(move || mark.end());
        layer.show();
        let first = is_grad_enabled();
        look();
        let second = is_grad_enabled();
        layer.show();
        assert!(second || !first);
        ending.join().unwrap();
        look();
        assert!(is_grad_enabled());
        (first, second)
    });
    assert_eq!(seen, [(false, false), (false, true), (true, true)].into());
}

#[test]
fn guard_drops_what_has_ended_before() {
    let seen = explore(|| {
        let layer = ContextLayer::no_grad();
        layer.show();
        let mark = layer.mark();
        let ending = spawn(move || mark.end());
        drop(no_grad());
        let after_guard = is_grad_enabled();
        ending.join().unwrap();
        drop(no_grad());
        assert!(is_grad_enabled());
        after_guard
    });
    assert_eq!(seen, [false, true].into());
}

#[test]
fn flag_layer_is_counted_until_its_last_state_is_dropped() {
    explore(|| {
        let layer = ContextLayer::flag();
        layer.show();
        let mark = layer.mark();
        let ending = spawn(move || mark.end());
        assert!(any_flag_layer());
        ending.join().unwrap();
        drop(layer);
        look();
        assert!(!any_flag_layer());
    });
}

#[test]
fn values_of_the_process_are_seen_with_a_look() {
    let seen = explore_up_to(3, || {
        assert!(is_grad_enabled());
        let change =
            || ProcessDefaults::change(|defaults| defaults.set_mode(Mode::Grad, Some(false))).unwrap();
        let changing = spawn(change);
        look();
        let first = is_grad_enabled();
        changing.join().unwrap();
        look();
        assert!(!is_grad_enabled());
        first
    });
    assert_eq!(seen, [false, true].into());
}
