//! Graphs and their nodes.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUgraphNodeType as NodeType, CUmemorytype,
};

use crate::call::{Answer, Handle, InOut, Out, exported};
use crate::captures::Node;
use crate::errors::{INVALID_HANDLE, INVALID_VALUE};
use crate::operations::{Operand, Operation};
use crate::state::State;

/// A captured graph.
pub(crate) struct Graph {
    pub(crate) nodes: Arc<[Node]>,
    /// The handle of each node.
    handles: Vec<Handle>,
}

impl State {
    pub(crate) fn add_graph(&mut self, nodes: Vec<Node>) -> Handle {
        let handle = self.new_handle();
        let handles: Vec<_> = nodes.iter().map(|_| self.new_handle()).collect();
        self.nodes.extend(handles.iter().enumerate().map(|(index, node)| (*node, (handle, index))));
        self.graphs.insert(handle, Graph { nodes: nodes.into(), handles });
        handle
    }

    pub(crate) fn graph(&self, handle: Handle) -> Answer<&Graph> {
        self.graphs.get(&handle).ok_or(INVALID_HANDLE)
    }

    fn node(&self, handle: Handle) -> Answer<&Operation> {
        let (graph, index) = self.nodes.get(&handle).ok_or(INVALID_HANDLE)?;
        Ok(&self.graph(*graph)?.nodes.get(*index).ok_or(INVALID_HANDLE)?.operation)
    }
}

/// Fills arrays of the caller with `count` elements. With null arrays, returns the number of items in `count`.
fn list<const N: usize>(items: &[[Handle; N]], lists: [Out<Handle>; N], count: &InOut<usize>) -> Answer {
    if lists.iter().all(Out::is_null) {
        return count.wanted().put(items.len());
    }
    let room = count.given().get()?;
    for (column, list) in lists.iter().enumerate() {
        let found = items.iter().filter_map(|item| item.get(column).copied());
        list.put_all(found.chain(std::iter::repeat(0)).take(room))?;
    }
    count.wanted().put(items.len().min(room))
}

fn pointer(address: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// Returns the memory type of an operand, and its address as host and as device pointer.
fn memory_type(operand: Operand) -> (CUmemorytype, *mut c_void, u64) {
    match operand {
        Operand::Device(address) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), address),
        Operand::Host(address) => (CUmemorytype::CU_MEMORYTYPE_HOST, pointer(address), 0),
    }
}

fn copy(to: Operand, from: Operand, bytes: u64) -> CUDA_MEMCPY3D {
    let bytes = bytes as usize;
    let ((to_type, to_host, to_device), (from_type, from_host, from_device)) =
        (memory_type(to), memory_type(from));
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from_type,
        srcHost: from_host,
        srcDevice: from_device,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: bytes,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to_type,
        dstHost: to_host,
        dstDevice: to_device,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: bytes,
        dstHeight: 1,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
    }
}

exported! {
    /// Destroys a graph. Its executable graphs are not affected.
    fn cuGraphDestroy(graph: Handle) |fake| {
        let mut state = fake.state();
        let graph = state.graphs.remove(&graph).ok_or(INVALID_HANDLE)?;
        for node in graph.handles {
            state.nodes.remove(&node);
        }
        Ok(())
    }

    /// Returns the nodes of a graph, or their number.
    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: InOut<usize>) |fake| {
        let state = fake.state();
        let handles: Vec<_> = state.graph(graph)?.handles.iter().map(|node| [*node]).collect();
        list(&handles, [nodes], &count)
    }

    /// Returns the edges of a graph, including redundant ones, or their number.
    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: InOut<usize>) |fake| {
        let state = fake.state();
        let graph = state.graph(graph)?;
        if from.is_null() != to.is_null() {
            return Err(INVALID_VALUE);
        }
        let edges_to = |(node, handle): (&Node, &Handle)| {
            let before: BTreeSet<_> = node.after.iter().filter_map(|index| graph.handles.get(*index)).collect();
            before.into_iter().map(|before| [*before, *handle]).collect::<Vec<_>>()
        };
        let edges: Vec<_> = graph.nodes.iter().zip(&graph.handles).flat_map(edges_to).collect();
        list(&edges, [from, to], &count)
    }

    /// Returns the type of a node.
    fn cuGraphNodeGetType(node: Handle, kind: Out<c_uint>) |fake| {
        kind.put(match fake.state().node(node)? {
            Operation::Copy { .. } => NodeType::CU_GRAPH_NODE_TYPE_MEMCPY as c_uint,
            Operation::Fill { .. } => NodeType::CU_GRAPH_NODE_TYPE_MEMSET as c_uint,
            Operation::Host(_) => NodeType::CU_GRAPH_NODE_TYPE_HOST as c_uint,
        })
    }

    /// Returns the function and the argument of a host node.
    fn cuGraphHostNodeGetParams(node: Handle, parameters: Out<CUDA_HOST_NODE_PARAMS>) |fake| {
        match fake.state().node(node)? {
            Operation::Host(function) => {
                let data = pointer(function.data as u64);
                parameters.put(CUDA_HOST_NODE_PARAMS { fn_: Some(function.function), userData: data })
            }
            _ => Err(INVALID_VALUE),
        }
    }

    /// Returns the parameters of a memset node.
    fn cuGraphMemsetNodeGetParams(node: Handle, parameters: Out<CUDA_MEMSET_NODE_PARAMS>) |fake| {
        match fake.state().node(node)? {
            Operation::Fill { address, value, bytes } => parameters.put(CUDA_MEMSET_NODE_PARAMS {
                dst: *address,
                pitch: 0,
                value: (*value).into(),
                elementSize: 1,
                width: *bytes as usize,
                height: 1,
            }),
            _ => Err(INVALID_VALUE),
        }
    }

    /// Returns the parameters of a memcpy node.
    fn cuGraphMemcpyNodeGetParams(node: Handle, parameters: Out<CUDA_MEMCPY3D>) |fake| {
        match fake.state().node(node)? {
            Operation::Copy { to, from, bytes } => parameters.put(copy(*to, *from, *bytes)),
            _ => Err(INVALID_VALUE),
        }
    }
}
