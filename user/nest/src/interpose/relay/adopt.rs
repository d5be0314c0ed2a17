//! Programs that run already: proxies take the place of their references, and leave it again.

use super::super::Interposer;
use super::super::proxies::{Loan, Origin};
use super::Relay;
use crate::object_view::{Halt, ObjectView};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::Errno;
use nacre_sys::{EmptySlot, Reference};

/// Rights that a proxy can have.
const PASSED: u64 = REFERENCE_USE | REFERENCE_NOTIFY;

/// Returns the references of a program that lead to ports, and their rights. A port that the
/// program has control over stays its affair.
fn held(halt: &Halt) -> impl Iterator<Item = (Reference, u64)> {
    halt.references().filter_map(|reference| {
        let state = reference.get_state().ok()?;
        (state.target == TargetType::Port as u64 && state.rights & !PASSED == 0).then_some((reference, state.rights))
    })
}

impl<W: Interposer> Relay<W> {
    /// Puts proxies with a tag in the place of a stopped program's references to ports of others.
    /// `ENOMEM`: there is no room for all.
    pub fn adopt(&self, (view, halt): (&ObjectView, &Halt), tag: &W::Tag) -> Result<(), Errno> {
        let copy = EmptySlot::<Reference>::new()?;
        for (reference, rights) in held(halt) {
            if view.place_of(reference).is_some() || self.objects.index_of(reference).is_some() {
                continue;
            }
            let slot = Reference::create(copy.address())?;
            if reference.reference(slot, rights).is_err() {
                let _ = slot.destroy();
                continue;
            }
            let made = self.translator().make((slot, rights), false, Origin::Unknown, tag.clone());
            let Ok((taken, handle)) = made else {
                // It is there unless it was moved.
                let _ = slot.destroy();
                return Err(Errno::ENOMEM);
            };
            // A proxy that nobody has goes by itself.
            let _ = handle.reference(reference, rights);
            self.objects.withdraw(taken.index);
        }
        Ok(())
    }

    /// Puts originals in the place of a stopped program's references to proxies.
    pub fn release(&self, halt: &Halt) {
        for (reference, rights) in held(halt) {
            let Some(index) = self.objects.index_of(reference) else { continue };
            let lent = self.proxies.lock().lend(index, 0, |is_childs, _| if is_childs { Loan::Nothing } else { Loan::Original });
            if lent.is_some_and(|(_, loan)| loan == Loan::Original) {
                // One whose original has gone leads nowhere either way.
                let _ = self.objects.original(index).reference(reference, rights);
                self.translator().leave(index);
            }
        }
    }
}
