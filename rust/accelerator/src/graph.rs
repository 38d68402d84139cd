//! Graphs: work that is recorded once and queued any number of times.

use std::fmt::Write as _;
use std::sync::MutexGuard;

use interlock_core::base::mutex::Mutex;
use interlock_driver::{
    CaptureId, CaptureMode, Device, DriverRuntime, GraphDump, GraphExecHandle, GraphHandle, PoolId,
    StreamHandle,
};

use crate::accelerator::Accelerator;
use crate::private_pools::new_pool;
use crate::stream::{Stream, StreamKind};
use crate::{Error, Result, current, registry};

/// A graph: the work that the current stream records between [`capture_begin`](Graph::capture_begin) and
/// [`capture_end`](Graph::capture_end), which a replay queues with one call.
///
/// ```
/// use interlock_accelerator::{CaptureMode, Graph, HostFn, Stream};
///
/// interlock_accelerator::use_named("host")?;
/// let stream = Stream::new(None, 0)?;
/// let _guard = stream.guard()?;
/// let graph = Graph::new(false)?;
/// graph.capture_begin(None, CaptureMode::Global)?;
/// stream.launch(HostFn::new("step", || Ok(())))?;
/// graph.capture_end()?;
/// graph.replay()?;
/// graph.replay()?;
/// stream.synchronize()?;
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct Graph {
    accelerator: &'static Accelerator,
    keep: bool,
    /// The memory pool of captures for which none is passed.
    own_pool: PoolId,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The memory pool of the current or last capture.
    pool: Option<PoolId>,
    /// The other pools of which the graph is a user, those of scopes within the capture.
    scoped_pools: Vec<PoolId>,
    /// The device of the current or last capture, on which the recorded work runs.
    device: Option<Device>,
    /// The streams that may still run the graph.
    replayed_on: Vec<Stream>,
    /// Whether nodes and edges are stored for [`Graph::dot`].
    debug: bool,
    /// Whether the last capture recorded nothing.
    empty: bool,
    phase: Phase,
    dump: Option<GraphDump>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Empty,
    /// The capturing stream, and the driver's id of the capture.
    Capturing(Stream, CaptureId),
    /// A thread ends the capture.
    Ending,
    Recorded {
        graph: Option<GraphHandle>,
        exec: Option<GraphExecHandle>,
    },
}

impl Graph {
    /// Creates a graph without recorded work. With `keep`, the recorded graph is not destroyed when it is instantiated,
    /// and is instantiated only by the first replay or by [`instantiate`](Graph::instantiate).
    pub fn new(keep: bool) -> Result<Self> {
        let accelerator = registry::accelerator("accelerator.Graph")?;
        Ok(Graph { accelerator, keep, own_pool: new_pool(), state: Mutex::default() })
    }

    /// Returns the driver and the locked state.
    ///
    /// # Errors
    /// Returns [`Error::Forked`] in a forked child, where the lock is not taken.
    fn lock(&self) -> Result<(&dyn DriverRuntime, MutexGuard<'_, State>)> {
        let driver = self.accelerator.driver_for("a Graph")?;
        Ok((driver, self.state.lock()))
    }

    /// Begins to record the work that is queued on the current stream of this thread, which must not be a default
    /// stream. The graph allocates from `pool`, or from its own pool, outside of [scopes](super::MemPool::guard) that
    /// begin later.
    pub fn capture_begin(&self, pool: Option<PoolId>, mode: CaptureMode) -> Result<()> {
        const OPERATION: &str = "Graph.capture_begin";
        let (driver, mut state) = self.lock()?;
        let misuse = match state.phase {
            Phase::Empty => None,
            Phase::Capturing(..) | Phase::Ending => Some("the graph is being captured already"),
            Phase::Recorded { .. } => Some("the graph has been captured already; call reset() first"),
        };
        if let Some(reason) = misuse {
            return Err(misused(OPERATION, reason));
        }
        let stream = current::current_stream(None)?;
        if stream.kind() == StreamKind::Default {
            let reason = "a default stream cannot be captured; make another stream current with accelerator::set_stream";
            return Err(misused(OPERATION, reason));
        }
        let handle = stream.handle()?;
        let capture = driver.begin_capture(handle, mode)?;
        let pool = pool.unwrap_or(self.own_pool);
        self.accelerator.private_pools().begin(capture, pool);
        state.pool = Some(pool);
        state.device = Some(stream.device());
        state.phase = Phase::Capturing(stream, capture);
        Ok(())
    }

    /// Ends the capture, and instantiates the recorded graph unless this graph was created with `keep`.
    ///
    /// # Errors
    /// Returns the error of the capture or of the instantiation; the graph then has no recorded work. If the
    /// capture may only end on the thread that began it, other threads get an error and the capture continues.
    pub fn capture_end(&self) -> Result<()> {
        let (driver, mut state) = self.lock()?;
        let (stream, capture) = match std::mem::replace(&mut state.phase, Phase::Ending) {
            Phase::Capturing(stream, capture) => (stream, capture),
            other => {
                state.phase = other;
                return Err(misused("Graph.capture_end", "no capture has begun"));
            }
        };
        // Without the lock: a capture that fails drops objects of the program, which may use this graph.
        drop(state);
        let ended = stream.handle().and_then(|handle| driver.end_capture(handle));
        let continues = ended.is_err() && matches!(stream.is_capturing(), Ok(true));
        let mut state = self.state.lock();
        if continues {
            state.phase = Phase::Capturing(stream, capture);
            return ended.map(drop);
        }
        state.scoped_pools = self.accelerator.private_pools().end(capture);
        state.phase = Phase::Empty;
        let recorded = ended.and_then(|graph| self.prepare_recorded(driver, &mut state, graph));
        if recorded.is_err() {
            self.release(driver, state);
        }
        recorded
    }

    /// Stores the graph that a capture has recorded, and describes and instantiates it, as this graph requires.
    fn prepare_recorded(
        &self,
        driver: &dyn DriverRuntime,
        state: &mut State,
        graph: GraphHandle,
    ) -> Result<()> {
        state.phase = Phase::Recorded { graph: Some(graph), exec: None };
        // Only for a warning, so an error of the driver is ignored.
        state.empty = driver.is_graph_empty(graph).unwrap_or(false);
        if state.debug {
            state.dump = Some(driver.describe_graph(graph)?);
        }
        if !self.keep {
            let exec = driver.instantiate(graph)?;
            // The instance owns what the graph owned.
            driver.destroy_graph(graph);
            state.phase = Phase::Recorded { graph: None, exec: Some(exec) };
        }
        Ok(())
    }

    /// Returns whether the last capture that ended recorded no work, probably because it was queued on another stream.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.lock()?.1.empty)
    }

    fn ensure_instantiated(
        driver: &dyn DriverRuntime,
        state: &mut State,
        operation: &'static str,
    ) -> Result<GraphExecHandle> {
        match &mut state.phase {
            Phase::Recorded { exec: Some(exec), .. } => Ok(*exec),
            Phase::Recorded { graph: Some(graph), exec } => Ok(*exec.insert(driver.instantiate(*graph)?)),
            _ => Err(misused(operation, "nothing has been captured")),
        }
    }

    /// Instantiates the recorded graph, replacing an earlier instance.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] unless the graph was created with `keep` and recorded, and errors of the driver.
    pub fn instantiate(&self) -> Result<()> {
        const OPERATION: &str = "Graph.instantiate";
        let (driver, mut state) = self.lock()?;
        if !self.keep {
            return Err(misused(
                OPERATION,
                "capture_end instantiates the graph unless it was created with Graph::new(true)",
            ));
        }
        let Phase::Recorded { graph: Some(graph), exec } = &mut state.phase else {
            return Err(misused(OPERATION, "nothing has been captured"));
        };
        // The earlier instance is destroyed only if there is a new one.
        let old = exec.replace(driver.instantiate(*graph)?);
        drop(state);
        old.into_iter().for_each(|old| driver.destroy_graph_exec(old));
        Ok(())
    }

    /// Queues the recorded work on the current stream of this thread, of the device on which the work was recorded.
    /// Instantiates the graph first if it is not.
    pub fn replay(&self) -> Result<()> {
        let (driver, mut state) = self.lock()?;
        let exec = Self::ensure_instantiated(driver, &mut state, "Graph.replay")?;
        let stream = current::current_stream(state.device)?;
        driver.replay(exec, stream.handle()?)?;
        if !state.replayed_on.contains(&stream) {
            state.replayed_on.push(stream);
        }
        Ok(())
    }

    /// Destroys the recorded work, so that the graph can be captured again.
    pub fn reset(&self) -> Result<()> {
        let (driver, state) = self.lock()?;
        if matches!(state.phase, Phase::Capturing(..) | Phase::Ending) {
            return Err(misused("Graph.reset", "the graph is being captured"));
        }
        self.release(driver, state);
        Ok(())
    }

    /// Returns whether a capture of this graph has begun and not ended.
    pub fn is_capturing(&self) -> Result<bool> {
        let (_, state) = self.lock()?;
        Ok(matches!(state.phase, Phase::Capturing(..)))
    }

    /// Aborts a capture that is underway, and destroys the recorded work.
    pub fn abort_capture(&self) -> Result<()> {
        let (driver, state) = self.lock()?;
        if matches!(state.phase, Phase::Ending) {
            return Err(misused("Graph.abort_capture", "another call ends the capture"));
        }
        self.release(driver, state);
        Ok(())
    }

    /// Releases what the graph owns, after its lock: objects of the program that are dropped may use the graph.
    fn release(&self, driver: &dyn DriverRuntime, mut state: MutexGuard<'_, State>) {
        state.dump = None;
        let phase = std::mem::take(&mut state.phase);
        let mut pools = std::mem::take(&mut state.scoped_pools);
        pools.extend(state.pool.take());
        let replayed_on = std::mem::take(&mut state.replayed_on);
        drop(state);
        match phase {
            Phase::Recorded { graph, exec } => {
                graph.into_iter().for_each(|graph| driver.destroy_graph(graph));
                exec.into_iter().for_each(|exec| driver.destroy_graph_exec(exec));
            }
            Phase::Capturing(stream, capture) => {
                if let Ok(handle) = stream.handle() {
                    abort_capture_on(driver, handle);
                }
                pools.extend(self.accelerator.private_pools().end(capture));
            }
            Phase::Ending | Phase::Empty => {}
        }
        // Queued replays may still use the memory.
        for pool in pools {
            self.accelerator.release_pool(pool, &replayed_on);
        }
    }

    /// Returns the memory pool of the graph; before a capture, the pool of one that is passed `next`.
    pub fn pool(&self, next: Option<PoolId>) -> Result<PoolId> {
        Ok(self.lock()?.1.pool.or(next).unwrap_or(self.own_pool))
    }

    /// Stores nodes and edges of later captures for [`dot`](Graph::dot).
    pub fn enable_debug_mode(&self) -> Result<()> {
        self.lock()?.1.debug = true;
        Ok(())
    }

    /// Returns the recorded graph in the DOT language of Graphviz.
    pub fn dot(&self) -> Result<String> {
        const OPERATION: &str = "Graph.debug_dump";
        let (driver, state) = self.lock()?;
        let dump = match (&state.dump, &state.phase) {
            (Some(dump), _) => dump.clone(),
            (None, Phase::Recorded { graph: Some(graph), .. }) => driver.describe_graph(*graph)?,
            (None, Phase::Recorded { .. }) => {
                let reason = "the graph was destroyed when it was instantiated; call enable_debug_mode() before the \
                              capture, or make it with Graph::new(true)";
                return Err(misused(OPERATION, reason));
            }
            _ => return Err(misused(OPERATION, "nothing has been captured")),
        };
        Ok(to_dot(&dump))
    }
}

/// Ends a capture and destroys its graph.
fn abort_capture_on(driver: &dyn DriverRuntime, stream: StreamHandle) {
    if let Ok(graph) = driver.end_capture(stream) {
        driver.destroy_graph(graph);
    }
}

fn misused(operation: &'static str, reason: &str) -> Error {
    Error::Graph { operation, reason: reason.to_owned() }
}

fn to_dot(dump: &GraphDump) -> String {
    let mut text = String::from("digraph captured {\n    node [shape=box];\n");
    for (index, node) in dump.nodes.iter().enumerate() {
        let label = node.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        // Writing to a String never fails.
        let _ = writeln!(text, "    n{index} [label=\"{index}: {label}\"];");
    }
    for (before, after) in &dump.edges {
        let _ = writeln!(text, "    n{before} -> n{after};");
    }
    text.push_str("}\n");
    text
}

impl Drop for Graph {
    fn drop(&mut self) {
        // A forked child can't use the graphs of its parent and does not destroy them.
        if let Ok((driver, state)) = self.lock() {
            self.release(driver, state);
        }
    }
}
