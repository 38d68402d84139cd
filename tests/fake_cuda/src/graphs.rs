//! Graphs, and what they consist of.

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
use crate::operations::{End, Operation};
use crate::state::State;

pub(crate) struct Graph {
    pub(crate) nodes: Arc<[Node]>,
    /// What each node is called.
    names: Vec<Handle>,
}

impl State {
    pub(crate) fn add_graph(&mut self, nodes: Vec<Node>) -> Handle {
        let handle = self.number();
        let names: Vec<_> = nodes.iter().map(|_| self.number()).collect();
        self.nodes.extend(names.iter().enumerate().map(|(place, name)| (*name, (handle, place))));
        self.graphs.insert(handle, Graph { nodes: nodes.into(), names });
        handle
    }

    pub(crate) fn graph(&self, handle: Handle) -> Answer<&Graph> {
        self.graphs.get(&handle).ok_or(INVALID_HANDLE)
    }

    fn node(&self, handle: Handle) -> Answer<&Operation> {
        let (graph, place) = self.nodes.get(&handle).ok_or(INVALID_HANDLE)?;
        Ok(&self.graph(*graph)?.nodes.get(*place).ok_or(INVALID_HANDLE)?.operation)
    }
}

/// Fills lists of the caller's, which have as many places as it says. Without lists it is told how many there are.
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

/// What CUDA calls the memory that an end is in, with its two ways to name an address.
fn described(end: End) -> (CUmemorytype, *mut c_void, u64) {
    match end {
        End::Device(address) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), address),
        End::Host(address) => (CUmemorytype::CU_MEMORYTYPE_HOST, pointer(address), 0),
    }
}

fn copy(to: End, from: End, bytes: u64) -> CUDA_MEMCPY3D {
    let bytes = bytes as usize;
    let ((to_type, to_host, to_device), (from_type, from_host, from_device)) =
        (described(to), described(from));
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
    /// Lets a graph go; what was made of it stays.
    fn cuGraphDestroy(graph: Handle) |fake| {
        let mut state = fake.state();
        let gone = state.graphs.remove(&graph).ok_or(INVALID_HANDLE)?;
        for name in gone.names {
            state.nodes.remove(&name);
        }
        Ok(())
    }

    /// The nodes of a graph, or how many there are.
    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: InOut<usize>) |fake| {
        let state = fake.state();
        let names: Vec<_> = state.graph(graph)?.names.iter().map(|name| [*name]).collect();
        list(&names, [nodes], &count)
    }

    /// The edges of a graph, or how many there are: none is left out because it follows from others.
    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: InOut<usize>) |fake| {
        let state = fake.state();
        let graph = state.graph(graph)?;
        if from.is_null() != to.is_null() {
            return Err(INVALID_VALUE);
        }
        let named = |(node, name): (&Node, &Handle)| {
            let before: BTreeSet<_> = node.after.iter().filter_map(|place| graph.names.get(*place)).collect();
            before.into_iter().map(|before| [*before, *name]).collect::<Vec<_>>()
        };
        let edges: Vec<_> = graph.nodes.iter().zip(&graph.names).flat_map(named).collect();
        list(&edges, [from, to], &count)
    }

    /// What a node does.
    fn cuGraphNodeGetType(node: Handle, kind: Out<c_uint>) |fake| {
        kind.put(match fake.state().node(node)? {
            Operation::Copy { .. } => NodeType::CU_GRAPH_NODE_TYPE_MEMCPY as c_uint,
            Operation::Fill { .. } => NodeType::CU_GRAPH_NODE_TYPE_MEMSET as c_uint,
            Operation::Host(_) => NodeType::CU_GRAPH_NODE_TYPE_HOST as c_uint,
        })
    }

    /// The function of a node, and what it is called with.
    fn cuGraphHostNodeGetParams(node: Handle, parameters: Out<CUDA_HOST_NODE_PARAMS>) |fake| {
        match fake.state().node(node)? {
            Operation::Host(function) => {
                let data = pointer(function.data as u64);
                parameters.put(CUDA_HOST_NODE_PARAMS { fn_: Some(function.function), userData: data })
            }
            _ => Err(INVALID_VALUE),
        }
    }

    /// What a node sets bytes to.
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

    /// What a node copies.
    fn cuGraphMemcpyNodeGetParams(node: Handle, parameters: Out<CUDA_MEMCPY3D>) |fake| {
        match fake.state().node(node)? {
            Operation::Copy { to, from, bytes } => parameters.put(copy(*to, *from, *bytes)),
            _ => Err(INVALID_VALUE),
        }
    }
}
