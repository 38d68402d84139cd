//! Graphs and what is ready to be replayed.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUgraph, CUgraphExec};

use super::api;
use super::device::CudaDevice;
use super::pooled_event::PooledEvent;
use super::runs::{self, Begins, Runs};
use super::stream::Stream;
use crate::accelerator::driver::{DeviceIndex, GraphExecHandle, GraphHandle, KeepAlive};
use crate::{Error, Result};

const REPLAY: &str = "Graph.replay";

/// A recorded graph.
pub(super) struct Graph {
    pub(super) device: DeviceIndex,
    graph: u64,
    contents: Arc<Contents>,
}

/// What the work of a graph reaches: kept by the graph, by all that is made ready of it, and by replays.
pub(super) struct Contents {
    pub(super) _keep_alive: Vec<KeepAlive>,
    /// For the functions of this program in it; none where there are no such.
    pub(super) runs: Option<Arc<Runs>>,
}

/// A graph that is ready to be replayed.
pub(super) struct Executable {
    pub(super) device: DeviceIndex,
    executable: u64,
    contents: Arc<Contents>,
}

impl Graph {
    pub(super) fn pointer(&self) -> CUgraph {
        ptr::with_exposed_provenance_mut(self.graph as usize)
    }
}

impl Executable {
    fn pointer(&self) -> CUgraphExec {
        ptr::with_exposed_provenance_mut(self.executable as usize)
    }

    /// Queues the work on a stream.
    pub(super) fn replay(&self, device: &CudaDevice, stream: &Arc<Stream>) -> Result<()> {
        // SAFETY: the executable and the stream are alive.
        let launch = || stream.call(device, REPLAY, |on| unsafe { api::cuGraphLaunch(self.pointer(), on) });
        let Some(runs) = &self.contents.runs else {
            launch()?;
            return stream.keep(device, REPLAY, self.contents.clone());
        };
        let begins =
            Arc::new(Begins { runs: runs.clone(), told_by: (Arc::downgrade(stream), stream.next()) });
        let keep: KeepAlive = Arc::new((begins.clone(), self.contents.clone()));
        // The driver has the work of one replay follow that of the one before, but not what announces it.
        let mut last = runs.last();
        if let Some(last) = &*last {
            // SAFETY: the event and the stream are alive.
            stream.call(device, REPLAY, |on| unsafe { api::cuStreamWaitEvent(on, last.pointer(), 0) })?;
        }
        stream.call(device, REPLAY, |on| {
            // SAFETY: `keep` owns what the function is given.
            unsafe { api::cuLaunchHostFunc(on, Some(runs::begin), begins.data()) }
        })?;
        let launched = launch();
        stream.keep(device, REPLAY, keep)?;
        launched?;
        let _bound = device.bind(REPLAY)?;
        *last = Some(PooledEvent::recorded(device, REPLAY, stream.pointer())?);
        Ok(())
    }
}

/// By numbers of our own.
#[derive(Default)]
pub(super) struct Graphs {
    graphs: Mutex<HashMap<u64, Arc<Graph>>>,
    executables: Mutex<HashMap<u64, Arc<Executable>>>,
    made: AtomicU64,
}

fn locked<T>(table: &Mutex<HashMap<u64, T>>) -> MutexGuard<'_, HashMap<u64, T>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown(operation: &'static str) -> Error {
    let reason = "the graph was let go".to_owned();
    Error::Graph { operation, reason }
}

impl Graphs {
    fn next(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// A graph that a capture on this device ended with.
    pub(super) fn add(&self, device: DeviceIndex, graph: CUgraph, contents: Contents) -> GraphHandle {
        let number = self.next();
        let graph = Graph { device, graph: graph.expose_provenance() as u64, contents: Arc::new(contents) };
        locked(&self.graphs).insert(number, Arc::new(graph));
        GraphHandle(number)
    }

    pub(super) fn find(&self, handle: GraphHandle, operation: &'static str) -> Result<Arc<Graph>> {
        locked(&self.graphs).get(&handle.0).cloned().ok_or_else(|| unknown(operation))
    }

    pub(super) fn executable(&self, handle: GraphExecHandle) -> Result<Arc<Executable>> {
        locked(&self.executables).get(&handle.0).cloned().ok_or_else(|| unknown(REPLAY))
    }

    pub(super) fn take(&self, handle: GraphHandle) -> Option<Arc<Graph>> {
        locked(&self.graphs).remove(&handle.0)
    }

    pub(super) fn take_executable(&self, handle: GraphExecHandle) -> Option<Arc<Executable>> {
        locked(&self.executables).remove(&handle.0)
    }

    pub(super) fn instantiate(&self, device: &CudaDevice, graph: &Graph) -> Result<GraphExecHandle> {
        let mut executable = ptr::null_mut();
        // SAFETY: the pointer is valid and the graph alive.
        let make = || unsafe { api::cuGraphInstantiateWithFlags(&raw mut executable, graph.pointer(), 0) };
        device.call("Graph.instantiate", make)?;
        let executable = Executable {
            device: graph.device,
            executable: executable.expose_provenance() as u64,
            contents: graph.contents.clone(),
        };
        let number = self.next();
        locked(&self.executables).insert(number, Arc::new(executable));
        Ok(GraphExecHandle(number))
    }
}

/// Lets the driver's graph go.
pub(super) fn destroy(device: &CudaDevice, graph: CUgraph) {
    // That it fails concerns a device that is of no use any more.
    // SAFETY: nobody can name the graph any more.
    let _ = device.call("a Graph that goes", || unsafe { api::cuGraphDestroy(graph) });
}

/// Lets what is ready go. Replays that are queued still run: the driver waits for them.
pub(super) fn destroy_executable(device: &CudaDevice, executable: &Executable) {
    // SAFETY: as above.
    let destroy = || unsafe { api::cuGraphExecDestroy(executable.pointer()) };
    let _ = device.call("a Graph that goes", destroy);
}
