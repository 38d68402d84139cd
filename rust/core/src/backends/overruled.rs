//! What a flag comes to where something else overrules it. The flag's own value stays as it is: whoever set
//! it finds it again, and `explain` tells both.

use super::attribute::{Attribute, Target};
use super::flag::Flag;
use super::precision::{Node, Precision};
use super::table::words::*;
use super::{Value, environment};

/// A value that is not the flag's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overruled {
    pub(super) value: Value,
    pub(super) by: &'static str,
}

const DETERMINISTIC: &str = "deterministic_algorithms";

impl Attribute {
    /// What operations obey: the value in force, unless something overrules it.
    pub fn effective(&self) -> Value {
        self.overruled().map_or_else(|| self.read(), |overruled| overruled.value)
    }

    pub(super) fn overruled(&self) -> Option<Overruled> {
        match &self.target {
            Target::Word(word, _) => overruled_switch(word.name),
            Target::Node(node) => overruled_precision(*node)
                .map(|by| Overruled { value: Value::Name(Precision::Ieee.name()), by }),
            Target::Tf32(nodes) => {
                let by = nodes.iter().find_map(|node| overruled_precision(*node))?;
                Some(Overruled { value: Value::Bool(false), by })
            }
            Target::Constant(_) => None,
        }
    }
}

/// Whether a library is held to deterministic algorithms, and by what if not by its own flag.
fn is_deterministic(own: &Flag<bool>) -> (bool, Option<&'static str>) {
    if own.get() {
        (true, None)
    } else if DETERMINISTIC_ALGORITHMS.get() {
        (true, Some(DETERMINISTIC))
    } else {
        (false, None)
    }
}

fn overruled_switch(name: &str) -> Option<Overruled> {
    let on = |by| Overruled { value: Value::Bool(true), by };
    match name {
        "cudnn.deterministic" => is_deterministic(&CUDNN_DETERMINISTIC).1.map(on),
        "mkldnn.deterministic" => is_deterministic(&MKLDNN_DETERMINISTIC).1.map(on),
        // The fastest algorithm is not the same one each time.
        "cudnn.benchmark" => match is_deterministic(&CUDNN_DETERMINISTIC) {
            (true, by) if CUDNN_BENCHMARK.get() => {
                let by = by.unwrap_or(CUDNN_DETERMINISTIC.name());
                Some(Overruled { value: Value::Bool(false), by })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The variable with which NVIDIA's libraries are forbidden TensorFloat-32, where it does so.
/// Source: NVIDIA's documentation of `NVIDIA_TF32_OVERRIDE`.
fn overruled_precision(node: Node) -> Option<&'static str> {
    (node.is_of_cuda() && node.get() == Precision::Tf32 && environment::forbids_tf32())
        .then_some(crate::env::TF32_OVERRIDE)
}
