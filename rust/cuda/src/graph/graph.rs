//! Graphs and executable graphs.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{CUgraph, CUgraphExec, CUresult};

use interlock_core::base::mutex::Mutex;
use interlock_driver::{Error, GraphExecHandle, GraphHandle, Owners, Result};

use super::capture::GraphResources;
use super::submission::Submission;
use crate::device::device::{CudaDevice, DeviceOp};
use crate::stream::progress::AsyncError;
use crate::stream::replay_tracker::ReplayBegin;
use crate::stream::stream::Stream;
use crate::sys::api;
use crate::sys::error::check;

const REPLAY: &str = "Graph.replay";
const DESTROY: &str = "destroying a Graph";

/// A captured graph, which is destroyed when this is dropped.
pub(crate) struct Graph {
    device: Arc<CudaDevice>,
    graph: u64,
    /// Shared with the executable graphs and queued replays.
    resources: Arc<GraphResources>,
}

/// An executable graph (`CUgraphExec`), which is destroyed when this is dropped. The driver completes its queued replays.
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

    /// Queues a replay on a stream, which does not capture.
    pub(crate) fn replay(
        &self,
        op: &DeviceOp<'_>,
        stream: &Stream,
        submission: Submission<'_>,
    ) -> Result<()> {
        let owners = Owners::until_completed(self.resources.clone());
        // SAFETY: the executable and the stream are alive.
        let launch = |on| unsafe { api::cuGraphLaunch(self.raw(), on) };
        let Some(replays) = self.resources.replays() else { return submission.queue(owners, launch) };
        let end = stream.acquire_event(op)?;
        let point = stream.next_point();
        let begin = ReplayBegin::new(replays.clone(), (Arc::downgrade(stream.progress()), point));
        // The driver orders the replays of an executable graph, but not the `begin_replay` functions before them.
        submission.queue(owners, |on| {
            let mut last = replays.lock_last();
            let waited = last.as_ref().map_or(CUresult::CUDA_SUCCESS, |last| last.enqueue_wait(on));
            // Without the launch, neither the wait nor `begin_replay` has an effect.
            let launched = check(waited).and_then(|()| begin.enqueue(on)).and_then(|()| check(launch(on)));
            if let Err(code) = launched {
                return code.result();
            }
            // The replay is queued, so an error of the record is asynchronous.
            *last = match op.check(end.record(on)) {
                Ok(()) => Some(end),
                Err(error) => {
                    stream.store_error(AsyncError::new(point, error));
                    None
                }
            };
            CUresult::CUDA_SUCCESS
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        destroy(&self.device, self.raw());
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: no other thread has a reference to this object.
        self.device.destroy(DESTROY, || unsafe { api::cuGraphExecDestroy(self.raw()) });
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

    /// Removes a graph, which is destroyed with the last reference to it.
    pub(crate) fn destroy(&self, handle: GraphHandle) {
        // Dropped without the lock.
        let removed = self.graphs.lock().remove(&handle.0);
        drop(removed);
    }

    /// Removes an executable graph, which is destroyed with the last reference to it.
    pub(crate) fn destroy_exec(&self, handle: GraphExecHandle) {
        // Dropped without the lock.
        let removed = self.executables.lock().remove(&handle.0);
        drop(removed);
    }
}

/// Destroys the driver's graph, to which no other reference exists.
pub(crate) fn destroy(device: &CudaDevice, graph: CUgraph) {
    // SAFETY: the caller has the only reference to the graph.
    device.destroy(DESTROY, || unsafe { api::cuGraphDestroy(graph) });
}
