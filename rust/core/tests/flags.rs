//! Flags through the public interface. Flags belong to the process, so these tests run one at a time.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use interlock_core::Error;
use interlock_core::flags::flags::{
    CUDA_CUBLAS_WORKSPACE, CUDA_MATMUL_FP16_REDUCTION, CUDNN_BENCHMARK_LIMIT, CUDNN_DETERMINISTIC,
    CUDNN_ENABLED,
};
use interlock_core::flags::{
    self as backends, FlagScope, FlagType, Float, FreezeScope, InputValue, Level, Node, Precision, Reduction,
    SourceLocation, Value,
};

static TURN: Mutex<()> = Mutex::new(());

/// Resets every flag when it is dropped.
struct Turn<'a>(#[allow(dead_code, reason = "held")] MutexGuard<'a, ()>);

fn turn() -> Turn<'static> {
    Turn(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        backends::reset(None).unwrap();
    }
}

fn scope(values: &[(&str, InputValue)]) -> FlagScope {
    let values: Vec<_> =
        values.iter().map(|(name, given)| (backends::find(name).unwrap(), given.clone())).collect();
    FlagScope::new(values, None).unwrap()
}

fn assign(name: &str, given: Option<InputValue>) -> interlock_core::Result<()> {
    backends::assign(&[(backends::find(name).unwrap(), given)], None)
}

fn level(name: &str) -> Level {
    backends::find(name).unwrap().explain().level
}

#[test]
fn assign_accepts_any_number_of_distinct_values() {
    const THREADS: u32 = 4;
    const EACH: u32 = 25_000;
    let _turn = turn();
    let register = |name: &str, flag_type| {
        backends::register(backends::FlagDecl::new(name, flag_type, "A flag of a test.")).unwrap().0
    };
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    let float =
        register("flags_test.float", FlagType::Float { default: 1e300, minimum: all.0, maximum: all.1 });
    let text = register("flags_test.text", FlagType::Text { default: String::new() });
    assign("flags_test.float", Some(InputValue::Float(-1e-300))).unwrap();
    assign("flags_test.text", Some(InputValue::Text("first".into()))).unwrap();
    let old = backends::snapshot();
    // Each thread reads its values in scopes of its own: equal values of two threads are stored once.
    let read_all = |thread: u32| {
        for number in 0..EACH {
            let distinct = f64::from_bits(1e100_f64.to_bits() + u64::from(number / 2 * THREADS + thread));
            let name = format!("text {}", number / 2 * THREADS + thread % 2);
            let values = [(float, InputValue::Float(distinct)), (text, InputValue::Text((&*name).into()))];
            let scope = FlagScope::new(values, None).unwrap();
            let _guard = scope.guard();
            assert_eq!(float.read(), Value::Float(Float::new(distinct)));
            assert!(matches!(text.read(), Value::Text(read) if read == name));
        }
    };
    std::thread::scope(|threads| {
        (0..THREADS).for_each(|thread| _ = threads.spawn(move || read_all(thread)));
    });
    backends::reset(None).unwrap();
    assert_eq!((float.read(), text.read()), (Value::Float(Float::new(1e300)), Value::Text("")));
    let restored = [
        ("flags_test.float", InputValue::Float(-1e-300)),
        ("flags_test.text", InputValue::Text("first".into())),
    ];
    backends::restore(&restored, None).unwrap();
    assert_eq!(backends::snapshot(), old);
}

#[test]
fn scope_of_a_flag_and_of_a_node_decides_it_alone() {
    let _turn = turn();
    let before = backends::snapshot();
    let flag = CUDNN_BENCHMARK_LIMIT.scope(3).unwrap();
    let node = Node::CudaMatmul.scope(Precision::Tf32).unwrap();
    assert_eq!(flag.values(), [("cudnn.benchmark_limit", Value::Integer(3))]);
    {
        let _guards = (flag.guard(), node.guard());
        assert_eq!((CUDNN_BENCHMARK_LIMIT.get(), Node::CudaMatmul.get()), (3, Precision::Tf32));
        assert_eq!(Node::CudaConv.get(), Precision::Tf32, "its default");
        assert_eq!(std::thread::spawn(|| Node::CudaMatmul.get()).join().unwrap(), Precision::None);
    }
    assert_eq!((CUDNN_BENCHMARK_LIMIT.get(), Node::CudaMatmul.get()), (10, Precision::None));
    assert!(matches!(CUDNN_BENCHMARK_LIMIT.scope(u32::MAX), Err(Error::FlagValue { .. })));
    assert!(matches!(Node::CudaConv.scope(Precision::Bf16), Err(Error::FlagValue { .. })));
    assert_eq!(backends::snapshot(), before);
}

#[test]
fn set_of_a_flag_affects_every_thread() {
    let _turn = turn();
    CUDNN_DETERMINISTIC.set(true).unwrap();
    assert!(std::thread::spawn(|| CUDNN_DETERMINISTIC.get()).join().unwrap());
    assert_eq!(level("cudnn.deterministic"), Level::Process);
}

#[test]
fn scope_affects_only_its_thread_and_is_undone() {
    let _turn = turn();
    let before = backends::snapshot();
    {
        let _guard = scope(&[("cudnn.enabled", InputValue::Bool(false))]).guard();
        assert!(!CUDNN_ENABLED.get());
        assert_eq!(level("cudnn.enabled"), Level::Scope);
        assert!(std::thread::spawn(|| CUDNN_ENABLED.get()).join().unwrap());
    }
    assert!(CUDNN_ENABLED.get());
    assert_eq!(backends::snapshot(), before);
}

#[test]
fn set_inside_a_scope_that_names_the_flag_ends_with_the_scope() {
    let _turn = turn();
    {
        let _guard = scope(&[("cudnn.enabled", InputValue::Bool(false))]).guard();
        CUDNN_ENABLED.set(true).unwrap();
        CUDNN_DETERMINISTIC.set(true).unwrap();
        assert!(CUDNN_ENABLED.get());
    }
    assert_eq!(level("cudnn.enabled"), Level::Default);
    assert!(CUDNN_DETERMINISTIC.get(), "a flag that the scope does not name is the process's");
}

#[test]
fn scopes_of_two_threads_may_overlap() {
    let _turn = turn();
    let first = scope(&[("cudnn.enabled", InputValue::Bool(false))]);
    first.enter();
    let second = std::thread::spawn(|| {
        let other = scope(&[("cudnn.enabled", InputValue::Bool(false))]);
        other.enter();
        other
    })
    .join()
    .unwrap();
    first.exit();
    second.exit();
    assert!(CUDNN_ENABLED.get());
}

#[test]
fn scope_exited_on_another_thread_ends_where_it_was_entered() {
    let _turn = turn();
    let shared = scope(&[("cudnn.enabled", InputValue::Bool(false))]);
    shared.enter();
    std::thread::scope(|threads| threads.spawn(|| shared.exit()).join().unwrap());
    // A write checks the mailbox, a read does not.
    CUDNN_DETERMINISTIC.set(false).unwrap();
    assert!(CUDNN_ENABLED.get());
}

#[test]
fn assign_writes_all_flags_or_none() {
    let _turn = turn();
    let writes = [
        (backends::find("cudnn.enabled").unwrap(), Some(InputValue::Bool(false))),
        (backends::find("cudnn.benchmark_limit").unwrap(), Some(InputValue::Integer(-1))),
    ];
    assert!(matches!(backends::assign(&writes, None), Err(Error::FlagValue { .. })));
    assert!(CUDNN_ENABLED.get());
    assert_eq!(CUDNN_BENCHMARK_LIMIT.get(), 10);
}

#[test]
fn freeze_refuses_every_write_and_allows_scopes() {
    let _turn = turn();
    let freeze = FreezeScope::default();
    freeze.enter(SourceLocation::caller());
    let error = CUDNN_ENABLED.set(false).unwrap_err();
    assert!(error.to_string().contains("cudnn.enabled") && error.to_string().contains("flags.rs"), "{error}");
    assert!(Node::Generic.set(Precision::Ieee).is_err());
    assert!(backends::reset(None).is_err());
    {
        let _guard = scope(&[("cudnn.enabled", InputValue::Bool(false))]).guard();
        assert!(!CUDNN_ENABLED.get());
        assert!(CUDNN_ENABLED.set(true).is_err());
    }
    freeze.exit();
    freeze.exit();
    assert!(!backends::flags_frozen());
    CUDNN_ENABLED.set(false).unwrap();
}

#[test]
fn assign_none_unsets_the_flag() {
    let _turn = turn();
    for name in ["cudnn.enabled", "cudnn.conv.fp32_precision"] {
        let before = backends::find(name).unwrap().read();
        let given =
            if name.ends_with("enabled") { InputValue::Bool(false) } else { InputValue::Text("ieee".into()) };
        assign(name, Some(given)).unwrap();
        assert_ne!(backends::find(name).unwrap().read(), before);
        assign(name, None).unwrap();
        assert_eq!((backends::find(name).unwrap().read(), level(name)), (before, Level::Default));
    }
}

#[test]
fn restore_assigns_the_flags_of_a_snapshot_and_unsets_others() {
    let _turn = turn();
    CUDNN_ENABLED.set(false).unwrap();
    CUDA_MATMUL_FP16_REDUCTION.set(backends::Reduction { allowed: false, split: false }).unwrap();
    let taken = backends::snapshot();
    backends::reset(None).unwrap();
    CUDNN_DETERMINISTIC.set(true).unwrap();
    let assigned: Vec<_> = taken
        .iter()
        .filter(|entry| entry.level == Level::Process)
        .map(|entry| (entry.name, given(entry.value)))
        .collect();
    backends::restore(&assigned, None).unwrap();
    assert_eq!(backends::snapshot(), taken);
}

fn given(value: Value) -> InputValue<'static> {
    match value {
        Value::Bool(value) => InputValue::Bool(value),
        Value::Integer(number) => InputValue::Integer(number),
        Value::Float(number) => InputValue::Float(number.get()),
        Value::Name(name) | Value::Text(name) => InputValue::Text(name.into()),
        Value::Pair(one, other) => InputValue::List(vec![InputValue::Bool(one), InputValue::Bool(other)]),
        Value::PriorityOrder(names, order) => {
            InputValue::List(order.names(names).map(|name| InputValue::Text(name.into())).collect())
        }
        Value::Names(names) => InputValue::Other(format!("{names:?}, which can only be read")),
        Value::None => InputValue::None,
        Value::Path(path) => InputValue::Path(path.into()),
        Value::List(items) => InputValue::List(items.iter().map(|item| given(*item)).collect()),
    }
}

#[test]
fn set_refuses_values_out_of_range() {
    let _turn = turn();
    let refused = |result: interlock_core::Result<()>| matches!(result, Err(Error::FlagValue { .. }));
    assert!(refused(CUDA_CUBLAS_WORKSPACE.set((1 << 62) + 5)));
    assert!(refused(CUDNN_BENCHMARK_LIMIT.set(u32::MAX)));
    assert!(refused(CUDA_MATMUL_FP16_REDUCTION.set(Reduction { allowed: true, split: false })));
    CUDNN_BENCHMARK_LIMIT.set(7).unwrap();
    assert_eq!(CUDNN_BENCHMARK_LIMIT.get(), 7);
}

#[test]
fn aliases_write_and_read_their_nodes() {
    let _turn = turn();
    assign("cudnn.allow_tf32", Some(InputValue::Bool(false))).unwrap();
    assert_eq!((Node::CudaConv.get(), Node::CudaRnn.get()), (Precision::Ieee, Precision::Ieee));
    Node::CudaConv.set(Precision::Tf32).unwrap();
    assert_eq!(backends::find("cudnn.allow_tf32").unwrap().read(), Value::Bool(false));
    assert!(matches!(
        assign("cuda.matmul.allow_bf16_reduced_precision_reduction_split_k", Some(InputValue::Bool(true))),
        Err(Error::ReadOnlyFlag { .. })
    ));
}

#[test]
fn epoch_changes_with_every_write() {
    let _turn = turn();
    let (process, thread) = (backends::epoch(), backends::layer_epoch());
    CUDNN_ENABLED.set(false).unwrap();
    assert_ne!(backends::epoch(), process);
    let process = backends::epoch();
    let _guard = scope(&[("cudnn.enabled", InputValue::Bool(false))]).guard();
    assert_eq!(backends::epoch(), process);
    assert_ne!(backends::layer_epoch(), thread);
}

#[test]
fn fork_during_writes_leaves_the_child_able_to_write() {
    let _turn = turn();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    CUDNN_BENCHMARK_LIMIT.set(7).unwrap();
                }
            });
        }
        let codes: Vec<i32> = (0..20).map(|_| exit_code_of_writing_child()).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(codes, [0; 20]);
    });
}

/// Forks. The child writes a flag and exits; an alarm kills it if it hangs.
fn exit_code_of_writing_child() -> i32 {
    // SAFETY: the child only writes flags and exits through `_exit`; the crate itself holds the lock across the fork,
    // which is the subject of this test.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0, "fork failed");
        if child == 0 {
            libc::alarm(10);
            let written = CUDNN_BENCHMARK_LIMIT.set(9).is_ok() && CUDNN_BENCHMARK_LIMIT.get() == 9;
            libc::_exit(i32::from(!written));
        }
        let mut status = 0;
        libc::waitpid(child, &mut status, 0);
        status
    }
}
