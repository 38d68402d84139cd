//! Times reads and guards inside a shared library that is opened at run time, as Python opens the
//! extension module: thread-locals are reached through a call there, not through a register.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use interlock::autograd;

thread_local! {
    static BARE: Cell<u64> = const { Cell::new(1) };
}

// Functions of their own, called through a pointer that the compiler can't see behind: otherwise the
// address of the thread-local would be asked for once, before the loop.

#[inline(never)]
fn read_bare() -> bool {
    BARE.get() != 0
}

#[inline(never)]
fn read_mode() -> bool {
    autograd::is_grad_enabled()
}

#[inline(never)]
fn enter_and_leave() -> bool {
    let _guard = autograd::no_grad();
    // The block of the guard: whatever stands here may look at the mode.
    black_box(true)
}

fn nanoseconds(iterations: u64, operation: fn() -> bool) -> f64 {
    let started = Instant::now();
    for _ in 0..iterations {
        black_box(black_box(operation)());
    }
    started.elapsed().as_nanos() as f64 / iterations as f64
}

/// Nanoseconds for each of `iterations` reads of a thread-local that nobody else knows: the floor.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_bare_read(iterations: u64) -> f64 {
    // What is never written may be read at compile time.
    BARE.set(iterations);
    nanoseconds(iterations, read_bare)
}

/// Nanoseconds for each of `iterations` reads of a mode.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_mode_read(iterations: u64) -> f64 {
    nanoseconds(iterations, read_mode)
}

/// Nanoseconds to enter and leave a mode, for each of `iterations` times.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_guard(iterations: u64) -> f64 {
    nanoseconds(iterations, enter_and_leave)
}
