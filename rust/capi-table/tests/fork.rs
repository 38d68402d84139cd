//! Handles of a parent process in a forked child.

use std::fmt::Debug;
use std::ptr::NonNull;

use interlock_capi::accelerator::current_stream;
use interlock_capi::{Error, ErrorCode};
use interlock_capi_table::table;

/// Forks and calls `check` in the child, which an alarm kills if it hangs. Returns whether it has returned.
fn returns_in_child(check: impl FnOnce()) -> bool {
    // SAFETY: the child only calls `check`, which does not wait for threads of the parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: sets a timer.
        unsafe { libc::alarm(20) };
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        // SAFETY: exits without running handlers of the parent.
        unsafe { libc::_exit(checked.is_err().into()) };
    }
    let mut status = 1;
    // SAFETY: waits for the child, with a local status.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

#[track_caller]
fn assert_forked<T: Debug>(result: Result<T, Error>) {
    assert_eq!(result.unwrap_err().code(), ErrorCode::ForkedProcess);
}

#[test]
fn streams_of_the_parent_fail_in_a_child() {
    // SAFETY: this is the table of this process.
    unsafe { interlock_capi::import_from(NonNull::from(table())) }.unwrap();
    interlock::accelerator::use_named("host").unwrap();
    let stream = current_stream(None).unwrap();
    assert!(returns_in_child(|| {
        assert_forked(stream.native());
        assert_forked(stream.synchronize());
        assert_forked(stream.launch("work", || Ok(())));
        // Frees nothing, and has no error.
        drop(stream);
    }));
}
