//! The allocator does what its model says, whatever a program does with it.
//!
//! Programs are drawn that allocate, free, use memory on other streams, hold streams back, capture graphs, set limits
//! and let the driver refuse. After every step all statistics are those of the model, and so is where each
//! allocation lies. Memory holds a number of its own, which nobody may have overwritten when it is freed. Streams
//! have done everything that no latch holds back, so that nothing depends on how long anything takes.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod allocator;
mod rig;

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use allocator::devices::Devices;
use allocator::run::Run;
use allocator::segment::MIB;
use allocator::steps::{CAPACITY, DEVICES, Step, program};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

static USED: LazyLock<Mutex<Devices>> = LazyLock::new(|| Mutex::new(Devices::of_host(DEVICES, CAPACITY)));

/// The devices are those of the process: one test at a time has them.
fn alone() -> MutexGuard<'static, Devices> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(devices: &Devices, program: &[Step]) {
    let mut run = Run::new(devices);
    program.iter().for_each(|step| run.step(*step));
    run.end();
}

/// The same programs each time, or many others.
fn runner() -> TestRunner {
    let cases = if allocator::is_long() { 10_000 } else { 500 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    if allocator::is_long() {
        return TestRunner::new(config);
    }
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn the_allocator_does_what_its_model_says() {
    let devices = alone();
    let told = runner().run(&program(), |program| {
        run(&devices, &program);
        Ok(())
    });
    if let Err(told) = told {
        panic!("{told}");
    }
}

#[test]
fn memory_of_a_graph_outlives_its_stream() {
    run(
        &alone(),
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
fn the_pool_of_a_graph_that_is_captured_again_is_counted_beside_what_is_left_of_the_old_one() {
    let capture =
        [Step::Capture { graph: 0, stream: 1 }, Step::Allocate { stream: 1, bytes: 512 }, Step::EndCapture];
    let program = [&capture[..], &[Step::Reset { graph: 0 }], &capture, &[Step::Free { which: 0 }]].concat();
    run(&alone(), &program);
}

#[test]
fn a_pool_that_goes_during_a_capture_takes_nothing_along_of_one_that_comes_after_it() {
    run(
        &alone(),
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
fn what_a_stream_still_uses_of_a_pool_that_went_is_not_given_back() {
    run(
        &alone(),
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
fn what_was_freed_first_is_given_back_first() {
    run(
        &alone(),
        &[
            Step::Allocate { stream: 0, bytes: 12 * MIB },
            Step::Allocate { stream: 0, bytes: 14 * MIB },
            Step::Free { which: 1 },
            Step::Free { which: 0 },
            Step::CacheLimit { device: 0, limit: Some(20 * MIB as u64) },
        ],
    );
}

/// The model would notice what it is about.
#[test]
#[should_panic(expected = "another place than the model's")]
fn an_allocation_elsewhere_is_found() {
    let devices = alone();
    let mut run = Run::new(&devices);
    run.step(Step::Allocate { stream: 0, bytes: 512 });
    for segment in run.model.devices[0].segments.values_mut() {
        segment.base += 512;
    }
    run.step(Step::Allocate { stream: 0, bytes: 512 });
}
