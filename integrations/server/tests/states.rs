//! Requests of the server have their own states: 10,000 of them, cancelled ones, and ones that are refused.
//!
//! The Python environment is `VIRTUAL_ENV`, with interlock installed.

mod client;
mod process;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Connection;
use crate::process::Server;

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 10_000;
/// After these, allocators and caches have reached their size.
const WARM_UP: usize = 2_000;
/// Of 8,000 requests: a leak of half a kilobyte in each exceeds it.
const MOST_GROWTH: u64 = 4 << 20;

/// The state of a server to which nothing was said.
fn defaults() -> Value {
    json!({
        "state.grad": true,
        "state.inference": false,
        "cudnn.benchmark": false,
        "cudnn.benchmark_limit": 10,
        "cudnn.deterministic": false,
        "cuda.matmul.fp32_precision": "none",
    })
}

/// A request and the state that its handler must see.
struct Drawn {
    header: String,
    state: Value,
    values: [f64; 2],
    delay: u64,
}

impl Drawn {
    fn new() -> Self {
        let (mut modes, mut flags) = (BTreeMap::new(), BTreeMap::new());
        let mut state = defaults();
        let mut draw = |name: &'static str, value: Value| {
            // Some requests leave it as it is in the server.
            if fastrand::bool() {
                state[name] = value.clone();
                match name.strip_prefix("state.") {
                    Some(mode) => modes.insert(mode, value),
                    None => flags.insert(name, value),
                };
            }
        };
        draw("state.grad", fastrand::bool().into());
        draw("state.inference", fastrand::bool().into());
        draw("cudnn.benchmark", fastrand::bool().into());
        draw("cudnn.benchmark_limit", fastrand::u64(..1_000).into());
        let precisions = ["none", "ieee", "tf32"];
        draw("cuda.matmul.fp32_precision", precisions[fastrand::usize(..precisions.len())].into());
        Drawn {
            header: json!({ "modes": modes, "flags": flags }).to_string(),
            state,
            values: [f64::from(fastrand::i8(..)), f64::from(fastrand::i8(..))],
            delay: fastrand::u64(..3),
        }
    }

    fn body(&self) -> String {
        json!({ "values": self.values, "delay": self.delay }).to_string()
    }

    /// Fails unless every place of the response has seen this state.
    fn check(&self, status: u16, body: &str) {
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(body).unwrap();
        let mut in_scope = self.state.clone();
        in_scope["cudnn.deterministic"] = true.into();
        let model = &answer["model"];
        for (place, seen, expected) in [
            ("Rust, before", &answer["before"], &self.state),
            ("Rust, in a scope after an await", &answer["in_scope"], &in_scope),
            ("Rust, after Python", &answer["after"], &self.state),
            ("Python, before", &model["before"], &self.state),
            ("Python, in a scope after an await", &model["in_scope"], &in_scope),
            ("Python, after", &model["after"], &self.state),
        ] {
            assert_eq!(seen, expected, "{place}; the request: {}", self.header);
        }
        let [first, second] = self.values;
        assert_eq!(model["output"], json!([0.5 * first - 2.0 * second]));
        assert_eq!(model["library_grad"], self.state["state.grad"], "{}", self.header);
        if self.state["state.inference"] == false {
            assert_eq!(model["requires_grad"], self.state["state.grad"], "{}", self.header);
        }
    }
}

/// Sends `count` requests from all connections and checks each response.
fn send(server: &Server, count: usize) {
    let sent = AtomicUsize::new(0);
    thread::scope(|threads| {
        for _ in 0..CONNECTIONS {
            threads.spawn(|| {
                let mut connection = Connection::open(server.address());
                while sent.fetch_add(1, Ordering::Relaxed) < count {
                    let drawn = Drawn::new();
                    let (status, body) = connection.post("/predict", Some(&drawn.header), &drawn.body());
                    drawn.check(status, &body);
                }
            });
        }
    });
}

/// Sends requests without a header: they see what other requests have left on the threads of the server.
fn check_that_nothing_is_left(server: &Server) {
    let plain = || Drawn { header: "none".into(), state: defaults(), values: [1.0, 2.0], delay: 0 };
    thread::scope(|threads| {
        for _ in 0..CONNECTIONS {
            threads.spawn(|| {
                let mut connection = Connection::open(server.address());
                for _ in 0..8 {
                    let (status, body) = connection.post("/predict", None, &plain().body());
                    plain().check(status, &body);
                }
            });
        }
    });
}

fn status(server: &Server) -> Value {
    let (status, body) = Connection::open(server.address()).get("/status");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn ten_thousand_requests_see_their_own_states_and_leave_no_memory() {
    let server = Server::start(&[]);
    send(&server, WARM_UP);
    let warm = server.resident_bytes();
    send(&server, REQUESTS - WARM_UP);
    let bytes = server.resident_bytes();
    let library = &status(&server)["library"];
    println!("{library}: {warm:?} bytes after {WARM_UP} requests, {bytes:?} after {REQUESTS}");
    // Only Linux has the file that states them.
    assert_eq!((warm.is_some(), bytes.is_some()), (cfg!(target_os = "linux"), cfg!(target_os = "linux")));
    if let (Some(warm), Some(bytes)) = (warm, bytes) {
        assert!(
            bytes < warm + MOST_GROWTH,
            "{warm} bytes after {WARM_UP} requests, {bytes} after {REQUESTS}"
        );
    }
    check_that_nothing_is_left(&server);
}

#[test]
fn cancelled_requests_end_their_scopes_in_their_own_state() {
    const CLOSED: usize = 4 * CONNECTIONS;
    // Python's scopes are traced.
    let server = Server::start(&[("INTERLOCK_DEBUG", "1")]);
    let waits_for_a_minute = |drawn: &mut Drawn| drawn.delay = 60_000;
    thread::scope(|threads| {
        for _ in 0..CONNECTIONS {
            threads.spawn(|| {
                for _ in 0..CLOSED / CONNECTIONS {
                    let mut drawn = Drawn::new();
                    waits_for_a_minute(&mut drawn);
                    let mut connection = Connection::open(server.address());
                    connection.send("/predict", Some(&drawn.header), &drawn.body());
                    thread::sleep(Duration::from_millis(fastrand::u64(50..150)));
                    // The client closes the connection, so the server drops the future of the request.
                    drop(connection);
                    // Meanwhile others are answered.
                    let other = Drawn::new();
                    let mut connection = Connection::open(server.address());
                    let (status, body) = connection.post("/predict", Some(&other.header), &other.body());
                    other.check(status, &body);
                }
            });
        }
    });
    let count = |seen: &Value, name: &str| seen["scopes"][name].as_u64().unwrap();
    let has_ended =
        |seen: &Value| count(seen, "entered") == count(seen, "finished") + count(seen, "cancelled");
    let ended = (0..1_000).find(|_| {
        thread::sleep(Duration::from_millis(10));
        has_ended(&status(&server))
    });
    let seen = status(&server);
    assert!(ended.is_some(), "{seen}");
    assert_eq!(count(&seen, "finished"), CLOSED as u64, "the requests that were answered: {seen}");
    // The others, but for those that the server had not begun when the client closed the connection: most of them on a
    // busy machine.
    assert!(count(&seen, "cancelled") > CLOSED as u64 / 8, "{seen}");
    assert_eq!((count(&seen, "dropped_elsewhere"), &seen["open_scopes"]), (0, &json!([])));
    check_that_nothing_is_left(&server);
}

#[test]
fn refused_states_are_named_and_change_nothing() {
    let server = Server::start(&[]);
    let mut connection = Connection::open(server.address());
    for (header, reason) in [
        (r#"{"modes": {"gradient": true}}"#, "interlock-state: Mode must be 'grad', "),
        (r#"{"flags": {"cudnn.benchmark": 2}}"#, "backends.cudnn.benchmark"),
        (r#"{"modes": {"grad": false}, "flags": {"cudnn.benchmark_limit": -1}}"#, "cudnn.benchmark_limit"),
        ("{", "interlock-state: EOF"),
    ] {
        let (status, body) = connection.post("/predict", Some(header), r#"{"values": [1, 2]}"#);
        assert_eq!(status, 400, "{body}");
        assert!(body.contains(reason), "{body}");
    }
    check_that_nothing_is_left(&server);
}
