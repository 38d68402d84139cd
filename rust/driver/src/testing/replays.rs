//! Checks of graphs and replays, for drivers that support captures.

use std::sync::Arc;

use crate::{CaptureMode, GraphExecHandle, HostFn, Owners, WaitTarget};

use super::rig::{Counter, Latch, Make, Memory, Rig, failure, is_refused};

pub fn replay_runs_captured_work_again(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (stream, counter) = (rig.stream(0), Counter::default());
    let raised = counter.clone();
    let graph = rig.ready(stream, || rig.launch(stream, move || raised.increment()));
    for replays in 1..=3 {
        rig.driver.replay(graph, stream).unwrap();
        rig.finish(stream);
        assert_eq!(counter.get(), replays);
    }
    rig.driver.replay(graph, rig.driver.default_stream(0).unwrap()).unwrap();
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    assert_eq!(counter.get(), 4);
}

pub fn replay_reads_current_contents(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let (input, inner, output) = (rig.pinned(&[0; 32]), rig.memory(0, 32), rig.pinned(&[0; 32]));
    let graph = rig.ready(stream, || {
        rig.copy(stream, &inner, &input);
        rig.copy(stream, &output, &inner);
    });
    for value in 1..5 {
        input.set(&[value; 32]);
        rig.driver.replay(graph, stream).unwrap();
        rig.finish(stream);
        assert_eq!(output.content(), [value; 32]);
    }
}

/// Creates a graph whose second branch ends with a fill after a latch.
fn branches(rig: &Rig, latch: &Latch) -> (GraphExecHandle, [Arc<Memory>; 2]) {
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let memory = [rig.memory(0, 4), rig.memory(0, 4)];
    let latch = latch.clone();
    let graph = rig.ready(origin, || {
        rig.fill(origin, &memory[0], 1);
        rig.join(forked, origin);
        rig.fill(origin, &memory[0], 2);
        rig.launch(forked, move || latch.wait());
        rig.fill(forked, &memory[1], 2);
        rig.join(origin, forked);
    });
    rig.driver.destroy_stream(forked);
    (graph, memory)
}

pub fn replay_precedes_work_that_is_queued_after_it(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (latch, stream, other) = (Latch::default(), rig.stream(0), rig.stream(0));
    let (graph, memory) = branches(&rig, &latch);
    rig.fill(stream, &memory[1], 0);
    rig.driver.replay(graph, stream).unwrap();
    let event = rig.record(stream);
    rig.fill(stream, &memory[1], 9);
    assert_eq!(rig.driver.check(WaitTarget::Event(event)), Ok(false));
    rig.driver.wait_event(other, event).unwrap();
    assert!(!rig.is_done(other) && !rig.is_done(stream));
    latch.open();
    assert_eq!(rig.read(stream, &memory[1]), [9; 4]);
    assert_eq!(rig.read(other, &memory[0]), [2; 4]);
}

pub fn replays_of_one_graph_run_in_order_on_all_streams(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (captured, counter) = (rig.stream(0), Counter::default());
    let graph = rig.ready(captured, || {
        for parity in [0, 1] {
            let counter = counter.clone();
            rig.launch(captured, move || {
                // The value is unchanged unless another replay runs in between.
                assert_eq!(counter.get() % 2, parity);
                counter.increment();
            });
        }
    });
    let streams: Vec<_> = (0..4).map(|_| rig.stream(0)).collect();
    for stream in streams.iter().cycle().take(40) {
        rig.driver.replay(graph, *stream).unwrap();
    }
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    assert_eq!(counter.get(), 80);
}

pub fn replay_error_is_reported_by_its_stream(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (captured, stream) = (rig.stream(0), rig.stream(0));
    let graph = rig.ready(captured, || rig.fail(captured, "inner", "it broke"));
    rig.driver.replay(graph, stream).unwrap();
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))).0, "inner");
    rig.finish(stream);
    rig.finish(captured);
}

pub fn replay_error_of_a_branch_is_reported_by_its_stream(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (origin, forked, stream) = (rig.stream(0), rig.stream(0), rig.stream(0));
    let graph = rig.ready(origin, || {
        rig.launch(origin, || {});
        rig.join(forked, origin);
        rig.launch(origin, || {});
        rig.fail(forked, "branch", "it broke");
        rig.join(origin, forked);
    });
    let before = rig.record(stream);
    rig.driver.replay(graph, stream).unwrap();
    let behind = rig.record(stream);
    assert_eq!(rig.wait(WaitTarget::Event(before)), Ok(true));
    assert_eq!(failure(rig.wait(WaitTarget::Event(behind))).0, "branch");
    rig.finish(stream);
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
}

pub fn graphs_can_be_destroyed_while_replays_are_queued(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (latch, stream) = (Latch::default(), rig.stream(0));
    let (graph, memory) = branches(&rig, &latch);
    rig.fill(stream, &memory[1], 0);
    rig.driver.replay(graph, stream).unwrap();
    rig.driver.destroy_graph_exec(graph);
    assert!(!rig.is_done(stream));
    latch.open();
    assert_eq!(rig.read(stream, &memory[1]), [2; 4]);
}

pub fn graph_keeps_resources_of_its_work_alive(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let (from, to) = (rig.pinned(&[1; 8]), rig.pinned(&[0; 8]));
    let graph = rig.ready(stream, || rig.copy(stream, &to, &from));
    let weak = Arc::downgrade(&from);
    drop(from);
    rig.driver.replay(graph, stream).unwrap();
    rig.finish(stream);
    assert_eq!((weak.upgrade().is_some(), to.content()), (true, vec![1; 8]));
    rig.driver.destroy_graph_exec(graph);
    assert!(weak.upgrade().is_none());
}

pub fn graph_owns_memory_that_is_not_from_its_own_pool(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (stream, memory) = (rig.stream(0), rig.memory(0, 8));
    let [outside, inside] = [Arc::new(()), Arc::new(())];
    let capture = rig.driver.begin_capture(stream, CaptureMode::ThreadLocal).unwrap();
    for except in [None, Some(capture + 1)] {
        rig.fill_with(stream, &memory, 1, Owners::in_graphs(outside.clone(), except));
    }
    let function = HostFn::new("work", || Ok(())).with_owners(Owners::in_graphs(outside.clone(), None));
    rig.driver.launch_host_fn(stream, function).unwrap();
    rig.fill_with(stream, &memory, 2, Owners::in_graphs(inside.clone(), Some(capture)));
    let graph = rig.driver.end_capture(stream).unwrap();
    let exec = rig.driver.instantiate(graph).unwrap();
    rig.driver.destroy_graph(graph);
    let counts = || [&outside, &inside].map(|owner| Arc::strong_count(owner) > 1);
    assert_eq!(counts(), [true, false]);
    let latch = rig.block(stream);
    rig.driver.replay(exec, stream).unwrap();
    rig.driver.destroy_graph_exec(exec);
    assert_eq!(counts(), [true, false]);
    latch.open();
    assert_eq!(rig.read(stream, &memory), [2; 8]);
    assert_eq!(counts(), [false, false]);
}

pub fn empty_graph_can_be_replayed(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let stream = rig.stream(0);
    let graph = rig.ready(stream, || {});
    let latch = rig.block(stream);
    rig.driver.replay(graph, stream).unwrap();
    assert!(!rig.is_done(stream));
    latch.open();
    rig.finish(stream);
}

pub fn graph_can_be_instantiated_repeatedly(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (stream, counter) = (rig.stream(0), Counter::default());
    let raised = counter.clone();
    let graph = rig.capture(stream, || rig.launch(stream, move || raised.increment())).unwrap();
    let [first, second] = [graph; 2].map(|graph| rig.driver.instantiate(graph).unwrap());
    rig.driver.destroy_graph(graph);
    rig.driver.replay(first, stream).unwrap();
    rig.driver.destroy_graph_exec(first);
    rig.driver.replay(second, stream).unwrap();
    rig.finish(stream);
    assert_eq!(counter.get(), 2);
}

pub fn replay_during_a_capture_is_recorded_or_rejected(make: Make) {
    let Some(rig) = Rig::with_captures(make) else { return };
    let (stream, counter) = (rig.stream(0), Counter::default());
    let raised = counter.clone();
    let inner = rig.ready(stream, || rig.launch(stream, move || raised.increment()));
    rig.driver.begin_capture(stream, CaptureMode::Relaxed).unwrap();
    let replays = [rig.driver.replay(inner, stream), rig.driver.replay(inner, stream)];
    let graph = rig.driver.end_capture(stream);
    match replays {
        [Ok(()), Ok(())] => {
            let outer = rig.driver.instantiate(graph.unwrap()).unwrap();
            rig.driver.destroy_graph_exec(inner);
            rig.driver.replay(outer, stream).unwrap();
            rig.finish(stream);
            assert_eq!(counter.get(), 2);
        }
        refused => assert!(refused.iter().all(is_refused)),
    }
}
