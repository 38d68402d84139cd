use super::super::mode_bits::{GRAD, INFERENCE};
use super::super::{FlagId, FlagSlots, any_flag_layer};
use super::*;

fn layer(id: u64, modes: Masked<u8>, slots: Option<Arc<Slots>>) -> Layer {
    let mark = Mark::new(LayerId::from_number(id), ScopeId::NONE, Position::current());
    Layer { mark: Arc::new(mark), modes, modes_set_by: ThreadId::NONE, slots }
}

fn grad(id: u64, on: bool) -> Layer {
    layer(id, Masked::new(GRAD, if on { GRAD } else { 0 }), None)
}

fn flag(id: u64, payload: u64) -> Layer {
    let flags = FlagSlots { words: vec![(FlagId(3), payload)], ..FlagSlots::default() };
    layer(id, Masked::default(), Some(Slots::from_flags(flags)))
}

fn ids(state: &State) -> Vec<u64> {
    iterate(&state.head).map(|node| node.layer.mark.id.number()).collect()
}

#[test]
fn with_keeps_layers_in_order_of_their_positions() {
    let early = Layer {
        mark: Arc::new(Mark::new(LayerId::from_number(9), ScopeId::NONE, Position::next())),
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
    let mut popped = second.clone();
    assert!(popped.pop(&one.mark, 0).is_none());
    assert_eq!(popped.pop(&two.mark, first.serial()).unwrap().layer.mark.id, two.mark.id);
    assert!(Arc::ptr_eq(popped.head.as_ref().unwrap(), first.head.as_ref().unwrap()));
    assert_eq!((popped.serial(), ids(&second)), (first.serial(), vec![2, 1]));
}

#[test]
fn spare_node_is_filled_only_if_nothing_else_refers_to_it() {
    let (off, mut spare) = (Masked::new(GRAD, 0), Spare::NONE);
    let below = State::EMPTY.with(grad(1, true));
    let entered = |id, spare: &mut Spare| {
        below.with_innermost(LayerId::from_number(id), ScopeId::NONE, off, ThreadId::NONE, None, spare)
    };
    let address = |state: &State| state.head.as_ref().map(Arc::as_ptr);

    let (mut state, first) = entered(2, &mut spare);
    let node = address(&state);
    assert!(spare.keep((state.pop(&first, below.serial()).unwrap(), first)).is_none());
    assert_eq!((ids(&state), state.serial()), (vec![1], below.serial()));
    let (mut state, second) = entered(3, &mut spare);
    assert_eq!((address(&state), ids(&state), state.serial()), (node, vec![3, 1], 3));
    assert_eq!(state.summary().modes, off);

    // A copy of the context has the node.
    let copy = state.clone();
    assert!(spare.keep((state.pop(&second, below.serial()).unwrap(), second)).is_some());
    assert_eq!((ids(&state), ids(&copy)), (vec![1], vec![3, 1]));
    // Something else has the mark.
    let (mut state, third) = entered(4, &mut spare);
    assert!(spare.keep((state.pop(&third, below.serial()).unwrap(), third.clone())).is_none());
    let (state, _) = entered(5, &mut spare);
    assert_eq!((third.id.number(), ids(&state), ids(&copy)), (4, vec![5, 1], vec![3, 1]));
}

#[test]
fn spare_keeps_no_slots() {
    let (mut state, mut spare) = (State::EMPTY.with(flag(1, 7)), Spare::NONE);
    let mark = state.head.as_ref().unwrap().layer.mark.clone();
    assert!(spare.keep((state.pop(&mark, 0).unwrap(), mark)).is_some());
    assert!(state.is_empty());
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
