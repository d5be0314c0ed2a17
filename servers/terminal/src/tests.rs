//! The line discipline, key by key.

use super::*;

fn typed(terminal: &mut Terminal, keys: &[u8]) -> (Vec<u8>, Vec<Signal>) {
    let mut echo = VecDeque::new();
    let signals = keys.iter().filter_map(|&key| terminal.feed(key, &mut echo)).collect();
    (echo.into(), signals)
}

fn raw() -> Terminal {
    let mut terminal = Terminal::default();
    let mut attributes = terminal.attributes;
    attributes.local &= !(local::CANONICAL | local::ECHO | local::SIGNALS);
    terminal.set_attributes(attributes, false);
    terminal
}

#[test]
fn a_line_is_readable_at_its_end() {
    let mut terminal = Terminal::default();
    assert_eq!(typed(&mut terminal, b"hi").0, b"hi");
    assert!(!terminal.is_readable());
    assert_eq!(typed(&mut terminal, b"\rnext\r").0, b"\r\nnext\r\n");
    assert_eq!(terminal.waiting(), 8);
    assert_eq!(terminal.read(2), b"hi");
    assert_eq!(terminal.read(100), b"\n");
    assert_eq!(terminal.read(100), b"next\n");
    assert!(!terminal.is_readable());
}

#[test]
fn control_d_ends_a_line_or_the_file() {
    let mut terminal = Terminal::default();
    typed(&mut terminal, b"ab\x04\x04");
    assert_eq!(terminal.read(100), b"ab");
    assert!(terminal.is_readable());
    assert_eq!(terminal.read(100), b"");
    assert!(!terminal.is_readable());
}

#[test]
fn characters_words_and_lines_are_erased_on_the_screen_too() {
    let mut terminal = Terminal::default();
    assert_eq!(typed(&mut terminal, b"ab\x7fc").0, b"ab\x08 \x08c");
    assert_eq!(typed(&mut terminal, b" de\x17").0, b" de\x08 \x08\x08 \x08");
    assert_eq!(typed(&mut terminal, b"\x15").0, b"\x08 \x08".repeat(3));
    assert_eq!(typed(&mut terminal, "é\x7f\x7f".as_bytes()).0, "é\x08 \x08".as_bytes());
    assert_eq!(typed(&mut terminal, b"a\t\x7f").0, b"a\t\x08\x08\x08\x08\x08\x08\x08");
    typed(&mut terminal, b"\x15ok\n");
    assert_eq!(terminal.read(100), b"ok\n");
}

#[test]
fn signals_flush_what_was_typed() {
    let mut terminal = Terminal::default();
    assert_eq!(typed(&mut terminal, b"line\nab\x03"), (b"line\r\nab^C".to_vec(), alloc::vec![Signal::Interrupt]));
    assert!(!terminal.is_readable());
    assert_eq!(typed(&mut terminal, b"\x1c").1, [Signal::Quit]);
    assert_eq!(typed(&mut terminal, b"\x1a").1, [Signal::Suspend]);
    assert_eq!(typed(&mut terminal, b"\x16\x03\n").0, b"^\x08^C\r\n");
    assert_eq!(terminal.read(9), b"\x03\n");
}

#[test]
fn a_key_that_somebody_attends_to_is_read_by_nobody() {
    let mut terminal = Terminal { has_attention: true, ..raw() };
    assert_eq!(typed(&mut terminal, b"a\x1cb\x1c"), (Vec::new(), alloc::vec![Signal::Attention; 2]));
    assert_eq!(terminal.read(9), b"ab");
    let mut terminal = Terminal { has_attention: true, ..Terminal::default() };
    assert_eq!(typed(&mut terminal, b"a\x1cb\n"), (b"ab\r\n".to_vec(), alloc::vec![Signal::Attention]));
    assert_eq!(terminal.read(9), b"ab\n");
}

#[test]
fn raw_mode_gives_every_byte_at_once() {
    let mut terminal = raw();
    assert_eq!(typed(&mut terminal, b"a\x03\x04"), (Vec::new(), Vec::new()));
    assert!(terminal.is_readable());
    assert_eq!(terminal.read(2), b"a\x03");
    assert_eq!(terminal.read(2), b"\x04");
    assert!(!terminal.is_readable());
}

#[test]
fn minimum_and_time_decide_when_a_raw_read_ends() {
    let mut terminal = raw();
    terminal.attributes.controls[control::MINIMUM] = 3;
    typed(&mut terminal, b"ab");
    assert!(!terminal.is_readable());
    assert_eq!(terminal.patience(), None);
    terminal.attributes.controls[control::TIME] = 2;
    assert_eq!(terminal.patience(), Some(200_000_000));
    terminal.attributes.controls[control::MINIMUM] = 0;
    assert!(terminal.is_readable());
    terminal.read(9);
    assert!(!terminal.is_readable());
    terminal.attributes.controls[control::TIME] = 0;
    assert!(terminal.is_readable());
}

#[test]
fn output_gets_returns_and_tabs() {
    let mut terminal = Terminal::default();
    let mut screen = VecDeque::new();
    terminal.write(b"a\nb", &mut screen);
    assert_eq!(screen, b"a\r\nb");
    screen.clear();
    terminal.attributes.output |= attributes::output::TABS;
    terminal.write(b"\tc", &mut screen);
    assert_eq!(screen, b"       c");
    screen.clear();
    terminal.attributes.output = 0;
    terminal.write(b"\n", &mut screen);
    assert_eq!(screen, b"\n");
}

#[test]
fn a_change_of_mode_keeps_what_was_typed() {
    let mut terminal = Terminal::default();
    typed(&mut terminal, b"half");
    let cooked = terminal.attributes;
    let mut attributes = cooked;
    attributes.local &= !local::CANONICAL;
    terminal.set_attributes(attributes, false);
    assert_eq!(terminal.read(2), b"ha");
    terminal.set_attributes(cooked, false);
    assert_eq!(terminal.read(9), b"lf");
    terminal.set_attributes(cooked, true);
    assert!(!terminal.is_readable());
}

#[test]
fn a_line_has_a_longest_length_but_always_an_end() {
    let mut terminal = Terminal::default();
    typed(&mut terminal, &[b'x'; 5000]);
    typed(&mut terminal, b"\n");
    assert_eq!(terminal.read(10_000).len(), MAX_INPUT + 1);
}

#[test]
fn a_tab_is_erased_wherever_the_cursor_is() {
    for written in [&b"\r"[..], b"far to the right of it"] {
        let (mut terminal, mut screen) = (Terminal::default(), VecDeque::new());
        typed(&mut terminal, b"a\t");
        terminal.write(written, &mut screen);
        assert!(typed(&mut terminal, b"\x7f").0.len() <= 8, "{written:?}");
        assert_eq!(terminal.line, b"a");
    }
}

#[test]
fn random_keys_never_break_the_books() {
    let mut terminal = Terminal::default();
    let mut random = 7u64;
    for _ in 0..100_000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        typed(&mut terminal, &[(random >> 40) as u8]);
        match random >> 60 {
            0 => drop(terminal.read((random >> 50) as usize & 63)),
            1 => {
                let mut attributes = terminal.attributes;
                attributes.local ^= 1 << ((random >> 32) & 15);
                terminal.set_attributes(attributes, false);
            }
            _ => {}
        }
        assert!(terminal.waiting() <= terminal.ready.len());
    }
}
