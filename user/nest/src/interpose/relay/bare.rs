//! Which operations answer with words alone.

use nacre_proto::PROTOCOLS;
use nacre_proto::describe::Kind;

/// Operations that are declared to answer with words alone: for each protocol a bit for each
/// operation. The kernel carries such an answer faster.
pub(super) struct BareReplies([u32; PROTOCOLS.len() + 1]);

impl BareReplies {
    /// Leaves out those whose answers the monitor wants to see.
    pub(super) fn new(reads_answer: fn(u32) -> bool) -> BareReplies {
        let mut bits = [0; PROTOCOLS.len() + 1];
        let operations = PROTOCOLS.iter().flat_map(|protocol| protocol.operations);
        for operation in operations.filter(|one| one.bytes_out == Kind::None && one.references_out.is_empty() && !reads_answer(one.label)) {
            if let Some(word) = bits.get_mut((operation.label >> 16) as usize) {
                *word |= 1u32.checked_shl(operation.label & 0xffff).unwrap_or(0);
            }
        }
        BareReplies(bits)
    }

    #[inline]
    pub(super) fn has(&self, label: u32) -> bool {
        let (protocol, operation) = ((label >> 16) as usize, label & 0xffff);
        operation < 32 && self.0.get(protocol).is_some_and(|bits| bits & (1 << operation) != 0)
    }
}
