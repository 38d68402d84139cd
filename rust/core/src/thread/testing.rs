//! Helpers for tests of thread state.

use std::cell::RefCell;
use std::sync::mpsc::channel;

/// Runs `live` on a thread and passes its result to `end`, which runs after the layers of the thread are dropped.
pub(crate) fn run_at_thread_end<T: 'static, R: Send + 'static>(
    live: impl FnOnce() -> T + Send + 'static,
    end: impl FnOnce(T) -> R + Send + 'static,
) -> R {
    #[derive(Default)]
    struct Last(Option<Box<dyn FnOnce()>>);

    impl Drop for Last {
        fn drop(&mut self) {
            self.0.take().unwrap()();
        }
    }

    thread_local! {
        static LAST: RefCell<Last> = RefCell::default();
    }

    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || {
        // Initialized before the layers, so its destructor runs after theirs.
        LAST.with(|_| ());
        let result = live();
        LAST.with_borrow_mut(|last| last.0 = Some(Box::new(move || sender.send(end(result)).unwrap())));
    });
    thread.join().unwrap();
    receiver.recv().unwrap()
}
