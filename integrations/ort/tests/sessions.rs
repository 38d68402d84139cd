//! Sessions in scopes: what ONNX Runtime reports of its options, its threads and their state, and what has changed since.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod common;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, Once};
use std::thread;

use common::{Notes, SIZE, environment, notes_model, product, run, serial};
use interlock::autograd;
use interlock::backends::flags::{CUDNN_BENCHMARK, DETERMINISTIC_ALGORITHMS};
use interlock::backends::{Node, Precision, find};
use interlock::{num_threads, set_num_threads};
use interlock_ort::flags::flags;
use interlock_ort::{Session, SessionBuilder, SessionOptions};
use log::{LevelFilter, Log, Metadata, Record};
use ort::ep::ExecutionProvider;
use ort::logging::LogLevel;

/// Sets the number of threads until it is dropped.
struct Threads(NonZeroUsize);

impl Threads {
    fn set(threads: usize) -> Self {
        let before = num_threads();
        set_num_threads(NonZeroUsize::new(threads).unwrap());
        Threads(before)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        set_num_threads(self.0);
    }
}

/// Creates a session, and returns what it logged about its options.
fn logged(builder: SessionBuilder) -> (Session, String) {
    let lines = Arc::new(Mutex::new(String::new()));
    let noted = lines.clone();
    let builder = builder
        .configure(|builder| {
            let logger = move |_: LogLevel, _: &str, _: &str, _: &str, message: &str| {
                noted.lock().unwrap().push_str(&format!("{message}\n"));
            };
            builder.with_log_level(LogLevel::Verbose)?.with_logger(Arc::new(logger))
        })
        .unwrap();
    let session = builder.commit_from_memory(&product()).unwrap();
    let lines = lines.lock().unwrap().clone();
    (session, lines)
}

fn builder() -> SessionBuilder {
    SessionBuilder::new(environment()).unwrap()
}

#[test]
fn onnx_runtime_reports_the_options_of_the_scope() {
    let _serial = serial();
    let _threads = Threads::set(3);
    let scopes = [
        DETERMINISTIC_ALGORITHMS.scope(true).unwrap(),
        flags().unwrap().allow_spinning.scope(false).unwrap(),
        flags().unwrap().inter_op_num_threads.scope(2).unwrap(),
        Node::Mkldnn.scope(Precision::Bf16).unwrap(),
    ];
    let (_, outside) = logged(builder());
    let (_, inside) = {
        let _guards = scopes.each_ref().map(|scope| scope.guard());
        logged(builder())
    };
    let lines = |log: &str, option: &str| -> String {
        log.lines().filter(|line| line.contains(option)).collect::<Vec<_>>().join("\n")
    };
    for (option, default, scoped) in [
        ("use_deterministic_compute", "use_deterministic_compute:0", "use_deterministic_compute:1"),
        ("intra_op_param", "thread_pool_size: 3", "thread_pool_size: 3"),
        ("inter_op_param", "thread_pool_size: 3", "thread_pool_size: 2"),
        (
            "intra_op.allow_spinning",
            "session.intra_op.allow_spinning: 1",
            "session.intra_op.allow_spinning: 0",
        ),
        (
            "inter_op.allow_spinning",
            "session.inter_op.allow_spinning: 1",
            "session.inter_op.allow_spinning: 0",
        ),
        ("arm64_bfloat16", "arm64_bfloat16: 0", "arm64_bfloat16: 1"),
    ] {
        assert!(lines(&outside, option).contains(default), "{option}: {}", lines(&outside, option));
        assert!(lines(&inside, option).contains(scoped), "{option}: {}", lines(&inside, option));
    }
}

#[test]
fn deterministic_sessions_compute_what_the_model_says() {
    let _serial = serial();
    let scope = DETERMINISTIC_ALGORITHMS.scope(true).unwrap();
    let _guard = scope.guard();
    let mut session = builder().commit_from_memory(&product()).unwrap();
    assert!(session.options().deterministic_compute);
    assert_eq!(run(&mut session).unwrap(), vec![2.0 * SIZE as f32; SIZE * SIZE]);
}

#[test]
fn threads_of_a_session_run_with_the_state_of_its_creator() {
    let _serial = serial();
    let _threads = Threads::set(3);
    let scope = CUDNN_BENCHMARK.scope(true).unwrap();
    for is_scoped in [true, false] {
        let guards = is_scoped.then(|| (autograd::no_grad(), scope.guard()));
        let notes = Notes::of(3);
        let mut session = builder()
            .configure(|builder| builder.with_operators(notes.domain()))
            .unwrap()
            .commit_from_memory(&notes_model())
            .unwrap();
        drop(guards);
        // One less than the number, because the thread that calls `run` takes part.
        assert_eq!(session.threads(), 2);
        assert_eq!(run(&mut session).unwrap(), vec![1.0; SIZE * SIZE]);
        let expected = (Some("onnxruntime".to_owned()), !is_scoped, is_scoped);
        assert_eq!(notes.of_pool(thread::current().id()), [expected.clone(), expected]);
    }
}

#[test]
fn one_thread_creates_none_and_inter_threads_need_parallel_execution() {
    let _serial = serial();
    let _threads = Threads::set(1);
    let session = builder().commit_from_memory(&product()).unwrap();
    assert_eq!(session.threads(), 0);
    let scope = flags().unwrap().inter_op_num_threads.scope(4).unwrap();
    let _guard = scope.guard();
    let parallel = |enable| {
        let builder = builder().configure(|builder| builder.with_parallel_execution(enable)).unwrap();
        builder.commit_from_memory(&product()).unwrap().threads()
    };
    assert_eq!((parallel(false), parallel(true)), (0, 3));
}

#[test]
fn stale_reports_what_this_thread_would_now_get() {
    let _serial = serial();
    let scope = DETERMINISTIC_ALGORITHMS.scope(true).unwrap();
    let session = {
        let _guard = scope.guard();
        let session = builder().commit_from_memory(&product()).unwrap();
        assert!(session.stale().unwrap().is_empty());
        session
    };
    let stale = session.stale().unwrap();
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert_eq!(
        (stale[0].setting(), stale[0].option()),
        ("deterministic_algorithms", "use_deterministic_compute")
    );
    assert_eq!((stale[0].session_value(), stale[0].current_value()), ("1", "0"));
    assert_eq!(stale[0].to_string(), "use_deterministic_compute is 1, and 0 by deterministic_algorithms");
    let _guard = scope.guard();
    assert!(session.stale().unwrap().is_empty());
    // The number of threads is no flag.
    let _threads = Threads::set(num_threads().get() + 1);
    let options: Vec<_> = session.stale().unwrap().iter().map(|difference| difference.option()).collect();
    assert_eq!(options, ["intra_op_num_threads", "inter_op_num_threads"]);
}

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if record.target().starts_with("interlock_ort") {
            WARNINGS.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Returns the warnings since the last call.
fn warnings() -> Vec<String> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        log::set_logger(&Warnings).unwrap();
        log::set_max_level(LevelFilter::Warn);
    });
    std::mem::take(&mut WARNINGS.lock().unwrap())
}

fn unset(name: &str) {
    interlock::backends::assign(&[(find(name).unwrap(), None)], None).unwrap();
}

#[test]
fn a_write_for_the_process_warns_once_a_session() {
    let _serial = serial();
    warnings();
    let session = builder().commit_from_memory(&product()).unwrap();
    // Neither a flag that controls no option of this session, nor a scope.
    CUDNN_BENCHMARK.set(true).unwrap();
    drop(DETERMINISTIC_ALGORITHMS.scope(true).unwrap().guard());
    DETERMINISTIC_ALGORITHMS.set(false).unwrap();
    assert_eq!(warnings(), Vec::<String>::new());
    DETERMINISTIC_ALGORITHMS.set(true).unwrap();
    DETERMINISTIC_ALGORITHMS.set(false).unwrap();
    DETERMINISTIC_ALGORITHMS.set(true).unwrap();
    let warned = warnings();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].starts_with("deterministic_algorithms was changed"), "{warned:?}");
    assert!(warned[0].contains("use_deterministic_compute is 0, and 1"), "{warned:?}");
    assert!(!session.options().deterministic_compute);
    drop(session);
    unset("deterministic_algorithms");
    unset("cudnn.benchmark");
    assert_eq!(warnings(), Vec::<String>::new());
}

#[test]
fn a_node_above_the_precision_is_a_setting_of_the_option() {
    let _serial = serial();
    warnings();
    let session = builder().commit_from_memory(&product()).unwrap();
    Node::Generic.set(Precision::Bf16).unwrap();
    let warned = warnings();
    unset("fp32_precision");
    assert!(warned.len() == 1 && warned[0].starts_with("fp32_precision was changed"), "{warned:?}");
    assert!(!session.options().bf16_matmul);
}

#[test]
fn options_are_refused_with_the_error_of_onnx_runtime() {
    let _serial = serial();
    let builder = builder().configure(|builder| builder.with_dimension_override("", -7)).unwrap();
    let error = builder.commit_from_memory(b"no model").unwrap_err();
    assert!(matches!(error, interlock_ort::Error::Ort(_)), "{error}");
    assert!(builder_error().contains("does not exist") || builder_error().contains("No such file"));
}

fn builder_error() -> String {
    builder().commit_from_file("/nowhere/model.onnx").unwrap_err().to_string()
}

#[test]
fn a_library_without_cuda_says_so_if_the_provider_must_not_fail() {
    let _serial = serial();
    let _ = environment();
    if ort::ep::CUDA::is_available().unwrap() {
        // A library with CUDA on a machine with a GPU accepts the options.
        let builder = builder().with_cuda(|cuda| cuda.build().error_on_failure());
        assert_eq!(builder.unwrap().options(), &SessionOptions::capture().unwrap());
        return;
    }
    let error = builder().with_cuda(|cuda| cuda.build().error_on_failure()).unwrap_err().to_string();
    assert!(error.contains("CUDA"), "{error}");
    // The execution provider is an option of the session, even if the CPU has to run its nodes.
    let session = builder().with_cuda(|cuda| cuda.build()).unwrap();
    let session = session.commit_from_memory(&product()).unwrap();
    let scope = CUDNN_BENCHMARK.scope(true).unwrap();
    let _guard = scope.guard();
    let stale = session.stale().unwrap();
    assert_eq!(
        stale.iter().map(|difference| difference.option()).collect::<Vec<_>>(),
        ["cudnn_conv_algo_search"]
    );
}
