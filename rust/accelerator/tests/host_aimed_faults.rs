//! Faults that match some operations of the host driver, and what they do.

use std::time::{Duration, Instant};

use crate::rig::host::two_devices;
use crate::rig::{Counter, failure};
use interlock_accelerator::Error;
use interlock_driver::{Cause, Failure, HostFn, WaitTarget};
use interlock_host::{Chance, Fault, FaultEffect, FaultInjector, FaultOperation};

fn fail(reason: &str) -> Fault {
    Fault::new(FaultEffect::Fail { reason: reason.into() })
}

fn inject(faults: &FaultInjector, operation: FaultOperation, fault: Fault) {
    faults.inject(Fault { operation: Some(operation), ..fault }).unwrap();
}

#[test]
fn fault_counts_only_what_it_matches() {
    let (rig, faults) = two_devices();
    let [here, other, there] = [rig.stream(0), rig.stream(0), rig.stream(1)];
    let memory = [rig.memory(0, 4), rig.memory(1, 4)];
    let aimed = Fault { device: Some(0), stream: Some(here.raw), number: 2, ..fail("aimed") };
    inject(&faults, FaultOperation::Fill, aimed.clone());
    for (stream, memory) in [(other, &memory[0]), (there, &memory[1]), (here, &memory[0])] {
        rig.fill(stream, memory, 1);
        rig.launch(stream, || {});
        rig.finish(stream);
    }
    let pending = faults.pending().unwrap();
    assert_eq!((pending.len(), pending[0].matched, pending[0].fired), (1, 1, 0));
    assert_eq!(pending[0].fault, Fault { operation: Some(FaultOperation::Fill), ..aimed });
    rig.fill(here, &memory[0], 2);
    assert_eq!(failure(rig.wait(WaitTarget::Stream(here))), ("fill on host:0".into(), "aimed".into()));
    assert_eq!(faults.pending(), Ok(Vec::new()));
    assert_eq!(faults.injected().unwrap(), [pending[0].fault.clone()]);
    faults.clear().unwrap();
    assert_eq!(faults.injected(), Ok(Vec::new()));
}

#[test]
fn name_selects_functions() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    faults.inject(Fault { name: Some("b*".into()), ..fail("named") }).unwrap();
    for name in ["a", "b1", "b2"] {
        rig.driver.launch_host_fn(stream, HostFn::new(name, || Ok(()))).unwrap();
    }
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))), ("b1".into(), "named".into()));
    rig.finish(stream);
}

#[test]
fn at_most_one_fault_fails_an_operation() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    for reason in ["first", "second"] {
        inject(&faults, FaultOperation::Launch, fail(reason));
    }
    for expected in ["first", "second"] {
        rig.launch(stream, || {});
        assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))).1, expected);
    }
    rig.launch(stream, || {});
    rig.finish(stream);
}

#[test]
fn chance_repeats_with_its_seed() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    let outcomes = || {
        let chance = Some(Chance { probability: 0.5, seed: 11 });
        faults.inject(Fault { chance, times: None, ..fail("flaky") }).unwrap();
        let outcome = |_| {
            rig.launch(stream, || {});
            rig.wait(WaitTarget::Stream(stream)).is_ok()
        };
        let outcomes: Vec<_> = (0..32).map(outcome).collect();
        faults.clear().unwrap();
        outcomes
    };
    let first = outcomes();
    assert_eq!(first, outcomes());
    assert!(first.contains(&true) && first.contains(&false));
}

#[test]
fn delayed_work_of_a_slow_device_runs_later() {
    const DELAY: Duration = Duration::from_millis(30);
    let (rig, faults) = two_devices();
    let (slow, quick, counter) = (rig.stream(1), rig.stream(0), Counter::default());
    faults.inject(Fault { device: Some(1), times: None, ..Fault::new(FaultEffect::Delay(DELAY)) }).unwrap();
    let began = Instant::now();
    for stream in [slow, slow, quick] {
        let raised = counter.clone();
        rig.launch(stream, move || raised.increment());
    }
    rig.finish(quick);
    rig.finish(slow);
    assert!(began.elapsed() >= 2 * DELAY && counter.get() == 3);
}

#[test]
fn clear_releases_delayed_and_hanging_work() {
    let (rig, faults) = two_devices();
    let (delayed, hanging, other) = (rig.stream(0), rig.stream(0), rig.stream(1));
    let delay = FaultEffect::Delay(Duration::MAX);
    for (stream, effect) in [(delayed, delay), (hanging, FaultEffect::Never)] {
        faults.inject(Fault { stream: Some(stream.raw), ..Fault::new(effect) }).unwrap();
        rig.launch(stream, || {});
    }
    inject(&faults, FaultOperation::Event, Fault { device: Some(1), ..Fault::new(FaultEffect::Never) });
    let event = rig.record(other);
    let (counter, stream) = (Counter::default(), rig.stream(0));
    rig.driver.wait_event(stream, event).unwrap();
    let raised = counter.clone();
    rig.launch(stream, move || raised.increment());
    std::thread::sleep(Duration::from_millis(10));
    assert!([delayed, hanging, other, stream].into_iter().all(|stream| !rig.is_done(stream)));
    assert!(!rig.driver.has_completed(event).unwrap() && counter.get() == 0);
    faults.clear().unwrap();
    [delayed, hanging, other, stream].into_iter().for_each(|stream| rig.finish(stream));
    assert!(rig.driver.has_completed(event).unwrap() && counter.get() == 1);
}

#[test]
fn dropped_driver_runs_delayed_and_hanging_work() {
    let (rig, faults) = two_devices();
    let counter = Counter::default();
    for effect in [FaultEffect::Never, FaultEffect::Delay(Duration::MAX)] {
        faults.inject(Fault::new(effect)).unwrap();
        let (stream, raised) = (rig.stream(0), counter.clone());
        rig.launch(stream, move || raised.increment());
    }
    inject(&faults, FaultOperation::Event, Fault::new(FaultEffect::Never));
    rig.record(rig.stream(1));
    drop(rig);
    let began = Instant::now();
    while counter.get() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
}

#[test]
fn sticky_fault_breaks_its_device() {
    let (rig, faults) = two_devices();
    let (stream, other, counter) = (rig.stream(1), rig.stream(0), Counter::default());
    let reason = || "illegal address".to_owned();
    faults.inject(Fault { number: 2, ..Fault::new(FaultEffect::LoseDevice { reason: reason() }) }).unwrap();
    // All work is queued before the device breaks, after which it would be refused.
    let latch = rig.block(stream);
    for _ in 0..2 {
        let raised = counter.clone();
        rig.launch(stream, move || raised.increment());
    }
    rig.join(other, stream);
    latch.open();
    // A wait on another device ends, and its streams continue.
    rig.finish(other);
    let lost = |result: interlock_accelerator::Result<bool>| match result {
        Err(Error::DeviceLost { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        let reported = lost(rig.wait(WaitTarget::Stream(stream)));
        assert_eq!(reported, "work had failed: illegal address");
    }
    assert!(rig.driver.check_not_lost(1, "x").is_err() && rig.driver.check_not_lost(0, "x").is_ok());
    assert_eq!(counter.get(), 0);
    inject(&faults, FaultOperation::Allocation, Fault::new(FaultEffect::LoseDevice { reason: reason() }));
    assert!(matches!(rig.driver.allocate(0, 8), Err(Error::DeviceLost { .. })));
    assert!(rig.driver.check_not_lost(0, "x").is_err());
}

#[test]
fn record_of_an_event_fails() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    inject(&faults, FaultOperation::Event, fail("no event"));
    let event = rig.record(stream);
    assert_eq!(failure(rig.wait(WaitTarget::Event(event))), ("Event.record".into(), "no event".into()));
    rig.finish(stream);
    inject(&faults, FaultOperation::Event, Fault::new(FaultEffect::LoseDevice { reason: "gone".into() }));
    rig.record(stream);
    assert!(rig.driver.check_not_lost(0, "x").is_err());
}

#[test]
fn fault_of_a_graph_counts_in_the_replay() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    inject(&faults, FaultOperation::Launch, Fault { number: 2, ..fail("second replay") });
    let graph = rig.ready(stream, || rig.launch(stream, || {}));
    rig.driver.replay(graph, stream).unwrap();
    rig.finish(stream);
    rig.driver.replay(graph, stream).unwrap();
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))).1, "second replay");
}

#[test]
fn faults_that_could_not_occur_are_refused() {
    let (_rig, faults) = two_devices();
    let never = || Fault::new(FaultEffect::Never);
    let delay = || Fault::new(FaultEffect::Delay(Duration::ZERO));
    let chance = |probability| Some(Chance { probability, seed: 0 });
    let of = |operation, fault| Fault { operation: Some(operation), ..fault };
    let refused = [
        (Fault { number: 0, ..never() }, "number"),
        (Fault { times: Some(0), ..never() }, "times"),
        (Fault { chance: chance(1.5), ..never() }, "probability"),
        (Fault { chance: chance(f64::NAN), ..never() }, "probability"),
        (of(FaultOperation::Allocation, never()), "operation"),
        (of(FaultOperation::Event, delay()), "operation"),
        (of(FaultOperation::PinnedAllocation, Fault { device: Some(0), ..fail("x") }), "operation"),
        (of(FaultOperation::Copy, Fault { name: Some("x".into()), ..fail("x") }), "operation"),
        (of(FaultOperation::Allocation, Fault { stream: Some(1), ..fail("x") }), "operation"),
    ];
    for (fault, argument) in refused {
        let Err(Error::Argument { name, .. }) = faults.inject(fault.clone()) else { panic!("{fault:?}") };
        assert_eq!(name, format!("FaultInjector.inject: {argument}"));
    }
    let result = faults.inject(Fault { device: Some(2), ..never() });
    assert!(matches!(result, Err(Error::DeviceUnavailable { .. })));
    assert_eq!(faults.pending(), Ok(Vec::new()));
}

#[test]
fn error_has_the_cause_of_the_failed_function() {
    let (rig, _) = two_devices();
    let (stream, cause) = (rig.stream(0), Cause::new("an exception"));
    let failed = cause.clone();
    let run = move || Err(Failure { reason: "it broke".into(), cause: Some(failed.clone()) });
    let graph = rig.ready(stream, || {
        rig.driver.launch_host_fn(stream, HostFn::new("work", run.clone())).unwrap();
    });
    for _ in 0..2 {
        rig.driver.replay(graph, stream).unwrap();
        let Err(Error::Device { cause: reported, .. }) = rig.wait(WaitTarget::Stream(stream)) else {
            panic!("no error")
        };
        assert_eq!(reported.as_ref(), Some(&cause));
        assert_eq!(reported.unwrap().downcast_ref(), Some(&"an exception"));
    }
}
