//! What is counted of memory, by PyTorch's names.

/// A number that goes up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// How much there is now.
    pub current: u64,
    /// How much there was at most, since it was last reset.
    pub peak: u64,
    /// By how much it went up, since it was last reset.
    pub allocated: u64,
    /// By how much it went down, since it was last reset.
    pub freed: u64,
}

impl Stat {
    /// Goes up.
    pub(super) fn add(&mut self, amount: u64) {
        self.current += amount;
        self.peak = self.peak.max(self.current);
        self.allocated += amount;
    }

    /// Goes down.
    pub(super) fn take(&mut self, amount: u64) {
        self.current = self.current.saturating_sub(amount);
        self.freed += amount;
    }

    /// The peak is what there is now.
    pub(super) fn reset_peak(&mut self) {
        self.peak = self.current;
    }

    /// Counts anew what goes up and down.
    pub(super) fn reset_accumulated(&mut self) {
        (self.allocated, self.freed) = (0, 0);
    }

    /// The four numbers by name.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [("current", self.current), ("peak", self.peak), ("allocated", self.allocated), ("freed", self.freed)]
    }
}
