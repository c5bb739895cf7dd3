//! Configurations of a prediction: the places that the parser may be at, and what a set of them says of the alternatives.
//!
//! Not here: how one set follows from another (`predict`).

use std::collections::HashMap;

use super::automaton::{Automaton, StateId, StateKind};

/// A stack of calls, innermost first, by its number among all stacks; 0 is the empty one.
pub(super) type StackId = u32;

/// A place that the parser may be at, if it has chosen an alternative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Config {
    pub(super) state: StateId,
    pub(super) alternative: u8,
    pub(super) stack: StackId,
    /// The end of the rule in which the decision is made has been passed.
    pub(super) is_outside: bool,
    /// Precedence that the alternative needs.
    pub(super) precedence: Option<u8>,
    /// Reached through the outermost call of the decision's own rule, so that precedence says nothing of it.
    pub(super) is_unfiltered: bool,
}

/// Drops going on where the precedence forbids it, and leaving where going on reaches the same place.
pub(super) fn by_precedence(configs: Vec<Config>, open_precedence: u8) -> Vec<Config> {
    let going_on: Vec<Config> = configs
        .iter()
        .filter(|config| {
            config.alternative == 1
                && config.precedence.is_none_or(|needed| needed >= open_precedence)
        })
        .map(|config| Config { precedence: None, ..*config })
        .collect();
    let same_place = |config: &Config| {
        going_on.iter().any(|other| (other.state, other.stack) == (config.state, config.stack))
    };
    let leaving = configs
        .iter()
        .filter(|config| config.alternative != 1 && (config.is_unfiltered || !same_place(config)))
        .copied();
    going_on.iter().copied().chain(leaving).collect()
}

pub(super) fn unique(configs: &[Config]) -> Option<u8> {
    let first = configs.first()?.alternative;
    configs.iter().all(|config| config.alternative == first).then_some(first)
}

/// The first of the alternatives that finished the rule in which the decision is made.
pub(super) fn finished(automaton: &Automaton, configs: &[Config]) -> Option<u8> {
    let is_finished = |config: &&Config| {
        config.is_outside
            || (automaton.states[config.state as usize].kind == StateKind::RuleStop
                && config.stack == 0)
    };
    configs.iter().filter(is_finished).map(|config| config.alternative).min()
}

/// The alternatives at each place, as bits.
fn alternatives_by<K: std::hash::Hash + Eq>(
    configs: &[Config],
    key: impl Fn(&Config) -> K,
) -> Vec<u16> {
    let mut sets: HashMap<K, u16> = HashMap::new();
    for config in configs {
        *sets.entry(key(config)).or_default() |= 1 << config.alternative;
    }
    sets.into_values().collect()
}

/// Whether looking further ahead without the callers cannot tell the alternatives apart.
pub(super) fn is_conflict(automaton: &Automaton, configs: &[Config]) -> bool {
    if configs
        .iter()
        .all(|config| automaton.states[config.state as usize].kind == StateKind::RuleStop)
    {
        return true;
    }
    let places = alternatives_by(configs, |config| (config.state, config.stack));
    let states = alternatives_by(configs, |config| config.state);
    places.iter().any(|set| set.count_ones() > 1) && states.iter().all(|set| set.count_ones() > 1)
}

/// The alternative that is the first at every place.
pub(super) fn single_viable(configs: &[Config]) -> Option<u8> {
    let places = alternatives_by(configs, |config| (config.state, config.stack));
    let first = places.first()?.trailing_zeros();
    places.iter().all(|set| set.trailing_zeros() == first).then_some(first as u8)
}
