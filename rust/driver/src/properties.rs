//! Properties of devices.

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The name that its vendor gives it.
    pub name: String,
    /// Bytes of memory that it has.
    pub total_memory: u64,
    /// The number of units that run work at the same time.
    pub multi_processor_count: u32,
    /// Further properties: names and values for people.
    pub more: Vec<(&'static str, String)>,
}

/// Memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that no process has allocated.
    pub free: u64,
    /// Bytes that the device has.
    pub total: u64,
}

/// The priorities that streams of a device may have: a smaller number is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRange {
    /// The largest number.
    pub least: i32,
    /// The smallest number.
    pub greatest: i32,
}
