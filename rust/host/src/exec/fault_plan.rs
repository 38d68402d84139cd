//! The faults that are still to occur, and the choice of the operations that they affect.

use std::time::{Duration, Instant};

use interlock_driver::{DeviceIndex, Error};

use crate::exec::command::{Command, Task};
use crate::fault::{Fault, FaultEffect, FaultOperation, PendingFault};
use crate::object::device;

/// The faults that are still to be injected.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    /// In the order in which they were injected.
    rules: Vec<Rule>,
    /// All faults that were injected since the last `clear`.
    injected: Vec<Fault>,
    /// The number of live [`PausedCopies`](crate::PausedCopies).
    copy_pauses: u32,
}

/// An operation, as faults match it.
pub(crate) struct Work<'a> {
    operation: FaultOperation,
    name: Option<&'a str>,
    device: Option<DeviceIndex>,
    stream: Option<u64>,
}

/// What the faults do to an operation.
#[derive(Debug, Default)]
pub(crate) struct Fired {
    failure: Option<InjectedFailure>,
    delay: Option<Delay>,
    /// Whether the operation does not complete until it is released.
    never: bool,
}

/// An injected failure.
#[derive(Debug)]
pub(crate) struct InjectedFailure {
    reason: String,
    /// Whether the device is lost.
    is_sticky: bool,
}

#[derive(Debug)]
struct Delay {
    time: Duration,
    /// When the delay began, once the operation could run.
    began: Option<Instant>,
}

/// Whether a delayed operation may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    /// Not before this time; without a time, not before it is released.
    NotBefore(Option<Instant>),
}

impl<'a> Work<'a> {
    /// Returns the work of a command that is being queued, unless it is one that faults do not match.
    pub(crate) fn of_command(command: &'a Command, device: DeviceIndex, stream: u64) -> Option<Self> {
        let (operation, name) = match command {
            Command::Run(Task::HostFn(function)) => (FaultOperation::Launch, Some(&*function.name)),
            Command::Run(Task::Copy(_)) => (FaultOperation::Copy, None),
            Command::Run(Task::Fill(_)) => (FaultOperation::Fill, None),
            Command::SignalEvent(_) => (FaultOperation::Event, None),
            Command::WaitFor(_) | Command::Nop => return None,
        };
        Some(Work { operation, name, device: Some(device), stream: Some(stream) })
    }

    /// Returns the allocation of memory of a device, or of pinned memory if `device` is `None`.
    pub(crate) fn of_allocation(device: Option<DeviceIndex>) -> Self {
        let operation = match device {
            Some(_) => FaultOperation::Allocation,
            None => FaultOperation::PinnedAllocation,
        };
        Work { operation, name: None, device, stream: None }
    }
}

impl FaultPlan {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.injected.push(fault.clone());
        let random = SplitMix64(fault.chance.map_or(0, |chance| chance.seed));
        self.rules.push(Rule { fault, matched: 0, fired: 0, random });
    }

    pub(crate) fn pending(&self) -> Vec<PendingFault> {
        let pending = |rule: &Rule| PendingFault {
            fault: rule.fault.clone(),
            matched: rule.matched,
            fired: rule.fired,
        };
        self.rules.iter().map(pending).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
        self.injected.clear();
    }

    pub(crate) fn injected(&self) -> &[Fault] {
        &self.injected
    }

    /// Counts an operation and returns what happens to it.
    pub(crate) fn count(&mut self, work: &Work<'_>) -> Fired {
        let mut fired = Fired::default();
        for rule in &mut self.rules {
            if rule.fires(work, fired.failure.is_some()) {
                fired.add(&rule.fault.effect);
            }
        }
        self.rules.retain(|rule| !rule.is_finished());
        fired
    }

    pub(crate) fn copies_are_paused(&self) -> bool {
        self.copy_pauses > 0
    }

    pub(crate) fn pause_copies(&mut self) {
        self.copy_pauses += 1;
    }

    pub(crate) fn resume_copies(&mut self) {
        debug_assert!(self.copy_pauses > 0, "more pauses of copies end than began");
        self.copy_pauses = self.copy_pauses.saturating_sub(1);
    }
}

impl Fired {
    fn add(&mut self, effect: &FaultEffect) {
        match effect {
            FaultEffect::Fail { reason } => {
                self.failure = Some(InjectedFailure { reason: reason.clone(), is_sticky: false });
            }
            FaultEffect::LoseDevice { reason } => {
                self.failure = Some(InjectedFailure { reason: reason.clone(), is_sticky: true });
            }
            FaultEffect::Delay(time) => {
                let before = self.delay.as_ref().map_or(Duration::ZERO, |delay| delay.time);
                self.delay = Some(Delay { time: before.saturating_add(*time), began: None });
            }
            FaultEffect::Never => self.never = true,
        }
    }

    pub(crate) fn failure(&self) -> Option<&InjectedFailure> {
        self.failure.as_ref()
    }

    /// Returns whether the operation does not complete until it is released.
    pub(crate) fn never_completes(&self) -> bool {
        self.never
    }

    /// Begins the delay of an operation that could run now, and returns whether it may.
    pub(crate) fn readiness(&mut self) -> Readiness {
        let Some(delay) = &mut self.delay else { return Readiness::Ready };
        let now = Instant::now();
        // A time that overflows `Instant` never comes.
        let end = delay.began.get_or_insert(now).checked_add(delay.time);
        if end.is_some_and(|end| end <= now) { Readiness::Ready } else { Readiness::NotBefore(end) }
    }

    /// Ends the delay, and lets the operation complete.
    pub(crate) fn release(&mut self) {
        (self.delay, self.never) = (None, false);
    }
}

impl InjectedFailure {
    /// Returns the error of an operation on a device.
    pub(crate) fn error(&self, device: DeviceIndex, operation: &str) -> Error {
        Error::device(device::named(device), operation, &*self.reason)
    }

    /// Returns the reason why the device is lost, if it is.
    pub(crate) fn loss(&self, operation: &str) -> Option<String> {
        self.is_sticky.then(|| format!("{operation} had failed: {}", self.reason))
    }
}

/// A fault, and what it has matched.
#[derive(Debug)]
struct Rule {
    fault: Fault,
    matched: u64,
    fired: u64,
    random: SplitMix64,
}

impl Rule {
    fn matches(&self, work: &Work<'_>) -> bool {
        let fault = &self.fault;
        let is_of_kind = match fault.operation {
            Some(operation) => operation == work.operation,
            None => {
                matches!(work.operation, FaultOperation::Launch | FaultOperation::Copy | FaultOperation::Fill)
            }
        };
        is_of_kind
            && fault.device.is_none_or(|device| work.device == Some(device))
            && fault.stream.is_none_or(|stream| work.stream == Some(stream))
            && fault
                .name
                .as_ref()
                .is_none_or(|pattern| work.name.is_some_and(|name| matches_pattern(pattern, name)))
    }

    /// Counts the operation if the fault matches it, and returns whether the fault affects it. A failure does not affect
    /// an operation that fails already.
    fn fires(&mut self, work: &Work<'_>, fails_already: bool) -> bool {
        if !self.matches(work) {
            return false;
        }
        self.matched += 1;
        if self.matched < self.fault.number {
            return false;
        }
        let is_chosen = match self.fault.chance {
            Some(chance) => self.random.next_unit() < chance.probability,
            None => true,
        };
        let is_failure =
            matches!(self.fault.effect, FaultEffect::Fail { .. } | FaultEffect::LoseDevice { .. });
        let fires = is_chosen && !(is_failure && fails_already);
        self.fired += u64::from(fires);
        fires
    }

    fn is_finished(&self) -> bool {
        self.fault.times.is_some_and(|times| self.fired >= times)
    }
}

/// The generator SplitMix64, as in Sebastiano Vigna's public-domain code.
#[derive(Debug)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to, but not including, 1.
    fn next_unit(&mut self) -> f64 {
        // The upper 53 bits, which a float represents exactly.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Returns whether a name matches a pattern, in which `*` stands for any text and `?` for one character.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut rest = name.chars();
    let mut parts = pattern.chars();
    // Where to continue after a mismatch: behind the last `*`, with one character more that it stands for.
    let mut retry = None;
    loop {
        let name_before = rest.clone();
        let matched = match (parts.next(), rest.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((parts.clone(), name_before.clone()));
                rest = name_before;
                true
            }
            (Some(wanted), Some(found)) => wanted == '?' || wanted == found,
            (None, Some(_)) | (Some(_), None) => false,
        };
        if matched {
            continue;
        }
        let Some((pattern_after, mut name_after)) = retry else { return false };
        if name_after.next().is_none() {
            return false;
        }
        (parts, rest) = (pattern_after.clone(), name_after.clone());
        retry = Some((pattern_after, name_after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Chance;

    #[test]
    fn random_numbers_are_those_of_the_reference_code() {
        let mut random = SplitMix64(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn patterns_match_as_those_of_file_names() {
        let matching = [
            ("work", "work"),
            ("*", ""),
            ("*work", "a.<locals>.work"),
            ("?o*k*", "worked"),
            ("a*b*c", "abbcbc"),
        ];
        for (pattern, name) in matching {
            assert!(matches_pattern(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("work", "works"), ("?", ""), ("*b", "abc"), ("a*b*c", "acb"), ("", "x")] {
            assert!(!matches_pattern(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn choices_depend_on_the_seed_only() {
        let choices = |seed| {
            let mut plan = FaultPlan::default();
            let chance = Some(Chance { probability: 0.5, seed });
            plan.add(Fault { chance, times: None, ..Fault::new(FaultEffect::Never) });
            let work = Work { operation: FaultOperation::Copy, name: None, device: Some(0), stream: Some(1) };
            (0..64).map(|_| plan.count(&work).never_completes()).collect::<Vec<_>>()
        };
        assert_eq!(choices(3), choices(3));
        assert_ne!(choices(3), choices(4));
        assert!((16..48).contains(&choices(3).iter().filter(|chosen| **chosen).count()));
    }
}
