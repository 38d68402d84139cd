//! Random programs over scopes, guards, writes and contexts, compared with the rules in their simplest form.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::carrier::{TestContext, detached};
use crate::binding::modes::write_bits;
use crate::binding::thread::set_device_slots;
use crate::flags::Flag;
use crate::flags::flags::CUDNN_ENABLED;
use crate::modes::Mode;
use crate::thread::{
    DeviceSlots, FlagSlots, Masked, ProcessValues, Scope, ScopeGuard, Slots, ThreadState, current_device,
    mode_bits, sync,
};

/// The slots of the programs. A flag is written for the process if no layer sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SlotName {
    Grad,
    Multithreading,
    Device,
    Flag,
}

use SlotName::*;

/// Values of slots; each is 0 or 1.
type Values = BTreeMap<SlotName, u8>;

const SCOPES: usize = 5;

fn values_of_scope(scope: usize) -> Values {
    let values: &[(SlotName, u8)] = match scope {
        0 => &[(Grad, 0)],
        1 => &[(Grad, 1), (Multithreading, 0)],
        2 => &[(Device, 1), (Flag, 0)],
        3 => &[(Flag, 1), (Grad, 0)],
        _ => &[(Multithreading, 1), (Device, 0)],
    };
    values.iter().copied().collect()
}

#[derive(Clone, Debug)]
enum Action {
    Enter(usize),
    Exit(usize),
    /// Continues in a copy of the current context.
    Copy,
    Switch(usize),
    PushGuard(usize),
    /// Drops a guard: guards may end in any order.
    DropGuard(usize),
    Write(SlotName, u8),
    WriteDetached(SlotName, u8),
    SetProcess(Option<u8>),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let slot = || prop_oneof![Just(Grad), Just(Multithreading), Just(Device), Just(Flag)];
    let action = prop_oneof![
        6 => (0..SCOPES).prop_map(Action::Enter),
        5 => (0..SCOPES).prop_map(Action::Exit),
        2 => Just(Action::Copy),
        4 => (0..6_usize).prop_map(Action::Switch),
        2 => (0..SCOPES).prop_map(Action::PushGuard),
        2 => (0..6_usize).prop_map(Action::DropGuard),
        3 => (slot(), 0..2_u8).prop_map(|(slot, value)| Action::Write(slot, value)),
        1 => (slot(), 0..2_u8).prop_map(|(slot, value)| Action::WriteDetached(slot, value)),
        1 => prop::option::of(0..2_u8).prop_map(Action::SetProcess),
    ];
    prop::collection::vec(action, 1..60)
}

// The rules

#[derive(Clone, Debug)]
struct ModelLayer {
    mark: usize,
    values: Values,
}

#[derive(Clone, Debug, Default)]
struct ModelState {
    base: Values,
    layers: Vec<ModelLayer>,
}

#[derive(Debug)]
struct ModelMark {
    scope: usize,
    context: usize,
    is_open: bool,
    is_ended: bool,
}

#[derive(Debug)]
struct ModelGuard {
    values: Values,
    below: Vec<usize>,
}

#[derive(Debug, Default)]
struct Model {
    contexts: Vec<ModelState>,
    current: usize,
    marks: Vec<ModelMark>,
    guards: Vec<ModelGuard>,
    thread_base: Values,
    process: Values,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Guard(usize),
    Layer(usize),
}

impl Model {
    fn layers(&self) -> Vec<&ModelLayer> {
        self.contexts[self.current].layers.iter().filter(|layer| !self.marks[layer.mark].is_ended).collect()
    }

    /// Returns layers and guards, the outermost first.
    fn merged(&self) -> Vec<(Place, &Values)> {
        let layers = self.layers();
        let mut order: Vec<_> =
            layers.iter().map(|layer| (Place::Layer(layer.mark), &layer.values)).collect();
        for (index, guard) in self.guards.iter().enumerate() {
            let is_below = |place: Place| match place {
                Place::Guard(_) => true,
                Place::Layer(mark) => guard.below.contains(&mark),
            };
            let at = order.iter().rposition(|(place, _)| is_below(*place)).map_or(0, |index| index + 1);
            order.insert(at, (Place::Guard(index), &guard.values));
        }
        order
    }

    fn place_of(&self, slot: SlotName) -> Option<Place> {
        self.merged().iter().rev().find(|(_, values)| values.contains_key(&slot)).map(|(place, _)| *place)
    }

    fn read(&self, slot: SlotName) -> u8 {
        let bases = [&self.contexts[self.current].base, &self.thread_base, &self.process];
        let layers = self.merged();
        let all = layers.iter().rev().map(|(_, values)| *values).chain(bases);
        let default = u8::from(slot != Device);
        all.filter_map(|values| values.get(&slot).copied()).next().unwrap_or(default)
    }

    fn write(&mut self, slot: SlotName, value: u8, is_detached: bool) -> bool {
        let base = match self.place_of(slot) {
            Some(Place::Guard(index)) => &mut self.guards[index].values,
            Some(Place::Layer(_)) if is_detached => return false,
            Some(Place::Layer(mark)) => {
                let layers = &mut self.contexts[self.current].layers;
                &mut layers.iter_mut().find(|layer| layer.mark == mark).unwrap().values
            }
            None if slot == Flag => &mut self.process,
            None if is_detached => &mut self.thread_base,
            None => &mut self.contexts[self.current].base,
        };
        base.insert(slot, value);
        true
    }

    fn enter(&mut self, scope: usize) {
        self.marks.push(ModelMark { scope, context: self.current, is_open: true, is_ended: false });
        let layer = ModelLayer { mark: self.marks.len() - 1, values: values_of_scope(scope) };
        self.contexts[self.current].layers.push(layer);
    }

    fn exit(&mut self, scope: usize) {
        let is_own = |mark: &usize| self.marks[*mark].scope == scope && self.marks[*mark].is_open;
        let here = self.contexts[self.current].layers.iter().map(|layer| layer.mark).rfind(is_own);
        let Some(mark) = here.or_else(|| (0..self.marks.len()).rfind(is_own)) else { return };
        self.marks[mark].is_open = false;
        self.marks[mark].is_ended = self.marks[mark].context != self.current;
        self.contexts[self.current].layers.retain(|layer| layer.mark != mark);
    }
}

// The program

fn slots_of(values: &Values) -> (Masked<u8>, Option<Arc<Slots>>) {
    let bit = |slot, bit| {
        values.get(&slot).map_or(Masked::default(), |on| Masked::new(bit, if *on == 1 { bit } else { 0 }))
    };
    let modes = bit(Grad, mode_bits::GRAD).over(bit(Multithreading, mode_bits::MULTITHREADING));
    let mut slots = Slots::default();
    if let Some(flag) = values.get(&Flag) {
        let flag: (&Flag<bool>, u64) = (&CUDNN_ENABLED, u64::from(*flag));
        slots.flags = FlagSlots { words: vec![(flag.0.word().id, flag.1)], ..FlagSlots::default() };
    }
    if let Some(device) = values.get(&Device) {
        slots.fill_from(&Slots::from_devices(DeviceSlots::from_device(*device)));
    }
    let has_slots = values.keys().any(|slot| [Flag, Device].contains(slot));
    (modes, has_slots.then(|| Arc::new(slots)))
}

fn read() -> [(SlotName, u8); 4] {
    [
        (Grad, u8::from(Mode::Grad.is_on())),
        (Multithreading, u8::from(Mode::Multithreading.is_on())),
        (Device, current_device().unwrap_or(0)),
        (Flag, u8::from(CUDNN_ENABLED.get())),
    ]
}

/// Reads the slots that a captured state sets in any case. A flag that no layer sets has the value of the process.
fn read_of_thread() -> [u8; 3] {
    let [grad, multithreading, device, _] = read().map(|(_, value)| value);
    [grad, multithreading, device]
}

fn write(slot: SlotName, value: u8) -> bool {
    let mode = |bit: u8| write_bits(bit, if value == 1 { bit } else { 0 });
    match slot {
        Grad => mode(mode_bits::GRAD),
        Multithreading => mode(mode_bits::MULTITHREADING),
        Device => set_device_slots(DeviceSlots::from_device(value)),
        Flag => CUDNN_ENABLED.set(value == 1),
    }
    .is_ok()
}

fn set_process(grad: Option<u8>) {
    let modes = grad.map_or(Masked::default(), |on| {
        Masked::new(mode_bits::GRAD, if on == 1 { mode_bits::GRAD } else { 0 })
    });
    ProcessValues { modes, ..ProcessValues::default() }.store();
}

#[derive(Default)]
struct Program {
    contexts: Vec<TestContext>,
    scopes: [Scope; SCOPES],
    guards: Vec<ScopeGuard>,
    /// The state after each action, with what was read.
    captured: Vec<(ThreadState, [u8; 3])>,
    model: Model,
}

impl Program {
    fn act(&mut self, action: &Action) {
        let model = &mut self.model;
        match *action {
            Action::Enter(scope) => {
                let (modes, slots) = slots_of(&values_of_scope(scope));
                self.scopes[scope].enter_layer(modes, slots.as_ref()).unwrap();
                model.enter(scope);
            }
            Action::Exit(scope) => {
                self.scopes[scope].exit();
                model.exit(scope);
            }
            Action::Copy => {
                self.contexts.push(self.contexts[model.current].copy());
                model.contexts.push(model.contexts[model.current].clone());
            }
            Action::Switch(_) => {}
            Action::PushGuard(values) => {
                let values = values_of_scope(values);
                let (modes, slots) = slots_of(&values);
                self.guards.push(ScopeGuard::from_layer(modes, slots.as_ref()));
                let below = model.layers().iter().map(|layer| layer.mark).collect();
                model.guards.push(ModelGuard { values, below });
            }
            Action::DropGuard(index) if !self.guards.is_empty() => {
                // Most often the innermost one.
                let index = (self.guards.len() - 1).saturating_sub(index.saturating_sub(2));
                drop(self.guards.remove(index));
                model.guards.remove(index);
            }
            Action::DropGuard(_) => {}
            Action::Write(slot, value) => {
                assert!(write(slot, value));
                model.write(slot, value, false);
            }
            Action::WriteDetached(slot, value) => {
                assert_eq!(detached(|| write(slot, value)), model.write(slot, value, true));
            }
            Action::SetProcess(grad) => {
                set_process(grad);
                match grad {
                    Some(on) => model.process.insert(Grad, on),
                    None => model.process.remove(&Grad),
                };
            }
        }
    }

    fn run(&mut self, actions: &[Action]) -> Result<(), TestCaseError> {
        let mut actions = actions.iter();
        loop {
            let context = self.contexts[self.model.current].clone();
            let switched = context.run(|| {
                for action in actions.by_ref() {
                    if let Action::Switch(to) = action {
                        return Ok(Some(to % self.contexts.len()));
                    }
                    self.act(action);
                    sync();
                    for (slot, value) in read() {
                        prop_assert_eq!(value, self.model.read(slot), "{:?} after {:?}", slot, action);
                    }
                    self.captured.push((ThreadState::capture(), read_of_thread()));
                }
                Ok(None)
            })?;
            match switched {
                Some(to) => self.model.current = to,
                None => return Ok(()),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_follow_the_rules(actions in actions()) {
        // A thread of its own has no base and no guards of earlier programs.
        let result = std::thread::spawn(move || {
            crate::flags::reset(None).unwrap();
            set_process(None);
            let mut program = Program::default();
            program.contexts.push(TestContext::new());
            program.model.contexts.push(ModelState::default());
            let result = program.run(&actions);
            // Guards end in the reverse order.
            while program.guards.pop().is_some() {}
            for (state, seen) in program.captured {
                prop_assert_eq!(state.run(read_of_thread), seen);
            }
            result
        });
        result.join().unwrap()?;
    }
}
