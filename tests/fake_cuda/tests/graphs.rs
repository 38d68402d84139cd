//! Graphs: nodes, edges and replays.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Gate, Session, alone, content, event, launch, live, memory, pinned, stream};
use cudarc::driver::sys::{CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUmemorytype};
use fake_cuda::errors::*;
use fake_cuda::*;

/// Returns the graph of the work that `record` queues.
fn captured(origin: Handle, record: impl FnOnce()) -> Handle {
    ok!(cuStreamBeginCapture_v2(origin, 2));
    record();
    got!(graph => cuStreamEndCapture(origin, graph))
}

fn instantiated(graph: Handle) -> Handle {
    got!(executable => cuGraphInstantiateWithFlags(executable, graph, 0))
}

fn join(to: Handle, from: Handle) {
    let mark = event();
    ok!(cuEventRecord(mark, from));
    ok!(cuStreamWaitEvent(to, mark, 0));
}

fn nodes(graph: Handle) -> Vec<Handle> {
    let mut count = 0;
    ok!(cuGraphGetNodes(graph, Out::NULL, InOut::at(&mut count)));
    let mut nodes = vec![0; count];
    ok!(cuGraphGetNodes(graph, Out::to_all(&mut nodes), InOut::at(&mut count)));
    assert_eq!(count, nodes.len());
    nodes
}

/// Returns the edges as pairs of indices in `nodes`.
fn edges(graph: Handle) -> BTreeSet<(usize, usize)> {
    let (nodes, mut count) = (nodes(graph), 0);
    ok!(cuGraphGetEdges(graph, Out::NULL, Out::NULL, InOut::at(&mut count)));
    let (mut from, mut to) = (vec![0; count], vec![0; count]);
    ok!(cuGraphGetEdges(graph, Out::to_all(&mut from), Out::to_all(&mut to), InOut::at(&mut count)));
    let place = |node| nodes.iter().position(|found| *found == node).unwrap();
    let edges: BTreeSet<_> = from.into_iter().zip(to).map(|(from, to)| (place(from), place(to))).collect();
    assert_eq!(edges.len(), count);
    edges
}

/// Returns the result of a call that must succeed.
fn parameters<T>(call: impl FnOnce(Out<T>) -> Code) -> T {
    let mut result = MaybeUninit::uninit();
    assert_eq!(call(Out::to_empty(&mut result)), 0);
    // SAFETY: a call that succeeds has written the result.
    unsafe { result.assume_init() }
}

#[test]
fn node_parameters_describe_the_recorded_work() {
    let _session = Session::start();
    extern "C" fn nothing(_: *mut c_void) {}
    let (stream, address, bytes) = (stream(), memory(64), pinned(64));
    let data = ptr::without_provenance_mut::<c_void>(1234);
    let graph = captured(stream, || {
        ok!(cuMemsetD8Async(address + 3, 200, 40, stream));
        ok!(cuLaunchHostFunc(stream, Some(nothing), data));
        ok!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, 50, stream));
    });
    let nodes = nodes(graph);
    let kinds: Vec<u32> = nodes.iter().map(|node| got!(kind => cuGraphNodeGetType(*node, kind))).collect();
    assert_eq!(kinds, [2, 3, 1]);
    let fill: CUDA_MEMSET_NODE_PARAMS =
        parameters(|place| code!(cuGraphMemsetNodeGetParams(nodes[0], place)));
    assert_eq!(
        (fill.dst, fill.value, fill.elementSize, fill.width, fill.height),
        (address + 3, 200, 1, 40, 1)
    );
    let function: CUDA_HOST_NODE_PARAMS =
        parameters(|place| code!(cuGraphHostNodeGetParams(nodes[1], place)));
    assert!(function.fn_.is_some() && function.userData == data);
    let copy: CUDA_MEMCPY3D = parameters(|place| code!(cuGraphMemcpyNodeGetParams(nodes[2], place)));
    assert_eq!((copy.WidthInBytes, copy.Height, copy.Depth, copy.srcDevice), (50, 1, 1, address));
    assert_eq!(
        (copy.dstMemoryType, copy.dstHost),
        (CUmemorytype::CU_MEMORYTYPE_HOST, bytes.as_mut_ptr().cast())
    );
    assert_eq!(code!(cuGraphMemsetNodeGetParams(nodes[1], Out::to(&mut { fill }))), INVALID_VALUE);
    ok!(cuGraphDestroy(graph));
    assert_eq!(code!(cuGraphNodeGetType(nodes[0], Out::to(&mut 0))), INVALID_HANDLE);
}

#[test]
fn get_edges_includes_redundant_edges() {
    let _session = Session::start();
    let (origin, forked) = (stream(), stream());
    let graph = captured(origin, || {
        launch(origin, || {});
        let first = event();
        ok!(cuEventRecord(first, origin));
        launch(origin, || {});
        ok!(cuStreamWaitEvent(forked, first, 0));
        launch(forked, || {});
        join(origin, forked);
        ok!(cuStreamWaitEvent(origin, first, 0));
        launch(origin, || {});
    });
    assert_eq!(edges(graph), BTreeSet::from([(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]));
}

#[test]
fn get_nodes_fills_the_rest_of_a_longer_array_with_null() {
    let _session = Session::start();
    let stream = stream();
    let graph = captured(stream, || launch(stream, || {}));
    let (mut nodes, mut count) = ([1; 3], 3);
    ok!(cuGraphGetNodes(graph, Out::to_all(&mut nodes), InOut::at(&mut count)));
    assert_eq!((count, nodes[1], nodes[2], nodes[0] > 1), (1, 0, 0, true));
}

#[test]
fn replays_run_in_order_and_follow_the_edges() {
    let _session = Session::start();
    let [origin, forked, other] = [stream(), stream(), stream()];
    let seen = Arc::new(Mutex::new(String::new()));
    let write = |stream, letter| {
        let seen = seen.clone();
        launch(stream, move || seen.lock().unwrap().push(letter));
    };
    let graph = captured(origin, || {
        write(origin, 'a');
        join(forked, origin);
        write(forked, 'b');
        write(origin, 'b');
        join(origin, forked);
        write(origin, 'c');
    });
    let before = ["graphs", "executables"].map(live);
    let executable = instantiated(graph);
    assert_eq!(live("executables") - before[1], 1);
    ok!(cuGraphDestroy(graph));
    let gate = Gate::on(origin);
    ok!(cuGraphLaunch(executable, origin));
    ok!(cuGraphLaunch(executable, other));
    write(other, 'd');
    assert_eq!(seen.lock().unwrap().as_str(), "");
    gate.open();
    ok!(cuStreamSynchronize(other));
    assert_eq!(seen.lock().unwrap().as_str(), "abbcabbcd");
    ok!(cuGraphExecDestroy(executable));
    assert_eq!(["graphs", "executables"].map(live), [before[0] - 1, before[1]]);
}

#[test]
fn replay_reads_memory_when_it_runs() {
    let _session = Session::start();
    let (stream, address, mut bytes) = (stream(), memory(4), [1_u8; 4]);
    let graph = captured(stream, || ok!(cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), 4, stream)));
    let executable = instantiated(graph);
    for value in [5, 6] {
        bytes.fill(value);
        std::hint::black_box(&mut bytes);
        ok!(cuGraphLaunch(executable, stream));
        assert_eq!(content(address, 4, stream), [value; 4]);
    }
}

#[test]
fn replay_runs_branches_concurrently_after_the_previous_replay() {
    let _session = Session::start();
    let [origin, forked, other, again] = [stream(), stream(), stream(), stream()];
    let (address, mark, gate) = (memory(4), event(), Mutex::new(None));
    let graph = captured(origin, || {
        join(forked, origin);
        *gate.lock().unwrap() = Some(Gate::on(origin));
        ok!(cuMemsetD8Async(address, 9, 4, forked));
        join(origin, forked);
    });
    let (gate, executable) = (gate.lock().unwrap().unwrap(), instantiated(graph));
    ok!(cuGraphLaunch(executable, origin));
    gate.wait_until_entered();
    // The fill does not depend on the function, so it completes.
    while content(address, 4, other) != [9; 4] {
        thread::yield_now();
    }
    ok!(cuEventRecord(mark, origin));
    ok!(cuMemsetD8Async(address, 0, 4, other));
    ok!(cuGraphLaunch(executable, again));
    assert!((0..100).all(|_| content(address, 4, other) == [0; 4]));
    assert_eq!(code!(cuEventQuery(mark)), NOT_READY);
    gate.open();
    ok!(cuStreamSynchronize(again));
    assert_eq!(content(address, 4, other), [9; 4]);
}

#[test]
fn replay_with_freed_memory_breaks_the_device() {
    alone("replay_with_freed_memory_breaks_the_device", &[], || {
        let _session = Session::start();
        let (stream, address) = (stream(), memory(4));
        let graph = captured(stream, || ok!(cuMemsetD8Async(address, 9, 4, stream)));
        let executable = instantiated(graph);
        ok!(cuMemFree_v2(address));
        ok!(cuGraphLaunch(executable, stream));
        assert_eq!(code!(cuStreamSynchronize(stream)), ILLEGAL_ADDRESS);
    });
}

#[test]
fn unknown_graphs_are_refused() {
    let _session = Session::start();
    let mut executable = 0;
    assert_eq!(code!(cuGraphInstantiateWithFlags(Out::to(&mut executable), 12_345, 0)), INVALID_HANDLE);
    assert_eq!(code!(cuGraphGetNodes(12_345, Out::NULL, InOut::at(&mut executable))), INVALID_HANDLE);
    let stream = stream();
    let graph = captured(stream, || {});
    assert_eq!(code!(cuGraphInstantiateWithFlags(Out::to(&mut executable), graph, 2)), INVALID_VALUE);
}
