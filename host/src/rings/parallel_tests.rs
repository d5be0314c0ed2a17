//! Tests that do not wait for each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::tally::TestCounts;
use crate::failure::{Class, Failure, Outcome};

/// Does `work` for each item, `jobs` of them at once, and adds up what they come to. After a
/// failure nothing new is begun.
pub fn each<T: Sync>(items: &[T], jobs: usize, work: impl Fn(&T) -> Outcome<TestCounts> + Sync) -> Outcome<TestCounts> {
    let next = AtomicUsize::new(0);
    let sum = Mutex::new(Ok(TestCounts::default()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    let Ok(mut sum) = sum.lock() else { return };
                    match (&mut *sum, result) {
                        (Ok(sum), Ok(tally)) => sum.add(tally),
                        (Ok(_), Err(failure)) => {
                            *sum = Err(failure);
                            next.store(items.len(), Ordering::Relaxed);
                        }
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    sum.into_inner().unwrap_or_else(|_| Err(Failure::new(Class::Machine, "a test's thread has panicked".to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_done_and_counted() {
        let items: Vec<usize> = (0..100).collect();
        let one = |item: &usize| Ok(TestCounts { passed: *item, failed: 1, ..TestCounts::default() });
        assert_eq!(each(&items, 3, one).ok(), Some(TestCounts { passed: 4950, failed: 100, ..TestCounts::default() }));
        assert_eq!(each(&items[..0], 3, one).ok(), Some(TestCounts::default()));
    }

    #[test]
    fn a_failure_ends_it() {
        let done = AtomicUsize::new(0);
        let failing = |item: &usize| {
            done.fetch_add(1, Ordering::Relaxed);
            if *item == 0 { Err(Failure::new(Class::Machine, "no".to_string())) } else { Ok(TestCounts::default()) }
        };
        assert!(each(&(0..1000).collect::<Vec<_>>(), 1, failing).is_err());
        assert_eq!(done.into_inner(), 1);
    }
}
