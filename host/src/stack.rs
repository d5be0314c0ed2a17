//! Checks the depth of the kernel's stack in the built kernel: one whose deepest chain of calls
//! does not fit is refused.
//!
//! The size of each function's frame is in `.stack_sizes` (`-Z emit-stack-sizes`). Calls are in the
//! relocations that the linker leaves (`--emit-relocs`): each place in the text that refers to a
//! function counts as a call of it. Functions that call each other in a ring are refused, unless
//! [`RINGS`] says how often one chain can go round.
//!
//! Calls through a pointer do not show. Any function whose address stands in data may be called so.
//! The check assumes at most one such call in a chain, as the kernel has (its table of calls). So
//! the deepest chain from any of these functions is added to the deepest of all.
//!
//! Panics are left out, because they print through pointers; the page below the stack is not
//! mapped. Naked functions use no stack of the CPU's.

use std::collections::BTreeMap;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind, SymbolKind};

use crate::failure::{Class, Context, Failure, Outcome};

/// Bytes of a CPU's stack in the kernel: `STACK_SIZE` in `kernel/machine/src/x86_64/layout.rs`.
const STACK: u64 = 16 << 10;
/// Bytes that a call itself takes.
const RETURN_ADDRESS: u64 = 8;
/// Parts of names of functions where a chain ends: what only a panic calls, and the ways in, which
/// begin with an empty stack.
const ENDS: [&str; 5] = ["panicking", "rust_begin_unwind", "arch5panic5panic", "arch5entry", "guest10user_entry"];
/// Rings of calls that end: part of the name of one of the functions, how often a chain goes round
/// at most, and why.
const RINGS: [(&str, u64, &str); 1] = [("report_fault", 2, "while one fault is offered to a keeper (`Kernel::offering`), the keeper's own waits in line")];

/// A function of the kernel.
#[derive(Default, Debug)]
struct Function {
    name: String,
    end: u64,
    frame: u64,
    /// Addresses of the functions that it may call.
    calls: Vec<u64>,
    /// Set if the function's address stands in data.
    by_pointer: bool,
}

/// Functions by their addresses.
type Functions = BTreeMap<u64, Function>;

/// Fails if the deepest chain of calls of the kernel in this file does not fit its stack.
pub fn check(kernel: &Path) -> Outcome<()> {
    let image = std::fs::read(kernel).context(Class::Build, || format!("cannot read {}", kernel.display()))?;
    let functions = read(&image).ok_or_else(|| failure("it does not say how large its frames are".to_string()))?;
    let depth = deepest(&functions).map_err(failure)?;
    if depth > STACK { Err(failure(format!("its stack can get {depth} bytes deep, and has {STACK}"))) } else { Ok(()) }
}

fn failure(what: String) -> Failure {
    Failure::new(Class::Build, format!("the kernel is not used: {what}")).remedy("see host/src/stack.rs")
}

/// The functions of an image, and who calls whom; `None` if it does not tell.
fn read(image: &[u8]) -> Option<Functions> {
    let file = ElfFile64::<object::Endianness>::parse(image).ok()?;
    let mut functions = Functions::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let (name, end) = (symbol.name().unwrap_or_default().to_string(), symbol.address() + symbol.size());
        functions.insert(symbol.address(), Function { name, end, ..Function::default() });
    }
    for (address, frame) in frames(file.section_by_name(".stack_sizes")?.data().ok()?) {
        if let Some(function) = functions.get_mut(&address) {
            function.frame = frame;
        }
    }
    // Sections for debuggers, and those of frames, refer to everything.
    let used = |section: &SectionKind| matches!(section, SectionKind::Text | SectionKind::ReadOnlyData | SectionKind::ReadOnlyDataWithRel | SectionKind::Data);
    for section in file.sections().filter(|section| used(&section.kind())) {
        for (at, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let Ok(symbol) = file.symbol_by_index(index) else { continue };
            // A displacement that counts from the instruction's end counts from four bytes further
            // on.
            let further = if section.kind() == SectionKind::Text { 4 } else { 0 };
            let target = symbol.address().wrapping_add_signed(relocation.addend() + further);
            refer(&mut functions, at, section.kind() == SectionKind::Text, if symbol.kind() == SymbolKind::Text { symbol.address() } else { target });
        }
    }
    Some(functions)
}

/// Takes down that what is at `at` refers to `target`.
fn refer(functions: &mut Functions, at: u64, in_text: bool, target: u64) {
    let Some(callee) = functions.get_mut(&target) else { return };
    callee.by_pointer |= !in_text;
    let caller = functions.range_mut(..=at).next_back().filter(|(_, function)| in_text && at < function.end);
    if let Some((_, caller)) = caller {
        caller.calls.push(target);
    }
}

/// The entries of `.stack_sizes`: an address, and a size in groups of seven bits, the lowest first.
fn frames(mut bytes: &[u8]) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    while let Some((address, rest)) = bytes.split_first_chunk::<8>() {
        let last = rest.iter().position(|byte| byte & 0x80 == 0).unwrap_or(rest.len().saturating_sub(1));
        let size = rest.iter().take(last + 1).rev().fold(0, |size, byte| size << 7 | u64::from(byte & 0x7f));
        all.push((u64::from_le_bytes(*address), size));
        bytes = rest.get(last + 1..).unwrap_or_default();
    }
    all
}

fn is_end(function: &Function) -> bool {
    ENDS.iter().any(|part| function.name.contains(part))
}

/// The deepest chain, or a ring of calls without a known end.
fn deepest(functions: &Functions) -> Result<u64, String> {
    let mut depths = BTreeMap::new();
    let (mut deepest, mut by_pointer) = (0, 0);
    for (&at, function) in functions {
        let depth = depth(functions, at, &mut Vec::new(), &mut depths)?;
        deepest = depth.max(deepest);
        if function.by_pointer {
            by_pointer = depth.max(by_pointer);
        }
    }
    Ok(deepest + by_pointer)
}

/// Returns the depth of the stack from the function at `at` on. `chain` has the functions that led
/// to it.
fn depth(functions: &Functions, at: u64, chain: &mut Vec<u64>, known: &mut BTreeMap<u64, u64>) -> Result<u64, String> {
    let Some(function) = functions.get(&at).filter(|function| !is_end(function)) else { return Ok(0) };
    if let Some(depth) = known.get(&at) {
        return Ok(*depth);
    }
    let own = function.frame + RETURN_ADDRESS;
    if let Some(start) = chain.iter().position(|link| *link == at) {
        let names: Vec<&str> = chain[start..].iter().map(|link| functions[link].name.as_str()).collect();
        let ring = RINGS.iter().find(|(part, ..)| names.iter().any(|name| name.contains(part)));
        let (_, rounds, _) = ring.ok_or_else(|| format!("functions call each other without a known end: {}", names.join(" > ")))?;
        let round: u64 = chain[start..].iter().map(|link| functions[link].frame + RETURN_ADDRESS).sum();
        return Ok(round * rounds);
    }
    chain.push(at);
    let mut below = 0;
    for call in &function.calls {
        below = depth(functions, *call, chain, known)?.max(below);
    }
    chain.pop();
    known.insert(at, own + below);
    Ok(own + below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, frame: u64, calls: &[u64]) -> Function {
        Function { name: name.to_string(), end: 0, frame, calls: calls.to_vec(), by_pointer: false }
    }

    #[test]
    fn the_deepest_chain_counts() {
        let mut functions = Functions::from([(1, function("one", 100, &[2, 3])), (2, function("two", 10, &[])), (3, function("three", 20, &[4])), (4, function("panicking", 9000, &[]))]);
        assert_eq!(deepest(&functions), Ok(100 + 20 + 2 * RETURN_ADDRESS));
        functions.get_mut(&2).unwrap().by_pointer = true;
        assert_eq!(deepest(&functions), Ok(100 + 20 + 10 + 3 * RETURN_ADDRESS));
    }

    #[test]
    fn a_ring_is_refused() {
        let functions = Functions::from([(1, function("one", 100, &[2])), (2, function("two", 10, &[1]))]);
        assert!(deepest(&functions).unwrap_err().contains("one > two"));
    }

    #[test]
    fn sizes_have_seven_bits_a_byte() {
        let mut bytes = 0x1234u64.to_le_bytes().to_vec();
        bytes.extend([0x90, 0x03]);
        bytes.extend(8u64.to_le_bytes());
        bytes.push(8);
        assert_eq!(frames(&bytes), [(0x1234, 0x190), (8, 8)]);
    }
}
