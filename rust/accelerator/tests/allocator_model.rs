//! Model-based tests of the caching allocator.
//!
//! Random programs allocate, free, use memory on other streams, block streams, capture graphs, set limits and make the
//! driver fail. After each step, all statistics and the position of each allocation must equal the model's. Each buffer
//! contains its own number, which must be unchanged when it is freed. Streams that no latch blocks are awaited, so that
//! results do not depend on timing.

use crate::allocator;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::allocator::devices::Devices;
use crate::allocator::run::Run;
use crate::allocator::segment::MIB;
use crate::allocator::steps::{CAPACITY, DEVICES, Step, program};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

static USED: LazyLock<Mutex<Devices>> = LazyLock::new(|| Mutex::new(Devices::of_host(DEVICES, CAPACITY)));

/// Locks the devices of the process for one test.
fn lock_devices() -> MutexGuard<'static, Devices> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(devices: &Devices, program: &[Step]) {
    let mut run = Run::new(devices);
    program.iter().for_each(|step| run.step(*step));
    run.end();
}

/// Creates a runner with deterministic programs, or with many random ones.
fn runner() -> TestRunner {
    let cases = if allocator::is_long() { 10_000 } else { 500 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    if allocator::is_long() {
        return TestRunner::new(config);
    }
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn allocator_agrees_with_its_model() {
    let devices = lock_devices();
    let result = runner().run(&program(), |program| {
        run(&devices, &program);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn graph_memory_outlives_its_stream() {
    run(
        &lock_devices(),
        &[
            Step::Capture { graph: 0, stream: 1 },
            Step::Allocate { stream: 1, bytes: 12 * MIB },
            Step::Allocate { stream: 1, bytes: 512 },
            Step::Free { which: 0 },
            Step::EndCapture,
            Step::Renew { stream: 1 },
            Step::Free { which: 0 },
            Step::EmptyCache,
            Step::Replay { graph: 0, stream: 0 },
            Step::Reset { graph: 0 },
        ],
    );
}

#[test]
fn recaptured_pool_is_counted_with_the_remains_of_the_old_one() {
    let capture =
        [Step::Capture { graph: 0, stream: 1 }, Step::Allocate { stream: 1, bytes: 512 }, Step::EndCapture];
    let program = [&capture[..], &[Step::Reset { graph: 0 }], &capture, &[Step::Free { which: 0 }]].concat();
    run(&lock_devices(), &program);
}

#[test]
fn pool_released_during_a_capture_does_not_affect_a_later_pool() {
    run(
        &lock_devices(),
        &[
            Step::Capture { graph: 0, stream: 1 },
            Step::Allocate { stream: 1, bytes: 512 },
            Step::EndCapture,
            Step::Capture { graph: 1, stream: 0 },
            Step::Reset { graph: 0 },
            Step::EndCapture,
            Step::Capture { graph: 0, stream: 1 },
            Step::Allocate { stream: 1, bytes: 512 },
            Step::EndCapture,
            Step::Free { which: 0 },
            Step::Free { which: 0 },
            Step::Allocate { stream: 0, bytes: 512 },
            Step::EmptyCache,
            Step::Replay { graph: 0, stream: 1 },
        ],
    );
}

#[test]
fn released_pool_keeps_memory_that_a_stream_still_uses() {
    run(
        &lock_devices(),
        &[
            Step::Capture { graph: 0, stream: 1 },
            Step::Allocate { stream: 1, bytes: 512 },
            Step::EndCapture,
            Step::Reset { graph: 0 },
            Step::Block { stream: 1 },
            Step::Use { which: 0, stream: 1 },
            Step::Free { which: 0 },
            Step::Allocate { stream: 0, bytes: MIB },
        ],
    );
}

#[test]
fn cache_limit_releases_the_block_that_was_freed_first() {
    run(
        &lock_devices(),
        &[
            Step::Allocate { stream: 0, bytes: 12 * MIB },
            Step::Allocate { stream: 0, bytes: 14 * MIB },
            Step::Free { which: 1 },
            Step::Free { which: 0 },
            Step::CacheLimit { device: 0, limit: Some(20 * MIB as u64) },
        ],
    );
}

/// Checks that the model detects a difference.
#[test]
#[should_panic(expected = "another place than the model's")]
fn model_detects_an_allocation_elsewhere() {
    let devices = lock_devices();
    let mut run = Run::new(&devices);
    run.step(Step::Allocate { stream: 0, bytes: 512 });
    for segment in run.model.devices[0].segments.values_mut() {
        segment.base += 512;
    }
    run.step(Step::Allocate { stream: 0, bytes: 512 });
}
