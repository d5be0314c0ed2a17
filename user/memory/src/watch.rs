//! Interposer of `pager`: lets all pass between the child and its parent. It answers the search for
//! memory alone.

use alloc::string::String;
use nacre_abi::Status;
use nacre_abi::object::TargetType;
use nacre_control::record::Figures;
use nacre_nest::host::Exception;
use nacre_nest::interpose::{Arrival, InterposedRequest, ReferenceRule, InterposedReply, ProxyInfo, Interposer, report_exception, report_killed};
use nacre_proto::Errno;
use nacre_sys::ipc::Received;

/// Interposer that lets all pass.
pub struct Through {
    /// Name of the program, in messages about it.
    pub name: String,
    /// Name of the monitor.
    pub monitor: &'static str,
    /// Counts of its work.
    pub figures: fn() -> Figures,
    /// Action at the program's end.
    pub at_end: fn(),
}

/// Lets ports pass as they are, because no request at them is denied.
fn passage(arrival: Arrival) -> ReferenceRule<(), ()> {
    if arrival.kind == TargetType::Port as u64 { ReferenceRule::Open(()) } else { ReferenceRule::Plain }
}

impl Interposer for Through {
    type Tag = ();
    type Asked = ();
    type Proof = ();
    const ATTENUATES: bool = false;

    fn monitor(&self) -> &'static str {
        self.monitor
    }

    fn figures(&self) -> Figures {
        (self.figures)()
    }

    fn lets_words_pass(&self) -> bool {
        true
    }

    fn sent(&self, _: &ProxyInfo<()>, arrival: Arrival) -> ReferenceRule<(), ()> {
        passage(arrival)
    }

    fn request(&self, _: &mut InterposedRequest<'_, ()>) -> Result<(), Errno> {
        Ok(())
    }

    fn returned(&self, _: &mut (), _: &Received, arrival: Arrival) -> ReferenceRule<(), ()> {
        passage(arrival)
    }

    fn answered(&self, _: usize, _: (), _: &Result<InterposedReply<'_>, Status>) {}

    fn exception(&self, _: usize, exception: &Exception) -> u64 {
        report_exception(&self.name, exception);
        exception.exit_status()
    }

    fn killed(&self, _: usize) -> u64 {
        report_killed(&self.name)
    }

    fn ended(&self) {
        (self.at_end)();
    }
}
