//! `unclosed_scopes` of a traced process. One test, because it changes the environment.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::thread;

use interlock_core::binding::thread::{Entered, UnclosedScopes, open_scopes, trace_enter, unclosed_scopes};
use interlock_core::flags::SourceLocation;
use interlock_core::modes::{ModeContext, ModeKind};
use interlock_core::thread::{TaskState, ThreadState};

fn site(line: u32) -> SourceLocation {
    SourceLocation::Foreign { file: "program".into(), line }
}

fn at(line: u32) -> Entered {
    Entered { name: "no_grad".into(), site: site(line) }
}

fn enter(line: u32) {
    let context = ModeContext::new(ModeKind::NoGrad);
    context.enter();
    trace_enter(context.scope(), at(line), None);
}

#[test]
fn unclosed_scopes_includes_those_of_ended_threads_and_tasks() {
    // SAFETY: no other thread runs that could read the environment.
    unsafe { std::env::set_var("INTERLOCK_DEBUG", "1") };
    enter(1);
    thread::spawn(|| [2, 2].map(enter)).join().unwrap();
    assert_eq!(open_scopes(), [site(1)]);

    let task = TaskState::new(&ThreadState::capture());
    task.step(|| [3, 2].map(enter)).unwrap();
    assert_eq!(open_scopes(), [site(1), site(3), site(2)]);
    drop(task);
    // A task that has entered no scope.
    drop(TaskState::new(&ThreadState::capture()));
    let still_open = vec![(at(1), 1)];
    assert_eq!(
        unclosed_scopes(),
        UnclosedScopes { ended: vec![(at(2), 3), (at(3), 1)], still_open: still_open.clone() }
    );

    for line in 4..1000 {
        thread::spawn(move || enter(line)).join().unwrap();
    }
    let unclosed = unclosed_scopes();
    assert_eq!((unclosed.ended.len(), unclosed.still_open), (100, still_open));
}
