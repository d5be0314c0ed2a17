//! Where in our own space children's memory is shown. A place that was given back serves again, so
//! that the tables behind it do too.

use alloc::vec::Vec;
use nacre_sys::Window;
use nacre_sys::lock::Lock;
use nacre_sys::window::WINDOWS;

/// Places start at multiples of this, so that large pages can show them.
const ALIGNMENT: u64 = 2 << 20;

/// Places of up to this size lie beside each other, so that one table shows several.
const SMALL: u64 = 128 << 10;

/// Places that were given back, and the first address that was never used.
struct Places {
    free: Vec<Window>,
    /// Starts of small ones.
    small: Vec<u64>,
    next: u64,
}

impl Places {
    const fn new() -> Places {
        Places { free: Vec::new(), small: Vec::new(), next: WINDOWS.start }
    }

    fn take(&mut self, size: u64) -> Option<Window> {
        if size > SMALL {
            return self.take_large(size);
        }
        if self.small.is_empty() {
            let whole = self.take_large(ALIGNMENT)?;
            self.small.extend((0..ALIGNMENT / SMALL).rev().map(|number| whole.start() + SMALL * number));
        }
        self.small.pop().and_then(|start| Window::new(start, size))
    }

    fn give_back(&mut self, window: Window) {
        if window.size() > SMALL { self.free.push(window) } else { self.small.push(window.start()) }
    }

    fn take_large(&mut self, size: u64) -> Option<Window> {
        let extent = size.checked_next_multiple_of(ALIGNMENT)?;
        let fits = |window: &Window| window.size().next_multiple_of(ALIGNMENT) == extent;
        let start = match self.free.iter().position(fits) {
            Some(index) => self.free.swap_remove(index).start(),
            None => {
                let end = self.next.checked_add(extent).filter(|end| *end <= WINDOWS.end)?;
                core::mem::replace(&mut self.next, end)
            }
        };
        Window::new(start, size)
    }
}

static PLACES: Lock<Places> = Lock::new(Places::new());

/// A place where nothing is mapped yet when it is taken, nor any more when it is dropped.
pub struct Place(Window);

impl Place {
    /// A place for `size` bytes. The caller maps there before touching it.
    pub fn take(size: u64) -> Option<Place> {
        PLACES.lock().take(size).map(Place)
    }

    /// Returns the addresses of the place.
    pub fn window(&self) -> Window {
        self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        PLACES.lock().give_back(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_serve_again() {
        let mut places = Places::new();
        let first = places.take(0x1000).unwrap();
        let second = places.take(3 << 20).unwrap();
        let third = places.take(0x1000).unwrap();
        assert_eq!((second.start() - first.start(), third.start() - first.start()), (2 << 20, SMALL));
        places.give_back(first);
        assert_eq!(places.take(0x5000).unwrap().start(), first.start());
        places.give_back(second);
        assert_eq!(places.take((2 << 20) + 1).unwrap().start(), second.start());
        let starts: Vec<u64> = (0..15).map(|_| places.take(SMALL).unwrap().start()).collect();
        assert!(starts.iter().all(|start| *start == WINDOWS.start + (6 << 20) || (WINDOWS.start..WINDOWS.start + (2 << 20)).contains(start)));
        assert_eq!(places.take(WINDOWS.end - WINDOWS.start), None);
        assert_eq!(places.take(u64::MAX), None);
    }
}
