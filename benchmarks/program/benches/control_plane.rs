//! Reads of flags and modes, and guards, next to the load that is their lower bound; some while scopes of another
//! thread are open, which do not affect the reader. The choice of a kernel, next to a call of the kernel.

#![allow(clippy::expect_used, reason = "a benchmark of the wrong name must stop")]

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use interlock::autograd;
use interlock::backends::{FlagDecl, FlagHandle, FlagScope, FlagType, InputValue, find, flags, register};
use interlock::dispatch::{
    FlagRequirement, Kernel, KernelError, NoKernel, Numerics, Op, Operation, Reason, Recording,
};

// Both baselines are written at run time: a constant could be folded by the compiler.
static BARE_WORD: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static BARE_CELL: Cell<u64> = const { Cell::new(1) };
}

fn scope_of(name: &str, value: bool) -> FlagScope {
    let spec = find(name).expect("a flag of the table");
    FlagScope::new([(spec, InputValue::Bool(value))], None).expect("a value of its type")
}

fn registered() -> FlagHandle<bool> {
    let flag_type = FlagType::Switch { default: true };
    let declaration = FlagDecl::new("benchmarks.flag", flag_type, "A flag to measure.");
    let (spec, _) = register(declaration).expect("a name that is free");
    spec.handle().expect("a switch")
}

/// Runs `measure` while another thread has open scopes of a mode and of the flag that is read.
fn with_scopes_elsewhere(measure: impl FnOnce()) {
    let (opened, wait_until_opened) = mpsc::channel();
    let (measured, wait_until_measured) = mpsc::channel::<()>();
    thread::scope(|threads| {
        threads.spawn(move || {
            let (_flag, _mode) = (scope_of("cudnn.enabled", false).guard(), autograd::no_grad());
            opened.send(()).ok();
            // Returns when the sender is dropped.
            wait_until_measured.recv().ok();
        });
        wait_until_opened.recv().ok();
        measure();
        drop(measured);
    });
}

fn flag_reads(criterion: &mut Criterion) {
    BARE_WORD.store(2, Ordering::Relaxed);
    let mut group = criterion.benchmark_group("flag");
    group.bench_function("baseline", |b| b.iter(|| BARE_WORD.load(Ordering::Relaxed)));
    group.bench_function("read", |b| b.iter(|| flags::CUDNN_ENABLED.get()));
    let registered = registered();
    group.bench_function("read_registered", |b| b.iter(|| registered.get()));
    group.bench_function("scope", |b| b.iter(|| drop(scope_of("cudnn.enabled", false).guard())));
    group.bench_function("scope_registered", |b| {
        b.iter(|| drop(registered.scope(false).expect("a value of its type").guard()));
    });
    let other = scope_of("cudnn.deterministic", true).guard();
    group.bench_function("read_beside_a_scope", |b| b.iter(|| flags::CUDNN_ENABLED.get()));
    drop(other);
    let own = scope_of("cudnn.enabled", false).guard();
    group.bench_function("read_in_a_scope", |b| b.iter(|| flags::CUDNN_ENABLED.get()));
    drop(own);
    let entered_often = scope_of("cudnn.enabled", false);
    group.bench_function("guard", |b| b.iter(|| drop(entered_often.guard())));
    with_scopes_elsewhere(|| {
        group.bench_function("read_with_scopes_elsewhere", |b| b.iter(|| flags::CUDNN_ENABLED.get()));
    });
    group.finish();
}

fn modes(criterion: &mut Criterion) {
    BARE_CELL.set(2);
    let mut group = criterion.benchmark_group("mode");
    group.bench_function("baseline", |b| b.iter(|| BARE_CELL.get()));
    group.bench_function("read", |b| b.iter(autograd::is_grad_enabled));
    group.bench_function("guard", |b| b.iter(enter_and_exit));
    let object = autograd::ModeContext::new(autograd::ModeKind::NoGrad);
    group.bench_function("object", |b| {
        b.iter(|| {
            object.enter();
            object.exit();
        });
    });
    with_scopes_elsewhere(|| {
        group.bench_function("read_with_scopes_elsewhere", |b| b.iter(autograd::is_grad_enabled));
        group.bench_function("guard_with_scopes_elsewhere", |b| b.iter(enter_and_exit));
    });
    group.finish();
}

#[inline(always)]
fn enter_and_exit() {
    let _guard = autograd::no_grad();
    // Code in the block of the guard may read the mode.
    black_box(())
}

/// An operation with three kernels, of which a flag refuses the first and a condition the second.
struct Scale;

impl Operation for Scale {
    const NAME: &'static str = "scale";
    type Call = usize;
    type Args<'a> = u64;
    type Out = u64;
    type Error = NoKernel;
}

static SCALE: Op<Scale> = Op::new(&[
    Kernel::<Scale>::new("gated", scale).requires(&[FlagRequirement::off(&flags::CUDNN_ENABLED)]),
    Kernel::<Scale>::new("limited", scale)
        .condition(|length| if *length > 8 { Ok(()) } else { Err(Reason::from("needs more than 8")) }),
    Kernel::<Scale>::new("native", scale),
]);

#[inline(never)]
fn scale(length: &usize, _: Numerics, number: &u64) -> Result<u64, KernelError<NoKernel>> {
    Ok(*number * *length as u64)
}

fn choose() -> Result<u64, NoKernel> {
    SCALE.call(black_box(&8), None, black_box(&3))
}

/// Returns the time of choices while they are recorded, in recordings of limited size.
fn recorded(mut count: u64) -> Duration {
    const MOST: u64 = 1000;
    let mut time = Duration::ZERO;
    while count > 0 {
        let recording = Recording::default();
        let guard = recording.guard();
        let start = Instant::now();
        for _ in 0..count.min(MOST) {
            black_box(choose()).ok();
        }
        time += start.elapsed();
        drop(guard);
        count -= count.min(MOST);
    }
    time
}

fn choices(criterion: &mut Criterion) {
    assert_eq!(SCALE.explain(&8).kernel(), Some("native"));
    let mut group = criterion.benchmark_group("dispatch");
    group.bench_function("baseline", |b| {
        b.iter(|| scale(black_box(&8), Numerics::default(), black_box(&3)));
    });
    group.bench_function("choice", |b| b.iter(choose));
    group.bench_function("recorded_choice", |b| b.iter_custom(recorded));
    group.finish();
}

criterion_group!(benches, flag_reads, modes, choices);
criterion_main!(benches);
