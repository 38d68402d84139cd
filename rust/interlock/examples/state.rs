//! Modes and flags of the process, of a thread and of a captured state, and the list of what holds.
//!
//! `cargo run -p interlock-runtime --example state`

use interlock::autograd::{self, Mode};
use interlock::backends::flags::CUDNN_BENCHMARK_LIMIT;
use interlock::backends::{self, FlagScope, InputValue, Level, Value};
use interlock::state::{ThreadState, effective_values};

fn main() -> interlock::Result<()> {
    CUDNN_BENCHMARK_LIMIT.set(5)?; // for the process
    let limit = backends::find("cudnn.benchmark_limit")?;
    let scope = FlagScope::new([(limit, InputValue::Integer(7))], None)?;
    {
        let _guards = (autograd::no_grad(), scope.guard()); // for this thread
        let values = effective_values();
        let limit = values.get("cudnn.benchmark_limit").map(|value| (value.value, value.level));
        assert_eq!(limit, Some((Value::Integer(7), Level::Scope)));
        assert_eq!(values.to_string(), "state.grad = False (scope)\ncudnn.benchmark_limit = 7 (scope)");
    }
    assert_eq!(effective_values().to_string(), "cudnn.benchmark_limit = 5 (process)");

    // A state that no thread has had.
    let state = ThreadState::neutral().with_mode(Mode::Grad, false).with_flags(&scope);
    assert_eq!(state.run(|| (autograd::is_grad_enabled(), CUDNN_BENCHMARK_LIMIT.get())), (false, 7));

    // A wrong value changes nothing; the message names the flag and what it accepts.
    let refused =
        FlagScope::new([(limit, InputValue::Integer(-1))], None).err().map(|error| error.to_string());
    let message = "backends.cudnn.benchmark_limit must be an int from 0 to 2147483647, got -1";
    assert_eq!(refused.as_deref(), Some(message));
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn example_succeeds() {
        super::main().unwrap();
    }
}
