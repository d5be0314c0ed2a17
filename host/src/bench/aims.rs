//! Aims for the operations of the kernel, in guest instructions. What Linux's calls aim at stands
//! in `calls`.

use super::table::Table;

/// Aims by the operation's name. Operations that are not here have none.
const AIMS: [(&str, u64); 24] = [
    ("machine_to_program", 5_000_000),
    ("null_call", 80),
    ("foreign_call", 120),
    ("round_trip_words", 500),
    ("notification", 200),
    ("page_fault_keeper", 1_500),
    ("guest_view_fault", 900),
    ("user_event", 300),
    ("mapping_create_destroy", 1_000),
    ("mutex_uncontended", 20),
    ("thread_switch", 300),
    ("thread_donate", 400),
    ("thread_get_state", 1_000),
    ("thread_set_state", 1_000),
    ("environment_list", 60_000),
    ("environment_destroy", 300_000),
    ("move_port", 600),
    ("move_reference", 600),
    ("move_region", 600),
    ("move_mapping", 600),
    ("move_space", 600),
    ("move_thread", 600),
    // A tenth of the longest entry into the kernel, which `./nacre latency` prints.
    ("call_made_again", 789),
    ("program_start_finish", 800_000),
];

/// Cost of one more layer, from two operations of the table.
struct Step {
    /// Name for people.
    name: &'static str,
    /// Operation with few layers, and with many.
    between: (&'static str, &'static str),
    /// Layers that the second operation has more.
    layers: u64,
    /// Instructions aimed at.
    aim: u64,
}

const STEPS: [Step; 4] = [
    Step { name: "one more space that interposes", between: ("round_trip_words", "interposed_16"), layers: 16, aim: 900 },
    Step { name: "one more layer of `trace -q`", between: ("traced_0", "traced_16"), layers: 16, aim: 900 },
    Step { name: "a reference handed through one more space", between: ("round_trip_words", "handed_16"), layers: 16, aim: 0 },
    Step { name: "one more space that a page is revoked from", between: ("revoke_1", "revoke_256"), layers: 255, aim: 300 },
];

/// Returns the aim of an operation.
pub fn aim(operation: &str) -> Option<u64> {
    AIMS.iter().find(|(name, _)| *name == operation).map(|(_, aim)| *aim)
}

/// Returns name, instructions and aim of each step between layers. A step without figures is left
/// out.
pub fn steps(table: &Table) -> Vec<(&'static str, u64, u64)> {
    let figure = |name: &str| Some(table.rows.iter().find(|row| row.name == name)?.nacre.as_ref()?.instructions);
    let cost = |step: &Step| Some((step.name, figure(step.between.1)?.saturating_sub(figure(step.between.0)?) / step.layers, step.aim));
    STEPS.iter().filter_map(cost).collect()
}

/// Returns the operations that have an aim.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    AIMS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::Figures;

    #[test]
    fn a_layer_costs_the_difference() {
        let figures = Figures::parse("measure traced_0 1000 2\nmeasure traced_16 17000 34\nmeasure revoke_1 900 1\n");
        assert_eq!(steps(&Table::join(&figures, &Figures::default())), [("one more layer of `trace -q`", 1000, 900)]);
    }
}
