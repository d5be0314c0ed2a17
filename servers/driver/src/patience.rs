//! How long an answer of a device's is waited for.

use nacre_nest::clock::Clock;

/// Nanoseconds after which an answer will not come any more: fewer than root waits for the driver.
const LIMIT: u64 = 20_000_000_000;
/// Nanoseconds that pass between two looks, at most, while the machine runs.
const GAP: u64 = 10_000_000;

/// Returns a question for whoever waits: whether to look once more.
pub fn patience(clock: Clock) -> impl FnMut() -> bool {
    let (mut last, mut waited) = (clock.now(), 0);
    move || {
        // Time in which the whole machine stood still is not the device's.
        let now = clock.now();
        waited += now.saturating_sub(last).min(GAP);
        last = now;
        waited <= LIMIT
    }
}
