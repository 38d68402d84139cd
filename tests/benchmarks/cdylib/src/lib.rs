//! Times reads and guards inside a shared library that is opened at run time, as Python opens the
//! extension module: thread-locals are reached through a call there, not through a register.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use interlock::autograd;

thread_local! {
    static BARE: Cell<u64> = const { Cell::new(1) };
}

fn nanoseconds(iterations: u64, operation: impl Fn()) -> f64 {
    let started = Instant::now();
    for _ in 0..iterations {
        operation();
    }
    started.elapsed().as_nanos() as f64 / iterations as f64
}

/// Nanoseconds for each of `iterations` reads of a thread-local that nobody else knows: the floor.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_bare_read(iterations: u64) -> f64 {
    // What is never written may be read at compile time.
    BARE.set(iterations);
    nanoseconds(iterations, || {
        black_box(BARE.get());
    })
}

/// Nanoseconds for each of `iterations` reads of a mode.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_mode_read(iterations: u64) -> f64 {
    nanoseconds(iterations, || {
        black_box(autograd::is_grad_enabled());
    })
}

/// Nanoseconds to enter and leave a mode, for each of `iterations` times.
#[unsafe(no_mangle)]
pub extern "C" fn interlock_time_guard(iterations: u64) -> f64 {
    nanoseconds(iterations, || {
        black_box(&autograd::no_grad());
    })
}
