//! Windows of devices that programs open as files. One open file at a time has a window: it gets a
//! dataspace that shows the window, and that ends when nobody has it attached any more.

use crate::keeper::Keeper;
use crate::remote_file::{may_write, status_of};
use crate::windows::{Handed, Known};
use crate::words::{READ, SHARED, key};
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::dataspace::create;
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::{OwnedPort, OwnedReference};

impl Keeper {
    /// Notes the file that shows the window of a manager.
    pub(crate) fn serve_window(&mut self, manager: usize, file: &OwnedReference, is_writable: bool) -> Result<(), Errno> {
        let status = status_of(file)?;
        self.windows.known = Some(Known { manager, file: (status.device, status.inode), is_writable });
        Ok(())
    }

    /// `create` with an open file that shows the window. `ENODEV`: it shows something else.
    /// `EBUSY`: somebody has the window.
    pub(crate) fn create_of_window(&mut self, request: &mut Request<'_>) -> HandlerResult<create::Output> {
        let known = self.windows.known.ok_or(Errno::EINVAL)?;
        let (pool, file) = (self.pool(request)?, request.keep(0)?);
        let status = status_of(&file)?;
        if (status.device, status.inode) != known.file {
            return Err(Errno::ENODEV);
        }
        if self.windows.handed.is_some() {
            return Err(Errno::EBUSY);
        }
        let kind = if known.is_writable && may_write(&file) { SHARED } else { SHARED | READ };
        let opener = self.key();
        let port = OwnedPort::new(opener | kind, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_USE)?;
        let count = self.spaces.bank(known.manager).map_or(0, |bank| bank.most());
        // A dataspace without a file may have it.
        let made = self.add_dataspace(pool, count, |spaces| spaces.create(known.manager, count));
        let dataspace = made.map_err(|errno| if errno == Errno::ENOMEM { Errno::EBUSY } else { errno })?;
        self.windows.handed = Some(Handed { dataspace, opener: Some((opener, port)) });
        create::Output { size: count * PAGE_SIZE, dataspace: reference.into() }.now()
    }

    /// The reference by which the window was opened has gone. Returns false if the word is of
    /// another.
    pub(crate) fn close_window(&mut self, word: u64) -> bool {
        let Some(dataspace) = self.windows.opened(key(word)) else { return false };
        if let Some(handed) = &mut self.windows.handed {
            handed.opener = None;
        }
        self.end_unused_window(dataspace);
        true
    }

    /// The window is free when nobody has it open or attached.
    pub(crate) fn end_unused_window(&mut self, dataspace: u64) {
        let is_unused = self.windows.handed.as_ref().is_some_and(|handed| handed.dataspace == dataspace && handed.opener.is_none());
        if is_unused && self.attachments.of(dataspace).next().is_none() {
            self.remove_dataspace(dataspace);
        }
    }
}
