//! Model-specific registers of the guest's processor. Those that belong to the registers of a vCPU
//! (`fs` and `gs` bases, `STAR` and its like, `SYSENTER`) never make a guest exit and are not here.
//!
//! A register that is not known refuses with a general protection fault, as on a processor that
//! lacks it, and is counted. Names and bits: AMD's manual, volume 2, appendix A; KVM's ones are
//! Linux's `Documentation/virt/kvm/x86/msr.rst`.

use crate::BadState;

/// Version of [`MsrsState`].
const VERSION: u32 = 1;

const TSC: u32 = 0x10;
const APIC_BASE: u32 = 0x1b;
const MICROCODE: u32 = 0x8b;
const MTRR_CAPABILITY: u32 = 0xfe;
const MCG_CAPABILITY: u32 = 0x179;
const MCG_STATUS: u32 = 0x17a;
const MISC_ENABLE: u32 = 0x1a0;
const DEBUG_CONTROL: u32 = 0x1d9;
const PAT: u32 = 0x277;
const MTRR_DEFAULT: u32 = 0x2ff;
const EFER: u32 = 0xc000_0080;
const HARDWARE_CONTROL: u32 = 0xc001_0015;
const KVM_WALL_CLOCK: u32 = 0x4b56_4d00;
const KVM_SYSTEM_TIME: u32 = 0x4b56_4d01;

/// AMD's registers that read 0 here and whose writes change nothing: system configuration, top of
/// memory, I/O ranges, interrupts pending, configuration by memory, features of the caches and of
/// decoding. Systems read them without asking, in order to work around defects. The first four are
/// counters, which Xen clears.
const ZERO: &[u32] = &[
    0xc001_0004, 0xc001_0005, 0xc001_0006, 0xc001_0007,
    0xc001_0010, 0xc001_0016, 0xc001_0017, 0xc001_0018, 0xc001_0019, 0xc001_001a, 0xc001_001d,
    0xc001_001f, 0xc001_0055, 0xc001_0058, 0xc001_0112, 0xc001_1020, 0xc001_1021, 0xc001_1022,
    0xc001_1023, 0xc001_1029, 0xc001_102a,
];

/// Bits of `EFER`: system calls, long mode, long mode active, no execution.
const EFER_WRITABLE: u64 = 1 | EFER_LME | 1 << 11;
const EFER_LME: u64 = 1 << 8;
const EFER_LMA: u64 = 1 << 10;
const CR0_PG: u64 = 1 << 31;
/// Power-on value of `PAT`: write-back, write-through, uncached minus, uncached, twice.
const PAT_DEFAULT: u64 = 0x0007_0406_0007_0406;
/// All memory is write-back, and type registers are on.
const MTRR_VALUE: u64 = 0xc06;
/// Local APIC: on, of the first processor, at its usual address.
const APIC_VALUE: u64 = 0xfee0_0900;
/// Bits of `APIC_BASE` that may change: on, and the address of 40 bits.
const APIC_WRITABLE: u64 = 1 << 11 | 0xff_ffff_f000;
const APIC_FIRST: u64 = 1 << 8;
/// `HWCR`: the time stamp counter counts at the nominal frequency.
const TSC_FREQUENCY_SELECT: u64 = 1 << 24;
/// Bits that guests set in `HWCR`, kept and without effect: the filter of TLB flushes, and caches
/// in user mode.
const HARDWARE_WRITABLE: u64 = 1 << 3 | 1 << 6 | 1 << 8 | TSC_FREQUENCY_SELECT;

/// Fault that the guest takes instead: vector 13, error code 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneralProtection;

/// Registers of the vCPU that decide on an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Control register 0.
    pub cr0: u64,
    /// Extended feature register.
    pub efer: u64,
    /// Value of the guest's time stamp counter now.
    pub tsc: u64,
}

/// Action that the monitor takes after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MsrAction {
    /// Done: nothing remains.
    None,
    /// Set the vCPU's `EFER`.
    SetEfer(u64),
    /// Set the vCPU's `PAT`.
    SetPat(u64),
    /// Make the guest's time stamp counter go on from this value.
    SetTsc(u64),
    /// Keep [`crate::time_info`] at this guest-physical address up to date; `None`: no longer.
    SystemTime(Option<u64>),
    /// Write [`crate::wall_clock`] to this guest-physical address once.
    WallClock(u64),
}

/// State of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MsrsState {
    /// Version of this struct.
    pub version: u32,
    /// Page attribute table.
    pub pat: u64,
    /// Default memory type.
    pub mtrr_default: u64,
    /// Address and mode of the local APIC.
    pub apic_base: u64,
    /// Hardware configuration.
    pub hardware: u64,
    /// Miscellaneous features, without effect.
    pub misc: u64,
    /// Machine check status.
    pub check_status: u64,
    /// Address of KVM's clock; bit 0: it is on.
    pub system_time: u64,
    /// Address of KVM's date.
    pub wall_clock: u64,
    /// Number of accesses to registers that are not known.
    pub unknown_count: u64,
    /// Register that was last refused as not known.
    pub last_unknown: u32,
    /// True if there is a local APIC.
    pub has_apic: bool,
    /// True if there is KVM's clock.
    pub has_kvm_clock: bool,
}

/// Model-specific registers of one processor.
#[derive(Clone, Debug)]
pub struct Msrs {
    state: MsrsState,
}

impl Msrs {
    /// Makes registers as they are after power-on, of a processor with or without APIC and KVM's
    /// clock.
    pub fn new(has_apic: bool, has_kvm_clock: bool) -> Self {
        let state = MsrsState {
            version: VERSION,
            pat: PAT_DEFAULT,
            mtrr_default: MTRR_VALUE,
            apic_base: APIC_VALUE,
            hardware: TSC_FREQUENCY_SELECT,
            misc: 0,
            check_status: 0,
            system_time: 0,
            wall_clock: 0,
            unknown_count: 0,
            last_unknown: 0,
            has_apic,
            has_kvm_clock,
        };
        Msrs { state }
    }

    /// Returns the whole state.
    pub fn state(&self) -> MsrsState {
        self.state
    }

    /// Makes registers from a saved state.
    pub fn restore(state: &MsrsState) -> Result<Self, BadState> {
        if state.version != VERSION {
            return Err(BadState("version of the model-specific registers"));
        }
        if !is_pat(state.pat) || !is_memory_type(state.mtrr_default as u8) {
            return Err(BadState("a memory type"));
        }
        Ok(Msrs { state: *state })
    }

    /// Reads a register.
    pub fn read(&mut self, msr: u32, processor: &Processor) -> Result<u64, GeneralProtection> {
        match msr {
            TSC => Ok(processor.tsc),
            EFER => Ok(processor.efer),
            PAT => Ok(self.state.pat),
            APIC_BASE if self.state.has_apic => Ok(self.state.apic_base),
            MTRR_DEFAULT => Ok(self.state.mtrr_default),
            MISC_ENABLE => Ok(self.state.misc),
            MCG_STATUS => Ok(self.state.check_status),
            HARDWARE_CONTROL => Ok(self.state.hardware),
            KVM_SYSTEM_TIME if self.state.has_kvm_clock => Ok(self.state.system_time),
            KVM_WALL_CLOCK if self.state.has_kvm_clock => Ok(self.state.wall_clock),
            MICROCODE | MTRR_CAPABILITY | MCG_CAPABILITY | DEBUG_CONTROL => Ok(0),
            _ if ZERO.contains(&msr) => Ok(0),
            _ => self.unknown(msr),
        }
    }

    /// Writes a register, and returns what remains to be done.
    pub fn write(
        &mut self, msr: u32, value: u64, processor: &Processor,
    ) -> Result<MsrAction, GeneralProtection> {
        match msr {
            TSC => return Ok(MsrAction::SetTsc(value)),
            EFER => return efer(value, processor),
            PAT => return self.write_pat(value),
            KVM_SYSTEM_TIME if self.state.has_kvm_clock => return Ok(self.write_system_time(value)),
            KVM_WALL_CLOCK if self.state.has_kvm_clock => return Ok(self.write_wall_clock(value)),
            APIC_BASE if self.state.has_apic => self.write_apic_base(value)?,
            MTRR_DEFAULT => self.write_memory_type(value)?,
            MISC_ENABLE => self.state.misc = value,
            MCG_STATUS if value == 0 => self.state.check_status = 0,
            HARDWARE_CONTROL => self.state.hardware = value & HARDWARE_WRITABLE,
            MICROCODE | DEBUG_CONTROL => {}
            _ if ZERO.contains(&msr) => {}
            MTRR_CAPABILITY | MCG_CAPABILITY | MCG_STATUS => return Err(GeneralProtection),
            _ => return self.unknown(msr),
        }
        Ok(MsrAction::None)
    }

    /// Returns the register that was last refused as not known, and how many were.
    pub fn unknown_accesses(&self) -> (u32, u64) {
        (self.state.last_unknown, self.state.unknown_count)
    }

    fn unknown<T>(&mut self, msr: u32) -> Result<T, GeneralProtection> {
        self.state.last_unknown = msr;
        self.state.unknown_count = self.state.unknown_count.saturating_add(1);
        Err(GeneralProtection)
    }

    fn write_pat(&mut self, value: u64) -> Result<MsrAction, GeneralProtection> {
        if !is_pat(value) {
            return Err(GeneralProtection);
        }
        self.state.pat = value;
        Ok(MsrAction::SetPat(value))
    }

    fn write_apic_base(&mut self, value: u64) -> Result<(), GeneralProtection> {
        if value & !(APIC_WRITABLE | APIC_FIRST) != 0 {
            return Err(GeneralProtection);
        }
        self.state.apic_base = value & APIC_WRITABLE | APIC_FIRST;
        Ok(())
    }

    fn write_memory_type(&mut self, value: u64) -> Result<(), GeneralProtection> {
        if value & !0xcff != 0 || !is_memory_type(value as u8) {
            return Err(GeneralProtection);
        }
        self.state.mtrr_default = value;
        Ok(())
    }

    fn write_system_time(&mut self, value: u64) -> MsrAction {
        self.state.system_time = value;
        MsrAction::SystemTime((value & 1 != 0).then_some(value & !1))
    }

    fn write_wall_clock(&mut self, value: u64) -> MsrAction {
        self.state.wall_clock = value;
        MsrAction::WallClock(value)
    }
}

/// Checks a new `EFER`. Long mode is switched only while paging is off, and is active only by it.
fn efer(value: u64, processor: &Processor) -> Result<MsrAction, GeneralProtection> {
    let changes_mode = (value ^ processor.efer) & EFER_LME != 0;
    let is_refused = value & !(EFER_WRITABLE | EFER_LMA) != 0
        || (changes_mode && processor.cr0 & CR0_PG != 0);
    if is_refused {
        return Err(GeneralProtection);
    }
    Ok(MsrAction::SetEfer(value & EFER_WRITABLE | processor.efer & EFER_LMA))
}

/// Returns true for types of memory that ranges can have.
fn is_memory_type(kind: u8) -> bool {
    matches!(kind, 0 | 1 | 4 | 5 | 6)
}

/// Returns true if all eight entries are types of memory. Pages have one more type than ranges.
fn is_pat(value: u64) -> bool {
    value.to_le_bytes().iter().all(|kind| is_memory_type(*kind) || *kind == 7)
}

#[cfg(test)]
#[path = "msr_tests.rs"]
mod tests;
