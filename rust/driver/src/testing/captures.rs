//! Checks of captures, which a driver may report as unsupported.

use std::thread;

use crate::{CaptureMode, GraphDump, GraphExecHandle, GraphHandle, StreamHandle, WaitTarget};
use crate::{Error, Result};

use super::features::{Features, is_unsupported};
use super::rig::{Counter, Make, Rig, is_refused};

pub fn captures_are_unsupported_in_every_function(make: Make) {
    let rig = Rig::new(make);
    if Features::of(make).captures {
        return;
    }
    let stream = rig.stream(0);
    let unsupported = [
        rig.driver.begin_capture(stream, CaptureMode::Global).map(drop),
        rig.driver.end_capture(stream).map(drop),
        rig.driver.instantiate(GraphHandle(0)).map(drop),
        rig.driver.replay(GraphExecHandle(0), stream),
        rig.driver.describe_graph(GraphHandle(0)).map(drop),
    ];
    for result in unsupported {
        assert!(is_unsupported(&result), "{result:?}");
    }
    assert_eq!(rig.driver.capture_id(stream), Ok(None));
    rig.finish(stream);
}

pub fn capture_records_work_without_running_it(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (stream, counter) = (rig.stream(0), Counter::default());
    assert!(!rig.is_capturing(stream));
    rig.driver.begin_capture(stream, CaptureMode::Global).unwrap();
    assert!(rig.is_capturing(stream));
    let raised = counter.clone();
    rig.launch(stream, move || raised.increment());
    let graph = rig.driver.end_capture(stream).unwrap();
    assert!(!rig.is_capturing(stream));
    rig.finish(stream);
    assert_eq!(counter.get(), 0);
    rig.driver.destroy_graph(graph);
}

pub fn begin_capture_returns_the_id_of_the_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let mut ids = [0; 3];
    for id in &mut ids[1..] {
        *id = rig.driver.begin_capture(stream, CaptureMode::Relaxed).unwrap();
        assert_eq!(rig.driver.capture_id(stream), Ok(Some(*id)));
        rig.driver.destroy_graph(rig.driver.end_capture(stream).unwrap());
    }
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
}

pub fn begin_capture_rejects_a_default_stream(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (default, stream) = (rig.driver.default_stream(0).unwrap(), rig.stream(0));
    assert!(is_refused(&rig.driver.begin_capture(default, CaptureMode::Relaxed)));
    assert!(is_refused(&rig.capture(stream, || {
        let event = rig.record(stream);
        assert!(is_refused(&rig.driver.wait_event(default, event)));
    })));
    rig.finish(default);
}

pub fn begin_capture_rejects_a_stream_that_is_captured(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (first, second) = (rig.stream(0), rig.stream(0));
    rig.driver.begin_capture(first, CaptureMode::Relaxed).unwrap();
    assert!(is_refused(&rig.driver.begin_capture(first, CaptureMode::Relaxed)));
    rig.driver.begin_capture(second, CaptureMode::Relaxed).unwrap();
    let event = rig.record(first);
    assert!(is_refused(&rig.driver.wait_event(second, event)));
    assert!(is_refused(&rig.driver.end_capture(first)) && is_refused(&rig.driver.end_capture(second)));
    rig.finish(first);
    rig.finish(second);
}

pub fn end_capture_requires_the_stream_of_the_begin(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    assert!(is_refused(&rig.driver.end_capture(origin)));
    rig.driver.begin_capture(origin, CaptureMode::Relaxed).unwrap();
    rig.join(forked, origin);
    assert!(is_refused(&rig.driver.end_capture(forked)));
    rig.join(origin, forked);
    rig.driver.destroy_graph(rig.driver.end_capture(origin).unwrap());
}

pub fn capture_includes_streams_that_wait_for_its_events(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let last = (rig.driver.device_count() - 1) as u8;
    let (origin, forked) = (rig.stream(0), rig.stream(last));
    let capture = rig.capture(origin, || {
        rig.launch(origin, || {});
        rig.join(forked, origin);
        assert!(rig.is_capturing(forked));
        rig.launch(forked, || {});
        rig.join(origin, forked);
    });
    assert!(!rig.is_capturing(forked));
    let shape = rig.driver.describe_graph(capture.unwrap()).unwrap();
    assert_eq!((shape.nodes.len(), shape.edges), (2, vec![(0, 1)]));
}

pub fn end_capture_reports_a_stream_that_was_not_joined(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let capture = rig.capture(origin, || {
        rig.join(forked, origin);
        rig.launch(forked, || {});
        rig.join(origin, forked);
        rig.launch(forked, || {});
    });
    assert!(is_refused(&capture), "{capture:?}");
    for stream in [origin, forked] {
        assert!(!rig.is_capturing(stream));
        rig.finish(stream);
    }
}

pub fn end_capture_ignores_unjoined_streams_without_work(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let capture = rig.capture(origin, || {
        rig.launch(origin, || {});
        rig.join(forked, origin);
        rig.join(origin, forked);
    });
    rig.driver.destroy_graph(capture.unwrap());
}

pub fn capture_id_is_that_of_all_streams_in_the_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (origin, forked, another) = (rig.stream(0), rig.stream(0), rig.stream(0));
    let named = || [origin, forked, another].map(|stream| rig.driver.capture_id(stream).unwrap());
    let mut first = None;
    let capture = rig.capture(origin, || {
        rig.join(forked, origin);
        let [of_origin, of_forked, of_another] = named();
        assert!(of_origin.is_some() && of_origin == of_forked && of_another.is_none());
        first = of_origin;
        rig.driver.begin_capture(another, CaptureMode::ThreadLocal).unwrap();
        let of_another = rig.driver.capture_id(another).unwrap();
        assert!(of_another.is_some() && of_another != of_origin);
        rig.driver.destroy_graph(rig.driver.end_capture(another).unwrap());
        rig.join(origin, forked);
    });
    rig.driver.destroy_graph(capture.unwrap());
    assert_eq!(named(), [None; 3]);
    let again = rig.capture(origin, || assert!(named()[0].is_some() && named()[0] != first));
    rig.driver.destroy_graph(again.unwrap());
}

pub fn has_completed_is_false_for_captured_events_and_harmless(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let capture = rig.capture(stream, || {
        rig.launch(stream, || {});
        assert_eq!(rig.driver.has_completed(rig.record(stream)), Ok(false));
    });
    rig.driver.destroy_graph(capture.unwrap());
}

/// Asserts that a call during a capture invalidates it.
fn assert_invalidates(rig: &Rig, call: impl FnOnce(StreamHandle)) {
    let stream = rig.stream(0);
    let capture = rig.capture(stream, || call(stream));
    assert!(is_refused(&capture), "{capture:?}");
    assert!(!rig.is_capturing(stream));
    rig.finish(stream);
    rig.driver.destroy_graph(rig.capture(stream, || rig.launch(stream, || {})).unwrap());
}

pub fn check_of_a_capturing_stream_invalidates_the_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    assert_invalidates(&rig, |stream| assert!(is_refused(&rig.driver.check(WaitTarget::Stream(stream)))));
    assert_invalidates(&rig, |stream| assert!(is_refused(&rig.wait(WaitTarget::Stream(stream)))));
}

pub fn check_of_a_captured_event_invalidates_the_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    assert_invalidates(&rig, |stream| {
        assert!(is_refused(&rig.driver.check(WaitTarget::Event(rig.record(stream)))));
    });
    assert_invalidates(&rig, |stream| assert!(is_refused(&rig.wait(WaitTarget::Event(rig.record(stream))))));
}

pub fn wait_for_an_outside_event_invalidates_the_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let outside = rig.record(rig.stream(0));
    assert_invalidates(&rig, |stream| assert!(is_refused(&rig.driver.wait_event(stream, outside))));
}

/// Returns whether `act` is rejected while a stream is captured in `mode`, on the capturing thread or `elsewhere`.
fn refuses<T>(rig: &Rig, mode: CaptureMode, elsewhere: bool, act: impl Fn() -> Result<T> + Sync) -> bool {
    let stream = rig.stream(0);
    rig.driver.begin_capture(stream, mode).unwrap();
    let act = || is_refused(&act());
    let refused = if elsewhere { thread::scope(|scope| scope.spawn(act).join().unwrap()) } else { act() };
    let ended = rig.driver.end_capture(stream);
    assert_eq!(is_refused(&ended), refused);
    refused
}

const MODES: [CaptureMode; 3] = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];

pub fn capture_mode_decides_which_threads_may_sync_a_device(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let wait = || rig.wait(WaitTarget::Device(0));
    assert_eq!(MODES.map(|mode| refuses(&rig, mode, false, wait)), [true, true, false]);
    assert_eq!(MODES.map(|mode| refuses(&rig, mode, true, wait)), [true, false, false]);
}

pub fn allocate_and_free_work_during_a_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let allocate = || {
        let address = rig.driver.allocate(0, 512)?;
        // SAFETY: no work has used the memory.
        unsafe { rig.driver.free(0, address, 512) }
    };
    for elsewhere in [false, true] {
        assert_eq!(MODES.map(|mode| refuses(&rig, mode, elsewhere, allocate)), [false; 3]);
    }
}

pub fn end_capture_reports_the_first_forbidden_call(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let capture = rig.capture(stream, || {
        let checked = rig.driver.check(WaitTarget::Stream(stream));
        assert!(is_refused(&checked));
        assert!(is_refused(&rig.wait(WaitTarget::Device(0))));
    });
    match capture {
        Err(Error::Graph { reason, .. }) => assert!(reason.contains("Stream.query"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

pub fn describe_graph_returns_nodes_and_reduced_edges(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let (memory, other) = (rig.memory(0, 16), rig.memory(0, 16));
    let graph = rig.capture(origin, || {
        rig.launch(origin, || {});
        rig.join(forked, origin);
        rig.fill(forked, &memory, 3);
        rig.fill(origin, &other, 4);
        rig.join(origin, forked);
        rig.copy(origin, &memory, &other);
        // This dependency is implied by others.
        rig.join(origin, forked);
        rig.launch(origin, || {});
    });
    let GraphDump { nodes, edges } = rig.driver.describe_graph(graph.unwrap()).unwrap();
    assert_eq!(edges, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
    assert!(nodes[0].contains("work") && nodes[1].contains('3') && nodes[3].contains("16"), "{nodes:?}");
}

pub fn captured_event_is_unusable_after_the_capture(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let mut event = None;
    let capture = rig.capture(stream, || event = Some(rig.record(stream)));
    rig.driver.destroy_graph(capture.unwrap());
    let event = event.unwrap();
    assert!(is_refused(&rig.driver.check(WaitTarget::Event(event))));
    assert!(is_refused(&rig.driver.wait_event(stream, event)));
    rig.driver.record_event(event, stream).unwrap();
    assert_eq!(rig.wait(WaitTarget::Event(event)), Ok(true));
}
