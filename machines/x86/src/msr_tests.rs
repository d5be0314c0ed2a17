//! Tests of the model-specific registers.

use super::*;

const LONG: Processor = Processor { cr0: CR0_PG, efer: EFER_LME | EFER_LMA, tsc: 42 };

fn write(msr: u32, value: u64) -> Result<MsrAction, GeneralProtection> {
    Msrs::new(true, true).write(msr, value, &LONG)
}

#[test]
fn linux_reads_what_it_reads_at_boot() {
    let mut msrs = Msrs::new(false, true);
    let read = [TSC, EFER, PAT, MTRR_CAPABILITY, MTRR_DEFAULT, MCG_CAPABILITY, 0xc001_0055];
    let values = read.map(|msr| msrs.read(msr, &LONG).unwrap());
    assert_eq!(values, [42, 0x500, PAT_DEFAULT, 0, 0xc06, 0, 0]);
    assert_eq!(msrs.read(HARDWARE_CONTROL, &LONG), Ok(1 << 24));
    assert_eq!(msrs.read(APIC_BASE, &LONG), Err(GeneralProtection));
    assert_eq!(Msrs::new(true, true).read(APIC_BASE, &LONG), Ok(0xfee0_0900));
}

#[test]
fn what_is_not_known_faults_and_counts() {
    let mut msrs = Msrs::new(false, false);
    assert_eq!(msrs.read(0x48, &LONG), Err(GeneralProtection));
    assert_eq!(msrs.write(KVM_SYSTEM_TIME, 1, &LONG), Err(GeneralProtection));
    assert_eq!(msrs.unknown_accesses(), (KVM_SYSTEM_TIME, 2));
    assert_eq!(msrs.write(MCG_CAPABILITY, 0, &LONG), Err(GeneralProtection));
    assert_eq!(msrs.unknown_accesses().1, 2);
}

#[test]
fn long_mode_is_switched_with_paging_off_only() {
    assert_eq!(write(EFER, 0x901), Ok(MsrAction::SetEfer(0xd01)));
    assert_eq!(write(EFER, 0xd01), Ok(MsrAction::SetEfer(0xd01)));
    assert_eq!(write(EFER, 0), Err(GeneralProtection));
    assert_eq!(write(EFER, 0x1500), Err(GeneralProtection), "no virtualization inside");
    let off = Processor { cr0: 0, efer: 0, tsc: 0 };
    let mut msrs = Msrs::new(false, false);
    assert_eq!(msrs.write(EFER, 0x500, &off), Ok(MsrAction::SetEfer(0x100)));
}

#[test]
fn memory_types_are_checked() {
    assert_eq!(write(PAT, 0x0007_0106_0007_0106), Ok(MsrAction::SetPat(0x0007_0106_0007_0106)));
    assert_eq!(write(PAT, 2 << 56), Err(GeneralProtection));
    assert_eq!(write(MTRR_DEFAULT, 0xc00), Ok(MsrAction::None));
    assert_eq!(write(MTRR_DEFAULT, 0xc07), Err(GeneralProtection));
    assert_eq!(write(MTRR_DEFAULT, 0x1000), Err(GeneralProtection));
}

#[test]
fn the_clock_of_kvm_is_told_where_to_lie() {
    assert_eq!(write(KVM_SYSTEM_TIME, 0x12_3001), Ok(MsrAction::SystemTime(Some(0x12_3000))));
    assert_eq!(write(KVM_SYSTEM_TIME, 0x12_3000), Ok(MsrAction::SystemTime(None)));
    assert_eq!(write(KVM_WALL_CLOCK, 0x5000), Ok(MsrAction::WallClock(0x5000)));
    assert_eq!(write(TSC, 7), Ok(MsrAction::SetTsc(7)));
}

#[test]
fn an_apic_stays_where_machines_have_it_or_moves() {
    let mut msrs = Msrs::new(true, false);
    assert_eq!(msrs.write(APIC_BASE, 0xfee0_0000, &LONG), Ok(MsrAction::None));
    assert_eq!(msrs.read(APIC_BASE, &LONG), Ok(0xfee0_0100));
    assert_eq!(msrs.write(APIC_BASE, 0xfee0_0d00, &LONG), Err(GeneralProtection), "no x2APIC");
    assert_eq!(msrs.write(APIC_BASE, 1 << 40, &LONG), Err(GeneralProtection));
}

#[test]
fn a_state_goes_out_and_in_and_a_wrong_one_is_refused() {
    let mut msrs = Msrs::new(true, true);
    msrs.write(KVM_SYSTEM_TIME, 0x9001, &LONG).unwrap();
    let state = msrs.state();
    assert_eq!(Msrs::restore(&state).unwrap().state(), state);
    assert!(Msrs::restore(&MsrsState { version: 2, ..state }).is_err());
    assert!(Msrs::restore(&MsrsState { pat: 2, ..state }).is_err());
    assert!(Msrs::restore(&MsrsState { mtrr_default: 7, ..state }).is_err());
}
