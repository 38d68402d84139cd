//! Random programs that allocate.

use proptest::prelude::*;

use super::segment::{KIB, MIB};

/// Streams 0 and 1 are on the first device, 2 and 3 on the second.
pub const STREAMS: usize = 4;
pub const DEVICES: usize = 2;
pub const GRAPHS: usize = 2;
/// Small enough that memory runs out often.
pub const CAPACITY: usize = 96 * MIB;

/// A step of a program. Steps that do not apply have no effect; `which` selects one of the existing objects.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Allocate {
        stream: usize,
        bytes: usize,
    },
    Free {
        which: usize,
    },
    Use {
        which: usize,
        stream: usize,
    },
    Block {
        stream: usize,
    },
    Open {
        stream: usize,
    },
    EmptyCache,
    Limit {
        device: usize,
        limit: Option<u64>,
    },
    CacheLimit {
        device: usize,
        limit: Option<u64>,
    },
    ResetPeak {
        device: usize,
    },
    ResetAccumulated {
        device: usize,
    },
    /// Replaces the stream by a new one.
    Renew {
        stream: usize,
    },
    OpenTracker {
        device: usize,
    },
    CloseTracker {
        which: usize,
    },
    /// A later allocation of the driver fails.
    Fail {
        number: u64,
    },
    Capture {
        graph: usize,
        stream: usize,
    },
    EndCapture,
    Replay {
        graph: usize,
        stream: usize,
    },
    Reset {
        graph: usize,
    },
}

fn bytes() -> impl Strategy<Value = usize> {
    let edges = [1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 2 * MIB, 10 * MIB - 512, 10 * MIB - 511, 10 * MIB];
    prop_oneof![
        6 => (9..20u32, 0.0..1.0f64).prop_map(|(power, part)| ((1 << power) as f64 * (1.0 + part)) as usize),
        3 => MIB..10 * MIB,
        2 => 10 * MIB..34 * MIB,
        3 => prop::sample::select(edges.to_vec()),
        2 => (1..=8usize).prop_map(|eighths| eighths * 256 * KIB),
        1 => Just(0),
    ]
}

fn limit() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        2 => (0..48u64).prop_map(|mib| Some(mib * MIB as u64)),
        1 => (0..4 * MIB as u64).prop_map(Some),
        2 => Just(None),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let (device, graph, which) = (0..DEVICES, 0..GRAPHS, 0..1000usize);
    prop_oneof![
        34 => (stream(), bytes()).prop_map(|(stream, bytes)| Step::Allocate { stream, bytes }),
        24 => which.clone().prop_map(|which| Step::Free { which }),
        16 => (which.clone(), stream()).prop_map(|(which, stream)| Step::Use { which, stream }),
        6 => stream().prop_map(|stream| Step::Block { stream }),
        5 => stream().prop_map(|stream| Step::Open { stream }),
        2 => Just(Step::EmptyCache),
        2 => (device.clone(), limit()).prop_map(|(device, limit)| Step::Limit { device, limit }),
        3 => (device.clone(), limit()).prop_map(|(device, limit)| Step::CacheLimit { device, limit }),
        1 => device.clone().prop_map(|device| Step::ResetPeak { device }),
        1 => device.clone().prop_map(|device| Step::ResetAccumulated { device }),
        3 => stream().prop_map(|stream| Step::Renew { stream }),
        2 => device.prop_map(|device| Step::OpenTracker { device }),
        1 => which.prop_map(|which| Step::CloseTracker { which }),
        2 => (1..4u64).prop_map(|number| Step::Fail { number }),
        4 => (graph.clone(), stream()).prop_map(|(graph, stream)| Step::Capture { graph, stream }),
        4 => Just(Step::EndCapture),
        3 => (graph.clone(), stream()).prop_map(|(graph, stream)| Step::Replay { graph, stream }),
        2 => graph.prop_map(|graph| Step::Reset { graph }),
    ]
}

pub fn program() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..=100)
}
