//! Descriptions of graphs: their nodes and edges.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUgraphNode, CUgraphNodeType,
};

use interlock_driver::{GraphDump, Result};

use super::graph::Graph;
use crate::device::device::DeviceOp;
use crate::stream::host_fn::{self, HostFnCall};
use crate::sys::api;

const OPERATION: &str = "Graph.debug_dump";

const KERNEL: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL as u32;
const MEMCPY: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY as u32;
const MEMSET: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET as u32;
const HOST: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST as u32;
const GRAPH: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH as u32;
const EMPTY: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY as u32;

/// Describes a graph.
pub(crate) fn describe(graph: &Graph) -> Result<GraphDump> {
    let op = &graph.device().begin(OPERATION)?;
    let nodes = nodes(op, graph)?;
    let indices: HashMap<CUgraphNode, usize> = nodes.iter().copied().zip(0..).collect();
    let index = |(from, to): (CUgraphNode, CUgraphNode)| Some((*indices.get(&from)?, *indices.get(&to)?));
    let found = edges(op, graph)?;
    let count = found.len();
    let mut edges: Vec<(usize, usize)> = found.into_iter().filter_map(index).collect();
    debug_assert_eq!(edges.len(), count, "an edge has a node that the graph lacks");
    edges.sort_unstable();
    edges.dedup();
    let nodes: Result<Vec<_>> = nodes.into_iter().map(|node| description(op, node)).collect();
    Ok(GraphDump { nodes: nodes?, edges: transitive_reduction(edges) })
}

/// Returns the number of nodes of a graph.
fn count(op: &DeviceOp<'_>, graph: &Graph) -> Result<usize> {
    // SAFETY: with a null array the function writes the number of nodes.
    op.read(0, |count| unsafe { api::cuGraphGetNodes(graph.raw(), ptr::null_mut(), count) })
}

/// Returns whether a graph has no nodes.
pub(crate) fn is_empty(graph: &Graph) -> Result<bool> {
    let op = graph.device().begin(OPERATION)?;
    Ok(count(&op, graph)? == 0)
}

fn nodes(op: &DeviceOp<'_>, graph: &Graph) -> Result<Vec<CUgraphNode>> {
    let mut count = count(op, graph)?;
    let mut nodes = vec![ptr::null_mut(); count];
    // SAFETY: the array has `count` elements.
    let found = unsafe { api::cuGraphGetNodes(graph.raw(), nodes.as_mut_ptr(), &raw mut count) };
    op.check(found)?;
    nodes.truncate(count);
    Ok(nodes)
}

fn edges(op: &DeviceOp<'_>, graph: &Graph) -> Result<Vec<(CUgraphNode, CUgraphNode)>> {
    let none = ptr::null_mut();
    // SAFETY: with null arrays the function writes the number of edges.
    let mut count = op.read(0, |count| unsafe { api::cuGraphGetEdges(graph.raw(), none, none, count) })?;
    let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
    // SAFETY: the arrays have `count` elements.
    let found =
        unsafe { api::cuGraphGetEdges(graph.raw(), from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count) };
    op.check(found)?;
    Ok(from.into_iter().zip(to).take(count).collect())
}

/// Removes edges that a longer path implies: the driver's captures add redundant edges.
fn transitive_reduction(edges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
    for (from, to) in &edges {
        after.entry(*from).or_default().push(*to);
    }
    let has_longer_path = |from: usize, to: usize| {
        let next = after.get(&from).into_iter().flatten().copied().filter(|index| *index != to);
        let (mut unseen, mut seen): (Vec<_>, HashSet<_>) = (next.collect(), HashSet::new());
        while let Some(index) = unseen.pop() {
            if index == to {
                return true;
            }
            if seen.insert(index) {
                unseen.extend(after.get(&index).into_iter().flatten());
            }
        }
        false
    };
    edges.iter().copied().filter(|(from, to)| !has_longer_path(*from, *to)).collect()
}

fn description(op: &DeviceOp<'_>, node: CUgraphNode) -> Result<String> {
    // Read as an integer, since a newer driver may return kinds that the enum of the bindings lacks.
    // SAFETY: the pointer is valid for a `CUgraphNodeType`, which has the size of `u32`, and the node is alive.
    let kind = op.read(0u32, |kind| unsafe { api::cuGraphNodeGetType(node, kind.cast()) })?;
    Ok(match kind {
        HOST => host_fn(op, node)?,
        MEMSET => fill(op, node)?,
        MEMCPY => copy(op, node)?,
        KERNEL => "kernel".to_owned(),
        GRAPH => "graph".to_owned(),
        EMPTY => "nothing".to_owned(),
        other => format!("a node of kind {other}"),
    })
}

fn host_fn(op: &DeviceOp<'_>, node: CUgraphNode) -> Result<String> {
    let empty = CUDA_HOST_NODE_PARAMS { fn_: None, userData: ptr::null_mut() };
    // SAFETY: the pointer is valid, and the node is a host node.
    let found = op.read(empty, |found| unsafe { api::cuGraphHostNodeGetParams(node, found) })?;
    let ours: unsafe extern "C" fn(*mut c_void) = host_fn::call;
    let is_ours = found.fn_.is_some_and(|function| ptr::fn_addr_eq(function, ours));
    if !is_ours {
        return Ok("launch a function".to_owned());
    }
    // SAFETY: `host_fn::call` is always queued with a `HostFnCall`, which the graph keeps alive.
    let function: &HostFnCall = unsafe { &*found.userData.cast() };
    Ok(format!("launch {}", function.name()))
}

fn fill(op: &DeviceOp<'_>, node: CUgraphNode) -> Result<String> {
    let empty = CUDA_MEMSET_NODE_PARAMS { dst: 0, pitch: 0, value: 0, elementSize: 0, width: 0, height: 0 };
    // SAFETY: the pointer is valid, and the node is a memset node.
    let found = op.read(empty, |found| unsafe { api::cuGraphMemsetNodeGetParams(node, found) })?;
    let bytes = found.width * found.elementSize as usize * found.height.max(1);
    Ok(format!("fill {bytes} bytes with {}", found.value))
}

fn copy(op: &DeviceOp<'_>, node: CUgraphNode) -> Result<String> {
    let mut found = std::mem::MaybeUninit::<CUDA_MEMCPY3D>::zeroed();
    // SAFETY: the pointer is valid, and the node is a memcpy node.
    let queried = unsafe { api::cuGraphMemcpyNodeGetParams(node, found.as_mut_ptr()) };
    op.check(queried)?;
    // SAFETY: the function has written these fields, which are integers.
    let (width, height, depth) = unsafe {
        let found = found.as_ptr();
        ((*found).WidthInBytes, (*found).Height, (*found).Depth)
    };
    Ok(format!("copy {} bytes", width * height.max(1) * depth.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitive_reduction_removes_implied_edges_only() {
        let edges = vec![(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)];
        assert_eq!(transitive_reduction(edges), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(
            transitive_reduction(vec![(0, 1), (0, 2), (1, 3), (2, 3)]),
            [(0, 1), (0, 2), (1, 3), (2, 3)]
        );
        assert_eq!(transitive_reduction(Vec::new()), []);
    }
}
