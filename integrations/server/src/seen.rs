//! The state that Rust code of a request reads, as JSON.

use std::collections::BTreeMap;

use interlock::backends::Value;
use interlock::state::effective_values;
use serde::Serialize;

/// The modes and flags that responses show; `model.py` shows the same ones.
const SHOWN: [&str; 6] = [
    "state.grad",
    "state.inference",
    "cudnn.benchmark",
    "cudnn.benchmark_limit",
    "cudnn.deterministic",
    "cuda.matmul.fp32_precision",
];

/// The values of modes and flags at one moment, by name.
#[derive(Debug, PartialEq, Serialize)]
pub struct Seen(BTreeMap<&'static str, serde_json::Value>);

impl Seen {
    /// Reads the values of this thread.
    pub fn now() -> Self {
        let values = effective_values();
        let shown = SHOWN.into_iter().filter_map(|name| Some((name, json(values.get(name)?.value))));
        Seen(shown.collect())
    }
}

fn json(value: Value) -> serde_json::Value {
    match value {
        Value::Bool(on) => on.into(),
        Value::Integer(number) => number.into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_has_every_shown_value() {
        assert_eq!(Seen::now().0.len(), SHOWN.len());
    }
}
