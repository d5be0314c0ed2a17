//! The subcommand `stats`: what the monitors of a machine count.

use super::arguments::StatsArguments;
use super::tasks::{Listed, Row, bytes, list, plain, seconds};
use crate::failure::Outcome;
use crate::json::quote;

/// Shows the counts of all monitors of a machine.
pub fn stats(arguments: &StatsArguments) -> Outcome<i32> {
    let listed = list(&arguments.name)?;
    print!("{}", if arguments.json { to_json(&listed) } else { to_text(&listed) });
    Ok(0)
}

/// Lines about monitors, without those about processes.
fn monitors(listed: &Listed) -> impl Iterator<Item = &Row> {
    listed.rows.iter().filter(|row| row.field(1) != "process")
}

fn to_text(listed: &Listed) -> String {
    let mut text = format!("{}: {}\n", listed.name, plain(&listed.about.command.join(" ")));
    for row in monitors(listed) {
        let margin = "  ".repeat(row.depth() + 1);
        text += &format!("{margin}{}\n", row.field(2));
        let known = [("memory", bytes(row.field(4))), ("cpu", seconds(row.field(5)))];
        let counted = row.figures().into_iter().map(|(name, count)| (name, count.to_string()));
        for (name, value) in known.into_iter().filter(|(_, value)| !value.is_empty()).chain(counted) {
            text += &format!("{margin}  {name:<20} {value:>14}\n");
        }
    }
    if !listed.is_whole {
        text += "(did not answer in full)\n";
    }
    text
}

fn to_json(listed: &Listed) -> String {
    let number = |field: &str| field.parse::<u64>().map_or("null".to_string(), |number| number.to_string());
    let monitor = |row: &Row| {
        let (path, name) = (quote(row.field(0)), quote(row.field(2)));
        format!("{{\"path\":{path},\"name\":{name},\"memory\":{},\"cpu_ns\":{},\"figures\":{}}}", number(row.field(4)), number(row.field(5)), row.figures_json())
    };
    let monitors: Vec<String> = monitors(listed).map(monitor).collect();
    format!("{{\"name\":{},\"whole\":{},\"monitors\":[{}]}}\n", quote(&listed.name), listed.is_whole, monitors.join(",\n "))
}

#[cfg(test)]
mod tests {
    use super::super::client::About;
    use super::*;

    fn listed() -> Listed {
        let lines = ["0\tmonitor\tpager\t\t1048576\t5000000\tfaults=3 pages_in=1 Bad=1 x=y =4 z", "0/0\tmonitor\tprocess\t\t-\t-\t", "0/0/1\tprocess\tsh\tS\t-\t9\t"];
        let rows = lines.iter().map(|line| Row(line.split('\t').map(plain).collect())).collect();
        Listed { name: "web".to_string(), about: About { command: vec!["pager".to_string()], ..About::default() }, rows, is_whole: true }
    }

    #[test]
    fn each_monitor_has_its_counts_and_processes_have_none() {
        let text = to_text(&listed());
        let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words, [vec!["web:", "pager"], vec!["pager"], vec!["memory", "1024K"], vec!["cpu", "0.01s"], vec!["faults", "3"], vec!["pages_in", "1"], vec!["process"]]);
    }

    #[test]
    fn json_has_the_counts_by_name() {
        let text = to_json(&listed());
        let expected = "{\"name\":\"web\",\"whole\":true,\"monitors\":[{\"path\":\"0\",\"name\":\"pager\",\"memory\":1048576,\"cpu_ns\":5000000,\"figures\":{\"faults\":3,\"pages_in\":1}},\n {\"path\":\"0/0\",\"name\":\"process\",\"memory\":null,\"cpu_ns\":null,\"figures\":{}}]}\n";
        assert_eq!(text, expected);
    }
}
