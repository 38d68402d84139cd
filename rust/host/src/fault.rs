//! Faults as data: what a fault matches, and what it does.

use std::time::Duration;

use interlock_core::named_enum;
use interlock_driver::{DeviceIndex, Error, Result};

/// A fault of the devices of a host driver: which operations it matches, which of the matches it affects, and how. Its
/// fields that are `None` match everything.
///
/// Operations are counted when they are queued, those of a graph when it is replayed. A fault without an operation
/// matches functions, copies and fills.
///
/// ```
/// use std::time::Duration;
/// use interlock_host::{Fault, FaultEffect, FaultInjector, FaultOperation, HostDriver, HostOptions};
///
/// let faults = FaultInjector::new();
/// let runtime = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?.start()?;
/// let third = Fault { number: 3, ..Fault::new(FaultEffect::Fail { reason: "bus error".into() }) };
/// faults.inject(Fault { operation: Some(FaultOperation::Copy), ..third })?;
/// // A slow device.
/// let delay = FaultEffect::Delay(Duration::from_millis(1));
/// faults.inject(Fault { device: Some(0), times: None, ..Fault::new(delay) })?;
/// assert_eq!(faults.pending()?.len(), 2);
/// faults.clear()?;
/// # drop(runtime);
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What happens.
    pub effect: FaultEffect,
    /// The kind of operation.
    pub operation: Option<FaultOperation>,
    /// The name of a function or a kernel, in which `*` stands for any text and `?` for one character.
    pub name: Option<String>,
    /// The device that does the work, or of the allocated memory.
    pub device: Option<DeviceIndex>,
    /// The handle of the stream.
    pub stream: Option<u64>,
    /// The first match that is affected; 1 is the next.
    pub number: u64,
    /// How many matches are affected, from that one on; `None` means all.
    pub times: Option<u64>,
    /// Whether chance decides about each of them.
    pub chance: Option<Chance>,
}

named_enum! {
    /// The kind of the operations that a [`Fault`] matches.
    ///
    /// ```
    /// use interlock_host::FaultOperation;
    ///
    /// assert_eq!("pinned allocation".parse(), Ok(FaultOperation::PinnedAllocation));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FaultOperation {
        /// A function on a stream, also a kernel of a tensor.
        Launch => "launch",
        /// A copy.
        Copy => "copy",
        /// A fill.
        Fill => "fill",
        /// A record of an event.
        Event => "event",
        /// An allocation of device memory by the driver. Mapping memory to addresses is one, too.
        Allocation => "allocation",
        /// An allocation of pinned memory by the driver.
        PinnedAllocation => "pinned allocation",
    }
}

/// What a [`Fault`] does to an operation. At most one fault fails an operation: another one whose turn it is fails the
/// next match.
///
/// ```
/// use interlock_host::{Fault, FaultEffect};
///
/// let hangs = Fault::new(FaultEffect::Never);
/// assert_eq!((hangs.number, hangs.times), (1, Some(1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// The operation fails without running. Queued work reports it asynchronously; an allocation runs out of memory,
    /// without the reason.
    Fail {
        /// The reason in the error.
        reason: String,
    },
    /// The operation breaks its device, like a sticky error of CUDA: it does not run, and every later call that uses the
    /// device returns [`Error::DeviceLost`].
    LoseDevice {
        /// The reason in the errors.
        reason: String,
    },
    /// The operation runs later than it could, by this time.
    Delay(Duration),
    /// The operation, and the work behind it on its stream, does not complete before
    /// [`clear`](super::FaultInjector::clear) is called or the driver is dropped.
    Never,
}

/// A probability and the seed of its random choices: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014), one number for each match.
///
/// ```
/// use interlock_host::{Chance, Fault, FaultEffect};
///
/// let chance = Some(Chance { probability: 0.25, seed: 7 });
/// let sometimes = Fault { chance, times: None, ..Fault::new(FaultEffect::Fail { reason: "flaky".into() }) };
/// assert_eq!(sometimes.chance, chance);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// The probability that a match is affected, from 0 to 1.
    pub probability: f64,
    /// The seed. The same seed gives the same choices, in the order of the matches.
    pub seed: u64,
}

/// A fault that is still to occur, or may occur again.
///
/// ```
/// use interlock_host::{Fault, FaultEffect, FaultInjector, HostDriver, HostOptions};
///
/// let faults = FaultInjector::new();
/// let _driver = HostDriver::new(HostOptions { faults: faults.clone(), ..HostOptions::default() })?;
/// faults.inject(Fault::new(FaultEffect::Never))?;
/// let pending = faults.pending()?;
/// assert_eq!((pending[0].matched, pending[0].fired), (0, 0));
/// # Ok::<(), interlock_driver::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingFault {
    /// The fault.
    pub fault: Fault,
    /// The number of operations that it has matched.
    pub matched: u64,
    /// The number of operations that it has affected.
    pub fired: u64,
}

impl FaultOperation {
    /// Returns whether the operation is an allocation, which happens at once and on no stream.
    fn is_allocation(self) -> bool {
        matches!(self, FaultOperation::Allocation | FaultOperation::PinnedAllocation)
    }
}

impl Fault {
    /// Creates a fault of the next function, copy or fill.
    pub fn new(effect: FaultEffect) -> Self {
        Fault {
            effect,
            operation: None,
            name: None,
            device: None,
            stream: None,
            number: 1,
            times: Some(1),
            chance: None,
        }
    }

    /// Returns an error of `function` if an argument has a value that is not accepted, or if no operation could match.
    pub(crate) fn check(&self, function: &str) -> Result<()> {
        let refuse = |argument: &str, given: &str, allowed: &str| {
            Err(Error::argument(format!("FaultInjector.{function}: {argument}"), given, allowed))
        };
        for (argument, value) in [("number", self.number), ("times", self.times.unwrap_or(1))] {
            if value == 0 {
                return refuse(argument, "0", "at least 1");
            }
        }
        if let Some(Chance { probability, .. }) = self.chance
            && !(0.0..=1.0).contains(&probability)
        {
            return refuse("probability", &probability.to_string(), "from 0 to 1");
        }
        let Some(operation) = self.operation else { return Ok(()) };
        let given = format!("\"{operation}\"");
        let fails = matches!(self.effect, FaultEffect::Fail { .. });
        let can_do = match operation {
            FaultOperation::PinnedAllocation => fails && self.device.is_none(),
            FaultOperation::Allocation => fails || matches!(self.effect, FaultEffect::LoseDevice { .. }),
            FaultOperation::Event => !matches!(self.effect, FaultEffect::Delay(_)),
            FaultOperation::Launch | FaultOperation::Copy | FaultOperation::Fill => true,
        };
        if !can_do {
            let allowed = "an operation that the fault can affect: allocations and events cannot be delayed, \
                           allocations always end, and pinned memory has no device";
            return refuse("operation", &given, allowed);
        }
        if self.name.is_some() && operation != FaultOperation::Launch {
            return refuse("operation", &given, "\"launch\" with a name: only functions have one");
        }
        if self.stream.is_some() && operation.is_allocation() {
            return refuse("operation", &given, "one of work on streams with a stream");
        }
        Ok(())
    }
}
