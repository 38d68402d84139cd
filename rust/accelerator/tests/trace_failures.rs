//! Tests of traces of a driver that records no activities: their events change no result, and none remains.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::rig::failing::Failing;
use interlock_accelerator::driver::activity::ActivityKind;
use interlock_accelerator::{HostFn, RecordedTrace, Stream, Trace, use_driver};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

/// A driver that records no activities, a stream of it, and the number of functions that have run.
struct Traced {
    driver: Arc<Failing>,
    faults: FaultInjector,
    stream: Stream,
    ran: Arc<AtomicU64>,
}

impl Traced {
    fn new() -> Self {
        let faults = FaultInjector::new();
        let options = HostOptions { faults: faults.clone(), ..HostOptions::default() };
        let driver = Failing::over(HostDriver::new(options).unwrap());
        use_driver(driver.clone()).unwrap();
        Traced { driver, faults, stream: Stream::new(None, 0).unwrap(), ran: Arc::default() }
    }

    fn launch(&self) {
        let ran = self.ran.clone();
        let count = move || {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        self.stream.launch(HostFn::new("count", count)).unwrap();
    }

    fn events(&self) -> usize {
        self.faults.live_objects().unwrap().events
    }
}

/// Returns the number of tasks whose times are those of events. The driver below records each of the launched ones, too.
fn timed(recorded: &RecordedTrace, launched: usize) -> usize {
    let is_task = |kind| kind == ActivityKind::Task;
    recorded.activities.iter().filter(|activity| is_task(activity.kind)).count() - launched
}

#[test]
fn task_runs_though_an_event_of_its_trace_fails() {
    let traced = Traced::new();
    let events = traced.events();
    // The calls for an event of a known time, and for the events before and after the task.
    let calls = [("create_stream", 1), ("capture_id", 1)];
    let of_events = (1..=3).flat_map(|number| [("create_event", number), ("record_event", number)]);
    let mut launched = 0;
    for (method, number) in calls.into_iter().chain(of_events) {
        let trace = Trace::start(100).unwrap();
        traced.driver.fail_call(method, number);
        traced.launch();
        launched += 1;
        traced.stream.synchronize().unwrap();
        assert_eq!(traced.ran.load(Ordering::Relaxed), launched, "{method} {number}");
        assert_eq!(timed(&trace.finish(), 1), 0, "{method} {number}");
        assert_eq!(traced.events(), events, "{method} {number}");
    }
}

#[test]
fn dropped_trace_leaves_nothing_to_the_next_one() {
    let traced = Traced::new();
    let events = traced.events();
    let trace = Trace::start(100).unwrap();
    traced.launch();
    traced.stream.synchronize().unwrap();
    drop(trace);
    assert_eq!(traced.events(), events);
    let trace = Trace::start(100).unwrap();
    traced.launch();
    assert_eq!(timed(&trace.finish(), 1), 1);
    assert_eq!(traced.events(), events);
}

#[test]
fn trace_of_many_tasks_holds_the_events_of_some() {
    let traced = Traced::new();
    let trace = Trace::start(100_000).unwrap();
    let mut most = 0;
    for _ in 0..12 {
        (0..1000).for_each(|_| traced.launch());
        traced.stream.synchronize().unwrap();
        most = traced.events().max(most);
    }
    assert!(most < 12_000, "{most} events of 12,000 tasks");
    let recorded = trace.finish();
    assert_eq!((timed(&recorded, 12_000), recorded.dropped), (12_000, 0));
    assert!(recorded.activities.iter().all(|activity| activity.start <= activity.end));
}
