//! Managers of the program's memory: all dataspaces that areas show move to another one.

use crate::abi::errno::{ENOSYS, Errno};
use crate::services::segment::{Paging, Segment};
use crate::state::memory::Memory;
use crate::state::memory::mapped_part::Fill;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::{dataspace, file};

impl Memory {
    /// Moves the program's pageable memory to a manager, as `dataspace.transfer` names it: the
    /// number of dataspaces, and their bytes. The program's mappings stay as they are. `ENOSYS`: no
    /// memory has managers. On any other error all dataspaces are where they were, unless one finds
    /// no room there any more.
    pub fn transfer_all(&self, manager: &[u8]) -> Result<[u64; 2], Errno> {
        let (mut moved, mut bytes) = (Vec::new(), 0);
        for segment in self.dataspaces(0, u64::MAX) {
            let Some(port) = segment.port() else { continue };
            let mut name = [0; dataspace::NAME_SIZE];
            let size = match dataspace::interrogate(port, &b""[..], &mut name[..]) {
                Ok(told) => told.name.min(name.len()),
                // A file's memory has no manager.
                Err(nacre_proto::Errno::ENOSYS) => continue,
                Err(errno) => return Err(take_back(&moved, errno.into())),
            };
            if let Err(errno) = dataspace::transfer(port, manager) {
                return Err(take_back(&moved, errno.into()));
            }
            bytes += segment.size();
            moved.push((segment, name[..size].to_vec()));
        }
        if moved.is_empty() { Err(ENOSYS) } else { Ok([moved.len() as u64, bytes]) }
    }

    /// Names the managers of a dataspace that the program has: they are those of all after a move.
    pub fn present_manager(&self) -> Option<Vec<u8>> {
        self.dataspaces(0, u64::MAX).iter().find_map(|segment| {
            let mut name = [0; dataspace::NAME_SIZE];
            let told = dataspace::interrogate(segment.port()?, &b""[..], &mut name[..]).ok()?;
            name.get(..told.name).map(<[u8]>::to_vec)
        })
    }

    /// Returns when what was written to files' memory between two addresses is where it stays.
    pub fn sync(&self, start: u64, end: u64) -> Result<(), Errno> {
        for segment in self.dataspaces(start, end) {
            match segment.port().map_or(Ok(()), |port| file::sync(port).map(drop)) {
                // Whoever has the file writes it without being asked.
                Ok(()) | Err(nacre_proto::Errno::ENOSYS) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Segments whose pages come and go, that are shown between two addresses, each once.
    fn dataspaces(&self, start: u64, end: u64) -> Vec<Rc<Segment>> {
        let mut found: Vec<Rc<Segment>> = Vec::new();
        for area in self.map.areas().filter(|area| area.start < end && start < area.end) {
            let Fill::Own(part) = &area.backing else { continue };
            for segment in part.segment.iter().chain(part.pages.segments()).filter(|segment| segment.paging() == Paging::Goes) {
                if !found.iter().any(|one| Rc::ptr_eq(one, segment)) {
                    found.push(segment.clone());
                }
            }
        }
        found
    }
}

/// Moves dataspaces back to where they were, the last one first, after an error, which is returned.
fn take_back(moved: &[(Rc<Segment>, Vec<u8>)], error: Errno) -> Errno {
    for (segment, name) in moved.iter().rev() {
        if let Some(port) = segment.port() {
            // Where others took the room meanwhile, the dataspace stays with its new manager.
            let _ = dataspace::transfer(port, &name[..]);
        }
    }
    error
}
