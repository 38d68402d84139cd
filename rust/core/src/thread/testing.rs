//! What tests of thread state share.

use std::cell::RefCell;
use std::sync::mpsc::channel;

/// Runs `live` on a thread, and gives what it returned to `end` when the layers of the thread have gone.
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

    let (told, was_told) = channel();
    let thread = std::thread::spawn(move || {
        // Older than the layers, so its destructor runs after theirs.
        LAST.with(|_| ());
        let lived = live();
        LAST.with_borrow_mut(|last| last.0 = Some(Box::new(move || told.send(end(lived)).unwrap())));
    });
    thread.join().unwrap();
    was_told.recv().unwrap()
}
