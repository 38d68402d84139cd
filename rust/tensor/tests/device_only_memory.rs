//! Tensors on devices whose memory the CPU cannot access: copies work, and other operations return `Unsupported` with
//! the name of the operation. A process has one driver, so this is a single test.

use std::sync::{Arc, LazyLock};

use interlock::accelerator::driver::*;
use interlock::accelerator::host::{HostDriver, HostOptions};
use interlock::accelerator::{self, Device, DeviceType, Error as AcceleratorError};
use interlock_tensor::{DType, ErrorCause, Placement, Result, Tensor};

static KIND: LazyLock<DeviceType> = LazyLock::new(|| DeviceType::from_name("remote").unwrap());

/// The host driver without host access to its device memory.
struct Remote(Arc<dyn Driver>);

/// The initialized driver.
struct RemoteRuntime(Arc<dyn DriverRuntime>);

macro_rules! delegated {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(fn $name(&self, $($argument: $type),*) -> $result { self.0.$name($($argument),*) })+
    };
}

impl Driver for Remote {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    fn start(&self) -> interlock::accelerator::Result<Arc<dyn DriverRuntime>> {
        Ok(Arc::new(RemoteRuntime(self.0.start()?)))
    }

    delegated! {
        unavailable_reason() -> Option<String>;
        device_count() -> u32;
    }
}

// SAFETY: every call is forwarded to a runtime that fulfills the contract.
unsafe impl DriverRuntime for RemoteRuntime {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    delegated! {
        device_count() -> u32;
        properties(device: DeviceIndex) -> interlock::accelerator::Result<DeviceProperties>;
        memory_info(device: DeviceIndex) -> interlock::accelerator::Result<MemoryInfo>;
        allocate(device: DeviceIndex, bytes: usize) -> interlock::accelerator::Result<Address>;
        allocate_pinned(device: DeviceIndex, bytes: usize) -> interlock::accelerator::Result<Address>;
        priority_range(device: DeviceIndex) -> interlock::accelerator::Result<PriorityRange>;
        default_stream(device: DeviceIndex) -> interlock::accelerator::Result<StreamHandle>;
        create_stream(device: DeviceIndex, priority: i32) -> interlock::accelerator::Result<StreamHandle>;
        destroy_stream(stream: StreamHandle) -> ();
        create_event(device: DeviceIndex, options: EventOptions) -> interlock::accelerator::Result<EventHandle>;
        destroy_event(event: EventHandle) -> ();
        record_event(event: EventHandle, stream: StreamHandle) -> interlock::accelerator::Result<()>;
        wait_event(stream: StreamHandle, event: EventHandle) -> interlock::accelerator::Result<()>;
        elapsed(start: EventHandle, end: EventHandle) -> interlock::accelerator::Result<f64>;
        check(target: WaitTarget) -> interlock::accelerator::Result<bool>;
        has_completed(event: EventHandle) -> interlock::accelerator::Result<bool>;
        launch_host_fn(stream: StreamHandle, function: HostFn) -> interlock::accelerator::Result<()>;
        begin_capture(stream: StreamHandle, mode: CaptureMode) -> interlock::accelerator::Result<CaptureId>;
        capture_id(stream: StreamHandle) -> interlock::accelerator::Result<Option<u64>>;
        end_capture(stream: StreamHandle) -> interlock::accelerator::Result<GraphHandle>;
        instantiate(graph: GraphHandle) -> interlock::accelerator::Result<GraphExecHandle>;
        replay(executable: GraphExecHandle, stream: StreamHandle) -> interlock::accelerator::Result<()>;
        describe_graph(graph: GraphHandle) -> interlock::accelerator::Result<GraphDump>;
        destroy_graph(graph: GraphHandle) -> ();
        destroy_graph_exec(executable: GraphExecHandle) -> ();
    }

    unsafe fn wrap_external_stream(
        &self,
        device: DeviceIndex,
        raw: u64,
    ) -> interlock::accelerator::Result<StreamHandle> {
        // SAFETY: the caller upholds the contract of the same method.
        unsafe { self.0.wrap_external_stream(device, raw) }
    }

    unsafe fn free(
        &self,
        device: DeviceIndex,
        address: Address,
        bytes: usize,
    ) -> interlock::accelerator::Result<()> {
        // SAFETY: the caller upholds the contract of the same method.
        unsafe { self.0.free(device, address, bytes) }
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> interlock::accelerator::Result<()> {
        // SAFETY: the caller upholds the contract of the same method.
        unsafe { self.0.free_pinned(address, bytes) }
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> interlock::accelerator::Result<()> {
        // SAFETY: the caller upholds the contract of the same method.
        unsafe { self.0.copy(stream, copy) }
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> interlock::accelerator::Result<()> {
        // SAFETY: the caller upholds the contract of the same method.
        unsafe { self.0.fill(stream, fill) }
    }
}

#[test]
fn operations_on_inaccessible_device_memory_are_unsupported() {
    let host = HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap();
    accelerator::use_driver(Arc::new(Remote(host))).unwrap();
    let [first, second]: [Device; 2] = ["remote:0", "remote:1"].map(|name| name.parse().unwrap());
    let matrix = Tensor::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let there = matrix.t().unwrap().to((DType::Int64, first), false).unwrap();
    assert_eq!((there.device(), there.strides()), (first, &[1, 3][..]));
    let grown = matrix.to((DType::Int64, first), false).unwrap();
    grown.resize_(&[100]).unwrap();
    let part = grown.slice(0, None, Some(6), 1).unwrap();
    assert_eq!((part.to_vec::<i64>().unwrap(), grown.device()), (vec![1, 2, 3, 4, 5, 6], first));
    let beyond = there.to((DType::Int64, second), false).unwrap();
    assert_eq!(beyond.to_vec::<i64>(), Ok(vec![1, 4, 2, 5, 3, 6]));
    assert_eq!(beyond.select(0, 1).unwrap().select(0, 1).unwrap().item(), Ok(5.into()));

    let room = Tensor::empty(&[2, 3], (DType::Int64, first)).unwrap();
    room.copy_(&matrix).unwrap();
    let twin = Tensor::empty(&[2, 3], (DType::Int64, first)).unwrap();
    twin.copy_(&room).unwrap();
    assert_eq!((twin.to_vec::<i64>(), twin.version()), (matrix.to_vec(), Ok(1)));
    matrix.zero_().unwrap();
    matrix.copy_(&twin).unwrap();
    assert_eq!(matrix.to_vec::<i64>(), twin.to_vec());

    // The CPU converts pinned memory after the work that is queued on the stream.
    let pinned = Tensor::zeros(&[2, 3], (DType::Int64, Placement::Pinned)).unwrap();
    pinned.copy_from(&twin, true).unwrap();
    let converted = pinned.t().unwrap().to((DType::Float64, first), true).unwrap();
    assert_eq!(
        (converted.strides(), converted.to_vec::<f64>()),
        (&[1, 3][..], Ok(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]))
    );
    room.copy_from(&pinned.cast(DType::Int32).unwrap().pin_memory().unwrap(), true).unwrap();
    assert_eq!(room.to_vec::<i64>(), pinned.to_vec());

    let refused: [(&str, Result<Tensor>); 6] = [
        ("add", twin.add(&room)),
        ("exp", twin.exp()),
        ("matmul", twin.matmul(&there)),
        ("zeros", Tensor::zeros(&[1], (DType::Int64, first))),
        ("clone", twin.copy()),
        ("add_", twin.add_(1i64).cloned()),
    ];
    for (operation, result) in refused {
        let error = result.unwrap_err();
        let ErrorCause::Accelerator(AcceleratorError::Unsupported { operation: reported, device }) =
            *error.cause()
        else {
            panic!("{operation}: {error}")
        };
        // An operation that computes in another type converts first.
        assert!(reported == operation || (operation == "exp" && reported == "to"), "{operation}: {reported}");
        assert_eq!(device, first);
    }
    assert_eq!(twin.version(), Ok(1));
}
