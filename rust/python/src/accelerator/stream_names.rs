//! Names of streams in reports and traces.

use interlock::accelerator::driver::StreamHandle;
use interlock::accelerator::{Device, Stream, StreamKind, current_accelerator};

/// Returns the name of a stream of the driver in use.
pub(super) fn name_of(stream: StreamHandle) -> String {
    let Some(kind) = current_accelerator() else { return format!("stream {:#x}", stream.raw) };
    let device = Device::with_index(kind.kind(), stream.device);
    match Stream::of_handle(stream) {
        Some(found) if found.kind() == StreamKind::Default => format!("the default stream of {device}"),
        Some(found) => format!("stream {} of {device}", found.id()),
        None => match Stream::destroyed_id(stream) {
            Some(id) => format!("stream {id} of {device}, which was destroyed"),
            None => format!("an internal stream of {device}"),
        },
    }
}
