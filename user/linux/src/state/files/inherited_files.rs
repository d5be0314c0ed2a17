//! Files that a process was born with. Each becomes an open file when a call first names one of its
//! descriptors: most children of a fork use few of what they inherit.

use crate::abi::errno::Errno;
use crate::abi::file_flags::FOREIGN;
use crate::abi::fork_record::{File, Files};
use crate::state::files::descriptor_table::Waiting;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::watch::Watch;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell, RefCell};
use nacre_abi::ObjectType;
use nacre_rt::fallible;
use nacre_sys::{OwnedReference, Reference};

/// The files of a record, and which of them are open.
pub struct InheritedFiles {
    files: Files,
    /// Address of the first reference that came with the record.
    first: u64,
    /// Number of descriptors of each file that have not been used, and the open file, if it was
    /// made and such descriptors are left.
    entries: Vec<(Cell<u32>, RefCell<Option<Rc<OpenFile>>>)>,
}

impl InheritedFiles {
    /// Takes over the files of a record whose references start at the address `first`. The caller
    /// has nothing more to do with references that the record names.
    pub fn new(files: Files, first: u64) -> Result<InheritedFiles, Errno> {
        let entries = fallible::collect((0..files.count()).map(|_| (Cell::new(0), RefCell::new(None))))?;
        Ok(InheritedFiles { files, first, entries })
    }

    /// The record.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Sets the open file of this index.
    pub fn set(&self, index: u64, file: Rc<OpenFile>) {
        if let Some((_, open)) = self.entries.get(index as usize) {
            *open.borrow_mut() = Some(file);
        }
    }

    /// Returns the open file of this index. It stays until its last descriptor is used, or
    /// [`InheritedFiles::forget_unnamed`].
    pub fn open(&self, index: u64) -> Option<Rc<OpenFile>> {
        let (_, open) = self.entries.get(index as usize)?;
        if let Some(known) = &*open.borrow() {
            return Some(known.clone());
        }
        let made = Rc::new(self.make(index)?);
        *open.borrow_mut() = Some(made.clone());
        Some(made)
    }

    /// Counts one more descriptor of a file.
    pub fn count(&self, index: u64) {
        if let Some((waiting, _)) = self.entries.get(index as usize) {
            waiting.set(waiting.get() + 1);
        }
    }

    /// Lets open files go that have no descriptors.
    pub fn forget_unnamed(&self) {
        for (waiting, open) in &self.entries {
            if waiting.get() == 0 {
                drop(open.borrow_mut().take());
            }
        }
    }

    fn make(&self, index: u64) -> Option<OpenFile> {
        let file = self.files.get(index)?;
        let reference = file.reference.map(|number| OwnedReference::adopt(Reference(self.first + number * ObjectType::Reference.size())));
        with_server(&file, reference)
    }
}

impl Waiting<OpenFile> for InheritedFiles {
    fn take(&self, index: u32) -> Option<Rc<OpenFile>> {
        let (waiting, open) = self.entries.get(index as usize)?;
        waiting.set(waiting.get().saturating_sub(1));
        if waiting.get() != 0 {
            return self.open(index.into());
        }
        let known = open.borrow_mut().take();
        known.or_else(|| self.make(index.into()).map(Rc::new))
    }
}

/// Makes the open file of a record that a server has; `None` if it has none.
pub fn with_server(file: &File<'_>, reference: Option<OwnedReference>) -> Option<OpenFile> {
    let kind = match (file.stream, reference) {
        (None, reference) => Kind::Remote(reference?),
        (Some(number), reference) => Kind::Stream(number, reference.map_or_else(OnceCell::new, OnceCell::from)),
    };
    let open = OpenFile::new(kind, file.mode & !FOREIGN, file.flags);
    open.watch.set(Watch { is_foreign: file.mode & FOREIGN != 0, ..Watch::default() });
    *open.opened_by.borrow_mut() = (!file.path.is_empty()).then(|| (None, file.path.to_vec()));
    Some(open)
}
