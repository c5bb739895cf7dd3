//! The definitions of the committed history: what each said at every revision.
//!
//! An incarnation is a definition from its creation until it has gone; the next one with its name
//! has another uid.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::ResourceKind;
use crate::checkers::api::object_history::{ObjectHistory, is_terminating, text};
use crate::workload::definitions::{COLUMN, MARK};

/// What a definition says at some revision.
#[derive(Debug)]
pub(super) struct DefinitionState {
    pub(super) uid: String,
    pub(super) is_established: bool,
    pub(super) is_terminating: bool,
    pub(super) versions: Vec<VersionState>,
}

/// What it says of a version.
#[derive(Debug)]
pub(super) struct VersionState {
    pub(super) name: String,
    pub(super) is_served: bool,
    /// The stamp of the request that wrote it, as its column has it.
    pub(super) column: String,
    /// The same, as the default of a field.
    pub(super) mark: String,
}

/// A definition since some revision; `None` when it is not there.
type Since = (u64, Option<DefinitionState>);

/// The states of all definitions.
pub(super) struct DefinitionHistory {
    states: BTreeMap<ResourceKind, Vec<Since>>,
}

impl DefinitionState {
    fn read(object: &Value) -> Self {
        let conditions = object["status"]["conditions"].as_array();
        let is_established = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        let versions = object["spec"]["versions"].as_array().into_iter().flatten();
        Self {
            uid: text(object, "uid").to_owned(),
            is_established,
            is_terminating: is_terminating(object),
            versions: versions.map(VersionState::read).collect(),
        }
    }

    /// A version, if clients are served it.
    pub(super) fn served(&self, version: &str) -> Option<&VersionState> {
        let served = |one: &&VersionState| one.is_served && one.name == version;
        self.versions.iter().find(served).filter(|_| self.is_established)
    }
}

impl VersionState {
    fn read(version: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let column = text(&version["additionalPrinterColumns"][0]["name"]);
        Self {
            name: text(&version["name"]),
            is_served: version["served"] == true,
            column: column.trim_start_matches(COLUMN).to_owned(),
            mark: text(&spec["properties"][MARK]["default"]),
        }
    }
}

impl DefinitionHistory {
    /// Those of a whole history.
    pub(super) fn new(past: &ObjectHistory) -> Self {
        let mut states: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for kind in ResourceKind::CUSTOM {
            let key = ResourceKind::Definitions.key("", &kind.definition());
            let changes = past.changes.iter().filter(|change| change.key == key);
            let changes = changes.map(|change| {
                let now = change.now.as_deref();
                (change.revision, now.map(DefinitionState::read))
            });
            states.insert(kind, changes.collect());
        }
        Self { states }
    }

    fn of(&self, kind: ResourceKind) -> &[Since] {
        self.states.get(&kind).map(Vec::as_slice).unwrap_or_default()
    }

    /// The definition of a kind at a revision.
    pub(super) fn at(&self, kind: ResourceKind, revision: u64) -> Option<&DefinitionState> {
        let states = self.of(kind);
        let after = states.partition_point(|(at, _)| *at <= revision);
        states[..after].last()?.1.as_ref()
    }

    /// Whether it was, at some revision of this range, what the caller looks for.
    pub(super) fn ever(
        &self,
        kind: ResourceKind,
        (from, until): (u64, u64),
        look: impl Fn(Option<&DefinitionState>) -> bool,
    ) -> bool {
        let states = self.of(kind);
        let after = states.partition_point(|(at, _)| *at <= from);
        let within = states[after..].iter().take_while(|(at, _)| *at <= until);
        look(self.at(kind, from)) || within.into_iter().any(|(_, state)| look(state.as_ref()))
    }

    /// Every state that an incarnation had until a revision.
    pub(super) fn states_of<'a>(
        &'a self,
        kind: ResourceKind,
        uid: &'a str,
        until: u64,
    ) -> impl Iterator<Item = &'a DefinitionState> {
        let states = self.of(kind).iter().take_while(move |(at, _)| *at <= until);
        states.filter_map(|(_, state)| state.as_ref()).filter(move |state| state.uid == uid)
    }

    /// The revisions at which a version of a definition went or changed, ascending.
    pub(super) fn ends<'a>(
        &'a self,
        kind: ResourceKind,
        version: &'a str,
    ) -> impl Iterator<Item = u64> + 'a {
        let pairs = self.of(kind).windows(2);
        let says = move |since: &'a Since| since.1.as_ref().and_then(|state| state.served(version));
        let stamp = move |since: &'a Since| says(since).map(|version| version.column.as_str());
        let changed = pairs.filter(move |pair| stamp(&pair[0]) != stamp(&pair[1]));
        changed.map(|pair| pair[1].0)
    }

    /// The revisions at which definitions of a kind went, ascending.
    pub(super) fn removals(&self, kind: ResourceKind) -> impl Iterator<Item = u64> {
        self.of(kind).iter().filter(|(_, state)| state.is_none()).map(|(at, _)| *at)
    }
}
