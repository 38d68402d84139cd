//! Commands in the queue of a stream.

use std::ptr;

use interlock_core::device::Device;
use interlock_driver::races::Queued;
use interlock_driver::{
    Access, Address, ByteRange, CaptureId, Copy, CopyEndpoint, DeviceIndex, Failure, Fill, HostFn, KeepAlive,
    TimelinePoint, races,
};

use crate::exec::fault_plan::Fired;
use crate::object::device;

/// Work that a worker thread runs, that may fail and that graphs replay.
#[derive(Clone)]
pub(crate) enum Task {
    HostFn(HostFn),
    Copy(Copy),
    Fill(Fill),
}

/// An entry in the queue of a stream.
pub(crate) enum Command {
    Run(Task),
    /// Completes the record of the event with this id.
    SignalEvent(u64),
    /// Waits for a point on the timeline of another stream.
    WaitFor(TimelinePoint),
    /// Has no effect; other streams wait for its position.
    Nop,
}

/// A command and its position on the timeline of its stream.
pub(crate) struct QueuedCommand {
    pub(crate) command: Command,
    /// The device that does the work. In a replay it may differ from the stream's device.
    pub(crate) device: DeviceIndex,
    /// The point at which errors are reported.
    pub(crate) reported_at: TimelinePoint,
    /// What the injected faults do to the command.
    pub(crate) fault: Fired,
    pub(crate) position: u64,
    /// Its place in the order of everything, for the detection of races.
    pub(crate) queued: Queued,
    /// The call that queued it, for traces; 0 for none.
    pub(crate) link: u64,
}

/// What a command has from the call that queues it.
#[derive(Default)]
pub(crate) struct Origin {
    /// The device that does the work, if not the stream's.
    pub(crate) device: Option<DeviceIndex>,
    /// The point at which errors are reported, if not the command's.
    pub(crate) reported_at: Option<TimelinePoint>,
    /// The link of the call in traces; 0 for none.
    pub(crate) link: u64,
}

impl Task {
    /// Runs the task and returns why it failed.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Task::HostFn(function) => {
                races::access(&function.uses);
                function.call()
            }
            Task::Copy(copy) => {
                let (from, to) = (pointer(copy.from.address()), pointer(copy.to.address()));
                let _access =
                    Access::new(&[ByteRange::written(to, copy.bytes), ByteRange::read(from, copy.bytes)]);
                // SAFETY: the caller of `DriverRuntime::copy` guaranteed that both operands are valid until the copy
                // has completed, or as long as `copy.owners` require. `Access` excludes other work on these bytes.
                unsafe { ptr::copy(from, to, copy.bytes) };
                Ok(())
            }
            Task::Fill(fill) => {
                let to = pointer(fill.address);
                let _access = Access::new(&[ByteRange::written(to, fill.bytes)]);
                // SAFETY: the caller of `DriverRuntime::fill` guaranteed that the memory is valid until the fill has
                // completed, or as long as `fill.owners` require. `Access` excludes other work on these bytes.
                unsafe { ptr::write_bytes(to, fill.value, fill.bytes) };
                Ok(())
            }
        }
    }

    /// Removes and returns the owners that the task need not own. `capture` records the task, if any.
    pub(crate) fn take_unneeded_owners(&mut self, capture: Option<CaptureId>) -> Vec<KeepAlive> {
        let owners = match self {
            Task::HostFn(function) => &mut function.owners,
            Task::Copy(copy) => &mut copy.owners,
            Task::Fill(fill) => &mut fill.owners,
        };
        owners.take_unneeded(capture)
    }

    /// Returns the name of the operation for error messages.
    pub(crate) fn operation(&self, on: DeviceIndex) -> String {
        match self {
            Task::HostFn(function) => function.name.to_string(),
            Task::Copy(copy) => format!("copy from {} to {}", name(copy.from), name(copy.to)),
            Task::Fill(_) => format!("fill on {}", device::named(on)),
        }
    }

    /// Returns the description of the node in a [`GraphDump`](interlock_driver::GraphDump).
    pub(crate) fn description(&self) -> String {
        match self {
            Task::HostFn(function) => format!("launch {}", function.name),
            Task::Copy(Copy { to, from, bytes, .. }) => {
                format!("copy {bytes} bytes from {} to {}", name(*from), name(*to))
            }
            Task::Fill(fill) => format!("fill {} bytes with {}", fill.bytes, fill.value),
        }
    }

    /// Returns the devices of a copy's source and destination.
    pub(crate) fn devices(&self) -> impl Iterator<Item = DeviceIndex> + use<> {
        let endpoints = match self {
            Task::Copy(copy) => [copy.from.device(), copy.to.device()],
            _ => [None, None],
        };
        endpoints.into_iter().flatten()
    }

    pub(crate) fn needs_copy_engine(&self) -> bool {
        !matches!(self, Task::HostFn(_))
    }

    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Task::Copy(_))
    }
}

/// Returns the device of an endpoint for messages; the CPU for host memory.
fn name(endpoint: CopyEndpoint) -> Device {
    endpoint.device().map_or(Device::CPU, device::named)
}

fn pointer(address: Address) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address.0 as usize)
}

#[cfg(test)]
mod tests {
    use interlock_driver::Owners;

    use super::*;

    #[test]
    fn copy_between_overlapping_ranges_moves_the_original_bytes() {
        let mut bytes = [1u8, 2, 3, 4];
        let base = bytes.as_mut_ptr().expose_provenance() as u64;
        let copy = Copy {
            to: CopyEndpoint::Host(Address(base + 1)),
            from: CopyEndpoint::Host(Address(base)),
            bytes: 3,
            owners: Owners::default(),
        };
        assert_eq!(Task::Copy(copy).run(), Ok(()));
        assert_eq!(bytes, [1, 1, 2, 3]);
    }
}
