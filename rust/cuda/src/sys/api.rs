//! Every function of the driver that this crate calls, each named once. All of them have been there since CUDA 12.0,
//! and none is called before the probe has found them all: cudarc panics for one that is missing.

macro_rules! functions {
    ($($name:ident)+) => {
        pub(crate) use cudarc::driver::sys::{$($name),+};

        /// Their names.
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
    cuCtxSetCurrent
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
