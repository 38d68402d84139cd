//! The choice of the fastest of several candidates by measurement, as `cudnn.benchmark` requests it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use once_cell::race::OnceBox;

use crate::base::fork_local::ForkLocal;
use crate::base::mutex::Mutex;

/// The fastest candidate of each call that was measured. The key of a call contains its device and the names of the
/// candidates. A forked child measures again.
///
/// ```
/// use std::time::Duration;
///
/// use interlock_core::dispatch::Autotuner;
///
/// static TUNER: Autotuner<usize> = Autotuner::new();
/// let measure = |name| Ok::<_, ()>(Duration::from_micros(if name == "direct" { 30 } else { 20 }));
/// let tuned = TUNER.fastest(&28, &["direct", "im2col"], 0, measure).unwrap();
/// assert_eq!(tuned.unwrap().to_string(), "tried 2 of 2, kept im2col");
/// let again = TUNER.fastest(&28, &["direct", "im2col"], 0, |_| Err("is not measured again")).unwrap();
/// assert_eq!(again.unwrap().to_string(), "tried 2 of 2, kept im2col, cached");
/// ```
pub struct Autotuner<K: 'static> {
    measured: OnceBox<ForkLocal<Measured<K>>>,
}

/// The results by key.
struct Measured<K>(Mutex<HashMap<K, Tuned>>);

impl<K> Default for Measured<K> {
    fn default() -> Self {
        Measured(Mutex::new(HashMap::new()))
    }
}

/// The result of a measurement.
///
/// ```
/// use interlock_core::dispatch::Tuned;
///
/// let tuned = Tuned { kept: "im2col", tried: 2, candidates: 3, is_cached: true };
/// assert_eq!(tuned.to_string(), "tried 2 of 3, kept im2col, cached");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuned {
    /// The fastest candidate.
    pub kept: &'static str,
    /// The number of candidates that were measured without an error.
    pub tried: usize,
    /// The number of candidates.
    pub candidates: usize,
    /// Whether an earlier call measured them.
    pub is_cached: bool,
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuned { kept, tried, candidates, is_cached } = self;
        write!(f, "tried {tried} of {candidates}, kept {kept}{}", if *is_cached { ", cached" } else { "" })
    }
}

impl<K: Clone + Eq + Hash> Autotuner<K> {
    /// Creates an autotuner without results.
    pub const fn new() -> Self {
        Autotuner { measured: OnceBox::new() }
    }

    fn measured(&self) -> &Mutex<HashMap<K, Tuned>> {
        &self.measured.get_or_init(Box::default).get().0
    }

    /// Returns the fastest of the first `limit` candidates; 0 means all. `measure` runs a candidate with scratch
    /// outputs and returns its time. It is called only for a key without a result, and must not be called while a stream
    /// captures. A candidate that fails is skipped. Returns `None` if there are no candidates.
    ///
    /// # Errors
    /// Returns the last error if every candidate fails; nothing is stored then.
    pub fn fastest<E>(
        &self,
        key: &K,
        candidates: &[&'static str],
        limit: u32,
        mut measure: impl FnMut(&'static str) -> Result<Duration, E>,
    ) -> Result<Option<Tuned>, E> {
        let cached = self.cached(key);
        if cached.is_some() {
            return Ok(cached);
        }
        let limit = if limit == 0 { usize::MAX } else { limit as usize };
        let (mut best, mut tried, mut failed): (Option<(Duration, &'static str)>, _, _) = (None, 0, None);
        for candidate in candidates.iter().copied().take(limit) {
            match measure(candidate) {
                Ok(time) => {
                    tried += 1;
                    // Of equal times the first candidate is kept.
                    if best.is_none_or(|(fastest, _)| time < fastest) {
                        best = Some((time, candidate));
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        match (best, failed) {
            (Some((_, kept)), _) => {
                let tuned = Tuned { kept, tried, candidates: candidates.len(), is_cached: false };
                // If another thread has measured meanwhile, its result is kept, so that all calls agree.
                let key = key.clone();
                let mut measured = self.measured().lock();
                if let Some(stored) = measured.get(&key) {
                    // The destructor of the key may use the autotuner, and runs after the lock is released.
                    return Ok(Some(*stored));
                }
                measured.insert(key, tuned);
                Ok(Some(tuned))
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// Returns the result of an earlier measurement.
    pub fn cached(&self, key: &K) -> Option<Tuned> {
        self.measured().lock().get(key).map(|tuned| Tuned { is_cached: true, ..*tuned })
    }

    /// Discards all results.
    pub fn clear(&self) {
        let discarded = std::mem::take(&mut *self.measured().lock());
        drop(discarded);
    }
}

impl<K: Clone + Eq + Hash> Default for Autotuner<K> {
    fn default() -> Self {
        Autotuner::new()
    }
}

impl<K> fmt::Debug for Autotuner<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Autotuner").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const CANDIDATES: [&str; 3] = ["direct", "im2col", "winograd"];

    /// Returns a measurement that notes the candidates and returns times from a table.
    fn times<'a>(
        seen: &'a RefCell<Vec<&'static str>>,
        table: [Result<u64, &'static str>; 3],
    ) -> impl FnMut(&'static str) -> Result<Duration, &'static str> + 'a {
        move |name| {
            seen.borrow_mut().push(name);
            let time = CANDIDATES.iter().zip(table).find(|(known, _)| **known == name);
            time.map_or(Err("unknown"), |(_, time)| time.map(Duration::from_nanos))
        }
    }

    #[test]
    fn fastest_measures_each_key_once() {
        let (tuner, seen) = (Autotuner::new(), RefCell::default());
        for (key, expected) in [(1, false), (1, true), (2, false)] {
            let tuned = tuner.fastest(&key, &CANDIDATES, 0, times(&seen, [Ok(3), Ok(1), Ok(2)])).unwrap();
            let expected = Tuned { kept: "im2col", tried: 3, candidates: 3, is_cached: expected };
            assert_eq!(tuned, Some(expected));
        }
        assert_eq!(seen.borrow().len(), 6);
    }

    #[test]
    fn fastest_tries_at_most_the_limit() {
        let (tuner, seen) = (Autotuner::new(), RefCell::default());
        let tuned = tuner.fastest(&(), &CANDIDATES, 2, times(&seen, [Ok(3), Ok(2), Ok(1)])).unwrap().unwrap();
        assert_eq!(tuned.to_string(), "tried 2 of 3, kept im2col");
        assert_eq!(*seen.borrow(), ["direct", "im2col"]);
    }

    #[test]
    fn fastest_keeps_the_first_of_equal_times_and_skips_failures() {
        let (tuner, seen) = (Autotuner::new(), RefCell::default());
        let tuned =
            tuner.fastest(&1, &CANDIDATES, 0, times(&seen, [Err("no"), Ok(1), Ok(1)])).unwrap().unwrap();
        assert_eq!((tuned.kept, tuned.tried), ("im2col", 2));
        let failed = tuner.fastest(&2, &CANDIDATES, 0, times(&seen, [Err("a"), Err("b"), Err("c")]));
        assert_eq!(failed, Err("c"));
        assert_eq!(tuner.fastest(&3, &[], 0, times(&seen, [Ok(1); 3])), Ok(None));
        let again = tuner.fastest(&2, &CANDIDATES, 0, times(&seen, [Ok(1); 3])).unwrap().unwrap();
        assert!(!again.is_cached, "a failure is not stored");
    }

    #[test]
    fn clear_discards_all_results() {
        let (tuner, seen) = (Autotuner::new(), RefCell::default());
        for _ in 0..2 {
            tuner.fastest(&(), &CANDIDATES, 1, times(&seen, [Ok(1); 3])).unwrap();
            tuner.clear();
        }
        assert_eq!(seen.borrow().len(), 2);
    }

    #[test]
    fn fastest_drops_keys_without_its_lock() {
        #[derive(Clone, PartialEq, Eq, Hash)]
        struct Key(&'static Autotuner<Key>);
        impl Drop for Key {
            fn drop(&mut self) {
                assert!(!self.0.measured().is_locked());
            }
        }
        impl Hash for Autotuner<Key> {
            fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
        }
        impl PartialEq for Autotuner<Key> {
            fn eq(&self, _: &Self) -> bool {
                true
            }
        }
        impl Eq for Autotuner<Key> {}
        static TUNER: Autotuner<Key> = Autotuner::new();
        let key = Key(&TUNER);
        let measure = |_| {
            // Another caller measures the call meanwhile.
            TUNER.fastest(&key, &CANDIDATES, 1, |_| Ok::<_, ()>(Duration::ZERO)).unwrap();
            Ok::<_, ()>(Duration::ZERO)
        };
        assert!(TUNER.fastest(&key, &CANDIDATES, 1, measure).unwrap().is_some());
        TUNER.clear();
    }

    #[test]
    fn fastest_on_two_threads_returns_one_result() {
        static TUNER: Autotuner<u8> = Autotuner::new();
        let kept = |fast: &'static str| {
            let measure = |name| Ok::<_, ()>(Duration::from_nanos(if name == fast { 1 } else { 2 }));
            TUNER.fastest(&0, &CANDIDATES, 0, measure).unwrap().unwrap().kept
        };
        let (first, second) = std::thread::scope(|threads| {
            let (first, second) = (threads.spawn(|| kept("direct")), threads.spawn(|| kept("winograd")));
            (first.join().unwrap(), second.join().unwrap())
        });
        assert_eq!(first, second);
        assert_eq!(kept("im2col"), first);
    }
}
