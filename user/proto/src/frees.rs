//! Operations that a server carries out though it has no memory left: those that free memory, and
//! those that need none for longer than the request.

use crate::{channel, clock, dataspace, file, keyed, mailbox, memory, parent, process, segment, terminal};

const LABELS: &[u32] = &[
    parent::exit::LABEL,
    parent::processors::LABEL,
    memory::status::LABEL,
    memory::pool_destroy::LABEL,
    segment::status::LABEL,
    segment::resize::LABEL,
    segment::destroy::LABEL,
    segment::wake::LABEL,
    segment::clear::LABEL,
    dataspace::detach::LABEL,
    dataspace::interrogate::LABEL,
    dataspace::delete::LABEL,
    file::read::LABEL,
    file::status::LABEL,
    file::poll::LABEL,
    file::seek::LABEL,
    file::sync::LABEL,
    file::flags::LABEL,
    file::attribute::LABEL,
    file::attributes::LABEL,
    file::remove_attribute::LABEL,
    // A server that keeps locks refuses those that are taken.
    file::lock::LABEL,
    file::lock_owned::LABEL,
    file::unwatch::LABEL,
    clock::read::LABEL,
    channel::shutdown::LABEL,
    channel::receive::LABEL,
    channel::look::LABEL,
    channel::changed::LABEL,
    channel::error::LABEL,
    keyed::detach::LABEL,
    keyed::detach_all::LABEL,
    keyed::remove::LABEL,
    keyed::receive::LABEL,
    mailbox::unlink::LABEL,
    mailbox::receive::LABEL,
    mailbox::rest::LABEL,
    mailbox::forget::LABEL,
    mailbox::withdraw::LABEL,
    terminal::get_attributes::LABEL,
    terminal::set_attributes::LABEL,
    terminal::window::LABEL,
    terminal::waiting::LABEL,
    terminal::flush::LABEL,
    process::numbers::LABEL,
    process::abandon::LABEL,
    process::wait::LABEL,
    process::kill::LABEL,
    process::signal_take::LABEL,
    process::thread_end::LABEL,
    process::stopped::LABEL,
    process::foreground::LABEL,
    process::foreground_set::LABEL,
    process::released::LABEL,
];

/// Returns true if a server carries out the operation though it has no memory left.
#[cold]
pub fn frees(label: u32) -> bool {
    LABELS.contains(&label)
}
