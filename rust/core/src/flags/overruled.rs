//! What a flag comes to where something else overrules it. The flag's own value stays as it is: whoever set
//! it finds it again, and `explain` tells both.

use super::attribute::{Attribute, Target};
use super::flag::{Flag, FlagWord};
use super::kind::FlagValue;
use super::precision::{Node, Precision};
use super::table::words::*;
use super::{Value, environment};

/// A value that is not the flag's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overruled {
    pub(super) value: Value,
    pub(super) by: &'static str,
}

impl Attribute {
    /// What operations obey: the value in force, unless something overrules it.
    pub fn effective(&self) -> Value {
        self.overruled().map_or_else(|| self.read(), |overruled| overruled.value)
    }

    pub(super) fn overruled(&self) -> Option<Overruled> {
        match &self.target {
            Target::Word(word, _) => overruled_switch(word),
            Target::Node(node) => overruled_precision(*node)
                .map(|by| Overruled { value: Value::Name(Precision::Ieee.name()), by }),
            Target::Tf32(nodes) if !Node::all_read(nodes, Precision::Tf32) => None,
            Target::Tf32(nodes) => {
                let by = nodes.iter().find_map(|node| overruled_precision(*node))?;
                Some(Overruled { value: Value::Bool(false), by })
            }
            Target::Constant(_) => None,
        }
    }
}

fn overruled_switch(word: &FlagWord) -> Option<Overruled> {
    let is = |flag: &Flag<bool>| word.id == flag.word.id;
    if is(&CUDNN_DETERMINISTIC) || is(&MKLDNN_DETERMINISTIC) {
        let own = FlagValue::decode(word.payload());
        return by_all_algorithms(own).map(|by| Overruled { value: Value::Bool(true), by });
    }
    if is(&CUDNN_BENCHMARK) && CUDNN_BENCHMARK.get() {
        // The fastest algorithm is not the same one each time.
        let own = CUDNN_DETERMINISTIC.get();
        let by = own.then(|| CUDNN_DETERMINISTIC.name()).or_else(|| by_all_algorithms(own));
        return by.map(|by| Overruled { value: Value::Bool(false), by });
    }
    None
}

/// What holds a library to deterministic algorithms where its own flag does not.
fn by_all_algorithms(own: bool) -> Option<&'static str> {
    (!own && DETERMINISTIC_ALGORITHMS.get()).then(|| DETERMINISTIC_ALGORITHMS.name())
}

/// The variable with which NVIDIA's libraries are forbidden TensorFloat-32, where it does so.
/// Source: NVIDIA's documentation of `NVIDIA_TF32_OVERRIDE`.
fn overruled_precision(node: Node) -> Option<&'static str> {
    (node.is_of_cuda() && node.get() == Precision::Tf32 && environment::forbids_tf32())
        .then_some(crate::base::env::TF32_OVERRIDE)
}
