//! Random programs of launches, copies, records and waits, and the model of their order.

use proptest::prelude::*;

/// Streams 0 and 1 are on the first device, 2 and 3 on the second.
pub const STREAMS: usize = 4;
pub const EVENTS_PER_DEVICE: usize = 3;
/// A limit, so that a set of steps is one word.
pub const MAX_STEPS: usize = 63;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Launch {
        stream: usize,
    },
    /// Copies the cell that `which` selects from the preceding ones.
    Copy {
        stream: usize,
        which: usize,
    },
    /// An event of the stream's device.
    Record {
        stream: usize,
        event: usize,
    },
    /// Any event.
    Wait {
        stream: usize,
        event: usize,
    },
}

pub fn device_of(stream: usize) -> usize {
    stream / 2
}

pub fn program() -> impl Strategy<Value = Vec<Step>> {
    let (stream, which) = (0..STREAMS, 0..MAX_STEPS);
    let step = prop_oneof![
        3 => stream.clone().prop_map(|stream| Step::Launch { stream }),
        2 => (stream.clone(), which).prop_map(|(stream, which)| Step::Copy { stream, which }),
        3 => (stream.clone(), 0..EVENTS_PER_DEVICE).prop_map(|(stream, event)| Step::Record { stream, event }),
        4 => (stream, 0..2 * EVENTS_PER_DEVICE).prop_map(|(stream, event)| Step::Wait { stream, event }),
    ];
    prop::collection::vec(step, 1..=MAX_STEPS)
}

/// The work of a step, which writes the cell of the step.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The preceding steps.
    pub before: Vec<usize>,
    /// The step whose cell a copy reads; `None` for the input.
    pub source: Option<usize>,
    /// The final value of the cell.
    pub value: u64,
}

pub const INPUT: u64 = 1 << 32;

/// Computes the effect of each step that queues work, according to the semantics of streams and events.
pub fn model(program: &[Step]) -> Vec<Option<Effect>> {
    // The sets of steps that precede the end of each stream and the record of each event.
    let mut ends = [0u64; STREAMS];
    let mut marks = [0u64; 2 * EVENTS_PER_DEVICE];
    let mut effects: Vec<Option<Effect>> = Vec::new();
    for (place, step) in program.iter().enumerate() {
        let effect = match *step {
            Step::Record { stream, event } => {
                marks[device_of(stream) * EVENTS_PER_DEVICE + event] = ends[stream];
                None
            }
            Step::Wait { stream, event } => {
                ends[stream] |= marks[event];
                None
            }
            Step::Launch { stream } | Step::Copy { stream, .. } => {
                let before: Vec<_> = (0..place).filter(|other| ends[stream] >> other & 1 == 1).collect();
                ends[stream] |= 1 << place;
                let source = match *step {
                    Step::Copy { which, .. } if !before.is_empty() => Some(before[which % before.len()]),
                    _ => None,
                };
                let value = match (step, source) {
                    (Step::Launch { .. }, _) => place as u64 + 1,
                    (_, None) => INPUT,
                    (_, Some(source)) => effects[source].as_ref().unwrap().value,
                };
                Some(Effect { before, source, value })
            }
        };
        effects.push(effect);
    }
    effects
}
