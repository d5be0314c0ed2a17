//! The memory of rings, and who uses them: each user has a port, so that we hear when it has gone,
//! whatever it held.

use super::Service;
use super::shared_rings::{Memory, User};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::channel::share;
use nacre_proto::Errno;
use nacre_sys::ring;
use nacre_sys::{OwnedPort, OwnedReference};

impl Service {
    /// The ring of a pipe or of one way of a stream, which has one from now on, and a new user of
    /// it.
    pub(super) fn share_end(&mut self, key: u64, way: u64) -> Result<share::Output, Errno> {
        let number = match self.hub.ring(key, way)? {
            Some(number) => number,
            None => self.make_ring(key, way)?,
        };
        let account = self.hub.account_of(key)?;
        if !self.sharing.may_have_user(account) {
            return Err(Errno::ENODEV);
        }
        let seat = self.hub.sit(key, way)?;
        let user = self.hub.key();
        let port = OwnedPort::new(user, self.set.handle())?;
        let hold = port.new_reference(REFERENCE_USE)?;
        let memory = self.sharing.rings.get_mut(&number).ok_or(Errno::ENODEV)?;
        let mut conditions = [OwnedReference::null()?, OwnedReference::null()?];
        for (condition, reference) in memory.conditions.iter().zip(&mut conditions) {
            condition.handle().reference(reference.handle(), REFERENCE_USE)?;
        }
        let [arrivals, departures] = conditions;
        memory.users.insert(user);
        self.sharing.users.insert(user, User { ring: number, account, _port: port });
        let region = memory.region.handle().into();
        Ok(share::Output {
            places: memory.places,
            number: user,
            seat: seat as u64,
            region,
            arrivals: arrivals.into(),
            departures: departures.into(),
            hold: hold.into(),
        })
    }

    fn make_ring(&mut self, key: u64, way: u64) -> Result<u64, Errno> {
        let (places, account) = (self.hub.places(key, way)?, self.hub.account_of(key)?);
        let pool = self.sharing.pool.as_ref().filter(|_| self.sharing.may_have_ring(account, ring::size(places))).ok_or(Errno::ENODEV)?;
        // Whoever asks goes on by messages.
        let (memory, ring) = Memory::take(pool, places, account).map_err(|_| Errno::ENODEV)?;
        let number = self.hub.key();
        self.hub.share(key, way, ring, number)?;
        self.sharing.rings.insert(number, memory);
        Ok(number)
    }

    /// Somebody has gone, who may have used a ring. Its memory stays until nobody uses it any more.
    pub(super) fn leave_ring(&mut self, user: u64) {
        if let Some(User { ring, .. }) = self.sharing.users.remove(&user) {
            self.hub.leave_ring(ring, user);
            if let Some(memory) = self.sharing.rings.get_mut(&ring) {
                memory.users.remove(&user);
            }
        }
        let hub = &self.hub;
        self.sharing.rings.retain(|number, memory| !memory.users.is_empty() || hub.has_ring(*number));
    }

    /// Wakes those who wait at rings for what has changed.
    pub(super) fn call_users(&mut self) {
        for (number, sides) in self.hub.called() {
            let Some(memory) = self.sharing.rings.get(&number) else { continue };
            (0..2).filter(|side| sides[*side]).for_each(|side| memory.wake(side));
        }
    }
}
