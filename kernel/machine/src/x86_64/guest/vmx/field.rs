//! Numbers of the fields of a VMCS. Manual: appendix B.

/// First of the guest's selectors: ES, CS, SS, DS, FS, GS, LDTR, TR, two apart.
pub const SELECTORS: u32 = 0x800;
/// First of their limits, with those of GDTR and IDTR behind.
pub const LIMITS: u32 = 0x4800;
/// First of their access rights.
pub const RIGHTS: u32 = 0x4814;
/// First of their bases, with those of GDTR and IDTR behind.
pub const BASES: u32 = 0x6806;

/// Selectors of the kernel's code, stack and task. The rest are null.
pub const HOST_CODE: u32 = 0xc02;
pub const HOST_STACK: u32 = 0xc04;
pub const HOST_TASK: u32 = 0xc0c;

pub const REGISTER_MAP: u32 = 0x2004;
pub const EXIT_STORES: u32 = 0x2006;
pub const EXIT_LOADS: u32 = 0x2008;
pub const ENTRY_LOADS: u32 = 0x200a;
pub const TIME_OFFSET: u32 = 0x2010;
pub const VIRTUAL_APIC: u32 = 0x2012;
pub const TABLES: u32 = 0x201a;
pub const FAULT_ADDRESS: u32 = 0x2400;
pub const LINK: u32 = 0x2800;
pub const PAT: u32 = 0x2804;
pub const EFER: u32 = 0x2806;
/// First of the four entries of a guest with PAE.
pub const DIRECTORIES: u32 = 0x280a;
pub const HOST_PAT: u32 = 0x2c00;
pub const HOST_EFER: u32 = 0x2c02;

pub const PIN: u32 = 0x4000;
pub const PRIMARY: u32 = 0x4002;
pub const EXCEPTIONS: u32 = 0x4004;
pub const EXIT: u32 = 0x400c;
pub const EXIT_STORE_COUNT: u32 = 0x400e;
pub const EXIT_LOAD_COUNT: u32 = 0x4010;
pub const ENTRY: u32 = 0x4012;
pub const ENTRY_LOAD_COUNT: u32 = 0x4014;
pub const INJECT: u32 = 0x4016;
pub const INJECT_ERROR: u32 = 0x4018;
pub const INJECT_LENGTH: u32 = 0x401a;
pub const SECONDARY: u32 = 0x401e;

pub const REASON: u32 = 0x4402;
pub const EXCEPTION: u32 = 0x4404;
pub const EXCEPTION_ERROR: u32 = 0x4406;
pub const INTERRUPTED: u32 = 0x4408;
pub const INTERRUPTED_ERROR: u32 = 0x440a;
pub const LENGTH: u32 = 0x440c;
pub const QUALIFICATION: u32 = 0x6400;

pub const BLOCKING: u32 = 0x4824;
pub const ACTIVITY: u32 = 0x4826;
pub const SYSENTER_CS: u32 = 0x482a;
pub const TIMER: u32 = 0x482e;

pub const CR0_MASK: u32 = 0x6000;
pub const CR4_MASK: u32 = 0x6002;
pub const CR0_SHOWN: u32 = 0x6004;
pub const CR4_SHOWN: u32 = 0x6006;
pub const CR0: u32 = 0x6800;
pub const CR3: u32 = 0x6802;
pub const CR4: u32 = 0x6804;
pub const DR7: u32 = 0x681a;
pub const RSP: u32 = 0x681c;
pub const RIP: u32 = 0x681e;
pub const RFLAGS: u32 = 0x6820;
pub const PENDING_DEBUG: u32 = 0x6822;
pub const SYSENTER_ESP: u32 = 0x6824;
pub const SYSENTER_EIP: u32 = 0x6826;

pub const HOST_CR0: u32 = 0x6c00;
pub const HOST_CR3: u32 = 0x6c02;
pub const HOST_CR4: u32 = 0x6c04;
pub const HOST_FS: u32 = 0x6c06;
pub const HOST_GS: u32 = 0x6c08;
pub const HOST_TASK_BASE: u32 = 0x6c0a;
pub const HOST_GDT: u32 = 0x6c0c;
pub const HOST_IDT: u32 = 0x6c0e;
pub const HOST_RSP: u32 = 0x6c14;
pub const HOST_RIP: u32 = 0x6c16;
