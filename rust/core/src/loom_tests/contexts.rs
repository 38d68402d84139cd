//! Layers of contexts that are exited elsewhere, and what a thread has seen of them.

use super::{explore, explore_up_to, spawn};
use crate::modes::{Mode, enable_grad, is_grad_enabled, no_grad};
use crate::process_defaults::ProcessDefaults;
use crate::thread::loom_layer::ContextLayer;
use crate::thread::{ThreadState, any_flag_layer, sync};

#[test]
fn layer_that_ends_elsewhere_is_dropped_with_a_look() {
    let seen = explore(|| {
        let layer = ContextLayer::no_grad();
        let mark = layer.mark();
        let ending = spawn(move || mark.end());
        layer.show();
        let first = is_grad_enabled();
        sync();
        let second = is_grad_enabled();
        layer.show();
        assert!(second || !first);
        ending.join().unwrap();
        sync();
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
        sync();
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
        sync();
        let first = is_grad_enabled();
        changing.join().unwrap();
        sync();
        assert!(!is_grad_enabled());
        first
    });
    assert_eq!(seen, [false, true].into());
}

#[test]
fn guard_that_is_open_while_a_layer_ends_restores_the_mode_without_it() {
    let seen = explore(|| {
        let layer = ContextLayer::no_grad();
        layer.show();
        let mark = layer.mark();
        let guard = enable_grad();
        let ending = spawn(move || mark.end());
        drop(guard);
        let after_guard = is_grad_enabled();
        ending.join().unwrap();
        sync();
        assert!(is_grad_enabled());
        after_guard
    });
    assert_eq!(seen, [false, true].into());
}

#[test]
fn what_a_thread_has_seen_is_stale_once_a_layer_has_ended() {
    let seen = explore(|| {
        let layer = ContextLayer::no_grad();
        layer.show();
        let mark = layer.mark();
        let ending = spawn(move || mark.end());
        let is_seen = layer.is_seen();
        ending.join().unwrap();
        assert!(!layer.is_seen());
        layer.show();
        assert!(layer.is_seen() && is_grad_enabled());
        is_seen
    });
    assert_eq!(seen, [false, true].into());
}

#[test]
fn layers_that_two_threads_end_are_both_dropped() {
    explore_up_to(2, || {
        let below = ContextLayer::no_grad();
        let above = below.with_flag_above();
        above.show();
        let marks = [below.mark(), above.mark()];
        let ending = marks.map(|mark| spawn(move || mark.end()));
        sync();
        for ending in ending {
            ending.join().unwrap();
        }
        drop((below, above));
        sync();
        assert!(is_grad_enabled() && !any_flag_layer());
    });
}

#[test]
fn copies_of_a_state_on_two_threads_drop_a_layer_that_one_ends() {
    let seen = explore_up_to(2, || {
        let layer = ContextLayer::no_grad();
        let copy = layer.copy();
        let other = spawn(move || {
            copy.show();
            let first = is_grad_enabled();
            sync();
            (first, is_grad_enabled())
        });
        layer.show();
        layer.mark().end();
        sync();
        assert!(is_grad_enabled());
        other.join().unwrap()
    });
    assert_eq!(seen, [(false, false), (false, true), (true, true)].into());
}

#[test]
fn captured_state_keeps_what_was_active_while_a_layer_ends() {
    let seen = explore(|| {
        let layer = ContextLayer::no_grad();
        layer.show();
        let mark = layer.mark();
        let ending = spawn(move || mark.end());
        let state = ThreadState::capture();
        let captured = state.run(is_grad_enabled);
        ending.join().unwrap();
        assert_eq!(state.run(is_grad_enabled), captured);
        captured
    });
    assert_eq!(seen, [false, true].into());
}
