//! A setting of another library that follows a flag.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock::backends::{self, FlagChange, FlagDecl, FlagHook, FlagType, Level, Value};

/// A library with a setting of its own, which is slow to change and exists once in the process.
mod engine {
    use super::{AtomicU64, Ordering};

    static NUM_THREADS: AtomicU64 = AtomicU64::new(1);

    pub fn num_threads() -> u64 {
        NUM_THREADS.load(Ordering::Relaxed)
    }

    pub fn set_num_threads(number: u64) {
        NUM_THREADS.store(number, Ordering::Relaxed);
    }
}

/// Registers the flag `host.engine_threads` and sets the engine to its value, now and after each write, until the hook is
/// dropped.
fn follow() -> interlock::Result<FlagHook> {
    let flag_type = FlagType::Integer { default: 2, minimum: 1, maximum: 64 };
    let (spec, _) =
        backends::register(FlagDecl::new("host.engine_threads", flag_type, "Threads of the engine."))?;
    let set = |value| {
        if let Value::Integer(number) = value {
            engine::set_num_threads(number.unsigned_abs());
        }
    };
    // The hook first, so that no write is missed.
    let hook = backends::on_change_of(spec, move |change| match change {
        FlagChange::Write { new, level, .. } if *level != Level::Scope => set(*new),
        // A scope holds for one thread, and the setting for all: it has no effect here.
        _ => {}
    });
    set(spec.read());
    Ok(hook)
}

/// Returns the setting of the engine by default, after a write of Rust and of Python, and after the hook was dropped.
pub fn follow_num_threads() -> Result<[u64; 4], Box<dyn Error>> {
    let hook = follow()?;
    let by_default = engine::num_threads();
    let flag = backends::find("host.engine_threads")?.handle::<i64>()?;
    flag.set(4)?;
    let by_rust = engine::num_threads();
    pyo3::Python::attach(|py| {
        py.run(c"from interlock import backends; backends.Flag('host.engine_threads').value = 8", None, None)
    })?;
    let by_python = engine::num_threads();
    drop(hook);
    flag.set(16)?;
    Ok([by_default, by_rust, by_python, engine::num_threads()])
}
