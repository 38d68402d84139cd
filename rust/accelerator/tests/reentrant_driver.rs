//! Tests that no lock is held while a registered driver is called. The driver is global, so its use is one test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::time::Duration;

use interlock_accelerator::{self as accelerator, DeviceType, Error, Stream};
use interlock_driver::{Driver, DriverRuntime, Result};
use interlock_host::{HostDriver, HostOptions};

/// A timeout that no successful call reaches.
const TOO_LONG: Duration = Duration::from_secs(60);

static KIND: LazyLock<DeviceType> = LazyLock::new(|| DeviceType::from_name("reentrant").unwrap());

/// A driver that queries the accelerator when it is called, and waits for the test if it is to `block`.
struct Reentrant {
    inner: Arc<dyn Driver>,
    block: AtomicBool,
    entered: mpsc::SyncSender<()>,
    leave: Mutex<mpsc::Receiver<()>>,
}

impl Reentrant {
    fn new() -> (Arc<Self>, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let ((entered, is_entered), (leaves, leave)) = (mpsc::sync_channel(1), mpsc::channel());
        let inner = HostDriver::new(HostOptions::default()).unwrap();
        let leave = Mutex::new(leave);
        (Arc::new(Reentrant { inner, block: AtomicBool::new(false), entered, leave }), is_entered, leaves)
    }
}

impl Driver for Reentrant {
    fn device_type(&self) -> DeviceType {
        accelerator::current_index();
        if self.block.swap(false, Ordering::SeqCst) {
            self.entered.send(()).unwrap();
            self.leave.lock().unwrap().recv().unwrap();
        }
        *KIND
    }

    fn unavailable_reason(&self) -> Option<String> {
        accelerator::current_index();
        self.inner.unavailable_reason()
    }

    fn device_count(&self) -> u32 {
        accelerator::current_index();
        self.inner.device_count()
    }

    fn stale_env_warning(&self) -> Option<String> {
        accelerator::current_index();
        None
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        accelerator::current_index();
        self.inner.start()
    }
}

/// Runs a function on another thread, which a deadlock does not end.
fn within_time<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(function()));
    receiver.recv_timeout(TOO_LONG).unwrap()
}

#[test]
fn driver_is_called_without_the_lock_of_the_registry() {
    let (driver, ..) = Reentrant::new();
    let again = driver.clone();
    within_time(move || {
        accelerator::register_driver(driver).unwrap();
        accelerator::register_driver(again).unwrap();
        accelerator::known_devices();
        assert_eq!(accelerator::device_count(), 1);
        assert!(matches!(accelerator::use_named("reentrants"), Err(Error::UnknownDriver { .. })));
        accelerator::use_named("reentrant").unwrap();
        Stream::new(None, 0).unwrap();
        accelerator::stale_env_warning();
        accelerator::known_devices();
    });

    // Another thread uses the device while a driver blocks in a call of the registry.
    let (blocked, is_entered, leaves) = Reentrant::new();
    blocked.block.store(true, Ordering::SeqCst);
    let registering = std::thread::spawn(move || accelerator::register_driver(blocked));
    is_entered.recv_timeout(TOO_LONG).unwrap();
    within_time(|| Stream::new(None, 0).unwrap().synchronize().unwrap());
    leaves.send(()).unwrap();
    let refused = registering.join().unwrap();
    assert!(matches!(refused, Err(Error::DriverInUse { .. })), "{refused:?}");
}
