//! Properties of server-side apply and strategic merge patches, for random objects of every kind.

use std::sync::LazyLock;

use quorate_meta::{Map, Naming, Value};
use quorate_schema::apply::{Applier, Config};
use quorate_schema::fieldset::Reach;
use quorate_schema::managed::{OneVersion, Writer};
use quorate_schema::{Graph, KindDef, apply_defaults, decode, strategic};

use crate::parts::{fit, split};
use crate::random::Random;

/// Sequences of writes for each kind.
const SEEDS: u64 = 6;

static GRAPH: LazyLock<Graph> = LazyLock::new(|| Graph::builtin(Naming::Svc.names()));

/// Random objects of one kind for applies.
struct Bodies {
    kind: &'static KindDef,
    random: Random<'static>,
}

impl Bodies {
    fn next(&mut self) -> Value {
        let mut body = self.random.object(self.kind.ty);
        body.remove_at(&["metadata", "managedFields"]);
        fit(&GRAPH, self.kind.ty, &mut body);
        wanted(body)
    }
}

/// The body with a label, because an empty configuration has no entry.
fn wanted(mut body: Value) -> Value {
    body.set_at(&["metadata", "labels", "every"], "body");
    body
}

/// Runs a check for every stored kind.
fn of_every_kind(check: impl Fn(&mut Bodies, &str)) {
    let stored = GRAPH
        .kinds()
        .iter()
        .filter(|kind| kind.list_ty.is_some() && kind.storage_version.is_some());
    let mut count = 0;
    for (number, kind) in (0u64..).zip(stored) {
        count += 1;
        for seed in 0..SEEDS {
            let random = Random::new(&GRAPH, seed * 1000 + number);
            check(&mut Bodies { kind, random }, &format!("{}, seed {seed}", kind.kind));
        }
    }
    assert!(count > 50, "{count} kinds");
}

/// The result of an apply on `live`.
fn apply(
    kind: &KindDef,
    live: Option<&Value>,
    manager: &str,
    body: &Value,
    force: bool,
) -> Result<Value, String> {
    let config = Config::new(&GRAPH, kind.ty, body.clone()).map_err(|error| error.to_string())?;
    let (api_version, reach) = (kind.api_version(), Reach::default());
    let writer = Writer {
        name: manager,
        api_version: &api_version,
        subresource: "",
        time: "2026-01-01T00:00:00Z",
        reach: &reach,
        versions: &OneVersion,
    };
    let applier = Applier { graph: &GRAPH, ty: kind.ty, writer, force };
    let mut object = applier.apply(live, &config).map_err(|error| error.to_string())?;
    apply_defaults(&GRAPH, kind.ty, &mut object);
    Ok(object)
}

/// The object without times and the order of lists, with its managers as a set.
fn shape(mut object: Value) -> Value {
    let owners = object.at_mut(&["metadata", "managedFields"]).and_then(Value::as_list_mut);
    for entry in owners.into_iter().flatten() {
        entry.remove_at(&["time"]);
    }
    fn sort(value: &mut Value) {
        match value {
            Value::List(list) => {
                list.iter_mut().for_each(sort);
                list.sort_by_cached_key(text);
            }
            Value::Map(map) => map.values_mut().for_each(sort),
            _ => {}
        }
    }
    sort(&mut object);
    object
}

fn text(value: &Value) -> String {
    serde_json::to_string(value).expect("a value is JSON")
}

#[test]
fn applying_again_changes_nothing() {
    of_every_kind(|bodies, name| {
        let kind = bodies.kind;
        let mut live = None;
        for manager in ["a", "b", "a"] {
            let body = bodies.next();
            let once = apply(kind, live.as_ref(), manager, &body, true);
            let once = once.unwrap_or_else(|error| panic!("{name}: {error}: {}", text(&body)));
            let again = apply(kind, Some(&once), manager, &body, false);
            assert_eq!(again.as_ref().map(text), Ok(text(&once)), "{name}: {}", text(&body));
            live = Some(once);
        }
    });
}

#[test]
fn applies_of_different_fields_commute() {
    of_every_kind(|bodies, name| {
        let kind = bodies.kind;
        let body = bodies.next();
        let (one, other) = split(&GRAPH, kind.ty, &body, &mut bodies.random);
        let (one, other) = (wanted(one), wanted(other));
        let both = |first: (&str, &Value), then: (&str, &Value)| {
            let live = apply(kind, None, first.0, first.1, false)?;
            apply(kind, Some(&live), then.0, then.1, false).map(shape)
        };
        let (there, back) = (both(("a", &one), ("b", &other)), both(("b", &other), ("a", &one)));
        let shown =
            |result: &Result<Value, String>| result.as_ref().map(text).map_err(Clone::clone);
        assert!(there.is_ok(), "{name}: {there:?}: {} and {}", text(&one), text(&other));
        assert_eq!(shown(&there), shown(&back), "{name}: {} and {}", text(&one), text(&other));
    });
}

#[test]
fn a_strategic_merge_patch_twice_is_as_once() {
    of_every_kind(|bodies, name| {
        let (ty, mut object, patch) = (bodies.kind.ty, bodies.next(), bodies.next());
        let said = || format!("{name}: {}", text(&patch));
        strategic(&GRAPH, ty, &mut object, &patch)
            .unwrap_or_else(|error| panic!("{error}: {}", said()));
        let unknown =
            decode(&GRAPH, ty, &mut object).unwrap_or_else(|error| panic!("{error}: {}", said()));
        assert_eq!(unknown.paths, Vec::<String>::new(), "{}", said());
        let mut again = object.clone();
        strategic(&GRAPH, ty, &mut again, &patch)
            .unwrap_or_else(|error| panic!("{error}: {}", said()));
        decode(&GRAPH, ty, &mut again).unwrap_or_else(|error| panic!("{error}: {}", said()));
        assert_eq!(text(&again), text(&object), "{}", said());
        let mut same = object.clone();
        strategic(&GRAPH, ty, &mut same, &Value::Map(Map::new())).expect("nothing to do");
        assert_eq!(same, object, "{}", said());
    });
}
