//! Times reads and guards inside a shared library that is loaded at run time, like the extension module: thread-locals
//! are accessed through a call there, not through a register.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use interlock::autograd;

thread_local! {
    static BARE: Cell<u64> = const { Cell::new(1) };
}

// Separate functions, called through an opaque pointer. Otherwise the address of the thread-local would be computed
// once, before the loop.

#[inline(never)]
fn read_bare() -> bool {
    BARE.get() != 0
}

#[inline(never)]
fn read_mode() -> bool {
    autograd::is_grad_enabled()
}

#[inline(never)]
fn enter_and_exit() -> bool {
    let _guard = autograd::no_grad();
    // Code in the block of the guard may read the mode.
    black_box(true)
}

fn nanoseconds(iterations: u64, operation: fn() -> bool) -> f64 {
    let started = Instant::now();
    for _ in 0..iterations {
        black_box(black_box(operation)());
    }
    started.elapsed().as_nanos() as f64 / iterations as f64
}

/// Returns the nanoseconds of a read of a private thread-local, which is the baseline.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_bare_read(iterations: u64) -> f64 {
    // A constant could be folded by the compiler.
    BARE.set(iterations);
    nanoseconds(iterations, read_bare)
}

/// Returns the nanoseconds of a read of a mode.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_mode_read(iterations: u64) -> f64 {
    nanoseconds(iterations, read_mode)
}

/// Returns the nanoseconds to enter and exit a mode.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_guard(iterations: u64) -> f64 {
    nanoseconds(iterations, enter_and_exit)
}
