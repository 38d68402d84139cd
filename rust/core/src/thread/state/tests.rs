use super::super::mode_bits::{GRAD, INFERENCE};
use super::super::{FlagId, FlagSlots, any_flag_layer};
use super::*;

fn layer(id: u64, modes: Masked<u8>, slots: Option<Arc<Slots>>) -> Layer {
    let mark = Mark::new(LayerId::of_number(id), ScopeId::NONE, None);
    Layer { mark, modes, slots }
}

fn grad(id: u64, on: bool) -> Layer {
    layer(id, Masked::new(GRAD, if on { GRAD } else { 0 }), None)
}

fn flag(id: u64, payload: u64) -> Layer {
    let flags = FlagSlots { words: vec![(FlagId(3), payload)], ..FlagSlots::default() };
    layer(id, Masked::default(), Some(Slots::of_flags(flags)))
}

fn ids(state: &State) -> Vec<u64> {
    iterate(&state.head).map(|node| node.layer.mark.id.number()).collect()
}

#[test]
fn with_keeps_layers_in_order_of_their_positions() {
    let early = Layer {
        mark: Mark::new(LayerId::of_number(9), ScopeId::NONE, Some(Position::next())),
        ..grad(9, false)
    };
    let state = State::EMPTY.with(grad(2, true)).with(grad(5, true)).with(early);
    assert_eq!(ids(&state), [5, 2, 9]);
    assert_eq!((state.summary().modes, depth(&state.head)), (Masked::new(GRAD, GRAD), 3));
}

#[test]
fn a_layer_lies_above_those_that_threads_with_higher_ids_entered_before() {
    let state = State::EMPTY.with(grad(1 << 17, true)).with(grad(3, false)).with(grad(1 << 16, true));
    assert_eq!(ids(&state), [1 << 16, 3, 1 << 17]);
}

#[test]
fn each_change_has_another_serial_and_leaves_the_old_state() {
    let (one, two) = (grad(1, false), flag(2, 7));
    let first = State::EMPTY.with(one.clone());
    let second = first.with(two.clone());
    let written = second.with_layer(&one.mark, |layer| layer.modes = Masked::new(INFERENCE, INFERENCE));
    let removed = written.without(|mark| mark.id == one.mark.id);
    let serials = [&State::EMPTY, &first, &second, &written, &removed].map(State::serial);
    assert!(serials.is_sorted_by(|one, other| one < other), "{serials:?}");
    assert_eq!(
        (ids(&first), ids(&second), ids(&written), ids(&removed)),
        (vec![1], vec![2, 1], vec![2, 1], vec![2])
    );
    assert_eq!(second.summary().modes, Masked::new(GRAD, 0));
    assert_eq!(written.summary().modes, Masked::new(INFERENCE, INFERENCE));
    let popped = second.popped(&two.mark, first.serial()).unwrap();
    assert!(Arc::ptr_eq(popped.head.as_ref().unwrap(), first.head.as_ref().unwrap()));
    assert!(second.popped(&one.mark, 0).is_none());
}

#[test]
fn without_ended_keeps_the_serial_and_shares_an_unchanged_state() {
    let (one, two) = (grad(1, false), grad(2, true));
    let state = State::EMPTY.with(one.clone()).with(two.clone());
    assert!(Arc::ptr_eq(state.without_ended().head.as_ref().unwrap(), state.head.as_ref().unwrap()));
    one.mark.end();
    changes::announce();
    let left = state.without_ended();
    assert_eq!((ids(&left), left.serial()), (vec![2], state.serial()));
    two.mark.end();
    changes::announce();
    assert_eq!(ids(&state.without_ended()), [0; 0]);
}

#[test]
fn closed_layers_are_merged_only_with_neighbours() {
    let layers: Vec<Layer> = (1..=16).map(|id| flag(id, id)).collect();
    let open = [4, 16];
    let state = layers.iter().fold(State::EMPTY, |state, layer| state.with(layer.clone()));
    layers
        .iter()
        .filter(|layer| !open.contains(&layer.mark.id.number()))
        .for_each(|layer| layer.mark.close());
    let pushed = state.with(grad(17, false));
    assert_eq!(ids(&pushed), [17, 16, 15, 4, 3]);
    let payloads: Vec<_> = iterate(&pushed.head)
        .filter_map(|node| node.layer.slots.as_ref().and_then(|slots| slots.flags.word(FlagId(3))))
        .collect();
    assert_eq!(payloads, [16, 15, 4, 3]);
}

#[test]
fn summary_of_an_opaque_layer_hides_the_slots_below() {
    let state = State::EMPTY.with(flag(1, 7));
    let state = state.with(layer(2, Masked::default(), Some(Slots::opaque())));
    assert!(state.summary().is_opaque && !state.summary().names_flags());
}

#[test]
fn any_flag_layer_is_true_until_the_last_state_is_dropped() {
    let state = State::EMPTY.with(flag(1, 7));
    let copy = state.with(grad(2, false));
    drop(state);
    assert!(any_flag_layer());
    drop(copy);
    assert!(!any_flag_layer());
}

#[test]
fn long_list_is_dropped_without_recursion() {
    let state = (1..=300_000).fold(State::EMPTY, |state, id| state.with(grad(id, false)));
    assert_eq!(depth(&state.head), 300_000);
    drop(state);
}
