//! Names of the system that all processes of a world see: of the host and of its domain.

use alloc::vec::Vec;
use nacre_proto::{Errno, process};
use nacre_sys::Reference;

/// Maximum of bytes of a name.
const MOST: usize = 64;
/// Names that hold until somebody sets others.
const USUAL: [&[u8]; 2] = [b"nacre", b"(none)"];

/// The names; those of the world that we are in, until they are asked for.
#[derive(Default)]
pub struct Names(Option<[Vec<u8>; 2]>);

/// Returns the names that the monitor's own parent tells, if that is a manager.
fn inherited() -> [Vec<u8>; 2] {
    let mut names = [0; 2 * MOST];
    let usual = USUAL.map(Vec::from);
    let Ok(found) = process::system_names(Reference::PARENT, &mut names[..]) else { return usual };
    let all = names.get(..found.names).unwrap_or_default();
    all.split_at_checked(found.host as usize).map_or(usual, |(host, domain)| [host.to_vec(), domain.to_vec()])
}

impl Names {
    /// The host's name and its domain's.
    pub fn get(&mut self) -> &mut [Vec<u8>; 2] {
        self.0.get_or_insert_with(inherited)
    }

    /// Changes one of the names.
    pub fn set(&mut self, which: u64, name: &[u8]) -> Result<(), Errno> {
        let place = usize::try_from(which).ok().and_then(|which| self.get().get_mut(which));
        match place {
            Some(place) if name.len() <= MOST => *place = name.to_vec(),
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_two() {
        let mut names = Names(Some(USUAL.map(Vec::from)));
        assert_eq!(names.set(0, &[b'x'; MOST + 1]), Err(Errno::EINVAL));
        assert_eq!(names.set(2, b"x"), Err(Errno::EINVAL));
        assert_eq!(names.set(1, b"a.b"), Ok(()));
        assert_eq!(*names.get(), [b"nacre".to_vec(), b"a.b".to_vec()]);
    }
}
