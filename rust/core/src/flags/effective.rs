//! What a flag comes to where something else overrules it. The flag's own value stays as it is: whoever set
//! it finds it again, and `explain` tells both.

use super::flag_spec::{FlagSpec, Backing};
use super::flag::{Flag, FlagWord};
use super::kind::FlagValue;
use super::precision::{Node, Precision};
use super::table::words::*;
use super::{Value, environment};

/// A value that is not the flag's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Override {
    pub(super) value: Value,
    pub(super) by: &'static str,
}

impl FlagSpec {
    /// What operations obey: the value in force, unless something overrules it.
    pub fn effective(&self) -> Value {
        self.overridden().map_or_else(|| self.read(), |overridden| overridden.value)
    }

    pub(super) fn overridden(&self) -> Option<Override> {
        match &self.backing {
            Backing::Word(word, _) => overridden_switch(word),
            Backing::Node(node) => overridden_precision(*node)
                .map(|by| Override { value: Value::Name(Precision::Ieee.name()), by }),
            Backing::Tf32(nodes) if !Node::all_read(nodes, Precision::Tf32) => None,
            Backing::Tf32(nodes) => {
                let by = nodes.iter().find_map(|node| overridden_precision(*node))?;
                Some(Override { value: Value::Bool(false), by })
            }
            Backing::Constant(_) => None,
        }
    }
}

fn overridden_switch(word: &FlagWord) -> Option<Override> {
    let is = |flag: &Flag<bool>| word.id == flag.word.id;
    if is(&CUDNN_DETERMINISTIC) || is(&MKLDNN_DETERMINISTIC) {
        let own = FlagValue::decode(word.payload());
        return by_all_algorithms(own).map(|by| Override { value: Value::Bool(true), by });
    }
    if is(&CUDNN_BENCHMARK) && CUDNN_BENCHMARK.get() {
        // The fastest algorithm is not the same one each time.
        let own = CUDNN_DETERMINISTIC.get();
        let by = own.then(|| CUDNN_DETERMINISTIC.name()).or_else(|| by_all_algorithms(own));
        return by.map(|by| Override { value: Value::Bool(false), by });
    }
    None
}

/// What holds a library to deterministic algorithms where its own flag does not.
fn by_all_algorithms(own: bool) -> Option<&'static str> {
    (!own && DETERMINISTIC_ALGORITHMS.get()).then(|| DETERMINISTIC_ALGORITHMS.name())
}

/// The variable with which NVIDIA's libraries are forbidden TensorFloat-32, where it does so.
/// Source: NVIDIA's documentation of `NVIDIA_TF32_OVERRIDE`.
fn overridden_precision(node: Node) -> Option<&'static str> {
    (node.is_of_cuda() && node.get() == Precision::Tf32 && environment::forbids_tf32())
        .then_some(crate::base::env::TF32_OVERRIDE)
}
