//! Tracing of open scopes.

use crate::base::location::SourceLocation;
use crate::binding::thread::{exit_and_report, newly_suspended};
use crate::modes::{ModeContext, ModeKind};
use crate::thread::scope_trace::{Entered, ExitOrder, open_scopes};

fn entered(line: u32, frame: Option<usize>) -> ModeContext {
    let context = ModeContext::new(ModeKind::NoGrad);
    context.enter();
    context.scope().trace_enter(at(line), frame);
    context
}

fn at(line: u32) -> Entered {
    Entered { name: "no_grad".into(), site: site(line) }
}

fn site(line: u32) -> SourceLocation {
    SourceLocation::Foreign { file: "program".into(), line }
}

fn exited(context: &ModeContext) -> ExitOrder {
    context.exit_with(exit_and_report).trace()
}

#[test]
fn record_exit_reports_exits_out_of_order() {
    let (first, second) = (entered(1, None), entered(2, None));
    assert_eq!(exited(&first), ExitOrder::OutOfOrder { entered: at(1), later: at(2) });
    assert_eq!(open_scopes(), [site(2)]);
    assert_eq!(exited(&second), ExitOrder::InOrder);
    assert_eq!(exited(&second), ExitOrder::InOrder);
    assert_eq!(open_scopes(), []);
}

#[test]
fn exit_of_a_scope_that_was_never_entered_is_not_open() {
    assert_eq!(exited(&ModeContext::new(ModeKind::NoGrad)), ExitOrder::NotOpen);
}

#[test]
fn record_exit_on_another_thread_returns_where_the_scope_was_entered() {
    let context = entered(1, None);
    let reported = std::thread::scope(|threads| threads.spawn(|| exited(&context)).join().unwrap());
    assert_eq!(reported, ExitOrder::Elsewhere { entered: at(1) });
    assert_eq!(exited(&context), ExitOrder::InOrder);
}

#[test]
fn newly_suspended_returns_a_frame_once_and_only_on_its_thread() {
    let (_function, generator) = (entered(1, None), entered(2, Some(7)));
    assert_eq!(newly_suspended(&[7]), []);
    std::thread::scope(|threads| threads.spawn(|| assert_eq!(newly_suspended(&[]), [])).join().unwrap());
    assert_eq!(newly_suspended(&[8]), [at(2)]);
    assert_eq!(newly_suspended(&[8]), []);
    exited(&generator);
}
