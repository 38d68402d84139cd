//! Wrong arguments of C code: the call fails with a code and a text, and has no effect.

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
            ("flag_by_id: found", Box::new(|error| (api.flag_by_id)(1, null_mut(), error))),
            ("flag_read: value", Box::new(|error| (api.flag_read)(1, null_mut(), error))),
            ("flag_read_effective: value", Box::new(|error| (api.flag_read_effective)(1, null_mut(), error))),
            ("flags_write: writes", Box::new(|error| (api.flags_write)(null(), 1, error))),
            ("scope_new: writes", Box::new(|error| (api.scope_new)(null(), 1, null_mut(), error))),
            ("scope_new: scope", Box::new(|error| (api.scope_new)(null(), 0, null_mut(), error))),
            ("scope_enter: guard", Box::new(|error| (api.scope_enter)(null(), null_mut(), error))),
            ("modes_enter: guard", Box::new(|error| (api.modes_enter)(1, 0, null_mut(), error))),
            (
                "inference_mode_enter: guard",
                Box::new(|error| (api.inference_mode_enter)(1, null_mut(), error)),
            ),
            ("state_capture: state", Box::new(|error| (api.state_capture)(0, null_mut(), error))),
            ("state_install: state", Box::new(|error| (api.state_install)(null(), error))),
            ("device_parse: name", Box::new(|error| (api.device_parse)(null_text, null_mut(), error))),
            ("device_parse: device", Box::new(|error| (api.device_parse)(view("cpu"), null_mut(), error))),
            ("stream_info: stream", Box::new(|error| (api.stream_info)(null(), null_mut(), error))),
            ("stream_synchronize: stream", Box::new(|error| (api.stream_synchronize)(null(), error))),
            ("kernel_register: operation", Box::new(|error| (api.kernel_register)(null_text, null(), error))),
            (
                "kernel_register: kernel",
                Box::new(|error| (api.kernel_register)(view("matmul"), null(), error)),
            ),
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
        (api.guard_exit)(null_mut());
        let mut guard = InterlockGuard { layer: 0, owner: 0 };
        (api.guard_exit)(&raw mut guard);
        (api.error_raise)(null());
    }
    assert!(interlock::autograd::is_grad_enabled());
}

#[test]
fn entry_into_an_open_guard_replaces_what_the_guard_exits() {
    let api = table();
    let mut guard = InterlockGuard { layer: 0, owner: 0 };
    let is_grad_enabled = interlock::autograd::is_grad_enabled;
    for _ in 0..2 {
        let code = unsafe { (api.modes_enter)(INTERLOCK_MODE_GRAD, 0, &raw mut guard, null_mut()) };
        assert_eq!(code, INTERLOCK_OK);
    }
    unsafe { (api.guard_exit)(&raw mut guard) };
    unsafe { (api.guard_exit)(&raw mut guard) };
    assert!(!is_grad_enabled(), "nothing exits the first entry");
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
    const TEXT: usize = std::mem::offset_of!(InterlockError, text);
    let name = "\u{e9}".repeat(50);
    // Each character has two bytes, so one of two sizes would cut a character.
    for room in [60, 61] {
        let mut error = empty(TEXT + room + 1);
        unsafe { (table().device_parse)(view(&name), null_mut(), &raw mut error) };
        let text = text_of(&error);
        assert!(text.ends_with('\u{e9}') && text.len() >= room - 1, "{text}");
    }
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
    let out = &raw mut guard;
    let failures = vec![
        failure(|error| unsafe { (api.modes_enter)(INTERLOCK_MODE_GRAD, 0, out, error) }),
        failure(|error| unsafe { (api.inference_mode_enter)(1, out, error) }),
        failure(|error| unsafe { (api.state_enter)(state, out, error) }),
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
        "modes_enter: scopes cannot be entered on a thread whose thread-local variables are destroyed"
    );
    assert!(failures[3].1.starts_with("cannot set grad: "), "{}", failures[3].1);
}

#[test]
fn unsigned_value_that_fits_is_a_number_as_any_other() {
    let (api, mut limit) = (table(), flag());
    let code = unsafe { (api.flag_find)(view("cudnn.benchmark_limit"), &mut limit, null_mut()) };
    assert_eq!(code, 0);
    let write = |number, error| {
        let data = InterlockData { integer: number };
        let value = InterlockValue { kind: INTERLOCK_VALUE_UNSIGNED, reserved: 0, data };
        let write = InterlockWrite { flag: limit.id, reserved: 0, value };
        unsafe { (api.flags_write)(&raw const write, 1, error) }
    };
    assert_eq!(write(0, null_mut()), 0);
    let (_, text) = failure(|error| write(-1, error));
    assert!(text.ends_with("got 18446744073709551615"), "{text}");
    let unset =
        InterlockValue { kind: INTERLOCK_VALUE_UNSET, reserved: 0, data: InterlockData { integer: 0 } };
    let unset = InterlockWrite { flag: limit.id, reserved: 0, value: unset };
    assert_eq!(unsafe { (api.flags_write)(&raw const unset, 1, null_mut()) }, 0);
}

#[test]
fn unknown_numbers_are_refused() {
    let api = table();
    let value = |kind| InterlockValue { kind, reserved: 0, data: InterlockData { integer: 1 } };
    let write = |flag, kind| InterlockWrite { flag, reserved: 0, value: value(kind) };
    let flags_write =
        |write: InterlockWrite| failure(|error| unsafe { (api.flags_write)(&raw const write, 1, error) });
    let scope_new = |write: InterlockWrite| {
        let mut scope = null_mut();
        let failed = failure(|error| unsafe { (api.scope_new)(&raw const write, 1, &raw mut scope, error) });
        assert!(scope.is_null());
        failed
    };
    let mut guard = InterlockGuard { layer: 0, owner: 0 };
    let mut device = |kind, index| {
        let device = InterlockDevice { kind, index };
        failure(|error| unsafe { (api.device_enter)(device, &raw mut guard, error) })
    };
    for ((code, text), expected) in [
        (
            flags_write(write(1, 99)),
            "flags_write: writes[0].value.kind must be one of INTERLOCK_VALUE_*, got 99",
        ),
        (scope_new(write(1, 99)), "scope_new: writes[0].value.kind must be one of INTERLOCK_VALUE_*, got 99"),
        (scope_new(write(1, INTERLOCK_VALUE_UNSET)), "scope_new: writes must be a value"),
        (device(60, 0), "device_enter: device.kind must be the number of a device type, got 60"),
        (device(64, 256), "device_enter: device.index must be -1 or the index of a device, got 256"),
        (device(64, -2), "device_enter: device.index must be -1 or the index of a device, got -2"),
    ] {
        assert_eq!(code, INTERLOCK_ERROR_ARGUMENT, "{text}");
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn ids_of_no_flag_are_refused_and_0_is_one_of_them() {
    let api = table();
    for id in [0, 9999, u32::MAX] {
        let mut value = InterlockValue { kind: 99, reserved: 0, data: InterlockData { integer: 1 } };
        let write = InterlockWrite {
            flag: id,
            reserved: 0,
            value: InterlockValue { kind: INTERLOCK_VALUE_BOOL, ..value },
        };
        let (mut scope, mut found) = (null_mut(), flag());
        let failures = [
            ("flag_read: ", failure(|error| unsafe { (api.flag_read)(id, &raw mut value, error) })),
            (
                "flag_read_effective: ",
                failure(|error| unsafe { (api.flag_read_effective)(id, &raw mut value, error) }),
            ),
            ("flag_by_id: ", failure(|error| unsafe { (api.flag_by_id)(id, &raw mut found, error) })),
            (
                "flags_write: writes[0].",
                failure(|error| unsafe { (api.flags_write)(&raw const write, 1, error) }),
            ),
            (
                "scope_new: writes[0].",
                failure(|error| unsafe { (api.scope_new)(&raw const write, 1, &raw mut scope, error) }),
            ),
        ];
        assert_eq!(found.id, 0, "a call that fails sets no result");
        for (place, (code, text)) in failures {
            let expected = "flag must be an id that flag_find or flag_register has set in this process";
            assert_eq!(text, format!("{place}{expected}, got {id}"));
            assert_eq!(code, INTERLOCK_ERROR_UNKNOWN_FLAG);
        }
        assert_eq!(value.kind, 99, "a call that fails sets no result");
        assert_eq!(unsafe { (api.flag_payload)(id) }, 0);
    }
}

#[test]
fn flag_payload_is_0_for_flags_that_are_not_plain() {
    let api = table();
    let none = InterlockValue { kind: INTERLOCK_VALUE_NONE, reserved: 0, data: InterlockData { integer: 0 } };
    let integer =
        |integer| InterlockValue { kind: INTERLOCK_VALUE_INTEGER, data: InterlockData { integer }, ..none };
    let null_text = InterlockText { data: null(), bytes: 0 };
    let register = |name, kind, is_optional, default_value| {
        let declaration = InterlockFlagDecl {
            size: size_of::<InterlockFlagDecl>() as u32,
            kind,
            is_optional,
            reserved: 0,
            name: view(name),
            doc: view("A flag."),
            variable: null_text,
            affects: null_text,
            default_value,
            minimum: none,
            maximum: none,
            choices: InterlockNames { items: null(), count: 0 },
        };
        let mut flag = flag();
        let code =
            unsafe { (api.flag_register)(&raw const declaration, &raw mut flag, null_mut(), null_mut()) };
        assert_eq!(code, INTERLOCK_OK);
        flag
    };
    let plain = register("capi_test.plain", INTERLOCK_KIND_INTEGER, 0, integer(-3));
    assert_eq!(unsafe { (api.flag_payload)(plain.id) }.cast_signed() - plain.bias, -3);
    let number = InterlockValue { kind: INTERLOCK_VALUE_FLOAT, data: InterlockData { number: 1.5 }, ..none };
    for flag in [
        register("capi_test.optional", INTERLOCK_KIND_INTEGER, 1, integer(7)),
        register("capi_test.float", INTERLOCK_KIND_FLOAT, 0, number),
    ] {
        assert!(flag.word.is_null());
        assert_eq!((unsafe { (api.flag_payload)(flag.id) }, flag.bias), (0, 0));
    }
}

#[test]
fn counts_of_more_bytes_than_an_array_has_are_refused() {
    let api = table();
    let byte = b'x';
    let text = |bytes| InterlockText { data: std::ptr::from_ref(&byte).cast(), bytes };
    let value =
        InterlockValue { kind: INTERLOCK_VALUE_UNSET, reserved: 0, data: InterlockData { integer: 0 } };
    let write = InterlockWrite { flag: 1, reserved: 0, value };
    let names = InterlockNames { items: &raw const value as *const InterlockText, count: usize::MAX / 2 };
    let listed = InterlockValue { kind: INTERLOCK_VALUE_NAMES, reserved: 0, data: InterlockData { names } };
    let list = InterlockWrite { value: listed, ..write };
    let mut scope = null_mut();
    for ((code, message), expected) in [
        (
            failure(|error| unsafe { (api.flag_find)(text(usize::MAX), &mut flag(), error) }),
            "flag_find: name must be at most 9223372036854775807 bytes, got 18446744073709551615",
        ),
        (
            failure(|error| unsafe { (api.device_parse)(text(usize::MAX / 2 + 1), null_mut(), error) }),
            "device_parse: name must be at most 9223372036854775807 bytes, got 9223372036854775808",
        ),
        (
            failure(|error| unsafe { (api.flags_write)(&raw const write, usize::MAX, error) }),
            "flags_write: writes must be at most 288230376151711743 items, got 18446744073709551615",
        ),
        (
            failure(|error| unsafe { (api.flags_write)(&raw const list, 1, error) }),
            "flags_write: writes[0].value.data.names must be at most 576460752303423487 items, \
             got 9223372036854775807",
        ),
        (
            failure(|error| unsafe { (api.scope_new)(&raw const write, usize::MAX, &raw mut scope, error) }),
            "scope_new: writes must be at most 288230376151711743 items, got 18446744073709551615",
        ),
    ] {
        assert_eq!((code, &*message), (INTERLOCK_ERROR_ARGUMENT, expected));
    }
}

#[test]
fn reserved_fields_and_unknown_bits_are_refused() {
    let api = table();
    let mut guard = InterlockGuard { layer: 7, owner: 7 };
    let out = &raw mut guard;
    let value = |reserved| InterlockValue {
        kind: INTERLOCK_VALUE_UNSET,
        reserved,
        data: InterlockData { integer: 0 },
    };
    let write = |reserved, value| {
        let write = InterlockWrite { flag: 1, reserved, value };
        failure(|error| unsafe { (api.flags_write)(&raw const write, 1, error) })
    };
    let null_text = InterlockText { data: null(), bytes: 0 };
    let none = InterlockValue { kind: INTERLOCK_VALUE_NONE, ..value(0) };
    let register_as = |kind, is_optional, reserved, maximum| {
        let declaration = InterlockFlagDecl {
            size: size_of::<InterlockFlagDecl>() as u32,
            kind,
            is_optional,
            reserved,
            name: view("capi_test.reserved"),
            doc: view("A flag."),
            variable: null_text,
            affects: null_text,
            default_value: none,
            minimum: none,
            maximum,
            choices: InterlockNames { items: null(), count: 0 },
        };
        failure(|error| unsafe {
            (api.flag_register)(&raw const declaration, &mut flag(), null_mut(), error)
        })
    };
    let register = |is_optional, reserved| register_as(INTERLOCK_KIND_COUNT, is_optional, reserved, none);
    let one =
        InterlockValue { kind: INTERLOCK_VALUE_INTEGER, data: InterlockData { integer: 1 }, ..value(0) };
    let bits = "a combination of INTERLOCK_MODE_*";
    for ((code, text), expected) in [
        (
            failure(|error| unsafe { (api.modes_enter)(0x80, 0x80, out, error) }),
            format!("modes_enter: mask must be {bits}, got 0x80"),
        ),
        (
            failure(|error| unsafe { (api.modes_enter)(1, 0x81, out, error) }),
            format!("modes_enter: modes must be {bits}, got 0x81"),
        ),
        (
            failure(|error| unsafe { (api.modes_write)(0xff, 0, error) }),
            format!("modes_write: mask must be {bits}, got 0xff"),
        ),
        (
            failure(|error| unsafe { (api.modes_enter)(0, 1, out, error) }),
            "modes_enter: modes must be bits of the mask 0x0, got 0x1".to_owned(),
        ),
        (
            failure(|error| unsafe { (api.inference_mode_enter)(7, out, error) }),
            "inference_mode_enter: is_on must be 0 or 1, got 7".to_owned(),
        ),
        (
            failure(|error| unsafe { (api.state_capture)(3, null_mut(), error) }),
            "state_capture: is_pinned must be 0 or 1, got 3".to_owned(),
        ),
        (
            write(
                0,
                InterlockValue { kind: INTERLOCK_VALUE_BOOL, data: InterlockData { integer: 5 }, ..value(0) },
            ),
            "flags_write: writes[0].value.data.integer must be 0 or 1, got 5".to_owned(),
        ),
        (write(1, value(0)), "flags_write: writes[0].reserved must be 0, got 1".to_owned()),
        (write(0, value(1)), "flags_write: writes[0].value.reserved must be 0, got 1".to_owned()),
        (
            register_as(INTERLOCK_KIND_BOOL, 0, 0, one),
            "flag_register: declaration.maximum must be unset for a flag of this kind, got 1".to_owned(),
        ),
        (register(7, 0), "flag_register: declaration.is_optional must be 0 or 1, got 7".to_owned()),
        (register(0, 1), "flag_register: declaration.reserved must be 0, got 1".to_owned()),
    ] {
        assert_eq!((code, text), (INTERLOCK_ERROR_ARGUMENT, expected));
    }
    assert_eq!((guard.layer, guard.owner), (7, 7), "a call that fails enters nothing");
    assert!(interlock::backends::find("capi_test.reserved").is_err());
}

#[test]
fn errors_show_empty_names_and_null_bytes_within_names() {
    let find = |name| failure(|error| unsafe { (table().flag_find)(view(name), &mut flag(), error) });
    assert_eq!(find(""), (INTERLOCK_ERROR_UNKNOWN_FLAG, "there is no flag \"\"".to_owned()));
    let (code, text) = find("cudnn\0enabled");
    assert_eq!(code, INTERLOCK_ERROR_UNKNOWN_FLAG);
    assert!(text.starts_with("there is no flag backends.cudnn\\0enabled"), "{text}");
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
    assert_eq!(launch(null(), work(None)).1, "stream_launch: work.run must be a pointer, got null");
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
