//! Managers of the program's memory: all dataspaces that areas show move to another one.

use crate::abi::errno::{ENOSYS, Errno};
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::mapped_part::Fill;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::dataspace;

impl Memory {
    /// Moves the program's pageable memory to a manager: the number of dataspaces, and their bytes.
    /// The program's mappings stay as they are. `ENOSYS`: no memory has managers. After another
    /// error the dataspaces that were moved before stay where they are.
    pub fn transfer_all(&self, manager: &[u8]) -> Result<[u64; 2], Errno> {
        let (mut moved, mut bytes) = (0, 0);
        for segment in self.dataspaces() {
            let Some(port) = segment.port() else { continue };
            match dataspace::transfer(port, manager) {
                Ok(_) => (moved, bytes) = (moved + 1, bytes + segment.size()),
                // A file's memory has no manager.
                Err(nacre_proto::Errno::ENOSYS) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if moved == 0 { Err(ENOSYS) } else { Ok([moved, bytes]) }
    }

    /// Segments whose pages come and go, each once.
    fn dataspaces(&self) -> Vec<Rc<Segment>> {
        let mut found: Vec<Rc<Segment>> = Vec::new();
        for area in self.map.areas() {
            let Fill::Own(part) = &area.backing else { continue };
            let Some(segment) = part.segment.as_ref().filter(|segment| segment.is_paged()) else { continue };
            if !found.iter().any(|one| Rc::ptr_eq(one, segment)) {
                found.push(segment.clone());
            }
        }
        found
    }
}
