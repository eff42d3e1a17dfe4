//! The table that a run prints: what was measured, the goal, and whether it was met.

use std::fmt;

/// Rows in the order in which they were measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Row {
    program: &'static str,
    what: String,
    measured: String,
    goal: String,
    verdict: &'static str,
}

/// What a number is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64, &'static str),
    AtMost(f64, &'static str),
    /// Told for comparison, or to read the other rows by.
    None,
}

impl Report {
    /// Adds a row, and says so while the rest is being measured.
    pub(crate) fn row(
        &mut self,
        program: &'static str,
        what: impl Into<String>,
        value: f64,
        measured: impl Into<String>,
        goal: Goal,
    ) {
        let row = Row {
            program,
            what: what.into(),
            measured: measured.into(),
            goal: goal.to_string(),
            verdict: goal.verdict(value),
        };
        eprintln!("{}: {}: {}", row.program, row.what, row.measured);
        self.rows.push(row);
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl Goal {
    fn verdict(self, value: f64) -> &'static str {
        match self {
            Self::AtLeast(limit, _) if value >= limit => "met",
            Self::AtMost(limit, _) if value <= limit => "met",
            Self::AtLeast(..) | Self::AtMost(..) => "MISSED",
            Self::None => "",
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(limit, unit) => write!(f, "≥ {limit}{unit}"),
            Self::AtMost(limit, unit) => write!(f, "≤ {limit}{unit}"),
            Self::None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["", "what", "measured", "goal", "verdict"].map(str::to_owned);
        let rule = ["---"; COLUMNS].map(str::to_owned);
        let rows = self.rows.iter().map(|row| {
            [
                row.program.to_owned(),
                row.what.clone(),
                row.measured.clone(),
                row.goal.clone(),
                row.verdict.to_owned(),
            ]
        });
        let table: Vec<[String; COLUMNS]> = [head, rule].into_iter().chain(rows).collect();
        let mut widths = [0; COLUMNS];
        for line in &table {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in &table {
            for (width, cell) in widths.iter().zip(line) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

const COLUMNS: usize = 5;
