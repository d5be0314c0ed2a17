//! One more worker, when the last idle one is about to wait.

use super::super::Interposer;
use super::super::worker_buffers::WorkerBuffers;
use super::Relay;
use core::sync::atomic::Ordering;

/// Workers that live on memory of the monitor: so many waits cost the child nothing.
const OWN_WORKERS: usize = 32;

impl<W: Interposer> Relay<W> {
    /// Sets a desk out for one more worker, whom `start` calls in by the number: false if there is
    /// no memory for that.
    #[cold]
    pub fn hire(&self, start: fn(usize) -> bool) -> bool {
        let number = self.next_worker.fetch_add(1, Ordering::Relaxed);
        if self.workers.fetch_add(1, Ordering::Relaxed) >= OWN_WORKERS {
            self.workers.fetch_sub(1, Ordering::Relaxed);
            return self.hire_more(number).is_some();
        }
        let is_hired = self.hire_own(number, start);
        if !is_hired {
            self.workers.fetch_sub(1, Ordering::Relaxed);
        }
        is_hired
    }

    /// Hires a worker on memory of the monitor.
    fn hire_own(&self, number: usize, start: fn(usize) -> bool) -> bool {
        let spare = self.spare.lock().take().map(|desk| WorkerBuffers { number, ..desk });
        let Some(desk) = spare.or_else(|| WorkerBuffers::new(number, (self.staff.desk)()?)) else {
            return false;
        };
        let unused = match self.admit(desk) {
            Ok(()) if start(number) => return true,
            Ok(()) => self.dismiss(number),
            Err(desk) => Some(desk),
        };
        *self.spare.lock() = unused;
        false
    }

    /// Hires a worker on memory of the child.
    #[cold]
    fn hire_more(&self, number: usize) -> Option<()> {
        let room = (self.staff.room)(self.pool.as_ref().map(|pool| pool.own.handle()))?;
        self.admit(WorkerBuffers::in_room(number, &room)?).ok()?;
        // The room goes only when nobody can take the desk any more.
        room.start(self.staff.worker, number).map_err(|_room| self.dismiss(number)).ok()
    }

    /// Sets a desk out for the worker with its number, who counts as idle from now on. Without
    /// memory for that the desk is returned.
    fn admit(&self, desk: WorkerBuffers) -> Result<(), WorkerBuffers> {
        let mut desks = self.desks.lock();
        if desks.try_reserve(1).is_err() {
            return Err(desk);
        }
        desks.push(desk);
        self.idle.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Takes back a desk for which nobody comes.
    fn dismiss(&self, number: usize) -> Option<WorkerBuffers> {
        let desk = self.take_desk(number)?;
        self.idle.fetch_sub(1, Ordering::Relaxed);
        Some(desk)
    }

    /// Takes the desk that was set out for a worker.
    pub(super) fn take_desk(&self, number: usize) -> Option<WorkerBuffers> {
        let mut desks = self.desks.lock();
        let at = desks.iter().position(|desk| desk.number == number)?;
        Some(desks.swap_remove(at))
    }
}
