//! Graphs that captures have recorded.

use interlock_driver::{DeviceIndex, GraphDump, GraphHandle, Result, Stack};

use crate::exec::command::Task;
use crate::exec::inner::Inner;
use crate::object::err_released;

/// A node of a graph. The nodes of a graph are in topological order.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) task: Task,
    pub(crate) device: DeviceIndex,
    /// The priority of the stream that recorded the node.
    pub(crate) priority: i32,
    /// The indices of its direct dependencies, none of which depends on another.
    pub(crate) after: Vec<usize>,
    /// The stack of the call that was captured.
    pub(crate) stack: Option<Stack>,
}

impl Inner {
    pub(crate) fn describe_graph(&self, handle: GraphHandle) -> Result<GraphDump> {
        let graph = self.graphs.get(&handle.0).cloned();
        let graph = graph.ok_or_else(|| err_released("the shape of a Graph", handle.0, "a graph"))?;
        let edges = |(index, node): (usize, &Node)| {
            node.after.iter().map(|before| (*before, index)).collect::<Vec<_>>()
        };
        Ok(GraphDump {
            nodes: graph.iter().map(|node| node.task.description()).collect(),
            edges: graph.iter().enumerate().flat_map(edges).collect(),
        })
    }

    pub(crate) fn destroy_graph(&mut self, handle: GraphHandle) {
        if let Some(graph) = self.graphs.remove(&handle.0) {
            self.defer_drop(graph);
        }
    }
}
