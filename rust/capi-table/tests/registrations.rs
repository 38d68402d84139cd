//! Functions that extensions register through `interlock-capi`.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use interlock::backends::flags::CUDNN_BENCHMARK;
use interlock_capi::autograd::{self, Mode, no_grad};
use interlock_capi::backends::{self, FlagChange, FlagId, Level, Value, find};
use interlock_capi::state::{Carried, ThreadState, register_carried};
use interlock_capi::{ErrorCode, Registration};

use crate::wrappers::import;

type Noted<T> = Arc<Mutex<Vec<T>>>;

fn taken<T>(noted: &Noted<T>) -> Vec<T> {
    std::mem::take(&mut noted.lock().unwrap())
}

#[test]
fn changes_of_flags_are_reported_until_the_registration_is_dropped() {
    import();
    let noted = Noted::default();
    let seen = noted.clone();
    let registration = backends::on_change(move |change| seen.lock().unwrap().push(change.clone())).unwrap();
    let benchmark = find::<bool>("cudnn.benchmark").unwrap();
    let (flag, [old, new]) = (benchmark.id(), [Value::Bool(false), Value::Bool(true)]);
    CUDNN_BENCHMARK.set(true).unwrap();
    let write = |old, new, level, layer| FlagChange::Write { flag, old, new, level, layer };
    assert_eq!(taken(&noted), [write(old.clone(), new.clone(), Level::Process, None)]);
    let scope = benchmark.scope(false).unwrap();
    let guard = scope.guard().unwrap();
    benchmark.set(true).unwrap();
    drop(guard);
    let changes = taken(&noted);
    let FlagChange::Enter { layer, values } = &changes[0] else { panic!("{changes:?}") };
    assert_eq!(*values, [(flag, old.clone())]);
    let inside = write(old.clone(), new.clone(), Level::Scope, Some(*layer));
    assert_eq!(changes[1..], [inside, FlagChange::Exit { layer: *layer }]);
    benchmark.unset().unwrap();
    assert_eq!(taken(&noted), [write(new, old, Level::Default, None)]);
    drop(registration);
    CUDNN_BENCHMARK.set(true).unwrap();
    assert_eq!(taken(&noted), []);
    assert_eq!(Arc::strong_count(&noted), 1);
}

#[test]
fn every_flag_is_reported_under_its_id() {
    import();
    let noted = Noted::default();
    let seen = noted.clone();
    let _registration = backends::on_change(move |change| {
        if let FlagChange::Write { flag, .. } = change {
            seen.lock().unwrap().push(*flag);
        }
    })
    .unwrap();
    for spec in interlock::backends::flag_specs().filter(|spec| !spec.is_read_only()) {
        find::<Value>(spec.name()).unwrap().unset().unwrap();
        let reported: Vec<&str> = taken(&noted).into_iter().map(FlagId::name).collect();
        // An alias is reported as its nodes.
        let are_nodes = reported.iter().all(|name| name.ends_with("fp32_precision"));
        assert!(reported == [spec.name()] || !reported.is_empty() && are_nodes, "{spec:?}: {reported:?}");
    }
}

#[test]
fn changes_of_modes_are_reported_with_what_was_set_before() {
    import();
    let noted = Noted::default();
    let seen = noted.clone();
    let registration = autograd::on_change(move |change| {
        let modes = [Mode::Grad, Mode::Anomaly].map(|mode| (change.was_set(mode), change.set(mode)));
        seen.lock().unwrap().push(modes);
    });
    let guard = no_grad().unwrap();
    let anomaly = Mode::Anomaly.enter(true).unwrap();
    drop((anomaly, guard));
    let (nothing, without, with) = ((None, None), Some(false), Some(true));
    let expected = [
        [(None, without), nothing],
        [(without, without), (None, with)],
        [(without, without), (with, None)],
        [(without, None), nothing],
    ];
    assert_eq!(taken(&noted), expected);
    drop(registration.unwrap());
    drop(no_grad().unwrap());
    assert!(taken(&noted).is_empty());
}

#[test]
fn a_function_that_panics_is_called_again() {
    import();
    let noted = Noted::default();
    let seen = noted.clone();
    let _registration: Registration = autograd::on_change(move |_| {
        seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(());
        panic!("the function of the test");
    })
    .unwrap();
    drop(no_grad().unwrap());
    assert_eq!(noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).len(), 2);
}

thread_local!(static VERBOSITY: Cell<u8> = const { Cell::new(0) });

/// Saving 9 panics, and so does restoring 8.
struct Verbosity(Arc<()>);

impl Carried for Verbosity {
    type Value = (u8, Arc<()>);

    fn save(&self) -> Self::Value {
        assert_ne!(VERBOSITY.get(), 9);
        (VERBOSITY.get(), self.0.clone())
    }

    fn restore(&self, value: &Self::Value) {
        assert_ne!(value.0, 8);
        VERBOSITY.set(value.0);
    }
}

fn in_state(state: ThreadState) -> (u8, u8) {
    std::thread::spawn(move || (state.run(|| VERBOSITY.get()).unwrap(), VERBOSITY.get())).join().unwrap()
}

#[test]
fn captured_states_carry_values_of_extensions() {
    import();
    let counted = Arc::new(());
    let registration = register_carried("test.verbosity", Verbosity(counted.clone())).unwrap();
    let error = register_carried("test.verbosity", Verbosity(counted.clone())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Argument);
    assert!(error.to_string().contains("test.verbosity"), "{error}");
    VERBOSITY.set(2);
    let state = ThreadState::capture().unwrap();
    VERBOSITY.set(3);
    assert_eq!((state.run(|| VERBOSITY.get()).unwrap(), VERBOSITY.get()), (2, 3));
    assert_eq!(in_state(state), (2, 0));
    // What panics has no effect.
    for panics in [8, 9] {
        VERBOSITY.set(panics);
        assert_eq!(in_state(ThreadState::capture().unwrap()), (0, 0));
    }
    drop(registration);
    assert_eq!(in_state(ThreadState::capture().unwrap()), (0, 0));
    // The values and the data were released.
    assert_eq!(Arc::strong_count(&counted), 1);
}
