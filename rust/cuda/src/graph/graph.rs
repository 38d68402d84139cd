//! Graphs and executable graphs.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{CUgraph, CUgraphExec};

use interlock_core::base::mutex::Mutex;
use interlock_driver::{Error, GraphExecHandle, GraphHandle, KeepAlive, Result};

use super::capture::GraphResources;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::stream::replay_tracker::{self, ReplayBegin};
use crate::stream::stream::Stream;
use crate::sys::api;

const REPLAY: &str = "Graph.replay";
const DESTROY: &str = "destroying a Graph";

/// A captured graph.
pub(crate) struct Graph {
    device: Arc<CudaDevice>,
    graph: u64,
    /// Shared with the executable graphs and queued replays.
    resources: Arc<GraphResources>,
}

/// An executable graph (`CUgraphExec`).
pub(crate) struct GraphExec {
    device: Arc<CudaDevice>,
    executable: u64,
    resources: Arc<GraphResources>,
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

    /// Queues a replay on a stream.
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
        // The driver orders the replays of an executable graph, but not the `begin_replay` functions before them.
        let mut last = replays.lock_last();
        if let Some(last) = &*last {
            // SAFETY: the event and the stream are alive.
            stream.submit(op, |on| unsafe { api::cuStreamWaitEvent(on, last.raw(), 0) })?;
        }
        stream.submit(op, |on| {
            // SAFETY: `keep_alive` owns the argument of `begin_replay`.
            unsafe { api::cuLaunchHostFunc(on, Some(replay_tracker::begin_replay), begin.data()) }
        })?;
        let launched = launch();
        stream.retain(op, keep_alive)?;
        launched?;
        *last = Some(stream.record(op)?);
        Ok(())
    }
}

/// Graphs and executable graphs by id.
#[derive(Default)]
pub(crate) struct GraphTable {
    graphs: Mutex<HashMap<u64, Arc<Graph>>>,
    executables: Mutex<HashMap<u64, Arc<GraphExec>>>,
    next_id: AtomicU64,
}

fn err_released(operation: &'static str) -> Error {
    Error::Graph { operation, reason: "the graph was released".to_owned() }
}

impl GraphTable {
    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds the graph of a capture on a device.
    pub(crate) fn add(
        &self,
        device: &Arc<CudaDevice>,
        graph: CUgraph,
        resources: GraphResources,
    ) -> GraphHandle {
        let id = self.next_id();
        let graph = graph.expose_provenance() as u64;
        let graph = Graph { device: device.clone(), graph, resources: Arc::new(resources) };
        self.graphs.lock().insert(id, Arc::new(graph));
        GraphHandle(id)
    }

    pub(crate) fn find(&self, handle: GraphHandle, operation: &'static str) -> Result<Arc<Graph>> {
        self.graphs.lock().get(&handle.0).cloned().ok_or_else(|| err_released(operation))
    }

    pub(crate) fn find_exec(&self, handle: GraphExecHandle) -> Result<Arc<GraphExec>> {
        self.executables.lock().get(&handle.0).cloned().ok_or_else(|| err_released(REPLAY))
    }

    pub(crate) fn instantiate(&self, handle: GraphHandle) -> Result<GraphExecHandle> {
        const OPERATION: &str = "Graph.instantiate";
        let graph = self.find(handle, OPERATION)?;
        let op = graph.device.begin(OPERATION)?;
        // SAFETY: the pointer is valid and the graph alive.
        let instantiate = |exec| unsafe { api::cuGraphInstantiateWithFlags(exec, graph.raw(), 0) };
        let executable = op.read(ptr::null_mut(), instantiate)?;
        let executable = GraphExec {
            device: graph.device.clone(),
            executable: executable.expose_provenance() as u64,
            resources: graph.resources.clone(),
        };
        let id = self.next_id();
        self.executables.lock().insert(id, Arc::new(executable));
        Ok(GraphExecHandle(id))
    }

    pub(crate) fn destroy(&self, handle: GraphHandle) {
        let graph = self.graphs.lock().remove(&handle.0);
        if let Some(graph) = graph {
            destroy(&graph.device, graph.raw());
        }
    }

    /// Destroys an executable graph. The driver completes its queued replays first.
    pub(crate) fn destroy_exec(&self, handle: GraphExecHandle) {
        let executable = self.executables.lock().remove(&handle.0);
        if let Some(executable) = executable {
            // SAFETY: the executable graph was removed from the table, so no other call uses it.
            executable.device.destroy(DESTROY, || unsafe { api::cuGraphExecDestroy(executable.raw()) });
        }
    }
}

/// Destroys the driver's graph.
pub(crate) fn destroy(device: &CudaDevice, graph: CUgraph) {
    // SAFETY: the graph is in no table, so no other call uses it.
    device.destroy(DESTROY, || unsafe { api::cuGraphDestroy(graph) });
}
