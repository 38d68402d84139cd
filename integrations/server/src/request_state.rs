//! A layer that gives each request the state of its header.

use std::collections::BTreeMap;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use interlock::autograd::Mode;
use interlock::backends::{self, FlagScope, InputValue};
use interlock::state::ThreadState;
use serde::Deserialize;
use serde_json::Value;

/// The header with a [`Requested`] in JSON.
const HEADER: &str = "interlock-state";

/// The modes and flags of a request, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requested {
    #[serde(default)]
    modes: BTreeMap<String, bool>,
    #[serde(default)]
    flags: BTreeMap<String, Value>,
}

/// Runs the handler of a request in the state of its header, or else in the state of the server.
///
/// The state is active in each poll of the handler, on whichever thread polls it, and while it is dropped. Between polls
/// the thread has its own state.
pub async fn with_state(request: Request, next: Next) -> Response {
    let header = request.headers().get(HEADER).map(|header| header.to_str());
    let state = match header {
        None => Ok(ThreadState::capture()),
        Some(Ok(text)) => requested(text),
        Some(Err(error)) => Err(error.to_string()),
    };
    match state {
        Ok(state) => state.in_future(next.run(request)).await,
        Err(reason) => (StatusCode::BAD_REQUEST, format!("{HEADER}: {reason}")).into_response(),
    }
}

/// Returns the state that a header requests. What it does not name is as in the server.
fn requested(text: &str) -> Result<ThreadState, String> {
    let requested: Requested = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut state = ThreadState::capture();
    for (name, on) in requested.modes {
        let mode: Mode = name.parse().map_err(|error: interlock::Error| error.to_string())?;
        state = state.with_mode(mode, on);
    }
    let values = requested.flags.iter().map(|(name, value)| {
        let spec = backends::find(name).map_err(|error| error.to_string())?;
        Ok((spec, input(name, value)?))
    });
    let values = values.collect::<Result<Vec<_>, String>>()?;
    let scope = FlagScope::new(values, None).map_err(|error| error.to_string())?;
    Ok(state.with_flags(&scope))
}

/// Returns a value of JSON as a flag accepts it.
fn input<'a>(name: &str, value: &'a Value) -> Result<InputValue<'a>, String> {
    match value {
        Value::Bool(on) => Ok(InputValue::Bool(*on)),
        Value::Number(number) if number.is_i64() => {
            Ok(InputValue::Integer(number.as_i64().unwrap_or_default()))
        }
        Value::Number(number) => Ok(InputValue::Float(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Ok(InputValue::Text(text.into())),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(format!("{name}: the value must be a bool, a number or a string, got {value}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interlock::backends::flags::{CUDNN_BENCHMARK, CUDNN_BENCHMARK_LIMIT};

    #[test]
    fn requested_state_has_the_modes_and_flags_of_the_header() {
        let text =
            r#"{"modes": {"grad": false}, "flags": {"cudnn.benchmark": true, "cudnn.benchmark_limit": 3}}"#;
        let seen = || (Mode::Grad.is_on(), CUDNN_BENCHMARK.get(), CUDNN_BENCHMARK_LIMIT.get());
        assert_eq!(requested(text).unwrap().run(seen), (false, true, 3));
        assert_eq!(requested("{}").unwrap().run(seen), seen());
    }

    #[test]
    fn requested_names_what_it_refuses() {
        let reason = |text| requested(text).unwrap_err();
        assert!(reason(r#"{"modes": {"gradient": true}}"#).ends_with(r#", got "gradient""#));
        assert!(reason(r#"{"flags": {"cudnn.benchmarks": true}}"#).contains("cudnn.benchmark"));
        assert!(reason(r#"{"flags": {"cudnn.benchmark": 2}}"#).contains("cudnn.benchmark"));
        assert!(reason(r#"{"flags": {"cudnn.benchmark": null}}"#).contains("got null"));
        assert!(reason(r#"{"flag": {}}"#).contains("flag"));
        assert!(reason("grad").contains("expected"));
    }
}
