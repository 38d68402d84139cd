//! Work that is recorded once and queued again and again.

use std::fmt::Write as _;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock_core::base::mutex::Mutex;
use interlock_driver::{
    CaptureMode, DriverRuntime, GraphDump, GraphExecHandle, GraphHandle, PoolId, StreamHandle,
};

use super::accelerator::Accelerator;
use super::stream::{Kind, Stream};
use super::{Error, Result, current, registry};

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
    home: &'static Accelerator,
    keep: bool,
    /// That of captures for which no other is named.
    own_pool: PoolId,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// That of what is being captured or was.
    pool: Option<PoolId>,
    /// The streams that may still run it.
    replayed_on: Vec<Stream>,
    /// Whether the shape is kept for [`Graph::dot`].
    debug: bool,
    /// Whether the last capture recorded nothing.
    empty: bool,
    phase: Phase,
    shape: Option<GraphDump>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Empty,
    /// With the driver's number of the capture.
    Capturing(Stream, u64),
    Recorded {
        graph: Option<GraphHandle>,
        executable: Option<GraphExecHandle>,
    },
}

/// A pool that no graph has yet.
pub fn new_pool() -> PoolId {
    static MADE: AtomicU64 = AtomicU64::new(0);
    (0, MADE.fetch_add(1, Ordering::Relaxed) + 1)
}

impl Graph {
    /// Nothing recorded yet. With `keep` the graph stays after it was made ready, and is made ready only when it
    /// is first needed or asked for.
    pub fn new(keep: bool) -> Result<Self> {
        let home = registry::in_use("accelerator.Graph")?;
        Ok(Graph { home, keep, own_pool: new_pool(), state: Mutex::default() })
    }

    /// The driver and the state. In a child of the process that made the graph there is no driver, and no lock is taken.
    fn lock(&self) -> Result<(&dyn DriverRuntime, MutexGuard<'_, State>)> {
        let driver = self.home.driver_for("a Graph")?;
        Ok((driver, self.state.lock()))
    }

    /// Starts to record what the current stream of this thread queues, which must not be a default stream. The
    /// graph allocates from `pool`, or from one of its own.
    pub fn capture_begin(&self, pool: Option<PoolId>, mode: CaptureMode) -> Result<()> {
        const OPERATION: &str = "Graph.capture_begin";
        let (driver, mut state) = self.lock()?;
        let misuse = match state.phase {
            Phase::Empty => None,
            Phase::Capturing(..) => Some("the graph is being captured already"),
            Phase::Recorded { .. } => Some("something was captured already; reset() makes room for more"),
        };
        if let Some(reason) = misuse {
            return Err(misused(OPERATION, reason));
        }
        let stream = current::current_stream(None)?;
        if stream.kind() == Kind::Default {
            let reason =
                "a default stream can't be captured; make another one current: with Stream(), graph:";
            return Err(misused(OPERATION, reason));
        }
        let handle = stream.handle()?;
        driver.begin_capture(handle, mode)?;
        let pool = pool.unwrap_or(self.own_pool);
        let capture = match driver.capture_id(handle) {
            // It has just begun, so that there is one.
            Ok(capture) => capture.unwrap_or_default(),
            Err(error) => {
                end_in_vain(driver, handle);
                return Err(error);
            }
        };
        self.home.captures().begin(capture, pool);
        state.pool = Some(pool);
        state.phase = Phase::Capturing(stream, capture);
        Ok(())
    }

    /// Ends the capture. What was recorded is made ready for replays, unless the graph was made with `keep`.
    /// Where the capture fails, nothing stays recorded. Where it may only end on the thread that began it and this is
    /// another one, it goes on.
    pub fn capture_end(&self) -> Result<()> {
        let (driver, mut state) = self.lock()?;
        let Phase::Capturing(stream, capture) = &state.phase else {
            return Err(misused("Graph.capture_end", "no capture has begun"));
        };
        let ended = driver.end_capture(stream.handle()?);
        if ended.is_err() && matches!(driver.capture_id(stream.handle()?), Ok(Some(_))) {
            return ended.map(drop);
        }
        self.home.captures().end(*capture);
        state.phase = Phase::Empty;
        let graph = ended.inspect_err(|_| self.let_pool_go(&mut state))?;
        state.phase = Phase::Recorded { graph: Some(graph), executable: None };
        // It is for a warning alone, so that a driver which cannot say is no error.
        state.empty = driver.is_graph_empty(graph).unwrap_or(false);
        if state.debug {
            state.shape = Some(driver.describe_graph(graph)?);
        }
        if !self.keep {
            Self::make_ready(driver, &mut state, "Graph.capture_end")?;
            if let Phase::Recorded { graph, .. } = &mut state.phase
                && let Some(graph) = graph.take()
            {
                driver.destroy_graph(graph);
            }
        }
        Ok(())
    }

    /// Whether the last capture that ended recorded nothing, probably because the work was queued on another stream.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.lock()?.1.empty)
    }

    fn make_ready(
        driver: &dyn DriverRuntime,
        state: &mut State,
        operation: &'static str,
    ) -> Result<GraphExecHandle> {
        match &mut state.phase {
            Phase::Recorded { executable: Some(executable), .. } => Ok(*executable),
            Phase::Recorded { graph: Some(graph), executable } => {
                Ok(*executable.insert(driver.instantiate(*graph)?))
            }
            _ => Err(misused(operation, "nothing has been captured")),
        }
    }

    /// Makes what was recorded ready for replays. Only for a graph made with `keep`, whose old executable is
    /// replaced.
    pub fn instantiate(&self) -> Result<()> {
        const OPERATION: &str = "Graph.instantiate";
        let (driver, mut state) = self.lock()?;
        if !self.keep {
            return Err(misused(OPERATION, "the graph was not made with keep_graph, so capture_end does it"));
        }
        if let Phase::Recorded { executable, .. } = &mut state.phase
            && let Some(old) = executable.take()
        {
            driver.destroy_graph_exec(old);
        }
        Self::make_ready(driver, &mut state, OPERATION).map(drop)
    }

    /// Queues what was recorded on the current stream of this thread; makes it ready first if it is not.
    pub fn replay(&self) -> Result<()> {
        let (driver, mut state) = self.lock()?;
        let executable = Self::make_ready(driver, &mut state, "Graph.replay")?;
        let stream = current::current_stream(None)?;
        driver.replay(executable, stream.handle()?)?;
        if !state.replayed_on.contains(&stream) {
            state.replayed_on.push(stream);
        }
        Ok(())
    }

    /// Lets go what was recorded, so that the graph can be captured again.
    pub fn reset(&self) -> Result<()> {
        let (driver, mut state) = self.lock()?;
        if matches!(state.phase, Phase::Capturing(..)) {
            return Err(misused("Graph.reset", "the graph is being captured"));
        }
        self.let_go(driver, &mut state);
        Ok(())
    }

    /// Ends a capture that shall come to nothing, and lets go what was recorded before.
    pub fn discard(&self) -> Result<()> {
        let (driver, mut state) = self.lock()?;
        self.let_go(driver, &mut state);
        Ok(())
    }

    fn let_go(&self, driver: &dyn DriverRuntime, state: &mut State) {
        state.shape = None;
        match std::mem::replace(&mut state.phase, Phase::Empty) {
            Phase::Recorded { graph, executable } => {
                graph.into_iter().for_each(|graph| driver.destroy_graph(graph));
                executable.into_iter().for_each(|executable| driver.destroy_graph_exec(executable));
            }
            Phase::Capturing(stream, capture) => {
                if let Ok(handle) = stream.handle() {
                    end_in_vain(driver, handle);
                }
                self.home.captures().end(capture);
            }
            Phase::Empty => {}
        }
        self.let_pool_go(state);
    }

    /// The graph uses its pool no more, apart from replays that are queued.
    fn let_pool_go(&self, state: &mut State) {
        let streams = std::mem::take(&mut state.replayed_on);
        if let Some(pool) = state.pool.take()
            && let Some(streams) = self.home.captures().let_go(pool, &streams)
        {
            self.home.allocators("a Graph").into_iter().flatten().for_each(|allocator| {
                allocator.on_pool_released(self.home, pool, &streams);
            });
        }
    }

    /// The memory that the graph allocates from; before a capture what the next one will, if it is told `next`.
    pub fn pool(&self, next: Option<PoolId>) -> Result<PoolId> {
        Ok(self.lock()?.1.pool.or(next).unwrap_or(self.own_pool))
    }

    /// Keeps the shape of what is captured from now on, for [`dot`](Graph::dot).
    pub fn enable_debug_mode(&self) -> Result<()> {
        self.lock()?.1.debug = true;
        Ok(())
    }

    /// What was recorded, in the DOT language of Graphviz.
    pub fn dot(&self) -> Result<String> {
        const OPERATION: &str = "Graph.debug_dump";
        let (driver, state) = self.lock()?;
        let shape = match (&state.shape, &state.phase) {
            (Some(shape), _) => shape.clone(),
            (None, Phase::Recorded { graph: Some(graph), .. }) => driver.describe_graph(*graph)?,
            (None, Phase::Recorded { .. }) => {
                let reason = "the graph was let go when it was made ready; call enable_debug_mode() before the \
                              capture, or make it with keep_graph=True";
                return Err(misused(OPERATION, reason));
            }
            _ => return Err(misused(OPERATION, "nothing has been captured")),
        };
        Ok(in_dot(&shape))
    }
}

/// Ends a capture that nobody can end any more; the stream would record for ever.
fn end_in_vain(driver: &dyn DriverRuntime, stream: StreamHandle) {
    if let Ok(graph) = driver.end_capture(stream) {
        driver.destroy_graph(graph);
    }
}

fn misused(operation: &'static str, reason: &str) -> Error {
    Error::Graph { operation, reason: reason.to_owned() }
}

fn in_dot(shape: &GraphDump) -> String {
    let mut text = String::from("digraph captured {\n    node [shape=box];\n");
    for (place, node) in shape.nodes.iter().enumerate() {
        let label = node.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        // Writing to a String never fails.
        let _ = writeln!(text, "    n{place} [label=\"{place}: {label}\"];");
    }
    for (before, after) in &shape.edges {
        let _ = writeln!(text, "    n{before} -> n{after};");
    }
    text.push_str("}\n");
    text
}

impl Drop for Graph {
    fn drop(&mut self) {
        // A child can't reach the graphs of its parent; they are left alone.
        if let Ok((driver, mut state)) = self.lock() {
            self.let_go(driver, &mut state);
        }
    }
}
