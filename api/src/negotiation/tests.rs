//! Tests of content negotiation.

use quorate_meta::Naming;

use super::*;

#[track_caller]
fn check(accept: &str, offer: Offer, expect: &str) {
    check_with(false, accept, offer, expect);
}

#[track_caller]
fn check_with(cbor: bool, accept: &str, offer: Offer, expect: &str) {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let got = match Formats::new(graph, cbor, 0).negotiate(accept, offer) {
        Ok(Format { media, shape, .. }) => format!("{media:?} {shape:?}"),
        Err(e) => format!("{e:?}"),
    };
    assert_eq!(got, expect, "{accept}");
}

#[test]
fn quality_and_order() {
    check("", Offer::Objects, "Json Object");
    check("*/*", Offer::Objects, "Json Object");
    check("application/json;charset=utf-8", Offer::Objects, "Json Object");
    check("application/json;q=0.1, application/yaml;q=0.9", Offer::Objects, "Yaml Object");
    check("application/yaml;q=0.9, application/json", Offer::Objects, "Json Object");
    check("*/*;q=0.1, application/yaml", Offer::Objects, "Yaml Object");
    check("application/xml, */*", Offer::Objects, "Json Object");
    check("application/yaml, application/json", Offer::Objects, "Yaml Object");
    check("Application/YAML;Q=0.5, application/xml", Offer::Objects, "Yaml Object");
    check(
        "application/vnd.svc.protobuf,application/json",
        Offer::Objects,
        "Protobuf(Protobuf) Object",
    );
    check(
        "application/vnd.kubernetes.protobuf;stream=watch",
        Offer::Stream,
        "Protobuf(Protobuf) Object",
    );
    check("application/vnd.example.protobuf,application/json", Offer::Document, "Json Object");
}

#[test]
fn wildcards_do_not_give_what_is_refused() {
    check("application/json;q=0, */*", Offer::Objects, "Yaml Object");
    check("*/*, Application/JSON;Q=0.0", Offer::Document, "Yaml Object");
    check("application/json;q=0, application/*", Offer::Stream, "Protobuf(Protobuf) Object");
    check("application/yaml;q=0, */*", Offer::Objects, "Json Object");
    check("application/json;q=0, */*;q=0.5, application/yaml;q=0.1", Offer::Objects, "Yaml Object");
    check("*/*;q=0, application/json", Offer::Objects, "Json Object");
    check("*/*;q=0, application/*;q=0.1", Offer::Objects, "Json Object");
    check("application/*;q=0, application/yaml", Offer::Objects, "Yaml Object");
    check("application/*;q=0, */*", Offer::Objects, "Media");
    // A shape that is refused leaves the type.
    check("application/json;as=Table;g=meta.svc.io;v=v1;q=0, */*", Offer::Objects, "Json Object");
    let table = "*/*;as=Table;g=meta.svc.io;v=v1";
    let expect = "Yaml Table(\"meta.svc.io/v1\")";
    check(&format!("application/json;q=0, {table}"), Offer::Objects, expect);
    check(
        &format!("application/json;q=0, application/yaml;q=0, {table}"),
        Offer::Objects,
        "Parameters",
    );
    let none = "application/json;q=0, application/yaml;q=0, application/vnd.svc.protobuf;q=0, */*";
    check_with(true, none, Offer::Objects, "Cbor(Cbor) Object");
    check_with(false, none, Offer::Objects, "Media");
}

#[test]
fn parameters_that_are_not_known_mean_nothing() {
    let fits =
        ["charset=utf-8", "foo=bar", "foo", "foo=\"bar\"; baz=", "export=1", "as", "stream="];
    for parameters in fits {
        check(&format!("application/json;{parameters}"), Offer::Objects, "Json Object");
        check(&format!("application/json;{parameters}"), Offer::Document, "Json Object");
    }
    // What a known one asks for is there, or the clause is passed over.
    for parameters in ["stream=odd", "sv=v2", "as=", "g=meta.svc.io", "v=v1", "g=meta.svc.io;v=v1"]
    {
        let one = format!("application/json;{parameters}");
        check(&one, Offer::Objects, "Parameters");
        check(&format!("{one}, application/yaml"), Offer::Objects, "Yaml Object");
    }
    check("application/json;stream=watch", Offer::Objects, "Json Object");
    check("application/json;stream=watch", Offer::Document, "Json Object");
    check("application/yaml;stream=watch", Offer::Objects, "Parameters");
    check("application/json;sv=v1", Offer::Objects, "Json Object");
    check("application/json;sv=v1", Offer::Document, "Parameters");
}

#[test]
fn errors_come_in_what_is_not_refused() {
    let formats = Formats::new(Arc::new(Graph::builtin(Naming::Svc.names())), false, 0);
    let check = |accept: &str, expect: &str| {
        assert_eq!(formats.for_errors(accept).content_type(), expect, "{accept}");
    };
    check("", "application/json");
    check("*/*", "application/json");
    check("application/xml, application/yaml", "application/yaml");
    check("application/json;q=0, */*", "application/yaml");
    check("application/json;q=0", "application/json");
}

#[test]
fn nothing_fits() {
    check("application/xml", Offer::Objects, "Media");
    check("garbage", Offer::Objects, "Media");
    check("application/json;q=0", Offer::Objects, "Media");
    check("application/yaml", Offer::Stream, "Media");
    check("application/json;as=Table;g=meta.svc.io;v=v2", Offer::Objects, "Parameters");
    check("application/json;as=Table;g=example.com;v=v1", Offer::Objects, "Parameters");
    check("application/json;as=Chair;g=meta.svc.io;v=v1", Offer::Objects, "Parameters");
    check("application/json;as=Table", Offer::Objects, "Parameters");
    check("application/vnd.svc.protobuf;as=Table;g=meta.svc.io;v=v1", Offer::Objects, "Parameters");
    check("application/json;as=Table;g=meta.svc.io;v=v1", Offer::Document, "Parameters");
}

#[test]
fn cbor_where_it_is_switched_on() {
    for (accept, offer, on) in [
        ("application/cbor", Offer::Objects, "Cbor(Cbor) Object"),
        ("application/cbor", Offer::Document, "Cbor(Cbor) Object"),
        ("application/cbor", Offer::Stream, "Cbor(Cbor) Object"),
        ("application/cbor-seq", Offer::Stream, "Cbor(Cbor) Object"),
        ("application/cbor-seq", Offer::Objects, "Media"),
        (
            "application/cbor;as=Table;g=meta.svc.io;v=v1",
            Offer::Objects,
            "Cbor(Cbor) Table(\"meta.svc.io/v1\")",
        ),
    ] {
        check_with(true, accept, offer, on);
        check_with(false, accept, offer, "Media");
        check_with(false, &format!("{accept}, application/json;q=0.1"), offer, "Json Object");
    }
}

#[test]
fn shapes() {
    check(
        "application/json;as=Table;g=meta.svc.io;v=v1",
        Offer::Objects,
        "Json Table(\"meta.svc.io/v1\")",
    );
    check(
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
        Offer::Stream,
        "Json Table(\"meta.k8s.io/v1beta1\")",
    );
    check(
        "application/json;as=Table;g=meta.svc.io;v=v2,application/json",
        Offer::Objects,
        "Json Object",
    );
    check(
        "application/yaml;as=PartialObjectMetadata;g=meta.svc.io;v=v1",
        Offer::Objects,
        "Yaml Metadata(\"meta.svc.io/v1\")",
    );
}

#[test]
fn custom_objects_have_no_protobuf_form() {
    let protobuf = "application/vnd.svc.protobuf";
    let metadata = format!("{protobuf};as=PartialObjectMetadata;g=meta.svc.io;v=v1");
    let shown = "Protobuf(Protobuf) Metadata(\"meta.svc.io/v1\")";
    for offer in [Offer::CustomObjects, Offer::CustomStream] {
        check(&format!("{protobuf},application/json"), offer, "Json Object");
        check(protobuf, offer, "Media");
        check(&metadata, offer, shown);
    }
    check("application/yaml", Offer::CustomObjects, "Yaml Object");
    check("application/yaml,application/json", Offer::CustomStream, "Json Object");
}
