//! Fuzz targets for the values in objects: selectors, quantities, times, managed fields, patches by
//! the schema.

use quorate_meta::{FieldSelector, GroupVersion, LabelSelector, Quantity, Time};
use quorate_schema::apply::Config;
use quorate_schema::fieldset::FieldSet;
use quorate_schema::managed::Managed;
use quorate_wire::json;

use crate::encodings::{graph, texts};
use crate::engine::{BASE_BYTES, Target};
use crate::words;

/// What is read from short texts takes little, but not less than its first room.
const SMALL: u64 = 200;

/// Runs a reader of texts.
fn of_text(name: &str, corpus: &[&str], read: impl Fn(&str)) {
    let corpus = corpus.iter().map(|text| text.as_bytes().to_vec()).collect();
    Target { name, corpus, words: words::REQUEST, base_bytes: BASE_BYTES, bytes_per_byte: SMALL }
        .run(|input| read(&String::from_utf8_lossy(input)));
}

#[test]
fn label_selectors() {
    let corpus =
        ["a=b", "a in (b,c),d notin (e)", "!a,b", "x.example.com/y!=z", "a>1,b<2", "a==b, c = d"];
    of_text("label selectors", &corpus, |text| {
        if let Ok(selector) = LabelSelector::parse(text) {
            let written = selector.to_string();
            let again = LabelSelector::parse(&written).expect("what is written is read");
            assert_eq!(again.to_string(), written);
        }
    });
}

#[test]
fn field_selectors() {
    let corpus = ["metadata.name=a", "a!=b,c==d", r"a=b\,c\=d\\", "spec.x=", "=,"];
    of_text("field selectors", &corpus, |text| {
        if let Ok(selector) = FieldSelector::parse(text) {
            let written = selector.to_string();
            let again = FieldSelector::parse(&written).expect("what is written is read");
            assert_eq!(again.to_string(), written);
        }
    });
}

#[test]
fn quantities_times_and_versions() {
    let corpus = [
        "1",
        "100m",
        "1.5Gi",
        "-3e7",
        "+1E-3",
        "9223372036854775807",
        "0.000000001n",
        "1e999999999",
        "apps/v1",
        "2026-01-02T03:04:05.678901+02:00",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:60-23:59",
    ];
    of_text("quantities, times, versions", &corpus, |text| {
        let _ = (Quantity::parse(text), GroupVersion::parse(text));
        if let Ok(time) = Time::parse(text) {
            let _ = (time.seconds(), time.microseconds(), time.unix(), time.ms());
        }
    });
}

#[test]
fn owners_of_fields() {
    let corpus = texts();
    Target {
        name: "owners of fields",
        corpus,
        words: words::JSON,
        base_bytes: BASE_BYTES,
        bytes_per_byte: 400,
    }
    .run(|input| {
        let Ok((value, _)) = json::parse(input) else {
            return;
        };
        if let Ok(set) = FieldSet::decode(&value) {
            assert_eq!(FieldSet::decode(&set.encode()).as_ref(), Ok(&set));
        }
        if let Ok(managed) = Managed::decode(value.at(&["metadata", "managedFields"])) {
            drop(managed.encode());
        }
    });
}

#[test]
fn objects_by_the_schema() {
    let graph = graph();
    let types = ["core/v1.ConfigMap", "apps/v1.Deployment"]
        .map(|name| graph.type_named(name).expect("a type").id);
    let live =
        texts().iter().map(|text| json::parse(text).expect("good JSON").0).collect::<Vec<_>>();
    let mut corpus = texts();
    corpus.push(br#"{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}],"$setElementOrder/containers":[{"name":"c"}],"$retainKeys":["a"]}}},"$deleteFromPrimitiveList/x":[1]}"#.to_vec());
    let mut turn = 0;
    Target {
        name: "objects by the schema",
        corpus,
        words: words::JSON,
        base_bytes: BASE_BYTES,
        bytes_per_byte: 2000,
    }
    .run(|input| {
        turn += 1;
        let (ty, live) = (types[turn % 2], &live[turn % 2]);
        let Ok((value, _)) = json::parse(input) else {
            return;
        };
        let mut patched = live.clone();
        drop(quorate_schema::strategic(&graph, ty, &mut patched, &value));
        drop(Config::new(&graph, ty, value.clone()));
        let mut object = value;
        if quorate_schema::decode(&graph, ty, &mut object).is_ok() {
            quorate_schema::apply_defaults(&graph, ty, &mut object);
            drop(quorate_schema::validate_structure(&graph, ty, &object));
        }
    });
}
