//! The window of a device that a manager serves, and who has it.

use nacre_sys::OwnedPort;

/// Window that a manager serves.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Number of the manager.
    pub(crate) manager: usize,
    /// Device and number of the file that shows it.
    pub(crate) file: (u64, u64),
    /// The window may be written.
    pub(crate) is_writable: bool,
}

/// Dataspace of whoever has the window.
pub(crate) struct Handed {
    /// Key of the dataspace.
    pub(crate) dataspace: u64,
    /// The reference by which it was opened, until that goes.
    pub(crate) opener: Option<(u64, OwnedPort)>,
}

/// The window, and who has it.
#[derive(Default)]
pub(crate) struct Windows {
    /// The window, if there is one.
    pub(crate) known: Option<Known>,
    /// Dataspace of whoever has it, if somebody does.
    pub(crate) handed: Option<Handed>,
}

impl Windows {
    /// Returns true if a manager serves the window.
    pub(crate) fn is_of(&self, manager: usize) -> bool {
        self.known.is_some_and(|known| known.manager == manager)
    }

    /// The dataspace that was opened with this key.
    pub(crate) fn opened(&self, key: u64) -> Option<u64> {
        let handed = self.handed.as_ref()?;
        handed.opener.as_ref().filter(|(opener, _)| *opener == key).map(|_| handed.dataspace)
    }

    /// A dataspace goes. If it showed the window, that is free.
    pub(crate) fn forget(&mut self, dataspace: u64) {
        self.handed.take_if(|handed| handed.dataspace == dataspace);
    }
}
