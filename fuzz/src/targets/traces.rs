//! Files of events of tracers, which the host's command merges.

#[path = "../../../host/src/merge/arrows.rs"]
#[allow(dead_code)]
mod arrows;
#[path = "../../../host/src/merge/line.rs"]
#[allow(dead_code)]
mod line;
#[path = "../../../host/src/merge/lines.rs"]
#[allow(dead_code)]
mod lines;
#[path = "../../../host/src/merge/survey.rs"]
#[allow(dead_code)]
mod survey;
#[path = "../../../host/src/merge/write.rs"]
#[allow(dead_code)]
mod write;

/// Files of tracers, with a zero between them.
pub fn traces(bytes: &[u8]) {
    let files: Vec<&[u8]> = bytes.splitn(2, |byte| *byte == 0).collect();
    let mut output = Vec::new();
    if write::merge(files.len(), |number| Ok(files[number]), &mut output).is_ok() {
        let text = String::from_utf8(output).expect("text");
        assert!(text.starts_with("[\n{") && text.ends_with("}\n]\n"), "an array is whole");
        assert!(text.lines().all(|line| line.len() < 2 || line.starts_with('{')), "an event is a line");
    }
}
