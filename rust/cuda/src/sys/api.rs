//! The driver functions that this crate calls. CUDA 12.0 has all of them. The probe checks that the library has them
//! before the first call, since cudarc panics if a function is missing.

macro_rules! functions {
    ($($name:ident)+) => {
        pub(crate) use cudarc::driver::sys::{$($name),+};

        /// The names of the functions.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

functions! {
    cuGetErrorName
    cuGetErrorString

    cuDeviceGet
    cuDeviceGetCount
    cuDeviceGetName
    cuDeviceGetUuid_v2
    cuDeviceGetPCIBusId
    cuDeviceTotalMem_v2
    cuDeviceGetAttribute
    cuDeviceCanAccessPeer

    cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxGetState
    cuCtxGetCurrent
    cuCtxPushCurrent_v2
    cuCtxPopCurrent_v2
    cuCtxSynchronize
    cuCtxGetStreamPriorityRange
    cuCtxEnablePeerAccess
    cuThreadExchangeStreamCaptureMode

    cuMemGetInfo_v2
    cuMemAlloc_v2
    cuMemFree_v2
    cuMemHostAlloc
    cuMemFreeHost

    cuMemGetAllocationGranularity
    cuMemAddressReserve
    cuMemAddressFree
    cuMemCreate
    cuMemRelease
    cuMemMap
    cuMemUnmap
    cuMemSetAccess

    cuMemcpyAsync
    cuMemcpyHtoDAsync_v2
    cuMemcpyDtoHAsync_v2
    cuMemcpyDtoDAsync_v2
    cuMemcpyPeerAsync
    cuMemsetD8Async

    cuStreamCreateWithPriority
    cuStreamDestroy_v2
    cuStreamQuery
    cuStreamSynchronize
    cuStreamWaitEvent
    cuStreamWaitValue32_v2
    cuStreamGetCtx
    cuStreamBeginCapture_v2
    cuStreamEndCapture
    cuStreamGetCaptureInfo_v2
    cuLaunchHostFunc

    cuEventCreate
    cuEventDestroy_v2
    cuEventRecord
    cuEventQuery
    cuEventSynchronize
    cuEventElapsedTime
    cuIpcGetEventHandle
    cuIpcOpenEventHandle

    cuGraphInstantiateWithFlags
    cuGraphLaunch
    cuGraphDestroy
    cuGraphExecDestroy
    cuGraphGetNodes
    cuGraphGetEdges
    cuGraphNodeGetType
    cuGraphHostNodeGetParams
    cuGraphMemsetNodeGetParams
    cuGraphMemcpyNodeGetParams
}
