//! The table of every feature gate of the release, read from `release.table`.
//!
//! Invariant: the rows are in the order of their names; the history of a gate is in the order of
//! releases and not empty.
//!
//! Not here: what an operator sets.

use std::fmt;

use super::Feature;
use crate::release::Release;

const TABLE: &str = include_str!("release.table");

/// A feature gate of the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The name on the command line.
    pub name: &'static str,
    /// What this server does with it.
    pub usage: Usage,
    /// Its states, each from its release on.
    pub history: Vec<GateState>,
    /// The gates that must be on where this one is.
    pub prerequisites: Vec<&'static str>,
}

/// What this server does with a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// It switches a behaviour.
    Here(Feature),
    /// It cannot be changed: it keeps its default.
    Fixed,
    /// No API server looks at it.
    Unused,
}

/// The state of a gate in a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateState {
    /// The release that it begins with.
    pub since: Release,
    /// How mature the feature is.
    pub stage: Stage,
    /// Whether it is on by default.
    pub default: bool,
    /// Whether that cannot be changed.
    pub locked: bool,
}

/// The maturity of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// May change or be removed at any time.
    Alpha,
    /// Well tested; details may change.
    Beta,
    /// The feature stays, the gate will be removed.
    Ga,
    /// The feature will be removed.
    Deprecated,
}

impl Gate {
    /// Every gate of the release.
    #[must_use]
    pub fn all() -> Vec<Self> {
        rows().map(|row| read(row).expect("every row of the table is well formed")).collect()
    }

    /// Its state in a release; `None` before the first one that has it.
    #[must_use]
    pub fn at(&self, release: Release) -> Option<GateState> {
        let state = self.history.iter().rfind(|state| state.since <= release).copied()?;
        let on_here = matches!(self.usage, Usage::Here(feature) if feature.is_on_by_default_here());
        Some(GateState { default: state.default || on_here, ..state })
    }
}

fn rows() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reads `NAME USE | HISTORY [| PREREQUISITES]`.
fn read(row: &'static str) -> Option<Gate> {
    let mut columns = row.split(" | ");
    let (name, usage) = columns.next()?.split_once(' ')?;
    let usage = match usage {
        "here" => Usage::Here(Feature::ALL.into_iter().find(|feature| feature.name() == name)?),
        "fixed" => Usage::Fixed,
        "unused" => Usage::Unused,
        _ => return None,
    };
    let history = columns.next()?.split(", ").map(state).collect::<Option<_>>()?;
    let prerequisites = columns.next().map(|names| names.split(' ').collect()).unwrap_or_default();
    Some(Gate { name, usage, history, prerequisites })
}

/// Reads `RELEASE STAGE on|off [locked]`.
fn state(text: &str) -> Option<GateState> {
    let mut words = text.split(' ');
    let since = words.next()?.parse().ok()?;
    let stage = match words.next()? {
        "alpha" => Stage::Alpha,
        "beta" => Stage::Beta,
        "ga" => Stage::Ga,
        "deprecated" => Stage::Deprecated,
        _ => return None,
    };
    let default = words.next()? == "on";
    Some(GateState { since, stage, default, locked: words.next().is_some() })
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Ga => "GA",
            Self::Deprecated => "DEPRECATED",
        })
    }
}

/// The gates that `--help` lists: those that are not stable, with stage and default.
#[must_use]
pub fn help() -> String {
    let line = |gate: &Gate| {
        let state = gate.at(Release::CURRENT).filter(|state| state.stage != Stage::Ga)?;
        let note = match gate.usage {
            Usage::Here(_) => "",
            Usage::Fixed => ", not implemented here",
            Usage::Unused => ", not used here",
        };
        let (name, stage, default) = (gate.name, state.stage, state.default);
        Some(format!("  {name}=true|false ({stage} - default={default}{note})"))
    };
    let mut lines = vec![
        "  AllAlpha=true|false (ALPHA - default=false)".to_owned(),
        "  AllBeta=true|false (BETA - default=false)".to_owned(),
    ];
    lines.extend(Gate::all().iter().filter_map(line));
    lines.join("\n")
}
