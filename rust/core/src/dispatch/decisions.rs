//! The decisions about the kernels of a call.

use super::kernel::Kernel;
use super::operation::Operation;
use super::record::{Considered, Outcome, Reason};

/// An iterator over the kernels that accept a call, in the order in which they are tried. Selection, records,
/// explanations and errors read it.
pub(super) struct Decisions<'a, O: Operation, I> {
    call: &'a O::Call,
    kernels: I,
    /// Whether kernels that refuse before they run are listed too, which builds their reasons.
    lists_refusals: bool,
    considered: Vec<Considered>,
}

impl<'a, O: Operation, I: Iterator<Item = &'static Kernel<O>>> Decisions<'a, O, I> {
    /// Creates an iterator over those of `kernels` that accept the call.
    #[inline]
    pub(super) fn new(call: &'a O::Call, kernels: I, lists_refusals: bool) -> Self {
        Decisions { call, kernels, lists_refusals, considered: Vec::new() }
    }

    /// Lists a kernel that refused when it ran.
    pub(super) fn refuse(&mut self, kernel: &Kernel<O>, reason: Reason) {
        self.considered.push(kernel.refused(reason));
    }

    /// Returns the list, with the kernel that ran and those behind it.
    pub(super) fn finish(mut self, chosen: Option<&Kernel<O>>) -> Vec<Considered> {
        if let Some(chosen) = chosen {
            self.considered.push(Considered { kernel: chosen.name, outcome: Outcome::Chosen });
            self.considered.extend(self.kernels.map(|kernel| kernel.not_reached(chosen.name, self.call)));
        }
        self.considered
    }
}

impl<O: Operation, I: Iterator<Item = &'static Kernel<O>>> Iterator for Decisions<'_, O, I> {
    type Item = &'static Kernel<O>;

    // Calls, explanations and errors share it.
    #[inline(never)]
    fn next(&mut self) -> Option<&'static Kernel<O>> {
        self.kernels.find(|kernel| {
            if !self.lists_refusals {
                return kernel.accepts(self.call);
            }
            let refusal = kernel.refusal(self.call).map(|reason| kernel.refused(reason));
            let accepts = refusal.is_none();
            self.considered.extend(refusal);
            accepts
        })
    }
}
