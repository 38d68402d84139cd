use super::super::{FlagId, FlagSlots, Slot};
use super::*;
use crate::thread::mode_bits;

const GRAD: u8 = mode_bits::GRAD;
const OTHER: u8 = mode_bits::INFERENCE;

/// A list with the numbers of its thread.
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
fn layers_left_out_of_order_bring_the_base_back() {
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
fn a_scope_that_entered_twice_leaves_its_inner_layer_first() {
    let mut thread = Thread::new();
    let outer = thread.push(1, GRAD, 0);
    let inner = thread.push(1, GRAD, 0);
    assert!(thread.remove_of(1));
    assert!(thread.layers.remove(ExitTarget::Layer(inner)).is_none());
    assert!(thread.layers.pop_plain(ExitTarget::Layer(outer)).is_some());
    assert!(!thread.remove_of(1));
}

#[test]
fn a_write_lasts_as_long_as_the_layer_that_decides_its_bit() {
    let mut thread = Thread::new();
    let layer = thread.push(1, GRAD, 0);
    thread.push(2, OTHER, OTHER);
    let (place, old) = thread.write_grad(true);
    assert_eq!((place, old.value, thread.modes()), (layer, 0, GRAD | OTHER));
    thread.layers.restore_mode(place, old);
    assert_eq!(thread.modes(), OTHER);
    thread.write_grad(true);
    assert!(thread.remove_of(2));
    assert!(thread.remove_of(1));
    assert_eq!(thread.modes(), GRAD);
}

#[test]
fn restoring_a_place_that_ended_changes_nothing() {
    let mut thread = Thread::new();
    thread.push(1, GRAD, 0);
    let (place, _) = thread.write_grad(true);
    assert!(thread.remove_of(1));
    thread.layers.restore_mode(place, Masked::new(GRAD, 0));
    assert_eq!(thread.modes(), GRAD);
}

#[test]
fn a_write_that_went_to_the_base_is_taken_back_there_only() {
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
fn another_base_shows_when_the_layers_over_it_end() {
    let mut thread = Thread::new();
    thread.push(1, GRAD, GRAD);
    thread.layers.set_base(OTHER, named(3, 1, true));
    assert_eq!((thread.modes(), thread.layers.flag(FlagId(3))), (GRAD | OTHER, Some(1)));
    assert!(thread.remove_of(1));
    assert_eq!(thread.modes(), OTHER);
}

#[test]
fn a_write_to_a_base_that_was_replaced_is_not_taken_back_from_the_new_one() {
    let mut thread = Thread::new();
    let (base, old) = thread.write_grad(false);
    thread.layers.set_base(0, Slots::opaque());
    thread.layers.restore_mode(base, old);
    assert_eq!(thread.modes(), 0);
}

#[test]
fn the_numbers_of_two_threads_never_meet() {
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
fn a_write_into_one_layer_of_a_scope_leaves_its_other_layers() {
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
fn what_a_hiding_layer_does_not_name_is_not_looked_for_below() {
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
fn layers_together_hold_what_each_flag_has_and_hide_the_rest() {
    let mut thread = Thread::new();
    thread.push_slots(1, &named(3, 1, false));
    thread.push_slots(2, &named(4, 2, false));
    thread.push_slots(3, &named(3, 9, false));
    let together = thread.layers.flatten();
    assert_eq!([3, 4, 5].map(|id| together.flags.word(FlagId(id))), [Some(9), Some(2), None]);
    assert!(together.is_opaque);
    thread.push_slots(4, &together);
    assert!(Arc::ptr_eq(&thread.layers.flatten(), &together));
}

#[test]
fn flag_layers_are_counted_until_they_are_removed_or_their_list_ends() {
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
