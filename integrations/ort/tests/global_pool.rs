//! The thread pool that the sessions of an environment share. A program of its own, because a process has one environment.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod common;

use std::thread;

use common::{Notes, SIZE, notes_model, run};
use interlock::{autograd, set_num_threads};
use interlock_ort::{Library, SessionBuilder, with_global_thread_pool};

#[test]
fn threads_of_the_global_pool_run_with_the_state_of_its_creator() {
    set_num_threads(3.try_into().unwrap());
    let builder = Library::from_env().unwrap().init().unwrap().with_telemetry(false);
    let (builder, threads) = {
        let _no_grad = autograd::no_grad();
        with_global_thread_pool(builder).unwrap()
    };
    assert_eq!(threads.created(), 0);
    let environment = builder.build().unwrap();
    // Two that run parts of a node, and two that run nodes.
    let created = threads.created();
    assert_eq!(created, 4);
    let notes = Notes::of(3);
    let mut session = SessionBuilder::new(&environment)
        .unwrap()
        .configure(|builder| builder.with_operators(notes.domain()))
        .unwrap()
        .commit_from_memory(&notes_model())
        .unwrap();
    assert_eq!(run(&mut session).unwrap(), vec![1.0; SIZE * SIZE]);
    assert_eq!((session.threads(), threads.created()), (0, created));
    assert!(autograd::is_grad_enabled());
    let seen = notes.of_pool(thread::current().id());
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|(_, is_grad_enabled, _)| !is_grad_enabled), "{seen:?}");
}
