//! Wrong arguments of C code: the call fails with a code and a text, and has no effect.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "each pointer is null or valid, which the table accepts or refuses"
)]

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};

use interlock_capi::sys::*;
use interlock_capi_table::table;

fn empty(size: usize) -> InterlockError {
    InterlockError { size: size as u32, code: -1, text: [b'x' as _; 1016] }
}

fn text_of(error: &InterlockError) -> &str {
    // SAFETY: a call that fails ends the text with a null byte.
    unsafe { CStr::from_ptr(error.text.as_ptr()) }.to_str().unwrap()
}

fn view(text: &str) -> InterlockText {
    InterlockText { data: text.as_ptr().cast(), bytes: text.len() }
}

/// Returns the code and the text of a call that fails.
fn failure(call: impl FnOnce(*mut InterlockError) -> i32) -> (i32, String) {
    let mut error = empty(size_of::<InterlockError>());
    let code = call(&raw mut error);
    assert_eq!(code, error.code);
    (code, text_of(&error).to_owned())
}

fn flag() -> InterlockFlag {
    // SAFETY: zeros are a valid flag.
    let flag: InterlockFlag = unsafe { std::mem::zeroed() };
    InterlockFlag { size: size_of::<InterlockFlag>() as u32, ..flag }
}

#[test]
fn null_pointers_are_refused() {
    let api = table();
    let null_text = InterlockText { data: null(), bytes: 0 };
    let mut guard = InterlockGuard { layer: 7, owner: 7 };
    type Call<'a> = Box<dyn Fn(*mut InterlockError) -> i32 + 'a>;
    let calls: Vec<(&str, Call)> = unsafe {
        vec![
            ("flag_find: name", Box::new(|error| (api.flag_find)(null_text, &mut flag(), error))),
            ("flag_find: flag", Box::new(|error| (api.flag_find)(view("cudnn.enabled"), null_mut(), error))),
            (
                "flag_register: flag",
                Box::new(|error| (api.flag_register)(null(), null_mut(), null_mut(), error)),
            ),
            ("flag_read: value", Box::new(|error| (api.flag_read)(0, null_mut(), error))),
            ("flags_write: writes", Box::new(|error| (api.flags_write)(null(), 1, error))),
            ("scope_new: writes", Box::new(|error| (api.scope_new)(null(), 1, null_mut(), error))),
            ("scope_new: scope", Box::new(|error| (api.scope_new)(null(), 0, null_mut(), error))),
            ("guard", Box::new(|error| (api.scope_enter)(null(), null_mut(), error))),
            ("guard", Box::new(|error| (api.modes_enter)(1, 0, null_mut(), error))),
            ("guard", Box::new(|error| (api.inference_mode_enter)(1, null_mut(), error))),
            ("state_capture: state", Box::new(|error| (api.state_capture)(0, null_mut(), error))),
            ("state_install: state", Box::new(|error| (api.state_install)(null(), error))),
            ("device_parse: name", Box::new(|error| (api.device_parse)(null_text, null_mut(), error))),
            ("device_parse: device", Box::new(|error| (api.device_parse)(view("cpu"), null_mut(), error))),
            ("stream_info: stream", Box::new(|error| (api.stream_info)(null(), null_mut(), error))),
            ("stream_query: stream", Box::new(|error| (api.stream_query)(null(), null_mut(), error))),
            ("stream_synchronize: stream", Box::new(|error| (api.stream_synchronize)(null(), error))),
            ("buffer_info: buffer", Box::new(|error| (api.buffer_info)(null(), null_mut(), error))),
            ("event_query: event", Box::new(|error| (api.event_query)(null(), null_mut(), error))),
            ("event_record: event", Box::new(|error| (api.event_record)(null(), null(), error))),
            ("dispatch_note: call", Box::new(|error| (api.dispatch_note)(null(), error))),
            ("kernel_register: operation", Box::new(|error| (api.kernel_register)(null_text, null(), error))),
            (
                "kernel_register: kernel",
                Box::new(|error| (api.kernel_register)(view("matmul"), null(), error)),
            ),
            ("recording_new: recording", Box::new(|error| (api.recording_new)(null_mut(), error))),
        ]
    };
    for (name, call) in calls {
        let (code, text) = failure(call);
        assert_eq!(code, INTERLOCK_ERROR_ARGUMENT, "{name}: {text}");
        assert!(
            text.starts_with(&format!("{name} must be ")) && text.ends_with(", got null"),
            "{name}: {text}"
        );
    }
    let scope_enter = failure(|error| unsafe { (api.scope_enter)(null(), &raw mut guard, error) });
    assert_eq!(
        scope_enter,
        (INTERLOCK_ERROR_ARGUMENT, "scope_enter: scope must be a pointer, got null".to_owned())
    );
    assert_eq!((guard.layer, guard.owner), (7, 7), "a call that fails sets no result");
    // A call without an error reports its code alone.
    assert_eq!(unsafe { (api.flag_find)(null_text, &mut flag(), null_mut()) }, INTERLOCK_ERROR_ARGUMENT);
}

#[test]
fn freeing_and_exiting_null_has_no_effect() {
    let api = table();
    unsafe {
        (api.scope_free)(null_mut());
        (api.state_free)(null_mut());
        (api.stream_free)(null_mut());
        (api.buffer_free)(null_mut());
        (api.event_free)(null_mut());
        (api.recording_free)(null_mut());
        (api.guard_exit)(null_mut());
        let mut guard = InterlockGuard { layer: 0, owner: 0 };
        (api.guard_exit)(&raw mut guard);
        (api.error_raise)(null());
    }
    assert!(interlock::autograd::is_grad_enabled());
}

#[test]
fn error_of_any_size_is_filled_as_far_as_it_goes() {
    let api = table();
    let find = |size: usize| {
        let mut error = empty(size);
        let code = unsafe { (api.flag_find)(view("cudnn.benchmrk"), &mut flag(), &raw mut error) };
        assert_eq!(code, INTERLOCK_ERROR_UNKNOWN_FLAG);
        error
    };
    let whole = find(size_of::<InterlockError>());
    let message = text_of(&whole);
    assert!(message.contains("did you mean"));
    let cut = find(8 + 10);
    assert_eq!((cut.code, text_of(&cut)), (INTERLOCK_ERROR_UNKNOWN_FLAG, &message[..9]));
    assert_eq!(cut.text[10] as u8, b'x', "nothing is written behind the size");
    let code_only = find(8);
    assert_eq!((code_only.code, code_only.text[0] as u8), (INTERLOCK_ERROR_UNKNOWN_FLAG, b'x'));
    let nothing = find(4);
    assert_eq!((nothing.code, nothing.text[0] as u8), (-1, b'x'));
}

#[test]
fn long_text_is_cut_between_two_characters() {
    let name = "\u{e9}".repeat(2000);
    let mut error = empty(size_of::<InterlockError>());
    unsafe { (table().device_parse)(view(&name), null_mut(), &raw mut error) };
    assert!(text_of(&error).chars().all(|letter| letter != char::REPLACEMENT_CHARACTER));
    assert!(text_of(&error).len() >= 1012, "{}", text_of(&error).len());
}

#[test]
fn structs_of_an_older_or_newer_caller_are_accepted() {
    let api = table();
    // Smaller than in version 1: the caller forgot the size.
    let mut small = InterlockFlag { size: 0, ..flag() };
    let (code, text) =
        failure(|error| unsafe { (api.flag_find)(view("cudnn.enabled"), &raw mut small, error) });
    assert_eq!((code, small.id), (INTERLOCK_ERROR_ARGUMENT, 0));
    assert!(text.starts_with("flag_find: flag.size must be at least 56 bytes"), "{text}");
    // Larger: the fields that interlock does not know are not written.
    #[repr(C)]
    struct Newer {
        flag: InterlockFlag,
        more: u64,
    }
    let mut newer = Newer { flag: InterlockFlag { size: size_of::<Newer>() as u32, ..flag() }, more: 5 };
    let code = unsafe { (api.flag_find)(view("cudnn.enabled"), (&raw mut newer).cast(), null_mut()) };
    assert_eq!((code, newer.more, newer.flag.size as usize), (0, 5, size_of::<Newer>()));
    assert!(!newer.flag.word.is_null());
}

/// Calls the entries that write the state of this thread, each of which must fail.
fn failures_of_writes() -> Vec<(i32, String)> {
    let api = table();
    let mut guard = InterlockGuard { layer: 7, owner: 7 };
    let mut state = null_mut();
    assert_eq!(unsafe { (api.state_capture)(0, &raw mut state, null_mut()) }, INTERLOCK_OK);
    let place = &raw mut guard;
    let failures = vec![
        failure(|error| unsafe { (api.modes_enter)(INTERLOCK_MODE_GRAD, 0, place, error) }),
        failure(|error| unsafe { (api.inference_mode_enter)(1, place, error) }),
        failure(|error| unsafe { (api.state_enter)(state, place, error) }),
        failure(|error| unsafe { (api.modes_write)(INTERLOCK_MODE_GRAD, 0, error) }),
        failure(|error| unsafe { (api.state_install)(state, error) }),
    ];
    unsafe { (api.state_free)(state) };
    assert_eq!((guard.layer, guard.owner), (7, 7), "a call that fails sets no result");
    assert!(interlock::autograd::is_grad_enabled());
    failures
}

#[test]
fn writes_fail_on_a_thread_whose_variables_are_destroyed() {
    struct Last(Sender<Vec<(i32, String)>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.send(failures_of_writes()).unwrap();
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || {
        // Initialized before the layers, so that it is dropped after them.
        LAST.with_borrow_mut(|last| *last = Some(Last(sender)));
        drop(interlock::autograd::no_grad());
    });
    thread.join().unwrap();
    let failures = receiver.recv().unwrap();
    let is_unsupported = |(code, _): &(i32, String)| *code == INTERLOCK_ERROR_UNSUPPORTED;
    assert!(failures.iter().all(is_unsupported), "{failures:?}");
    assert_eq!(
        failures[0].1,
        "scopes cannot be entered on a thread whose thread-local variables are destroyed"
    );
    assert!(failures[3].1.starts_with("modes_write: nothing can be written"), "{}", failures[3].1);
}

/// Returns a call without texts, whose later fields are invalid.
fn call_of_size(size: usize) -> InterlockCall {
    InterlockCall {
        size: size as u32,
        rounding: INTERLOCK_ROUNDING_NONE,
        operation: view("capi_test.sized"),
        arguments: view(""),
        composite: InterlockText { data: null(), bytes: 0 },
        considered: null(),
        considered_count: 0,
        is_model: 0,
        reserved: 0,
        notes: null(),
        notes_count: 7,
        sums: 99,
        padding: 0,
    }
}

#[test]
fn fields_that_a_caller_does_not_know_are_not_read() {
    let note = |call: &InterlockCall, error| unsafe { (table().dispatch_note)(&raw const *call, error) };
    let recording = interlock::dispatch::Recording::default();
    let guard = recording.guard();
    // The size before notes and sums were appended.
    assert_eq!(note(&call_of_size(80), null_mut()), INTERLOCK_OK);
    let whole = call_of_size(size_of::<InterlockCall>());
    let null_notes = failure(|error| note(&whole, error));
    let wrong_sums = failure(|error| note(&InterlockCall { notes_count: 0, ..whole }, error));
    drop(guard);
    assert_eq!(null_notes.1, "dispatch_note: call.notes must be a pointer, got null");
    assert_eq!(wrong_sums.1, "dispatch_note: call.sums must be one of INTERLOCK_SUMS_*, got 99");
    let [call] = &recording.calls()[..] else { panic!("the calls that fail are not recorded") };
    assert_eq!((call.notes.len(), call.sums), (0, None));
}

#[test]
fn unknown_numbers_are_refused() {
    let api = table();
    let value = |kind| InterlockValue { kind, reserved: 0, data: InterlockData { integer: 1 } };
    let write = |flag, kind| InterlockWrite { flag, reserved: 0, value: value(kind) };
    let mut read = value(99);
    let flags_write =
        |write: InterlockWrite| failure(|error| unsafe { (api.flags_write)(&raw const write, 1, error) });
    let scope_new = |write: InterlockWrite| {
        let mut scope = null_mut();
        let failed = failure(|error| unsafe { (api.scope_new)(&raw const write, 1, &raw mut scope, error) });
        assert!(scope.is_null());
        failed
    };
    let device =
        |kind, index| failure(|error| unsafe { (api.device_set)(InterlockDevice { kind, index }, error) });
    let mut event = null_mut();
    for ((code, text), expected) in [
        (flags_write(write(u32::MAX, INTERLOCK_VALUE_BOOL)), "flag must be an id"),
        (flags_write(write(0, 99)), "value.kind must be one of INTERLOCK_VALUE_*, got 99"),
        (scope_new(write(0, INTERLOCK_VALUE_UNSET)), "scope_new: writes must be a value"),
        (failure(|error| unsafe { (api.flag_read)(9999, &raw mut read, error) }), "flag must be an id"),
        (device(60, 0), "device.kind must be the number of a device type, got 60"),
        (device(64, 256), "device.index must be -1 or the index of a device, got 256"),
        (device(64, -2), "device.index must be -1 or the index of a device, got -2"),
        (
            failure(|error| unsafe { (api.event_new)(null(), 8, &raw mut event, error) }),
            "event_new: options must be a combination",
        ),
    ] {
        assert_eq!(code, INTERLOCK_ERROR_ARGUMENT, "{text}");
        assert!(text.starts_with(expected), "{text}");
    }
    assert_eq!(read.kind, 99, "a call that fails sets no result");
    assert_eq!(unsafe { (api.flag_payload)(u32::MAX) }, 0);
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let bytes = [b'c', 0xff];
    let name = InterlockText { data: bytes.as_ptr().cast(), bytes: 2 };
    let failed = failure(|error| unsafe { (table().flag_find)(name, &mut flag(), error) });
    assert_eq!(
        failed,
        (INTERLOCK_ERROR_ARGUMENT, "flag_find: name must be UTF-8, got other bytes".to_owned())
    );
}

#[test]
fn data_of_work_is_released_once_also_if_the_call_fails() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn run(_data: *mut c_void, _error: *mut InterlockError) -> i32 {
        INTERLOCK_ERROR_OTHER
    }
    unsafe extern "C" fn drop_data(_data: *mut c_void) {
        DROPS.fetch_add(1, Ordering::SeqCst);
    }
    let api = table();
    let work = |run| InterlockWork { run, data: null_mut(), drop: Some(drop_data) };
    let launch =
        |stream, work| failure(|error| unsafe { (api.stream_launch)(stream, view("work"), work, error) });
    assert_eq!(launch(null(), work(Some(run))).0, INTERLOCK_ERROR_ARGUMENT);
    assert_eq!(DROPS.load(Ordering::SeqCst), 1);
    assert_eq!(launch(null(), work(None)).1, "work.run must be a pointer, got null");
    assert_eq!(DROPS.load(Ordering::SeqCst), 2);
    interlock::accelerator::use_named("host").unwrap();
    let mut stream = null_mut();
    assert_eq!(unsafe { (api.stream_current)(null(), &raw mut stream, null_mut()) }, INTERLOCK_OK);
    assert_eq!(
        unsafe { (api.stream_launch)(stream, view("work"), work(Some(run)), null_mut()) },
        INTERLOCK_OK
    );
    let (code, text) = failure(|error| unsafe { (api.stream_synchronize)(stream, error) });
    assert_eq!(code, INTERLOCK_ERROR_ACCELERATOR);
    assert!(text.contains("it returned 20"), "{text}");
    assert_eq!(DROPS.load(Ordering::SeqCst), 3);
    unsafe { (api.stream_free)(stream) };
}
