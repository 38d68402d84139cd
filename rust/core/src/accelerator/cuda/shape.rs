//! What a graph consists of, for people.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUgraphNode, CUgraphNodeType,
};

use super::api;
use super::device::CudaDevice;
use super::functions::{self, Function};
use super::graphs::Graph;
use crate::Result;
use crate::accelerator::driver::GraphDump;

const OPERATION: &str = "Graph.debug_dump";

/// Kinds of nodes.
const KERNEL: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL as u32;
const MEMCPY: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY as u32;
const MEMSET: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET as u32;
const HOST: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST as u32;
const GRAPH: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH as u32;
const EMPTY: u32 = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY as u32;

pub(super) fn shape(device: &CudaDevice, graph: &Graph) -> Result<GraphDump> {
    let _bound = device.bind(OPERATION)?;
    let nodes = nodes(device, graph)?;
    let places: HashMap<CUgraphNode, usize> = nodes.iter().copied().zip(0..).collect();
    let mut edges: Vec<(usize, usize)> = edges(device, graph)?
        .into_iter()
        .filter_map(|(from, to)| Some((*places.get(&from)?, *places.get(&to)?)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let nodes: Result<Vec<_>> = nodes.into_iter().map(|node| description(device, node)).collect();
    Ok(GraphDump { nodes: nodes?, edges: without_implied(edges) })
}

/// How many nodes a graph has.
fn count(device: &CudaDevice, graph: &Graph) -> Result<usize> {
    let mut count = 0;
    // SAFETY: without a place for nodes the driver tells how many there are.
    let counted = unsafe { api::cuGraphGetNodes(graph.pointer(), ptr::null_mut(), &raw mut count) };
    device.check(OPERATION, counted).map(|()| count)
}

pub(super) fn is_empty(device: &CudaDevice, graph: &Graph) -> Result<bool> {
    let _bound = device.bind(OPERATION)?;
    Ok(count(device, graph)? == 0)
}

fn nodes(device: &CudaDevice, graph: &Graph) -> Result<Vec<CUgraphNode>> {
    let mut count = count(device, graph)?;
    let mut nodes = vec![ptr::null_mut(); count];
    // SAFETY: there is a place for so many nodes.
    let told = unsafe { api::cuGraphGetNodes(graph.pointer(), nodes.as_mut_ptr(), &raw mut count) };
    device.check(OPERATION, told)?;
    nodes.truncate(count);
    Ok(nodes)
}

fn edges(device: &CudaDevice, graph: &Graph) -> Result<Vec<(CUgraphNode, CUgraphNode)>> {
    let mut count = 0;
    // SAFETY: without a place for edges the driver tells how many there are.
    let counted =
        unsafe { api::cuGraphGetEdges(graph.pointer(), ptr::null_mut(), ptr::null_mut(), &raw mut count) };
    device.check(OPERATION, counted)?;
    let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
    // SAFETY: there is a place for so many edges.
    let told =
        unsafe { api::cuGraphGetEdges(graph.pointer(), from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count) };
    device.check(OPERATION, told)?;
    Ok(from.into_iter().zip(to).take(count).collect())
}

/// Without those between nodes that are ordered by others already: a capture adds them freely.
fn without_implied(edges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
    for (from, to) in &edges {
        after.entry(*from).or_default().push(*to);
    }
    let goes_a_longer_way = |from: usize, to: usize| {
        let next = after.get(&from).into_iter().flatten().copied().filter(|place| *place != to);
        let (mut unseen, mut seen): (Vec<_>, HashSet<_>) = (next.collect(), HashSet::new());
        while let Some(place) = unseen.pop() {
            if place == to {
                return true;
            }
            if seen.insert(place) {
                unseen.extend(after.get(&place).into_iter().flatten());
            }
        }
        false
    };
    edges.iter().copied().filter(|(from, to)| !goes_a_longer_way(*from, *to)).collect()
}

fn description(device: &CudaDevice, node: CUgraphNode) -> Result<String> {
    // A number, as a driver may have kinds that are newer than the bindings.
    let mut kind = 0;
    let place: *mut u32 = &raw mut kind;
    // SAFETY: the pointer is valid for a kind, which is a number of this size, and the node is alive.
    device.check(OPERATION, unsafe { api::cuGraphNodeGetType(node, place.cast()) })?;
    Ok(match kind {
        HOST => function(device, node)?,
        MEMSET => fill(device, node)?,
        MEMCPY => copy(device, node)?,
        KERNEL => "kernel".to_owned(),
        GRAPH => "graph".to_owned(),
        EMPTY => "nothing".to_owned(),
        other => format!("a node of kind {other}"),
    })
}

fn function(device: &CudaDevice, node: CUgraphNode) -> Result<String> {
    let mut told = CUDA_HOST_NODE_PARAMS { fn_: None, userData: ptr::null_mut() };
    // SAFETY: the pointer is valid, and the node is a function.
    let asked = unsafe { api::cuGraphHostNodeGetParams(node, &raw mut told) };
    device.check(OPERATION, asked)?;
    let ours: unsafe extern "C" fn(*mut c_void) = functions::call;
    let is_ours = told.fn_.is_some_and(|function| ptr::fn_addr_eq(function, ours));
    if !is_ours {
        return Ok("launch a function".to_owned());
    }
    // SAFETY: the graph keeps what its functions are given, and ours are given one of these.
    let function: &Function = unsafe { &*told.userData.cast() };
    Ok(format!("launch {}", function.work.name))
}

fn fill(device: &CudaDevice, node: CUgraphNode) -> Result<String> {
    let mut told =
        CUDA_MEMSET_NODE_PARAMS { dst: 0, pitch: 0, value: 0, elementSize: 0, width: 0, height: 0 };
    // SAFETY: the pointer is valid, and the node is a fill.
    let asked = unsafe { api::cuGraphMemsetNodeGetParams(node, &raw mut told) };
    device.check(OPERATION, asked)?;
    let bytes = told.width * told.elementSize as usize * told.height.max(1);
    Ok(format!("fill {bytes} bytes with {}", told.value))
}

fn copy(device: &CudaDevice, node: CUgraphNode) -> Result<String> {
    // SAFETY: all of its fields may be zero: numbers, null pointers, and kinds of memory that begin with 0 or are
    // overwritten before anybody reads them.
    let mut told = std::mem::MaybeUninit::<CUDA_MEMCPY3D>::zeroed();
    // SAFETY: the pointer is valid, and the node is a copy.
    let asked = unsafe { api::cuGraphMemcpyNodeGetParams(node, told.as_mut_ptr()) };
    device.check(OPERATION, asked)?;
    // SAFETY: the driver has filled it in; only numbers are read.
    let (width, height, depth) = unsafe {
        let told = told.as_ptr();
        ((*told).WidthInBytes, (*told).Height, (*told).Depth)
    };
    Ok(format!("copy {} bytes", width * height.max(1) * depth.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_others_imply_are_left_out() {
        let edges = vec![(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)];
        assert_eq!(without_implied(edges), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(without_implied(vec![(0, 1), (0, 2), (1, 3), (2, 3)]), [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(without_implied(Vec::new()), []);
    }
}
