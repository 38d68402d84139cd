//! Properties of devices.

/// The properties of a device.
///
/// ```
/// use interlock_driver::DeviceProperties;
///
/// let properties = DeviceProperties {
///     name: "Example 100".into(),
///     total_memory: 8 << 30,
///     multi_processor_count: 64,
///     extra: vec![("clock", "1.4 GHz".into())],
/// };
/// println!("{}: {} GiB", properties.name, properties.total_memory >> 30);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The name given by the vendor.
    pub name: String,
    /// The total memory in bytes.
    pub total_memory: u64,
    /// The number of units that run work at the same time.
    pub multi_processor_count: u32,
    /// Further properties, as names and readable values.
    pub extra: Vec<(&'static str, String)>,
}

/// Memory of a device, in bytes.
///
/// ```
/// use interlock_driver::MemoryInfo;
///
/// let info = MemoryInfo { free: 2 << 30, total: 8 << 30 };
/// assert_eq!((info.total - info.free) >> 30, 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The bytes that no process has allocated.
    pub free: u64,
    /// The total memory of the device.
    pub total: u64,
}

/// The range of stream priorities of a device. Streams with smaller numbers run first.
///
/// ```
/// use interlock_driver::PriorityRange;
///
/// let range = PriorityRange { least: 0, greatest: -3 };
/// let clamped = (-10).clamp(range.greatest, range.least);
/// assert_eq!(clamped, -3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityRange {
    /// The least priority, which is the largest number.
    pub least: i32,
    /// The greatest priority, which is the smallest number.
    pub greatest: i32,
}
