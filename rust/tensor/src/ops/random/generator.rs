//! The generators of random numbers: that of the CPU, one for each device, and those that a program creates.

use std::sync::atomic::{AtomicU64, Ordering};

use interlock::accelerator::current_index;
use interlock::accelerator::{Device, device_count};

use crate::{Placement, Result};

/// The default seed. It is fixed, so that runs are reproducible.
const FIRST_SEED: u64 = 0x5eed;

static CPU: Generator = Generator::new();
/// By index: a process uses one driver.
static DEVICES: [Generator; Device::MAX_INDEX as usize + 1] = [const { Generator::new() }; _];

/// A generator of seeds: each random tensor has its own. Equal states produce the same numbers on every device.
///
/// ```
/// use interlock_tensor::{DType, Generator, GeneratorState, Placement, manual_seed};
///
/// let generator = Generator::new();
/// generator.set_state(GeneratorState::from_seed(7));
/// let drawn = generator.rand(&[3], DType::Float64)?.to_vec::<f64>()?;
/// // The default generators draw the same numbers after the same seed.
/// manual_seed(7);
/// assert_eq!(Generator::of(Placement::Cpu).rand(&[3], DType::Float64)?.to_vec::<f64>()?, drawn);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct Generator {
    // Not a lock: a child that is forked while another thread draws must be able to draw.
    initial_seed: AtomicU64,
    /// The seed of the next random tensor.
    next_seed: AtomicU64,
}

/// The state of a [`Generator`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorState {
    initial_seed: u64,
    next_seed: u64,
}

impl Default for Generator {
    fn default() -> Self {
        Generator::new()
    }
}

impl Generator {
    /// Returns a generator with the default seed.
    pub const fn new() -> Self {
        Generator { initial_seed: AtomicU64::new(FIRST_SEED), next_seed: AtomicU64::new(FIRST_SEED) }
    }

    /// Returns the default generator of a kind of memory. A device without an index is the current one.
    pub fn of(placement: Placement) -> &'static Self {
        let index = match placement {
            Placement::Cpu | Placement::Pinned => return &CPU,
            Placement::Device(device) => device.index().or_else(current_index).unwrap_or(0),
        };
        // No device has an index that is out of range.
        DEVICES.get(usize::from(index)).unwrap_or(&CPU)
    }

    /// Returns the seed that was set last.
    pub fn initial_seed(&self) -> u64 {
        self.initial_seed.load(Ordering::Relaxed)
    }

    /// Returns the state. While another thread sets it, the parts may be of two states.
    pub fn state(&self) -> GeneratorState {
        let next_seed = self.next_seed.load(Ordering::Relaxed);
        GeneratorState { initial_seed: self.initial_seed(), next_seed }
    }

    /// Sets the state.
    pub fn set_state(&self, state: GeneratorState) {
        self.initial_seed.store(state.initial_seed, Ordering::Relaxed);
        self.next_seed.store(state.next_seed, Ordering::Relaxed);
    }

    /// Runs an operation that draws a tensor of this shape with the seed of the next tensor. One without elements draws
    /// nothing. If the operation fails, the next one gets the seed, unless another thread has drawn meanwhile.
    ///
    /// The seeds of tensors are a SplitMix64 sequence (Steele, Lea and Flood, 2014), because `fastrand` returns correlated
    /// numbers for neighbouring seeds.
    pub(crate) fn draw<T>(&self, shape: &[usize], operation: impl FnOnce(u64) -> Result<T>) -> Result<T> {
        // The golden ratio in 64 bits.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        if shape.contains(&0) {
            return operation(mixed(self.next_seed.load(Ordering::Relaxed)));
        }
        let seed = self.next_seed.fetch_add(STEP, Ordering::Relaxed);
        operation(mixed(seed)).inspect_err(|_| {
            let drawn = seed.wrapping_add(STEP);
            let _ = self.next_seed.compare_exchange(drawn, seed, Ordering::Relaxed, Ordering::Relaxed);
        })
    }
}

/// Returns a number each of whose bits depends on all bits of another one: the last step of SplitMix64.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl GeneratorState {
    /// The size of a state as bytes.
    pub const BYTES: usize = size_of::<u128>();

    /// Returns the state of a generator that was seeded and has drawn nothing.
    pub fn from_seed(seed: u64) -> Self {
        GeneratorState { initial_seed: seed, next_seed: seed }
    }

    /// Returns the state as bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        (u128::from(self.next_seed) << u64::BITS | u128::from(self.initial_seed)).to_le_bytes()
    }

    /// Returns the state with these bytes.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let both = u128::from_le_bytes(bytes);
        GeneratorState { initial_seed: both as u64, next_seed: (both >> u64::BITS) as u64 }
    }
}

/// Seeds the generators of the CPU and of all devices: `torch.manual_seed`. The same calls return the same numbers
/// after the same seed.
pub fn manual_seed(seed: u64) {
    let state = GeneratorState::from_seed(seed);
    CPU.set_state(state);
    DEVICES.iter().for_each(|generator| generator.set_state(state));
}

/// The states of the generators that the program can use, to be restored together.
#[derive(Clone, Debug)]
pub struct GeneratorStates {
    cpu: GeneratorState,
    devices: Vec<GeneratorState>,
}

impl GeneratorStates {
    /// Returns the present states.
    pub fn capture() -> Self {
        // Before the driver is used, no device has drawn.
        let count = current_index().map_or(0, |_| device_count() as usize);
        GeneratorStates {
            cpu: CPU.state(),
            devices: DEVICES.iter().take(count).map(Generator::state).collect(),
        }
    }

    /// Sets the states.
    pub fn restore(&self) {
        CPU.set_state(self.cpu);
        DEVICES.iter().zip(&self.devices).for_each(|(generator, state)| generator.set_state(*state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn next_seed(generator: &Generator) -> u64 {
        generator.draw(&[1], Ok).unwrap()
    }

    #[test]
    fn failed_draw_returns_its_seed_unless_others_have_drawn() {
        let generator = Generator::new();
        let fail = || Err::<(), _>(Error::no_graph("backward"));
        let state = generator.state();
        assert!(generator.draw(&[2], |_| fail()).is_err());
        assert_eq!(generator.state(), state);
        let between = generator.draw(&[2], |seed| {
            let between = next_seed(&generator);
            assert_ne!(between, seed);
            fail().map(|()| between)
        });
        assert!(between.is_err());
        let after = generator.state();
        assert_ne!(after, state);
        generator.draw(&[3, 0], |_| Ok(())).unwrap();
        assert_eq!(generator.state(), after);
    }
}
