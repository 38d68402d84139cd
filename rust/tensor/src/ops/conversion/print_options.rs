//! How tensors are printed.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// The options of [`Tensor::text`](crate::Tensor::text): `torch.set_printoptions`.
///
/// ```
/// use interlock_tensor::{PrintOptions, Tensor};
///
/// let third = Tensor::from_slice(&[1.0f32 / 3.0], &[1])?;
/// PrintOptions { precision: 2, ..PrintOptions::DEFAULT }.make_default();
/// assert_eq!(third.to_string(), "tensor([0.33])");
/// PrintOptions::DEFAULT.make_default();
/// assert_eq!(third.to_string(), "tensor([0.3333])");
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// The digits of a number behind its point, at most [`MAX_PRECISION`](PrintOptions::MAX_PRECISION).
    pub precision: usize,
    /// Tensors with more elements than this are summarized.
    pub threshold: usize,
    /// The items at both ends of each dimension that a summary shows.
    pub edgeitems: usize,
    /// The characters of a line.
    pub linewidth: usize,
    /// Whether numbers have an exponent; `None` where they need one.
    pub sci_mode: Option<bool>,
}

/// The options of the process. Each is one word, because a child that is forked during a change must be able to print.
struct Words {
    precision: AtomicUsize,
    threshold: AtomicUsize,
    edgeitems: AtomicUsize,
    linewidth: AtomicUsize,
    sci_mode: AtomicU8,
}

static WORDS: Words = Words {
    precision: AtomicUsize::new(PrintOptions::DEFAULT.precision),
    threshold: AtomicUsize::new(PrintOptions::DEFAULT.threshold),
    edgeitems: AtomicUsize::new(PrintOptions::DEFAULT.edgeitems),
    linewidth: AtomicUsize::new(PrintOptions::DEFAULT.linewidth),
    sci_mode: AtomicU8::new(UNSET),
};

/// The values of `sci_mode`.
const UNSET: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

impl PrintOptions {
    /// The options of a process that has set none.
    pub const DEFAULT: Self =
        PrintOptions { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sci_mode: None };

    /// The largest precision.
    pub const MAX_PRECISION: usize = 1000;

    /// Returns the options of the process. While another thread sets them, some may be the new ones.
    pub fn of_process() -> Self {
        PrintOptions {
            precision: WORDS.precision.load(Ordering::Relaxed),
            threshold: WORDS.threshold.load(Ordering::Relaxed),
            edgeitems: WORDS.edgeitems.load(Ordering::Relaxed),
            linewidth: WORDS.linewidth.load(Ordering::Relaxed),
            sci_mode: match WORDS.sci_mode.load(Ordering::Relaxed) {
                UNSET => None,
                mode => Some(mode == ON),
            },
        }
    }

    /// Makes them the options of the process.
    pub fn make_default(self) {
        WORDS.precision.store(self.precision.min(Self::MAX_PRECISION), Ordering::Relaxed);
        WORDS.threshold.store(self.threshold, Ordering::Relaxed);
        WORDS.edgeitems.store(self.edgeitems, Ordering::Relaxed);
        WORDS.linewidth.store(self.linewidth, Ordering::Relaxed);
        let mode = self.sci_mode.map_or(UNSET, |on| if on { ON } else { OFF });
        WORDS.sci_mode.store(mode, Ordering::Relaxed);
    }
}
