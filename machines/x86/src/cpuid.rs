//! CPUID of the guest's processor: one fixed model, of which nothing is announced that the host's
//! processor lacks. It never mirrors the host, since guests fail on features that nobody tried.
//!
//! Family 15, model 107 is the last of AMD's first 64-bit processors, which every 64-bit system
//! knows; none of the defects that guests work around at a cost is assumed of it. Feature bits are
//! named in AMD's manual, volume 3, appendix E.

/// Vendor, in the order of ebx, edx, ecx.
const VENDOR: [&[u8; 4]; 3] = [b"Auth", b"enti", b"cAMD"];
/// Name of the processor: 48 bytes, padded with zeros.
const BRAND: &[u8] = b"Nacre virtual processor";
/// Family 15, model 107, stepping 1.
const SIGNATURE: u32 = 0x0006_0fb1;
const MAX_LEAF: u32 = 7;
const MAX_EXTENDED: u32 = 0x8000_0008;
const MAX_HYPERVISOR: u32 = 0x4000_0010;

/// Features of leaf 1 that leaf 0x80000001 repeats, edx: FPU DE PSE TSC MSR PAE MCE CX8 MTRR PGE
/// MCA CMOV PAT PSE36 MMX FXSR.
const COMMON: u32 = bits(&[0, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 23, 24]);
/// Leaf 1, edx: those, and SEP CLFSH SSE SSE2.
const FEATURES: u32 = COMMON | bits(&[11, 19, 25, 26]);
const APIC: u32 = 1 << 9;
/// Leaf 1, ecx: the APIC's registers are model-specific ones, too, and its timer goes by the
/// counter.
const APIC_MORE: u32 = bits(&[21, 24]);
/// Leaf 1, ecx: SSE3 SSSE3 CX16 SSE4.1 SSE4.2 POPCNT.
const MORE_FEATURES: u32 = bits(&[0, 9, 13, 19, 20, 23]);
/// Leaf 1, ecx: there is a hypervisor.
const HYPERVISOR: u32 = 1 << 31;
/// Leaf 1, ecx: process identities.
const PCID: u32 = 1 << 17;
/// Leaf 0x80000001, edx, beside `COMMON`: SYSCALL NX LM.
const LONG_FEATURES: u32 = bits(&[11, 20, 29]);
/// Leaf 0x80000001, ecx: LAHF in 64-bit mode.
const MORE_EXTENDED: u32 = 1;
/// Leaf 0x80000007, edx: the time stamp counter has one speed.
const INVARIANT_TSC: u32 = 1 << 8;
/// Leaf 1, ebx: lines of 64 bytes, one processor.
const LINES: u32 = 8 << 8 | 1 << 16;
/// Leaf 0x80000005: TLBs, and first caches of 64 KiB.
const FIRST_CACHES: [u32; 4] = [0x01ff_01ff, 0x01ff_01ff, 0x4002_0140, 0x4002_0140];
/// Leaf 0x80000006: second TLBs, and a second cache of 512 KiB.
const SECOND_CACHES: [u32; 4] = [0, 0x4200_4200, 0x0200_8140, 0];
/// Address sizes: 40 bits physical, 48 virtual.
const PHYSICAL_BITS: u32 = 40;
const VIRTUAL_BITS: u32 = 48;
/// Signature of KVM's leaves.
const KVM: [&[u8; 4]; 3] = [b"KVMK", b"VMKV", b"M\0\0\0"];
/// KVM: waits by port 0x80 are not needed; the clock by the newer registers; one clock for all
/// processors.
const KVM_FEATURES: u32 = bits(&[1, 3, 24]);

const fn bits(numbers: &[u32]) -> u32 {
    let (mut set, mut index) = (0, 0);
    while index < numbers.len() {
        set |= 1 << numbers[index];
        index += 1;
    }
    set
}

/// Features of the host's processor, from its own CPUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Leaf 1, ecx.
    pub leaf_1_ecx: u32,
    /// Leaf 1, edx.
    pub leaf_1_edx: u32,
    /// Leaf 0x80000001, ecx.
    pub extended_ecx: u32,
    /// Leaf 0x80000001, edx.
    pub extended_edx: u32,
    /// Bits of a physical address, from leaf 0x80000008.
    pub physical_bits: u8,
}

impl Host {
    /// Host that has everything, for tests.
    pub const ALL: Host = Host {
        leaf_1_ecx: u32::MAX,
        leaf_1_edx: u32::MAX,
        extended_ecx: u32::MAX,
        extended_edx: u32::MAX,
        physical_bits: 52,
    };
}

/// Choices of a guest's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Features of the host.
    pub host: Host,
    /// Number of the processor's local APIC, if it has one.
    pub apic: Option<u8>,
    /// True if the time stamp counter always has the same speed.
    pub invariant_tsc: bool,
    /// True if there are process identities, which software makes: shadow paging.
    pub pcid: bool,
    /// Frequency of the time stamp counter in hertz, if KVM's clock is offered.
    pub kvm_clock: Option<u64>,
}

/// Returns eax, ebx, ecx and edx of a leaf. Leaves that do not exist are 0.
pub fn cpuid(leaf: u32, _subleaf: u32, model: &Model) -> [u32; 4] {
    match leaf {
        0 => identity(MAX_LEAF, VENDOR),
        1 => features(model),
        0x4000_0000..0x4000_0100 => hypervisor(leaf, model),
        0x8000_0000 => identity(MAX_EXTENDED, VENDOR),
        0x8000_0001 => extended_features(model),
        0x8000_0002..0x8000_0005 => brand(leaf - 0x8000_0002),
        0x8000_0005 => FIRST_CACHES,
        0x8000_0006 => SECOND_CACHES,
        0x8000_0007 if model.invariant_tsc => [0, 0, 0, INVARIANT_TSC],
        0x8000_0008 => [physical_bits(model) | VIRTUAL_BITS << 8, 0, 0, 0],
        _ => [0; 4],
    }
}

/// Returns a leaf that names the last leaf of its range, and the vendor in ebx, edx and ecx.
fn identity(last: u32, name: [&[u8; 4]; 3]) -> [u32; 4] {
    let [ebx, edx, ecx] = name.map(|part| u32::from_le_bytes(*part));
    [last, ebx, ecx, edx]
}

fn features(model: &Model) -> [u32; 4] {
    let apic_more = if model.apic.is_some() { APIC_MORE } else { 0 };
    let pcid = if model.pcid { PCID } else { 0 };
    let ecx = MORE_FEATURES & model.host.leaf_1_ecx | HYPERVISOR | apic_more | pcid;
    [SIGNATURE, LINES | u32::from(model.apic.unwrap_or(0)) << 24, ecx, FEATURES & model.host.leaf_1_edx | apic(model)]
}

fn extended_features(model: &Model) -> [u32; 4] {
    let Host { extended_ecx, extended_edx, leaf_1_edx, .. } = model.host;
    // An Intel processor does not repeat the features of leaf 1.
    let edx = (LONG_FEATURES & extended_edx) | (COMMON & leaf_1_edx);
    [SIGNATURE, 0, MORE_EXTENDED & extended_ecx, edx | apic(model)]
}

/// Returns the bit of the local APIC, which software makes: the host need not have one.
fn apic(model: &Model) -> u32 {
    if model.apic.is_some() { APIC } else { 0 }
}

fn brand(part: u32) -> [u32; 4] {
    let byte = |index: usize| BRAND.get(part as usize * 16 + index).copied().unwrap_or(0);
    [0, 4, 8, 12].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|index| byte(at + index))))
}

fn physical_bits(model: &Model) -> u32 {
    PHYSICAL_BITS.min(u32::from(model.host.physical_bits))
}

/// Returns KVM's leaves, and the speeds in kilohertz as other hypervisors tell them.
fn hypervisor(leaf: u32, model: &Model) -> [u32; 4] {
    let Some(frequency) = model.kvm_clock else { return [0; 4] };
    let [ebx, ecx, edx] = KVM.map(|part| u32::from_le_bytes(*part));
    match leaf {
        0x4000_0000 => [MAX_HYPERVISOR, ebx, ecx, edx],
        0x4000_0001 => [KVM_FEATURES, 0, 0, 0],
        MAX_HYPERVISOR => [u32::try_from(frequency / 1000).unwrap_or(u32::MAX), 0, 0, 0],
        _ => [0; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model =
        Model { host: Host::ALL, apic: None, invariant_tsc: true, pcid: false, kvm_clock: Some(2_000_000_000) };

    fn text(registers: &[u32]) -> String {
        let bytes = registers.iter().flat_map(|register| register.to_le_bytes());
        bytes.filter(|byte| *byte != 0).map(char::from).collect()
    }

    #[test]
    fn names_read_as_they_should() {
        let [last, ebx, ecx, edx] = cpuid(0, 0, &MODEL);
        assert_eq!((last, text(&[ebx, edx, ecx]).as_str()), (7, "AuthenticAMD"));
        assert_eq!(text(&cpuid(0x4000_0000, 0, &MODEL)[1..]), "KVMKVMKVM");
        let brand = [2, 3, 4].map(|leaf| cpuid(0x8000_0000 + leaf, 0, &MODEL));
        assert_eq!(text(brand.as_flattened()), "Nacre virtual processor");
    }

    #[test]
    fn the_model_is_the_second_level_of_x86_64_and_no_more() {
        let [signature, _, ecx, edx] = cpuid(1, 0, &MODEL);
        assert_eq!([signature, ecx, edx], [0x60fb1, 0x8098_2201, 0x078b_f9fd]);
        let [_, _, ecx, edx] = cpuid(0x8000_0001, 0, &MODEL);
        assert_eq!([ecx, edx], [1, 0x2193_f9fd]);
        assert_eq!(cpuid(7, 0, &MODEL), [0; 4]);
        assert_eq!(cpuid(0x8000_0007, 0, &MODEL)[3], 0x100);
        assert_eq!(cpuid(0x8000_0008, 0, &MODEL)[0], 0x3028);
    }

    #[test]
    fn nothing_is_announced_that_the_host_lacks() {
        let host = Host {
            leaf_1_ecx: 1,
            leaf_1_edx: 1 << 4,
            extended_ecx: 0,
            extended_edx: 1 << 29,
            physical_bits: 36,
        };
        let model = Model { host, kvm_clock: None, ..MODEL };
        assert_eq!(cpuid(1, 0, &model)[2..], [1 | HYPERVISOR, 1 << 4]);
        assert_eq!(cpuid(0x8000_0001, 0, &model)[2..], [0, 1 << 4 | 1 << 29]);
        assert_eq!(cpuid(0x8000_0008, 0, &model)[0], 0x3024);
        assert_eq!([0x4000_0000, 0x4000_0001].map(|leaf| cpuid(leaf, 0, &model)), [[0; 4]; 2]);
    }

    #[test]
    fn choices_show_and_leaves_beyond_are_empty() {
        let model = Model { apic: Some(3), invariant_tsc: false, pcid: true, ..MODEL };
        assert_eq!(cpuid(1, 0, &model)[1..3], [0x0301_0800, 0x819a_2201 | 1 << 21]);
        assert_eq!((cpuid(1, 0, &model)[3] & APIC, cpuid(0x8000_0007, 0, &model)), (APIC, [0; 4]));
        assert_eq!(cpuid(0x4000_0001, 0, &model)[0], 0x0100_000a);
        assert_eq!(cpuid(0x4000_0010, 0, &model)[0], 2_000_000);
        for leaf in [2, 8, 0xd, 0x4000_0100, 0x8000_0009, 0xc000_0000, u32::MAX] {
            assert_eq!(cpuid(leaf, 7, &model), [0; 4]);
        }
    }
}
