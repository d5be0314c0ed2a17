//! Merges of texts, whole and spoiled.

use super::lines::Problem;
use super::write::{Written, merge};

/// First lines of a tracer: its program is process `pid`, and it is process `own`.
pub fn begin(pid: u64, own: u64, clock: &str) -> String {
    format!("[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":\"p{pid}\",\"tracer\":0,\"own\":{own},\"world\":\"a\",\"clock\":\"{clock}\"}}}}")
}

fn track(pid: u64, thread: u64) -> String {
    let (number, name) = if thread == 0 { (pid, "messages".to_string()) } else { (thread, format!("thread {thread}")) };
    format!(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{number},\"args\":{{\"name\":\"{name}\",\"tracer\":0,\"thread\":{thread}}}}}")
}

fn event(name: &str, (start, end): (u64, u64), (pid, track): (u64, u64), reference: u64) -> String {
    let (start, duration) = (format!("{start}.000"), format!("{}.500", end - start));
    format!(",\n{{\"name\":\"{name}\",\"cat\":\"file\",\"ph\":\"X\",\"ts\":{start},\"dur\":{duration},\"pid\":{pid},\"tid\":{track},\"args\":{{\"message\":\"{name}(#{reference})\",\"answer\":\"0\"}}}}")
}

/// An outer trace of process 2, a tracer, and of its program 3; and the inner one of that.
fn nested() -> [String; 2] {
    let outer = [begin(2, 1, "1.2.3"), track(2, 0), event("open", (10, 12), (2, 2), 1), track(3, 0), event("read", (21, 29), (3, 3), 4), track(3, 7), event("read", (41, 49), (3, 7), 5), "\n]\n".into()];
    let inner = [begin(3, 2, "1.2.3"), track(3, 0), event("read", (20, 30), (3, 3), 1), track(3, 7), event("read", (40, 50), (3, 7), 2), event("stat", (60, 70), (3, 7), 2), event("stat", (65, 80), (3, 7), 2), "\n]\n".into()];
    [outer.concat(), inner.concat()]
}

fn merged(texts: &[&[u8]]) -> Result<(Written, String), (usize, Problem)> {
    let mut output = Vec::new();
    let written = merge(texts.len(), |number| Ok(texts[number]), &mut output)?;
    Ok((written, String::from_utf8(output).unwrap()))
}

#[test]
fn nested_traces_are_groups_with_arrows_between_them() {
    let [outer, inner] = nested();
    for texts in [[&outer, &inner], [&inner, &outer]] {
        let (written, text) = merged(&texts.map(|text| text.as_bytes())).unwrap();
        assert_eq!(text, include_str!("merged.json"));
        assert_eq!(written.layers, [("trace 1 (outer)".into(), "p2".into(), 3), ("trace 2 (inside trace 1)".into(), "p3".into(), 4)]);
        assert_eq!((written.arrows, written.cut, written.is_crowded, written.is_measured), (2, vec![], false, false));
    }
}

#[test]
fn traces_beside_each_other_have_no_arrows() {
    let [outer, inner] = nested();
    // Another world, and another process, as the inner tracer.
    for (old, new) in [("\"world\":\"a\"", "\"world\":\"b\""), ("\"own\":2", "\"own\":9"), ("\"own\":2", "\"own\":0")] {
        let (written, _) = merged(&[outer.as_bytes(), inner.replace(old, new).as_bytes()]).unwrap();
        assert_eq!((written.arrows, written.layers[1].0.as_str()), (0, "trace 2"), "{new}");
    }
    let measured = [&outer, &inner].map(|text| text.replace("1.2.3", "0.0.77"));
    let (written, _) = merged(&[measured[0].as_bytes(), measured[1].replace("77", "78").as_bytes()]).unwrap();
    assert_eq!((written.arrows, written.is_measured), (0, true));
}

#[test]
fn tracers_of_one_file_are_layers_too() {
    let [outer, inner] = nested();
    let second = inner[2..].replace("\"tracer\":0", "\"tracer\":500").replace("\"tid\":", "\"tid\":99999");
    let one = [outer.trim_end_matches("\n]\n"), ",\n", &second].concat();
    let (written, text) = merged(&[one.as_bytes()]).unwrap();
    assert_eq!((written.arrows, text.as_str()), (2, include_str!("merged.json")));
}

#[test]
fn what_is_no_trace_is_refused() {
    let [outer, inner] = nested();
    let problem = |texts: &[&[u8]]| format!("{:?}", merged(texts).unwrap_err());
    for text in ["", "[", "[\n", "[\n]\n", "{\"traceEvents\":[]}", "\u{7f}ELF", "[\n{\"name\":\"x\"}\n]\n"] {
        assert_eq!(problem(&[outer.as_bytes(), text.as_bytes()]), "(1, NoTrace)", "{text}");
    }
    assert_eq!(problem(&[outer.replace(",\"tracer\":0,\"own\":1,\"world\":\"a\",\"clock\":\"1.2.3\"", "").as_bytes()]), "(0, Old)");
    assert_eq!(problem(&[outer.as_bytes(), inner.replace("1.2.3", "1.2.4").as_bytes()]), "(1, OtherClock(0))");
    assert_eq!(problem(&[outer.replace(",\"tid\":3,", ",\"tid\":4,").replacen(",\"tid\":4,", ",\"tid\":3,", 1).as_bytes()]), "(0, Damaged(6))");
    assert_eq!(problem(&[[&outer, "x"].concat().as_bytes()]), "(0, Damaged(10))");
    assert_eq!(problem(&[&outer.as_bytes()[1..]]), "(0, NoTrace)");
}

#[test]
fn a_file_that_was_cut_off_is_merged_as_far_as_it_goes() {
    let [outer, inner] = nested();
    // The line's end behind the array's may be missing.
    assert_eq!(merged(&[outer.as_bytes(), inner.trim_end().as_bytes()]).unwrap().0.cut, [0; 0]);
    for end in 0..inner.len() - 2 {
        match merged(&[outer.as_bytes(), &inner.as_bytes()[..end]]) {
            Ok((written, text)) => {
                assert_eq!(written.cut, [1], "{end}");
                assert!(text.starts_with("[\n{") && text.ends_with("}\n]\n"), "{end}");
            }
            Err((file, problem)) => assert!(file == 1 && matches!(problem, Problem::NoTrace), "{end}: {problem:?}"),
        }
    }
}

#[test]
fn spoiled_files_are_refused_or_read_and_never_more() {
    let [outer, inner] = nested();
    let mut seed = 1_u64;
    let mut next = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    let mut merges = 0;
    for _ in 0..10_000 {
        let mut bytes = inner.clone().into_bytes();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at] = b"0123456789\",\n\\"[next(14)],
                2 => drop(bytes.drain(at..(at + next(200)).min(bytes.len()))),
                _ => {
                    let part = bytes[at..(at + next(200)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, part);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        merges += usize::from(merged(&[outer.as_bytes(), &bytes]).is_ok());
    }
    assert!(merges > 100, "{merges}");
}
