//! Programs of launches, copies, records and waits, and what they mean.

use proptest::prelude::*;

/// Streams 0 and 1 are of the first device, 2 and 3 of the second.
pub const STREAMS: usize = 4;
pub const EVENTS_PER_DEVICE: usize = 3;
/// So that a set of pieces of work is one word.
pub const MOST_STEPS: usize = 63;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Launch {
        stream: usize,
    },
    /// Of the cell that `which` picks among those that come before.
    Copy {
        stream: usize,
        which: usize,
    },
    /// One of the events of the stream's device.
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
    let (stream, which) = (0..STREAMS, 0..MOST_STEPS);
    let step = prop_oneof![
        3 => stream.clone().prop_map(|stream| Step::Launch { stream }),
        2 => (stream.clone(), which).prop_map(|(stream, which)| Step::Copy { stream, which }),
        3 => (stream.clone(), 0..EVENTS_PER_DEVICE).prop_map(|(stream, event)| Step::Record { stream, event }),
        4 => (stream, 0..2 * EVENTS_PER_DEVICE).prop_map(|(stream, event)| Step::Wait { stream, event }),
    ];
    prop::collection::vec(step, 1..=MOST_STEPS)
}

/// A piece of work, which writes the cell of its step.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Steps that come before.
    pub before: Vec<usize>,
    /// The step whose cell a copy takes; none takes the input.
    pub source: Option<usize>,
    /// What the cell holds in the end.
    pub value: u64,
}

pub const INPUT: u64 = 1 << 32;

/// What streams and events mean: for each step that is work, what it does.
pub fn model(program: &[Step]) -> Vec<Option<Effect>> {
    // Sets of steps that are over: at the end of each stream, and at the mark of each event.
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
