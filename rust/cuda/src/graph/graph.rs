//! Graphs, and their executables.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{CUgraph, CUgraphExec};

use interlock_core::base::mutex::Mutex;
use interlock_driver::{Error, GraphExecHandle, GraphHandle, KeepAlive, Result};

use super::capture::CapturedWork;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::stream::replay_tracker::{self, ReplayBegin};
use crate::stream::stream::Stream;
use crate::sys::api;

const REPLAY: &str = "Graph.replay";
const DESTROY: &str = "a Graph that goes";

/// A captured graph.
pub(crate) struct Graph {
    device: Arc<CudaDevice>,
    graph: u64,
    /// Owned by the graph, by its executables and by replays.
    resources: Arc<CapturedWork>,
}

/// An instantiated graph.
pub(crate) struct GraphExec {
    device: Arc<CudaDevice>,
    executable: u64,
    resources: Arc<CapturedWork>,
}

impl Graph {
    pub(crate) fn device(&self) -> &CudaDevice {
        &self.device
    }

    pub(crate) fn raw(&self) -> CUgraph {
        ptr::with_exposed_provenance_mut(self.graph as usize)
    }
}

impl GraphExec {
    fn raw(&self) -> CUgraphExec {
        ptr::with_exposed_provenance_mut(self.executable as usize)
    }

    /// Queues the work on a stream.
    pub(crate) fn replay(&self, op: &DeviceOp<'_>, stream: &Arc<Stream>) -> Result<()> {
        // SAFETY: the executable and the stream are alive.
        let launch = || stream.submit(op, |on| unsafe { api::cuGraphLaunch(self.raw(), on) });
        let Some(replays) = self.resources.replays() else {
            launch()?;
            return stream.retain(op, self.resources.clone());
        };
        let reported_at = (Arc::downgrade(stream), stream.next_point());
        let begin = Arc::new(ReplayBegin::new(replays.clone(), reported_at));
        let keep_alive: KeepAlive = Arc::new((begin.clone(), self.resources.clone()));
        // The driver orders the work of replays, but not the functions that announce them.
        let mut last = replays.lock_last();
        if let Some(last) = &*last {
            // SAFETY: the event and the stream are alive.
            stream.submit(op, |on| unsafe { api::cuStreamWaitEvent(on, last.raw(), 0) })?;
        }
        stream.submit(op, |on| {
            // SAFETY: `keep_alive` owns the argument of the function.
            unsafe { api::cuLaunchHostFunc(on, Some(replay_tracker::begin_replay), begin.data()) }
        })?;
        let launched = launch();
        stream.retain(op, keep_alive)?;
        launched?;
        *last = Some(stream.record(op)?);
        Ok(())
    }
}

/// Graphs and executables by numbers of this table.
#[derive(Default)]
pub(crate) struct GraphTable {
    graphs: Mutex<HashMap<u64, Arc<Graph>>>,
    executables: Mutex<HashMap<u64, Arc<GraphExec>>>,
    next_number: AtomicU64,
}

fn unknown(operation: &'static str) -> Error {
    Error::Graph { operation, reason: "the graph was let go".to_owned() }
}

impl GraphTable {
    fn next(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds the graph of a capture on this device.
    pub(crate) fn add(&self, device: &Arc<CudaDevice>, graph: CUgraph, work: CapturedWork) -> GraphHandle {
        let number = self.next();
        let graph = graph.expose_provenance() as u64;
        let graph = Graph { device: device.clone(), graph, resources: Arc::new(work) };
        self.graphs.lock().insert(number, Arc::new(graph));
        GraphHandle(number)
    }

    pub(crate) fn find(&self, handle: GraphHandle, operation: &'static str) -> Result<Arc<Graph>> {
        self.graphs.lock().get(&handle.0).cloned().ok_or_else(|| unknown(operation))
    }

    pub(crate) fn find_exec(&self, handle: GraphExecHandle) -> Result<Arc<GraphExec>> {
        self.executables.lock().get(&handle.0).cloned().ok_or_else(|| unknown(REPLAY))
    }

    pub(crate) fn instantiate(&self, handle: GraphHandle) -> Result<GraphExecHandle> {
        const OPERATION: &str = "Graph.instantiate";
        let graph = self.find(handle, OPERATION)?;
        let op = graph.device.begin(OPERATION)?;
        // SAFETY: the pointer is valid and the graph alive.
        let instantiate = |made| unsafe { api::cuGraphInstantiateWithFlags(made, graph.raw(), 0) };
        let executable = op.read(ptr::null_mut(), instantiate)?;
        let executable = GraphExec {
            device: graph.device.clone(),
            executable: executable.expose_provenance() as u64,
            resources: graph.resources.clone(),
        };
        let number = self.next();
        self.executables.lock().insert(number, Arc::new(executable));
        Ok(GraphExecHandle(number))
    }

    /// Destroys a graph.
    pub(crate) fn destroy(&self, handle: GraphHandle) {
        let graph = self.graphs.lock().remove(&handle.0);
        if let Some(graph) = graph {
            destroy(&graph.device, graph.raw());
        }
    }

    /// Destroys an executable. Queued replays still run: the driver waits for them.
    pub(crate) fn destroy_exec(&self, handle: GraphExecHandle) {
        let executable = self.executables.lock().remove(&handle.0);
        if let Some(executable) = executable {
            // SAFETY: no caller can name the executable any more.
            executable.device.destroy(DESTROY, || unsafe { api::cuGraphExecDestroy(executable.raw()) });
        }
    }
}

/// Destroys the driver's graph.
pub(crate) fn destroy(device: &CudaDevice, graph: CUgraph) {
    // SAFETY: no caller can name the graph any more.
    device.destroy(DESTROY, || unsafe { api::cuGraphDestroy(graph) });
}
