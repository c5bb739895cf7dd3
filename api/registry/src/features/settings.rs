//! The settings of `--feature-gates`: which gates an operator switches, and what comes of it.
//!
//! Invariants: a gate that this server does not implement keeps its default, and so does a locked
//! one; whatever is refused is named.
//!
//! Not here: the gates themselves.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::Gates;
use super::table::{Gate, GateState, Stage, Usage};
use crate::release::Release;

/// The component whose gates these are, when a setting names one.
const COMPONENT: &str = "kube";
const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";
/// Gates that the release has no longer, whose features have long been stable: they can be named
/// and not be switched off.
const LONG_STABLE: [&str; 1] = ["APIListChunking"];

/// A list of gates and states, in the order in which it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateSettings(Vec<(String, bool)>);

/// What settings come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What is on.
    pub gates: Gates,
    /// What the operator should know of the settings.
    pub warnings: Vec<String>,
}

/// The reason why settings are refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidGates {
    /// There is no such gate.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// The gates are those of another program.
    #[error("component not registered: {0}")]
    Component(String),
    /// A name without a state.
    #[error("missing bool value for {0}")]
    NoValue(String),
    /// The state is neither true nor false.
    #[error("invalid value of {0}={1}, err: must be true or false")]
    Value(String, String),
    /// The gate keeps its default.
    #[error("cannot set feature gate {name} to {asked}, feature is locked to {}", !asked)]
    Locked {
        /// Its name.
        name: String,
        /// The state in the text.
        asked: bool,
    },
    /// The gate keeps its default here.
    #[error(
        "cannot set feature gate {name} to {asked}: not implemented here, it is always {}", !asked
    )]
    NotImplemented {
        /// Its name.
        name: &'static str,
        /// The state in the text.
        asked: bool,
    },
    /// The emulated release does not have the gate.
    #[error(
        "cannot set feature gate {name} to {asked}, feature is PreAlpha at emulated version {release}"
    )]
    TooNew {
        /// Its name.
        name: &'static str,
        /// The state in the text.
        asked: bool,
        /// The release.
        release: Release,
    },
    /// A gate is on and one of its prerequisites is off.
    #[error("{name} is enabled, but depends on features that are disabled: [{missing}]")]
    Dependency {
        /// Its name.
        name: &'static str,
        /// The names of the prerequisites that are off.
        missing: String,
    },
}

/// The state of one gate while settings are resolved.
struct Switch {
    gate: Gate,
    /// Its state in the release that is emulated; `None` for a gate of a later one.
    state: Option<GateState>,
    on: bool,
    named: bool,
}

impl GateSettings {
    /// Adds the settings of another list; the later of two about one gate counts.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// What the settings come to in a release.
    pub fn resolve(&self, release: Release) -> Result<Resolved, InvalidGates> {
        let mut switches: Vec<Switch> =
            Gate::all().into_iter().map(|gate| Switch::new(gate, release)).collect();
        let mut warnings = Vec::new();
        for (name, on) in self.last_of_each() {
            if !is_special(name) {
                named(&mut switches, name, on, release, &mut warnings)?;
            }
        }
        for (name, on) in self.last_of_each() {
            let stage = if name == ALL_ALPHA { Stage::Alpha } else { Stage::Beta };
            if is_special(name) {
                warnings.extend(stage_wide(&mut switches, stage, name, on));
            }
        }
        warnings.extend(behaves_as_now(&switches));
        check_prerequisites(&switches)?;
        let mut gates = Gates::none(release);
        for switch in &switches {
            if let Usage::Here(feature) = switch.gate.usage {
                gates.set(feature, switch.on);
            }
        }
        Ok(Resolved { gates, warnings })
    }

    /// Each name once, with its last state, in the order of those.
    fn last_of_each(&self) -> impl Iterator<Item = (&str, bool)> {
        let later =
            |index: usize, name: &str| self.0[index + 1..].iter().any(|(own, _)| own == name);
        let settings = self.0.iter().enumerate();
        settings
            .filter(move |(index, (name, _))| !later(*index, name))
            .map(|(_, (name, on))| (name.as_str(), *on))
    }
}

fn is_special(name: &str) -> bool {
    name == ALL_ALPHA || name == ALL_BETA
}

impl Switch {
    fn new(gate: Gate, release: Release) -> Self {
        let state = gate.at(release);
        Self { on: state.is_some_and(|state| state.default), gate, state, named: false }
    }
}

/// Switches the gate that a setting names.
fn named(
    switches: &mut [Switch],
    name: &str,
    asked: bool,
    release: Release,
    warnings: &mut Vec<String>,
) -> Result<(), InvalidGates> {
    if LONG_STABLE.contains(&name) {
        if !asked {
            return Err(InvalidGates::Locked { name: name.to_owned(), asked });
        }
        warnings.push(format!(
            "Feature gate {name}={asked} has no effect any more and will be removed."
        ));
        return Ok(());
    }
    let found = switches.iter_mut().find(|switch| switch.gate.name == name);
    let switch = found.ok_or_else(|| InvalidGates::Unknown(name.to_owned()))?;
    let name = switch.gate.name;
    let state = switch.state.ok_or(InvalidGates::TooNew { name, asked, release })?;
    if state.locked && asked != state.default {
        return Err(InvalidGates::Locked { name: name.to_owned(), asked });
    }
    if switch.gate.usage == Usage::Fixed && asked != state.default {
        return Err(InvalidGates::NotImplemented { name, asked });
    }
    let kind = match state.stage {
        Stage::Ga => Some("GA"),
        Stage::Deprecated => Some("deprecated"),
        Stage::Alpha | Stage::Beta => None,
    };
    if let Some(kind) = kind {
        warnings.push(format!(
            "Setting {kind} feature gate {name}={asked}. It will be removed in a future release."
        ));
    }
    (switch.on, switch.named) = (asked, true);
    Ok(())
}

/// Switches every gate of a stage that no setting names, and says which ones it cannot.
fn stage_wide(switches: &mut [Switch], stage: Stage, setting: &str, on: bool) -> Option<String> {
    let mut skipped = Vec::new();
    for switch in switches.iter_mut().filter(|switch| !switch.named) {
        let Some(state) = switch.state.filter(|state| state.stage == stage && !state.locked) else {
            continue;
        };
        match switch.gate.usage {
            Usage::Here(_) => switch.on = on,
            Usage::Fixed if on != state.default => skipped.push(switch.gate.name),
            Usage::Fixed | Usage::Unused => {}
        }
    }
    let names = skipped.join(", ");
    let text = format!("{setting}={on} leaves out what is not implemented here: {names}");
    Some(text).filter(|_| !skipped.is_empty())
}

/// The gates whose feature an older release has off or does not have, and that cannot be changed
/// here.
fn behaves_as_now(switches: &[Switch]) -> Option<String> {
    let differs = |switch: &&Switch| {
        let now = switch.gate.at(Release::CURRENT).is_some_and(|state| state.default);
        switch.gate.usage == Usage::Fixed && now != switch.on
    };
    let names: Vec<&str> = switches.iter().filter(differs).map(|one| one.gate.name).collect();
    let text = format!("not emulated, as in {}: {}", Release::CURRENT, names.join(", "));
    Some(text).filter(|_| !names.is_empty())
}

fn check_prerequisites(switches: &[Switch]) -> Result<(), InvalidGates> {
    let is_off = |name: &&&str| !switches.iter().any(|other| other.on && other.gate.name == **name);
    for switch in switches.iter().filter(|switch| switch.on) {
        let off = switch.gate.prerequisites.iter().filter(is_off);
        let missing = off.copied().collect::<Vec<_>>().join(" ");
        if !missing.is_empty() {
            return Err(InvalidGates::Dependency { name: switch.gate.name, missing });
        }
    }
    Ok(())
}

impl FromStr for GateSettings {
    type Err = InvalidGates;

    /// Reads `Feature=true,kube:Other=false`.
    fn from_str(text: &str) -> Result<Self, InvalidGates> {
        let mut settings = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, state) =
                part.split_once('=').ok_or_else(|| InvalidGates::NoValue(part.to_owned()))?;
            let (name, state) = (name.trim(), state.trim());
            let name = match name.split_once(':') {
                None | Some((COMPONENT, _)) => name.rsplit(':').next().unwrap_or(name),
                Some((other, _)) => return Err(InvalidGates::Component(other.to_owned())),
            };
            let on = match state {
                "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
                "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
                _ => return Err(InvalidGates::Value(name.to_owned(), state.to_owned())),
            };
            settings.0.push((name.to_owned(), on));
        }
        Ok(settings)
    }
}

impl fmt::Display for GateSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states: Vec<String> = self.0.iter().map(|(name, on)| format!("{name}={on}")).collect();
        f.write_str(&states.join(","))
    }
}
