//! Switches that follow interlock's flags, and the pool of threads.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use interlock::backends::flags::{CUDA_MATMUL_BF16_REDUCTION, CUDA_MATMUL_FP16_ACCUMULATION};
use interlock::backends::{Node, Reduction, assign, find};
use interlock::{autograd, num_threads, set_num_threads};
use interlock_candle::{Precision, ROWS, Switches, follow, follow_with, markdown, run};

/// Serializes the tests: flags and switches belong to the process.
fn serial() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Switches in place of those of candle, which has none without CUDA.
static SWITCHES: AtomicU8 = AtomicU8::new(0);

fn read() -> Precision {
    let bits = SWITCHES.load(Ordering::Relaxed);
    Precision { f32: bits & 1 != 0, f16: bits & 2 != 0, bf16: bits & 4 != 0 }
}

fn write(precision: Precision) {
    let bits = u8::from(precision.f32) | u8::from(precision.f16) << 1 | u8::from(precision.bf16) << 2;
    SWITCHES.store(bits, Ordering::Relaxed);
}

const FAKES: Switches = Switches { read, write };

fn unset(name: &str) {
    assign(&[(find(name).unwrap(), None)], None).unwrap();
}

#[test]
fn switches_follow_each_write_for_the_process_until_the_end() {
    let _serial = serial();
    let tf32 = interlock::backends::Precision::Tf32;
    let before = Precision { f32: true, f16: true, bf16: false };
    write(before);
    let following = follow_with(FAKES).unwrap();
    // As PyTorch, interlock allows only the reduction of bfloat16 by default.
    let default = Precision { f32: false, f16: false, bf16: true };
    assert_eq!(read(), default);
    Node::CudaMatmul.set(tf32).unwrap();
    assert_eq!(read(), Precision { f32: true, ..default });
    unset("cuda.matmul.fp32_precision");
    assert_eq!(read(), default);
    // A node above it is inherited.
    Node::Generic.set(tf32).unwrap();
    assert_eq!(read(), Precision { f32: true, ..default });
    unset("fp32_precision");
    CUDA_MATMUL_FP16_ACCUMULATION.set(true).unwrap();
    CUDA_MATMUL_BF16_REDUCTION.set(Reduction { allowed: false, split: true }).unwrap();
    assert_eq!(read(), Precision { f32: false, f16: true, bf16: false });
    unset("cuda.matmul.allow_fp16_accumulation");
    unset("cuda.matmul.allow_bf16_reduced_precision_reduction");

    // A scope is of this thread, and so is a write in it. A write for the process does not read the scope.
    let scope = Node::CudaMatmul.scope(tf32).unwrap();
    {
        let _guard = scope.guard();
        assert_eq!((read(), Precision::capture().f32), (default, true));
        CUDA_MATMUL_FP16_ACCUMULATION.set(true).unwrap();
        assert_eq!(read(), Precision { f16: true, ..default });
        Node::CudaMatmul.set(interlock::backends::Precision::Ieee).unwrap();
        unset("cuda.matmul.allow_fp16_accumulation");
    }
    assert_eq!(read(), default);

    drop(following);
    assert_eq!(read(), before);
    Node::CudaMatmul.set(tf32).unwrap();
    assert_eq!(read(), before);
    unset("cuda.matmul.fp32_precision");
}

#[test]
fn writes_of_several_threads_end_with_the_last_value() {
    let _serial = serial();
    let _following = follow_with(FAKES).unwrap();
    std::thread::scope(|threads| {
        for index in 0..4 {
            threads.spawn(move || {
                for round in 0..200 {
                    CUDA_MATMUL_FP16_ACCUMULATION.set((index + round) % 2 == 0).unwrap();
                }
            });
        }
    });
    assert_eq!(read().f16, CUDA_MATMUL_FP16_ACCUMULATION.get());
    unset("cuda.matmul.allow_fp16_accumulation");
}

#[test]
fn candle_itself_follows_once_at_a_time() {
    let _serial = serial();
    let before = Precision::of_candle();
    let following = follow().unwrap();
    let error = follow().unwrap_err().to_string();
    assert!(error.starts_with("follow: candle follows interlock already"), "{error}");
    // A candle without CUDA returns true for all of them, and ignores writes.
    CUDA_MATMUL_FP16_ACCUMULATION.set(true).unwrap();
    assert!(Precision::of_candle().f16);
    unset("cuda.matmul.allow_fp16_accumulation");
    drop(following);
    assert_eq!(Precision::of_candle(), before);
    drop(follow().unwrap());
}

#[test]
fn a_pool_has_the_threads_and_the_state_of_the_caller() {
    let _serial = serial();
    let before = num_threads();
    for threads in [1, 3, 2] {
        set_num_threads(threads.try_into().unwrap());
        let _guard = autograd::no_grad();
        let seen = run(|| {
            let x = candle_core::Tensor::ones((64, 64), candle_core::DType::F32, &candle_core::Device::Cpu)
                .unwrap();
            let product = x.matmul(&x).unwrap().to_vec2::<f32>().unwrap();
            assert!(product.iter().flatten().all(|number| *number == 64.0));
            (rayon::current_num_threads(), autograd::is_grad_enabled())
        });
        assert_eq!(seen.unwrap(), (threads, false));
    }
    set_num_threads(before);
    // The threads of the pool keep no state.
    assert!(run(autograd::is_grad_enabled).unwrap());
    // A call within a call runs on the same pool.
    assert_eq!(run(|| run(rayon::current_num_threads).unwrap()).unwrap(), before.get());
}

#[test]
fn each_row_names_a_flag_and_controls_one_switch() {
    let off = Precision { f32: false, f16: false, bf16: false };
    for (row, on) in ROWS.iter().zip([
        Precision { f32: true, ..off },
        Precision { f16: true, ..off },
        Precision { bf16: true, ..off },
    ]) {
        assert!(find(row.setting).is_ok());
        assert!((row.value)(&on) && !(row.value)(&off), "{}", row.setter);
    }
}

#[test]
fn the_readme_has_the_table() {
    let readme = include_str!("../README.md");
    assert!(readme.contains(&markdown()), "the table of README.md must be\n{}", markdown());
}
