//! Recorded graphs.

use interlock_driver::{DeviceIndex, GraphDump, GraphHandle};
use interlock_driver::{Error, Result};

use super::command::Task;
use super::shared::Shared;

/// Work of a graph. Nodes stand in an order in which they could run.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) task: Task,
    pub(super) device: DeviceIndex,
    /// Of the stream that recorded it.
    pub(super) priority: i32,
    /// The nodes right before it, by their places: none of them is before another.
    pub(super) after: Vec<usize>,
}

pub(super) fn unknown(operation: &'static str, number: u64, what: &str) -> Error {
    Error::Argument {
        name: operation,
        given: format!("the number {number}"),
        allowed: format!("{what} that was not released"),
    }
}

impl Shared {
    pub(super) fn shape(&self, handle: GraphHandle) -> Result<GraphDump> {
        let graph = self.lock()?.graphs.get(&handle.0).cloned();
        let graph = graph.ok_or_else(|| unknown("the shape of a Graph", handle.0, "a graph"))?;
        let edges = |(place, node): (usize, &Node)| {
            node.after.iter().map(|before| (*before, place)).collect::<Vec<_>>()
        };
        Ok(GraphDump {
            nodes: graph.iter().map(|node| node.task.description()).collect(),
            edges: graph.iter().enumerate().flat_map(edges).collect(),
        })
    }

    pub(super) fn destroy_graph(&self, handle: GraphHandle) {
        let Ok(mut state) = self.lock() else { return };
        if let Some(graph) = state.graphs.remove(&handle.0) {
            state.waste.add(graph);
        }
    }
}
