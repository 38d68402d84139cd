//! `interlock-capi` over the table: the state that it reads and writes is that of the native interface.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock::backends::flags::{CUDNN_BENCHMARK, CUDNN_BENCHMARK_LIMIT};
use interlock_capi::accelerator::{self, Device, current_stream};
use interlock_capi::backends::{FlagDecl, FlagType, Value, find, register};
use interlock_capi::dispatch::{Kernel, register_kernel};
use interlock_capi::state::ThreadState;
use interlock_capi::sys::InterlockApi;
use interlock_capi::{ErrorCode, autograd, backends};
use interlock_capi_table::table;

pub fn import() {
    // SAFETY: this is the table of this process.
    unsafe { interlock_capi::import_from(NonNull::from(table())) }.unwrap();
}

#[test]
fn import_without_an_interpreter_fails_with_a_reason() {
    let error = interlock_capi::import().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Import);
    assert!(error.to_string().contains("attached to a Python interpreter"), "{error}");
    // Does nothing without an interpreter.
    error.raise();
}

#[test]
fn import_from_refuses_tables_of_another_version_or_with_fewer_entries() {
    // SAFETY: a table is plain data.
    let copy = || unsafe { std::ptr::from_ref(table()).read() };
    // The table before its last entry.
    let size = std::mem::offset_of!(InterlockApi, flag_by_id) as u32;
    let short = InterlockApi { size, ..copy() };
    let other = InterlockApi { version: 2, ..copy() };
    for wrong in [short, other] {
        // SAFETY: the table is valid for the fields that are read.
        let error = unsafe { interlock_capi::import_from(NonNull::from(&wrong)) }.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Import);
        assert!(error.to_string().starts_with("this extension needs interlock "), "{error}");
    }
    // Entries that this crate does not know are accepted.
    let longer = Box::leak(Box::new(InterlockApi { size: table().size + 8, ..copy() }));
    // SAFETY: the table is never freed.
    unsafe { interlock_capi::import_from(NonNull::from(longer)) }.unwrap();
}

#[test]
#[should_panic(expected = "interlock_capi::import() must be called first")]
fn functions_before_the_import_panic_with_the_cure() {
    autograd::is_grad_enabled();
}

#[test]
fn flags_have_one_value_for_both_interfaces() {
    import();
    let benchmark = find::<bool>("backends.cudnn.benchmark").unwrap();
    let limit = find::<i64>("cudnn.benchmark_limit").unwrap();
    assert_eq!((benchmark.name(), benchmark.get(), limit.get()), ("cudnn.benchmark", false, 10));
    CUDNN_BENCHMARK.set(true).unwrap();
    limit.set(3).unwrap();
    assert_eq!((benchmark.get(), CUDNN_BENCHMARK_LIMIT.get()), (true, 3));
    let scope = limit.scope(5).unwrap();
    {
        let _guards = (scope.guard().unwrap(), CUDNN_BENCHMARK.scope(false).unwrap().guard());
        assert_eq!((benchmark.get(), limit.get(), CUDNN_BENCHMARK_LIMIT.get()), (false, 5, 5));
        // Written to the scopes, which end.
        benchmark.set(true).unwrap();
        limit.set(6).unwrap();
        assert_eq!((CUDNN_BENCHMARK.get(), CUDNN_BENCHMARK_LIMIT.get()), (true, 6));
    }
    assert_eq!((benchmark.get(), limit.get()), (true, 3));
    limit.unset().unwrap();
    assert_eq!(CUDNN_BENCHMARK_LIMIT.get(), 10);
}

#[test]
fn every_flag_has_the_value_of_the_native_interface() {
    import();
    for spec in interlock::backends::flag_specs() {
        let flag = find::<Value>(spec.name()).unwrap();
        let (read, native) = (flag.get(), spec.read());
        let text = match &read {
            Value::None => "None".to_owned(),
            Value::Bool(on) => if *on { "True" } else { "False" }.to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Text(text) => (*text).to_owned(),
            Value::Pair(..) | Value::Names(_) | _ => native.to_string(),
        };
        assert_eq!(text, native.to_string(), "{}", spec.name());
        if !spec.is_read_only() && read != Value::None {
            flag.set(read.clone()).unwrap();
            assert_eq!(flag.get(), read, "{}", spec.name());
        }
    }
}

#[test]
fn priority_order_is_read_without_a_copy_each_time() {
    import();
    let priority = find::<Value>("cuda.sdp_priority").unwrap();
    let Value::Names(mut names) = priority.get() else { panic!("it is a list") };
    assert_eq!(names.first(), Some(&"flash_attention"));
    names.reverse();
    priority.set(Value::Names(names.clone())).unwrap();
    assert_eq!(priority.get(), Value::Names(names.clone()));
    names.pop();
    assert_eq!(priority.set(Value::Names(names)).unwrap_err().code(), ErrorCode::FlagValue);
}

#[test]
fn effective_value_is_overridden_by_other_flags() {
    import();
    let benchmark = find::<bool>("cudnn.benchmark").unwrap();
    benchmark.set(true).unwrap();
    find::<bool>("cudnn.deterministic").unwrap().set(true).unwrap();
    assert_eq!((benchmark.get(), benchmark.effective()), (true, false));
}

#[test]
fn wrong_flags_and_values_have_the_errors_of_the_native_interface() {
    import();
    let code = |result: interlock_capi::Result<()>| result.unwrap_err().code();
    let error = find::<bool>("cudnn.benchmrk").unwrap_err();
    assert_eq!(error.code(), ErrorCode::UnknownFlag);
    assert!(error.to_string().contains("did you mean backends.cudnn.benchmark"), "{error}");
    assert_eq!(find::<bool>("cudnn").unwrap_err().code(), ErrorCode::UnknownFlag);
    assert_eq!(find::<f64>("cudnn.benchmark").unwrap_err().code(), ErrorCode::FlagType);
    let limit = find::<i64>("cudnn.benchmark_limit").unwrap();
    assert_eq!(code(limit.set(-1)), ErrorCode::FlagValue);
    assert_eq!(code(limit.scope(-1).map(drop)), ErrorCode::FlagValue);
    let any = find::<Value>("cudnn.benchmark").unwrap();
    assert_eq!(code(any.set(Value::Text("yes"))), ErrorCode::FlagType);
    let engines = find::<Value>("quantized.supported_engines").unwrap();
    assert_eq!(code(engines.set(Value::None)), ErrorCode::ReadOnlyFlag);
    interlock::backends::disable_global_flags(interlock::backends::SourceLocation::caller());
    assert_eq!(code(limit.set(4)), ErrorCode::FlagsFrozen);
    assert_eq!(limit.get(), 10);
}

#[test]
fn registered_flag_of_each_type_has_its_default_and_range() {
    import();
    let doc = "A flag of a test.";
    let level = FlagType::Integer { default: -2, minimum: -5, maximum: 5 };
    let (level, warning) = register::<i64>(&FlagDecl::new("capi_test.level", level, doc)).unwrap();
    assert_eq!((level.get(), warning), (-2, None));
    assert_eq!(level.set(6).unwrap_err().to_string(), "capi_test.level must be an int from -5 to 5, got 6");
    let guard = level.scope(-5).unwrap().guard().unwrap();
    assert_eq!(level.get(), -5);
    drop(guard);
    let share = FlagType::Float { default: 0.5, minimum: 0.0, maximum: f64::INFINITY };
    let share = register::<f64>(&FlagDecl::new("capi_test.share", share, doc)).unwrap().0;
    share.set(1e300).unwrap();
    assert_eq!((share.get(), share.set(-1.0).is_err()), (1e300, true));
    let solver = FlagType::Choice { default: "exact", names: &["fast", "exact"] };
    let solver = register::<&str>(&FlagDecl::new("capi_test.solver", solver, doc)).unwrap().0;
    solver.set("fast").unwrap();
    assert_eq!((solver.get(), solver.set("slow").is_err()), ("fast", true));
    let folder = FlagType::Text { default: "/tmp" };
    let folder = register::<&str>(&FlagDecl::new("capi_test.folder", folder, doc)).unwrap().0;
    assert_eq!(folder.get(), "/tmp");
    // The table copies the text.
    folder.set(&String::from("/var")).unwrap();
    assert_eq!(folder.get(), "/var");
    let verbose = FlagType::Switch { default: true };
    let verbose = register::<bool>(&FlagDecl::new("capi_test.verbose", verbose, doc)).unwrap().0;
    assert!(verbose.get());
    let threads = FlagType::Count { default: 4, maximum: 64 };
    let threads = FlagDecl::new("capi_test.threads", threads, doc);
    let first = register::<u64>(&threads).unwrap().0;
    first.set(8).unwrap();
    // An equal declaration is the same flag.
    assert_eq!(register::<u64>(&threads).unwrap().0.get(), 8);
    for (name, flag_type) in [
        ("capi_test.threads", FlagType::Count { default: 4, maximum: 65 }),
        ("cudnn.mine", FlagType::Switch { default: true }),
        ("capi_test.wrong", FlagType::Count { default: 65, maximum: 64 }),
        ("capi_test.wrong", FlagType::Choice { default: "slow", names: &["fast"] }),
    ] {
        let error = register::<Value>(&FlagDecl::new(name, flag_type, doc)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::FlagRegistration, "{name}: {error}");
    }
}

#[test]
fn handles_of_an_unregistered_flag_return_what_they_did_and_refuse_writes() {
    import();
    let share = FlagType::Float { default: 0.5, minimum: 0.0, maximum: 1.0 };
    let share = register::<f64>(&FlagDecl::new("capi_test.old.share", share, "A share.")).unwrap().0;
    let name = FlagType::Text { default: "a" };
    let name = register::<&str>(&FlagDecl::new("capi_test.old.name", name, "A name.")).unwrap().0;
    let switch = FlagType::Switch { default: true };
    let switch = register::<bool>(&FlagDecl::new("capi_test.old.switch", switch, "A switch.")).unwrap().0;
    for flag in ["share", "name", "switch"] {
        interlock::backends::unregister(&format!("capi_test.old.{flag}")).unwrap();
    }
    assert_eq!((share.get(), name.get(), switch.get()), (0.5, "a", true));
    assert_eq!((share.effective(), name.effective(), switch.effective()), (0.5, "a", true));
    assert_eq!(name.id().name(), "capi_test.old.name");
    let refused = [share.set(0.25), name.set("b"), switch.set(false)];
    assert_eq!(refused.map(|result| result.unwrap_err().code()), [ErrorCode::UnknownFlag; 3]);
}

#[test]
fn nodes_of_the_precision_tree_are_emptied_by_a_text() {
    import();
    let node = find::<Value>("cuda.matmul.fp32_precision").unwrap();
    node.set(Value::Text("ieee")).unwrap();
    assert_eq!(node.set(Value::None).unwrap_err().code(), ErrorCode::FlagType);
    assert_eq!(node.get(), Value::Text("ieee"));
    node.set(Value::Text("none")).unwrap();
    assert_eq!(node.get(), Value::Text("none"));
}

#[test]
fn flags_are_frozen_for_writes_and_not_for_scopes() {
    import();
    let benchmark = find::<bool>("cudnn.benchmark").unwrap();
    let scope = benchmark.scope(true).unwrap();
    let outer = scope.guard().unwrap();
    let freeze = interlock::backends::FreezeScope::default();
    freeze.enter(interlock::backends::SourceLocation::caller());
    assert_eq!(benchmark.set(false).unwrap_err().code(), ErrorCode::FlagsFrozen);
    drop(outer);
    let _inner = scope.guard().unwrap();
    assert!(benchmark.get());
    freeze.exit();
}

#[test]
fn register_with_another_type_registers_nothing() {
    import();
    let flag_type = FlagType::Count { default: 4, maximum: 64 };
    let declaration = FlagDecl::new("capi_test.mistyped", flag_type, "A flag of a test.");
    let error = register::<bool>(&declaration).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FlagType);
    assert_eq!(
        error.to_string(),
        "register: the type of the values of capi_test.mistyped must be u64, i64 or Value, got bool"
    );
    assert_eq!(find::<Value>("capi_test.mistyped").unwrap_err().code(), ErrorCode::UnknownFlag);
    assert_eq!(register::<u64>(&declaration).unwrap().0.get(), 4);
}

#[test]
fn find_with_another_type_names_the_accepted_types() {
    import();
    let flag_type = FlagType::Integer { default: 0, minimum: -1, maximum: 1 };
    register::<i64>(&FlagDecl::new("capi_test.signed", flag_type, "A flag of a test.")).unwrap();
    let texts = [
        find::<u64>("capi_test.signed").map(drop),
        find::<i64>("cudnn.benchmark").map(drop),
        find::<bool>("cuda.sdp_priority").map(drop),
    ]
    .map(|found| found.unwrap_err().to_string());
    assert_eq!(
        texts,
        [
            "find: the type of the values of capi_test.signed must be i64 or Value, got u64",
            "find: the type of the values of cudnn.benchmark must be bool or Value, got i64",
            "find: the type of the values of cuda.sdp_priority must be Value, got bool",
        ]
    );
}

#[test]
fn errors_show_numbers_beyond_those_of_the_table() {
    import();
    let flag_type = FlagType::Count { default: 0, maximum: u64::MAX };
    let error =
        register::<u64>(&FlagDecl::new("capi_test.huge", flag_type, "A flag of a test.")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FlagRegistration);
    assert!(error.to_string().ends_with("got 18446744073709551615"), "{error}");
    let flag_type = FlagType::Count { default: 0, maximum: 5 };
    let small = register::<u64>(&FlagDecl::new("capi_test.small", flag_type, "A flag of a test.")).unwrap().0;
    for error in [small.set(u64::MAX).unwrap_err(), small.scope(u64::MAX).map(drop).unwrap_err()] {
        assert_eq!(error.to_string(), "capi_test.small must be an int from 0 to 5, got 18446744073709551615");
    }
}

#[test]
fn epochs_change_with_writes_and_scopes() {
    import();
    let benchmark = find::<bool>("cudnn.benchmark").unwrap();
    let (process, thread) = (backends::epoch(), backends::layer_epoch());
    benchmark.set(true).unwrap();
    assert_eq!((backends::epoch() == process, backends::layer_epoch() == thread), (false, true));
    let process = backends::epoch();
    let _guard = benchmark.scope(false).unwrap().guard().unwrap();
    assert_eq!((backends::epoch() == process, backends::layer_epoch() == thread), (true, false));
}

#[test]
fn modes_have_one_value_for_both_interfaces() {
    import();
    assert!(autograd::is_grad_enabled() && !autograd::is_inference_mode_enabled());
    let native = interlock::autograd::no_grad();
    assert!(!autograd::is_grad_enabled());
    let inference = autograd::inference_mode(true).unwrap();
    assert!(interlock::autograd::is_inference_mode_enabled());
    let grad = autograd::enable_grad().unwrap();
    // In any order.
    drop(native);
    assert!(interlock::autograd::is_grad_enabled());
    drop(inference);
    assert!(!autograd::is_inference_mode_enabled() && autograd::is_grad_enabled());
    autograd::Mode::Grad.set(false).unwrap();
    assert!(!autograd::is_grad_enabled());
    drop(grad);
    assert!(autograd::is_grad_enabled(), "written to the scope");
    autograd::Mode::ViewReplay.set(true).unwrap();
    assert!(interlock::autograd::Mode::ViewReplay.is_on());
}

#[test]
fn captured_state_is_applied_on_other_threads() {
    import();
    let seen = || (autograd::is_grad_enabled(), CUDNN_BENCHMARK.get());
    let scope = find::<bool>("cudnn.benchmark").unwrap().scope(true).unwrap();
    let state = {
        let _guards = (autograd::no_grad().unwrap(), scope.guard().unwrap());
        ThreadState::capture().unwrap()
    };
    assert_eq!(seen(), (true, false));
    std::thread::scope(|threads| {
        let applied = threads.spawn(|| (seen(), state.run(seen).unwrap(), seen())).join().unwrap();
        assert_eq!(applied, ((true, false), (false, true), (true, false)));
        let installed = threads.spawn(|| {
            state.install().unwrap();
            seen()
        });
        assert_eq!(installed.join().unwrap(), (false, true));
    });
    let pinned = ThreadState::capture_pinned().unwrap();
    CUDNN_BENCHMARK.set(true).unwrap();
    assert_eq!(pinned.run(seen).unwrap(), (true, false));
}

#[test]
fn guard_that_is_exited_on_another_thread_ends_on_its_own() {
    import();
    let mut guard = interlock_capi::sys::InterlockGuard { layer: 0, owner: 0 };
    // SAFETY: the out pointer is valid.
    let code = unsafe { (table().modes_enter)(1, 0, &raw mut guard, std::ptr::null_mut()) };
    assert_eq!((code, autograd::is_grad_enabled()), (0, false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            assert!(autograd::is_grad_enabled());
            let mut moved = guard;
            // SAFETY: the out pointer is valid.
            unsafe { (table().guard_exit)(&raw mut moved) };
            assert_eq!((moved.layer, moved.owner), (0, 0));
        });
    });
    // Applied when this thread next enters or exits a scope.
    drop(autograd::set_grad_enabled(true).unwrap());
    assert!(autograd::is_grad_enabled());
    // A second exit of the same layer has no effect.
    let no_grad = autograd::no_grad().unwrap();
    // SAFETY: the out pointer is valid.
    unsafe { (table().guard_exit)(&raw mut guard) };
    assert!(!autograd::is_grad_enabled());
    drop(no_grad);
}

fn host() {
    import();
    interlock::accelerator::use_named("host:2").unwrap();
}

#[test]
fn current_device_and_stream_are_those_of_the_native_interface() {
    host();
    let second: Device = "host:1".parse().unwrap();
    let guard = accelerator::device_guard(second).unwrap();
    assert_eq!(accelerator::current_device().unwrap(), second);
    assert_eq!(interlock::accelerator::current_device().unwrap().to_string(), "host:1");
    let native = interlock::accelerator::Stream::new(None, -1).unwrap();
    let stream = {
        let _guard = native.guard().unwrap();
        current_stream(None).unwrap()
    };
    assert_eq!((stream.id().unwrap(), stream.device().unwrap()), (native.id(), second));
    assert_eq!((stream.native().unwrap(), stream.priority().unwrap()), (native.handle().unwrap().raw, -1));
    drop(guard);
    assert_eq!(accelerator::current_device().unwrap().index(), Some(0));
    {
        let _guard = stream.guard().unwrap();
        let entered = interlock::accelerator::current_stream(None).unwrap();
        assert_eq!((entered.id(), entered.device().to_string().as_str()), (native.id(), "host:1"));
    }
    for (wrong, code) in [("host:7", ErrorCode::Device), ("cuda:0", ErrorCode::Device)] {
        let error = accelerator::device_guard(wrong.parse().unwrap()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    assert_eq!("gpu".parse::<Device>().unwrap_err().code(), ErrorCode::Device);
}

#[test]
fn error_of_queued_work_is_reported_by_a_wait() {
    host();
    let stream = current_stream(None).unwrap();
    stream.launch("fail", || Err("out of paper".to_owned())).unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Accelerator);
    assert!(error.to_string().contains("out of paper"), "{error}");
    stream.launch("panic", || panic!("of the work")).unwrap();
    assert!(stream.synchronize().unwrap_err().to_string().contains("the function panicked"));
    stream.synchronize().unwrap();
}

#[test]
fn work_runs_with_the_state_of_the_caller() {
    host();
    let stream = current_stream(None).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let place = seen.clone();
    {
        let _guard = autograd::no_grad().unwrap();
        let note = move || {
            place.store(1 + u64::from(autograd::is_grad_enabled()), Ordering::SeqCst);
            Ok(())
        };
        stream.launch("note", note).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    assert_eq!(Arc::strong_count(&seen), 1, "the work is dropped once it is done");
}

#[test]
fn kernel_of_a_process_without_tensors_is_refused() {
    import();
    let error = register_kernel("matmul", Kernel::new("mine", |_| Ok(()))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
    assert_eq!(error.to_string(), "kernel_register: this process has no tensors of interlock");
}
