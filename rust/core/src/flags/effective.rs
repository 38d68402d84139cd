//! The effective value of a flag that another flag or an environment variable overrides. The active value of the flag
//! does not change, and `explain` returns both.

use super::flag::{Flag, FlagWord};
use super::flag_spec::{Backing, FlagSpec};
use super::kind::FlagValue;
use super::precision::{Node, Precision};
use super::table::words::*;
use super::{Value, environment};

/// An effective value that differs from the flag's own value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Override {
    pub(super) value: Value,
    pub(super) by: &'static str,
}

impl FlagSpec {
    /// Returns the effective value: the active value, unless another flag or an environment variable overrides it.
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

impl FlagWord {
    /// Returns the effective value; see [`FlagSpec::effective`].
    #[inline]
    pub(crate) fn effective(&self) -> Value {
        overridden_switch(self)
            .map_or_else(|| self.kind.decode(self.payload()), |overridden| overridden.value)
    }

    /// Returns the flag that overrides this one.
    pub(crate) fn overridden_by(&self) -> Option<&'static str> {
        overridden_switch(self).map(|overridden| overridden.by)
    }

    /// Returns the flags that can override this one. Code that obeys this flag obeys them, too.
    pub(super) fn overriders(&self) -> &'static [&'static FlagWord] {
        static OF_DETERMINISTIC: [&FlagWord; 1] = [DETERMINISTIC_ALGORITHMS.word()];
        static OF_BENCHMARK: [&FlagWord; 2] = [CUDNN_DETERMINISTIC.word(), DETERMINISTIC_ALGORITHMS.word()];
        let is = |flag: &Flag<bool>| self.id == flag.word.id;
        if is(&CUDNN_DETERMINISTIC) || is(&MKLDNN_DETERMINISTIC) {
            &OF_DETERMINISTIC
        } else if is(&CUDNN_BENCHMARK) {
            &OF_BENCHMARK
        } else {
            &[]
        }
    }
}

impl Node {
    /// Returns the effective precision on this thread: the active one, unless an environment variable overrides it.
    pub fn effective(self) -> Precision {
        if overridden_precision(self).is_some() { Precision::Ieee } else { self.get() }
    }
}

fn overridden_switch(word: &FlagWord) -> Option<Override> {
    let is = |flag: &Flag<bool>| word.id == flag.word.id;
    if is(&CUDNN_DETERMINISTIC) || is(&MKLDNN_DETERMINISTIC) {
        let own = FlagValue::decode(word.payload());
        return by_all_algorithms(own).map(|by| Override { value: Value::Bool(true), by });
    }
    if is(&CUDNN_BENCHMARK) && CUDNN_BENCHMARK.get() {
        // Benchmarking may choose a different algorithm each time.
        let own = CUDNN_DETERMINISTIC.get();
        let by = own.then(|| CUDNN_DETERMINISTIC.name()).or_else(|| by_all_algorithms(own));
        return by.map(|by| Override { value: Value::Bool(false), by });
    }
    None
}

/// Returns the flag that forces a library to use deterministic algorithms although its own flag does not.
fn by_all_algorithms(own: bool) -> Option<&'static str> {
    (!own && DETERMINISTIC_ALGORITHMS.get()).then(|| DETERMINISTIC_ALGORITHMS.name())
}

/// Returns `NVIDIA_TF32_OVERRIDE` if it forbids NVIDIA's libraries to use TensorFloat-32 and the node requests it.
/// Source: NVIDIA's documentation of `NVIDIA_TF32_OVERRIDE`.
fn overridden_precision(node: Node) -> Option<&'static str> {
    (node.is_of_cuda() && node.get() == Precision::Tf32 && environment::forbids_tf32())
        .then_some(crate::base::env::TF32_OVERRIDE)
}
