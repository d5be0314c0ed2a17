//! Tests of the serial line.

use super::*;

/// Line as a driver sets it up, with these interrupts.
fn uart(enabled: u8) -> Uart {
    let mut uart = Uart::new();
    uart.write(2, 0xc7);
    uart.write(4, 0x0b);
    uart.write(1, enabled);
    uart
}

fn taken(uart: &mut Uart) -> Vec<u8> {
    let mut bytes = [0; OUTPUT_SIZE];
    let count = uart.take_output(&mut bytes);
    bytes[..count].to_vec()
}

#[test]
fn bytes_go_out_at_once() {
    let mut uart = uart(0);
    b"hello".iter().for_each(|byte| uart.write(0, *byte));
    assert_eq!((uart.read(5), uart.output_len()), (0x60, 5));
    assert_eq!((taken(&mut uart), taken(&mut uart)), (b"hello".to_vec(), Vec::new()));
}

#[test]
fn a_full_output_is_not_ready_until_it_is_taken() {
    let mut uart = uart(ENABLE_READY);
    for number in 0..OUTPUT_SIZE + 3 {
        uart.write(0, number as u8);
    }
    assert_eq!((uart.read(5), uart.interrupt()), (0, false));
    assert_eq!(uart.take_output(&mut [0; 1]), 1);
    assert_eq!((uart.read(5), uart.interrupt()), (0x60, true));
    assert_eq!(taken(&mut uart).len(), OUTPUT_SIZE - 1);
}

#[test]
fn readiness_is_told_once_a_byte() {
    let mut uart = uart(ENABLE_READY);
    assert!(uart.interrupt());
    assert_eq!([uart.read(2), uart.read(2)], [0xc2, 0xc1]);
    assert!(!uart.interrupt());
    uart.write(0, b'a');
    assert_eq!((uart.interrupt(), uart.read(2)), (true, 0xc2));
    uart.write(1, 0);
    uart.write(1, ENABLE_READY);
    assert_eq!(uart.read(2), 0xc2, "enabling tells again");
}

#[test]
fn input_is_bounded_and_interrupts() {
    let mut uart = uart(ENABLE_INPUT);
    assert_eq!((uart.receive(&[7; 3]), uart.read(2)), (3, 0xcc));
    assert_eq!((uart.receive(&[8; 30]), uart.read(2)), (13, 0xc4));
    assert_eq!((uart.receive(&[9]), uart.read(5)), (0, 0x61));
    let read: Vec<u8> = (0..17).map(|_| uart.read(0)).collect();
    assert_eq!((read[0], read[15], read[16]), (7, 8, 0));
    assert!(!uart.interrupt());
    uart.write(2, 0);
    assert_eq!(uart.receive(&[1, 2]), 1, "one byte without FIFO");
}

#[test]
fn a_driver_finds_a_16550a() {
    // The steps of Linux's `autoconfig`.
    let mut uart = Uart::new();
    for (value, seen) in [(0, 0), (0xff, 0x0f), (0, 0)] {
        uart.write(1, value);
        assert_eq!(uart.read(1), seen);
    }
    uart.write(4, 0x1a);
    assert_eq!(uart.read(6) & 0xf0, 0x90);
    uart.write(4, 0);
    uart.write(3, 0xbf);
    uart.write(2, 0);
    uart.write(3, 0);
    uart.write(2, 1);
    assert_eq!(uart.read(2) >> 6, 3);
    uart.write(2, 0x21);
    assert_eq!(uart.read(2) >> 5, 6, "no 64-byte FIFO");
    uart.write(7, 0x5a);
    assert_eq!(uart.read(7), 0x5a);
}

#[test]
fn the_divisor_hides_the_first_registers() {
    let mut uart = uart(3);
    uart.write(3, 0x83);
    uart.write(0, 0x34);
    uart.write(1, 0x12);
    assert_eq!([uart.read(0), uart.read(1)], [0x34, 0x12]);
    uart.write(3, 3);
    assert_eq!((uart.read(1), uart.output_len()), (3, 0));
}

#[test]
fn loopback_returns_bytes_and_cuts_the_line() {
    let mut uart = uart(ENABLE_INPUT | ENABLE_ERROR);
    uart.write(4, 0x1b);
    uart.write(0, b'x');
    assert_eq!((uart.read(0), uart.receive(b"y"), uart.output_len()), (b'x', 0, 0));
    (0..17).for_each(|_| uart.write(0, b'z'));
    assert!(!uart.interrupt(), "the interrupt line is cut, too");
    assert_eq!([uart.read(2), uart.read(5), uart.read(5), uart.read(2)], [0xc6, 0x63, 0x61, 0xc4]);
}

#[test]
fn changes_of_the_modem_are_told_once() {
    let mut uart = uart(ENABLE_MODEM);
    uart.write(4, 0x1f);
    uart.write(4, 0x1b);
    uart.write(4, 0x0b);
    assert!(uart.interrupt());
    assert_eq!([uart.read(6), uart.read(6)], [0xb4, 0xb0], "ring has fallen");
    assert!(!uart.interrupt());
}

#[test]
fn a_wrong_state_is_refused() {
    let mut state = uart(0).state();
    assert!(Uart::restore(&state).is_ok());
    state.input.first = 16;
    assert!(Uart::restore(&state).is_err());
    state.input.first = 0;
    state.output.count = OUTPUT_SIZE as u32 + 1;
    assert!(Uart::restore(&state).is_err());
    assert!(Uart::restore(&UartState { version: 9, ..Uart::new().state() }).is_err());
}
