//! An HTTP server that answers with a Python model, each request with flags and modes of its own.
//!
//! `cargo run -- [PORT]` serves the model on the loopback until the standard input ends. The Python environment is
//! `VIRTUAL_ENV`, or `.venv` in the current folder, with interlock installed. Port 0, the default, is any free one.
//!
//! ```text
//! curl -H 'interlock-state: {"modes": {"grad": false}, "flags": {"cudnn.benchmark": true}}' \
//!      -H 'content-type: application/json' -d '{"values": [1, 2]}' http://127.0.0.1:PORT/predict
//! ```
//!
//! A request has its state in three places: in the polls of its future ([`request_state`]), in a scope that the future
//! holds across an await ([`held_scope`]), and on the thread that runs Python for it ([`model`]).

#[path = "../../../examples/rust_host/src/environment.rs"]
mod environment;
mod held_scope;
mod model;
mod request_state;
mod seen;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::held_scope::Counts;
use crate::model::{Answer, Model};
use crate::seen::Seen;

/// The body of a request.
#[derive(Deserialize)]
struct Input {
    /// The features of one example.
    values: Vec<f64>,
    /// How long the handler waits before it calls the model, and the model before it computes, in milliseconds.
    #[serde(default)]
    delay: u64,
}

/// The body of a response.
#[derive(Serialize)]
struct Output {
    /// The state of the handler before it waits.
    before: Seen,
    /// The state while the scope of the handler is open, after it has waited.
    in_scope: Seen,
    /// The state after the model has answered.
    after: Seen,
    /// The answer of the model, with the state that Python saw.
    model: Answer,
}

/// What the test of the server asks for.
#[derive(Serialize)]
struct Status {
    /// The scopes of handlers.
    scopes: Counts,
    /// The lines that entered scopes of Python that are open; empty unless the process has `INTERLOCK_DEBUG=1`.
    open_scopes: Vec<String>,
    /// The library that computes the model.
    library: String,
}

type Refusal = (StatusCode, String);

async fn predict(State(model): State<Model>, Json(input): Json<Input>) -> Result<Json<Output>, Refusal> {
    let before = Seen::now();
    let wait = async {
        tokio::time::sleep(Duration::from_millis(input.delay)).await;
        Seen::now()
    };
    let in_scope = held_scope::deterministic(wait).await.map_err(internal)?;
    let answer = model.predict(input.values, input.delay).await.map_err(internal)?;
    Ok(Json(Output { before, in_scope, after: Seen::now(), model: answer }))
}

async fn status(State(model): State<Model>) -> Result<Json<Status>, Refusal> {
    let (open_scopes, library) = model.status().await.map_err(internal)?;
    Ok(Json(Status { scopes: held_scope::counts(), open_scopes, library }))
}

fn internal(error: impl ToString) -> Refusal {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse::<u16>());
    let port = port.map_err(|_| "usage: interlock-server [PORT]")?;
    let environment = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    let model = Model::load(Path::new(&environment.unwrap_or_else(|| ".venv".into())))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .max_blocking_threads(16)
        .enable_all()
        .build()?;
    runtime.block_on(serve(model, port))
}

async fn serve(model: Model, port: u16) -> Result<(), Box<dyn Error>> {
    let routes = Router::new()
        .route("/predict", post(predict))
        // The layers below it have the state of the request, and so has each handler.
        .layer(middleware::from_fn(request_state::with_state))
        .route("/status", get(status))
        .with_state(model);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, routes).with_graceful_shutdown(end_of_input()).await?;
    Ok(())
}

/// Waits for the end of the standard input, so that the server ends with the program that started it.
async fn end_of_input() {
    let mut input = tokio::io::stdin();
    let mut ignored = [0; 64];
    while input.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
}
