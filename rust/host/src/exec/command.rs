//! What is queued.

use std::ptr;

use interlock_core::device::Device;
use interlock_driver::{Access, Address, ByteRange, Copy, CopyEndpoint, DeviceIndex, Fill, HostFn};

use crate::object::device;
use crate::object::stream::TimelinePoint;

/// Work: what takes time, what may fail, and what graphs repeat.
#[derive(Clone)]
pub(crate) enum Task {
    Launch(HostFn),
    Copy(Copy),
    Fill(Fill),
}

/// What happens when it is a command's turn.
pub(crate) enum Command {
    Run(Task),
    /// Completes the record of the event of this number.
    SignalEvent(u64),
    /// The stream waits for a place in another.
    WaitFor(TimelinePoint),
    /// Only a point to be waited for.
    Nop,
}

/// A place in a stream and what happens there.
pub(crate) struct QueuedCommand {
    pub(crate) command: Command,
    /// Where the work is done. Not always the stream's device: graphs are replayed on any.
    pub(crate) device: DeviceIndex,
    /// The place in a stream by which failures are told.
    pub(crate) reported_at: TimelinePoint,
    /// Why it fails instead of running, if that was asked for.
    pub(crate) fault: Option<String>,
    pub(crate) position: u64,
}

impl Task {
    /// Does it; why it failed, if it did.
    pub(crate) fn run(&self) -> Result<(), String> {
        match self {
            Task::Launch(work) => work.call(),
            Task::Copy(copy) => {
                let (from, to) = (pointer(copy.from.address()), pointer(copy.to.address()));
                let _access =
                    Access::new(&[ByteRange::written(to, copy.bytes), ByteRange::read(from, copy.bytes)]);
                // SAFETY: the caller that queued it guaranteed that both ends are valid until the copy has completed, or
                // as long as its owner lives, which `copy` holds. The access excludes other work on the same bytes.
                unsafe { ptr::copy(from, to, copy.bytes) };
                Ok(())
            }
            Task::Fill(fill) => {
                let to = pointer(fill.address);
                let _access = Access::new(&[ByteRange::written(to, fill.bytes)]);
                // SAFETY: as for a copy.
                unsafe { ptr::write_bytes(to, fill.value, fill.bytes) };
                Ok(())
            }
        }
    }

    /// What an error calls it.
    pub(crate) fn operation(&self, on: DeviceIndex) -> String {
        match self {
            Task::Launch(work) => work.name.to_string(),
            Task::Copy(copy) => format!("copy from {} to {}", name(copy.from), name(copy.to)),
            Task::Fill(_) => format!("fill on {}", device::named(on)),
        }
    }

    /// What the shape of a graph calls it.
    pub(crate) fn description(&self) -> String {
        match self {
            Task::Launch(work) => format!("launch {}", work.name),
            Task::Copy(Copy { to, from, bytes, .. }) => {
                format!("copy {bytes} bytes from {} to {}", name(*from), name(*to))
            }
            Task::Fill(fill) => format!("fill {} bytes with {}", fill.bytes, fill.value),
        }
    }

    /// The devices whose memory it reaches, besides the one that does it.
    pub(crate) fn devices(&self) -> impl Iterator<Item = DeviceIndex> + use<> {
        let places = match self {
            Task::Copy(copy) => [copy.from.device(), copy.to.device()],
            _ => [None, None],
        };
        places.into_iter().flatten()
    }

    /// Whether it needs one of the device's engines.
    pub(crate) fn moves_data(&self) -> bool {
        !matches!(self, Task::Launch(_))
    }

    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Task::Copy(_))
    }
}

/// Returns the device of an endpoint as messages name it.
fn name(endpoint: CopyEndpoint) -> Device {
    endpoint.device().map_or(Device::CPU, device::named)
}

fn pointer(address: Address) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address.0 as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_may_overlap() {
        let mut bytes = [1u8, 2, 3, 4];
        let base = bytes.as_mut_ptr().expose_provenance() as u64;
        let copy = Copy {
            to: CopyEndpoint::Host(Address(base + 1)),
            from: CopyEndpoint::Host(Address(base)),
            bytes: 3,
            keep_alive: None,
        };
        assert_eq!(Task::Copy(copy).run(), Ok(()));
        assert_eq!(bytes, [1, 1, 2, 3]);
    }
}
