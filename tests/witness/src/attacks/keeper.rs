//! The link to a space's keeper was a reference with rights. Below `process` the keeper of a
//! guarded program is the manager's port.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::flags::SERVICE_FILES;
use nacre_proto::parent;
use nacre_sys::{OwnedReference, Reference, Space, Thread};

/// Requires that a link grants nothing.
fn grants_nothing(what: &str, link: Reference) -> Result<(), String> {
    let state = link.get_state().map_err(why(what))?;
    if state.rights & REFERENCE_USE != 0 {
        let files = parent::find(link, SERVICE_FILES).is_ok();
        return Err(format!("{what} can be used (it gives the files: {files}; asked itself, the parent gives them: {})", find(SERVICE_FILES).is_ok()));
    }
    match parent::processors(link) {
        Err(_) => Ok(()),
        Ok(_) => Err(format!("{what} answers")),
    }
}

/// Asks for the links of the caller's own space and thread.
pub fn attack(_: &[u8]) -> Outcome {
    let fresh = || OwnedReference::null().map_err(why("a slot"));
    let (keeper, client, scheduler) = (fresh()?, fresh()?, fresh()?);
    Space::SELF.get_state_and_links(&[keeper.handle()]).map_err(why("the space's state"))?;
    grants_nothing("the keeper of the space", keeper.handle())?;
    Thread::FIRST.get_state_and_links(&[Reference(0), client.handle(), scheduler.handle()]).map_err(why("the thread's state"))?;
    grants_nothing("the client of the thread", client.handle())?;
    grants_nothing("the scheduler of the thread", scheduler.handle())?;
    Ok(Verdict::Refused)
}
