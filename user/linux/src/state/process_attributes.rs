//! Attributes that `prctl` keeps.

/// Nanoseconds by which a wait may be late.
pub const SLACK: u64 = 50_000;

/// Attributes that `prctl` sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessAttributes {
    /// Dumpable attribute, which lets others look into the process.
    pub dumpable: u64,
    /// Attribute `no_new_privs`: no program gives the process more privileges. Here none does
    /// anyway.
    pub no_new_privileges: bool,
    /// Capabilities stay when the superuser becomes another.
    pub keeps_capabilities: bool,
    /// Timer slack in nanoseconds; see `SLACK`.
    pub slack: u64,
    /// Signal that the process gets when its parent ends.
    pub death_signal: u64,
    /// Orphans below it become its children.
    pub is_reaper: bool,
    /// `oom_score_adj`, and the lowest value that a process without privileges may set.
    pub oom_score: [i64; 2],
}

impl Default for ProcessAttributes {
    fn default() -> ProcessAttributes {
        ProcessAttributes { dumpable: 1, no_new_privileges: false, keeps_capabilities: false, slack: SLACK, death_signal: 0, is_reaper: false, oom_score: [0; 2] }
    }
}

impl ProcessAttributes {
    /// As words.
    pub fn words(&self) -> [u64; 8] {
        let [score, lowest] = self.oom_score.map(|value| value as u64);
        [self.dumpable, self.no_new_privileges.into(), self.keeps_capabilities.into(), self.slack, self.death_signal, self.is_reaper.into(), score, lowest]
    }

    /// Makes the attributes from words.
    pub fn of([dumpable, no_new_privileges, keeps, slack, death_signal, reaper, score, lowest]: [u64; 8]) -> ProcessAttributes {
        ProcessAttributes {
            dumpable,
            no_new_privileges: no_new_privileges != 0,
            keeps_capabilities: keeps != 0,
            slack,
            death_signal,
            is_reaper: reaper != 0,
            oom_score: [score, lowest].map(|word| (word as i64).clamp(-1000, 1000)),
        }
    }

    /// Returns the attributes of a new program in the same process. `is_others`: it runs as another
    /// user.
    pub fn of_program(self, is_others: bool) -> ProcessAttributes {
        let death_signal = if is_others { 0 } else { self.death_signal };
        ProcessAttributes { dumpable: u64::from(!is_others), keeps_capabilities: false, death_signal, ..self }
    }

    /// Returns the attributes of a fork's child.
    pub fn of_child(self) -> ProcessAttributes {
        ProcessAttributes { death_signal: 0, is_reaper: false, ..self }
    }
}
