use super::super::{FlagId, FlagSlots, Slot};
use super::*;
use crate::thread::mode_bits;

const GRAD: u8 = mode_bits::GRAD;
const OTHER: u8 = mode_bits::INFERENCE;

/// A layer stack with the id generator of its thread.
struct Thread {
    layers: LayerStack,
    ids: LayerIds,
}

impl Thread {
    fn new() -> Self {
        Thread { layers: LayerStack::new(GRAD), ids: LayerIds::new() }
    }

    fn push(&mut self, scope: u64, mask: u8, value: u8) -> LayerId {
        self.push_layer(scope, Masked::new(mask, value), None)
    }

    fn push_slots(&mut self, scope: u64, slots: &Arc<Slots>) -> LayerId {
        self.push_layer(scope, Masked::default(), Some(slots.clone()))
    }

    fn push_layer(&mut self, scope: u64, decided: Masked<u8>, slots: Option<Arc<Slots>>) -> LayerId {
        if self.layers.is_full() {
            self.layers.grow();
        }
        let below = self.layers.modes();
        self.layers.push(&mut self.ids, ScopeId(scope), decided, below, slots).unwrap()
    }

    fn write_grad(&mut self, on: bool) -> (LayerId, Masked<u8>) {
        self.layers.write_mode(&mut self.ids, Masked::new(GRAD, if on { GRAD } else { 0 }))
    }

    fn remove_of(&mut self, scope: u64) -> bool {
        self.layers.remove(ExitTarget::Scope(ScopeId(scope))).is_some()
    }

    fn modes(&self) -> u8 {
        self.layers.modes()
    }
}

fn named(id: u16, payload: u64, is_opaque: bool) -> Arc<Slots> {
    let flags = FlagSlots { words: vec![(FlagId(id), payload)], ..FlagSlots::default() };
    Arc::new(Slots { flags, is_opaque, ..Slots::default() })
}

#[test]
fn remove_out_of_order_restores_the_base() {
    let mut thread = Thread::new();
    thread.push(1, GRAD, 0);
    thread.push(2, GRAD, GRAD);
    assert!(thread.remove_of(1));
    assert_eq!(thread.modes(), GRAD);
    thread.push(3, GRAD, 0);
    assert!(thread.remove_of(2));
    assert_eq!(thread.modes(), 0);
    assert!(thread.remove_of(3));
    assert_eq!(thread.modes(), GRAD);
}

#[test]
fn remove_of_a_scope_takes_its_innermost_layer() {
    let mut thread = Thread::new();
    let outer = thread.push(1, GRAD, 0);
    let inner = thread.push(1, GRAD, 0);
    assert!(thread.remove_of(1));
    assert!(thread.layers.remove(ExitTarget::Layer(inner)).is_none());
    assert!(thread.layers.pop_plain(ExitTarget::Layer(outer)).is_some());
    assert!(!thread.remove_of(1));
}

#[test]
fn write_mode_ends_with_the_layer_that_decides_the_bit() {
    let mut thread = Thread::new();
    let layer = thread.push(1, GRAD, 0);
    thread.push(2, OTHER, OTHER);
    let (id, old) = thread.write_grad(true);
    assert_eq!((id, old.value, thread.modes()), (layer, 0, GRAD | OTHER));
    thread.layers.restore_mode(id, old);
    assert_eq!(thread.modes(), OTHER);
    thread.write_grad(true);
    assert!(thread.remove_of(2));
    assert!(thread.remove_of(1));
    assert_eq!(thread.modes(), GRAD);
}

#[test]
fn restore_mode_of_a_removed_layer_changes_nothing() {
    let mut thread = Thread::new();
    thread.push(1, GRAD, 0);
    let (id, _) = thread.write_grad(true);
    assert!(thread.remove_of(1));
    thread.layers.restore_mode(id, Masked::new(GRAD, 0));
    assert_eq!(thread.modes(), GRAD);
}

#[test]
fn restore_mode_of_a_base_changes_only_that_base() {
    let mut thread = Thread::new();
    let (base, old) = thread.write_grad(false);
    let mut other = LayerStack::new(GRAD);
    other.write_mode(&mut thread.ids, Masked::new(GRAD, 0));
    other.restore_mode(base, old);
    assert_eq!(other.modes(), 0);
    thread.layers.restore_mode(base, old);
    assert_eq!(thread.modes(), GRAD);
}

#[test]
fn set_base_is_visible_once_the_layers_above_are_removed() {
    let mut thread = Thread::new();
    thread.push(1, GRAD, GRAD);
    thread.layers.set_base(OTHER, named(3, 1, true));
    assert_eq!((thread.modes(), thread.layers.flag(FlagId(3))), (GRAD | OTHER, Some(1)));
    assert!(thread.remove_of(1));
    assert_eq!(thread.modes(), OTHER);
}

#[test]
fn restore_mode_of_a_replaced_base_changes_nothing() {
    let mut thread = Thread::new();
    let (base, old) = thread.write_grad(false);
    thread.layers.set_base(0, Slots::opaque());
    thread.layers.restore_mode(base, old);
    assert_eq!(thread.modes(), 0);
}

#[test]
fn layer_ids_of_two_threads_are_distinct() {
    let numbers_of = |thread: &mut Thread| -> Vec<u64> {
        (0..BLOCK + 2)
            .map(|_| {
                let id = thread.push(1, GRAD, 0);
                thread.remove_of(1);
                id.number()
            })
            .collect()
    };
    let (mut one, mut other) = (Thread::new(), Thread::new());
    let (first, second) = (numbers_of(&mut one), numbers_of(&mut other));
    let all: std::collections::HashSet<u64> = first.iter().chain(&second).copied().collect();
    assert_eq!(all.len(), first.len() + second.len());
    assert!(!all.contains(&0));
}

#[test]
fn owning_layer_mut_leaves_other_layers_of_the_scope() {
    let shared = named(3, 1, false);
    let mut thread = Thread::new();
    thread.push_slots(1, &shared);
    thread.push_slots(1, &shared);
    thread.layers.owning_layer_mut(Slot::Flag(FlagId(3))).unwrap().words = vec![(FlagId(3), 7)];
    assert_eq!(thread.layers.flag(FlagId(3)), Some(7));
    assert!(thread.remove_of(1));
    assert_eq!(thread.layers.flag(FlagId(3)), Some(1));
    assert_eq!(thread.layers.flag_summary().1, 1 << 3);
}

#[test]
fn opaque_layer_hides_flags_below_that_it_does_not_name() {
    let mut thread = Thread::new();
    thread.push_slots(1, &named(3, 1, false));
    thread.push_slots(2, &named(4, 2, true));
    thread.push_slots(3, &named(5, 3, false));
    let seen = |thread: &Thread| [3, 4, 5].map(|id| thread.layers.flag(FlagId(id)));
    assert_eq!(seen(&thread), [None, Some(2), Some(3)]);
    assert!(thread.layers.owning_layer_mut(Slot::Flag(FlagId(3))).is_none());
    assert_eq!(thread.layers.flag_summary().1, 1 << 4 | 1 << 5);
    assert!(thread.remove_of(2));
    assert_eq!(seen(&thread), [Some(1), None, Some(3)]);
}

#[test]
fn flatten_merges_visible_flags_into_an_opaque_layer() {
    let mut thread = Thread::new();
    thread.push_slots(1, &named(3, 1, false));
    thread.push_slots(2, &named(4, 2, false));
    thread.push_slots(3, &named(3, 9, false));
    let merged = thread.layers.flatten();
    assert_eq!([3, 4, 5].map(|id| merged.flags.word(FlagId(id))), [Some(9), Some(2), None]);
    assert!(merged.is_opaque);
    thread.push_slots(4, &merged);
    assert!(Arc::ptr_eq(&thread.layers.flatten(), &merged));
}

#[test]
fn any_flag_layer_is_true_until_all_are_removed_or_dropped() {
    let mut thread = Thread::new();
    thread.push_slots(1, &named(3, 1, false));
    thread.push_slots(2, &named(3, 1, false));
    assert!(thread.remove_of(1) && any_flag_layer());
    thread.layers.set_base(GRAD, named(3, 1, true));
    assert!(thread.remove_of(2) && any_flag_layer());
    thread.layers.set_base(GRAD, named(4, 1, true));
    drop(thread);
    assert!(!any_flag_layer());
}
