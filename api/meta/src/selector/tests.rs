//! Selectors with the error messages of Kubernetes 1.35, and properties.

use proptest::prelude::*;

use super::*;

const ZOO: [(&str, &[(&str, &str)]); 4] = [
    ("a", &[("env", "prod"), ("tier", ""), ("x", "1")]),
    ("b", &[("env", "dev"), ("example.com/n", "v"), ("x", "2")]),
    ("c", &[("x", "abc")]),
    ("d", &[]),
];

#[test]
fn labels_select() {
    let check = |text: &str, names: &str| {
        let selector = LabelSelector::parse(text).expect(text);
        let matching = ZOO.iter().filter(|(_, labels)| selector.matches(labels.iter().copied()));
        assert_eq!(matching.map(|(name, _)| *name).collect::<String>(), names, "{text}");
        assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector), "{text}");
    };
    check("x=1", "a");
    check("x==1", "a");
    check("x!=1", "bcd");
    check("x=", "");
    check("tier=", "a");
    check("tier!=", "bcd");
    check("x=1,env=prod", "a");
    check("x=1,env=dev", "");
    check("x!=1,x!=2", "cd");
    check("example.com/n=v", "b");
    check("X=1", "");
    check("x=none", "");
    check("", "abcd");
    check("x in (1,2)", "ab");
    check("x in (1)", "a");
    check("x notin (1,2)", "cd");
    check("env notin (prod)", "bcd");
    check("env in (prod,dev),x!=1", "b");
    check("x in ( 1 , 2 )", "ab");
    check("env in (z,prod,a,,dev)", "ab");
    check("x notin (abc,2,0)", "ad");
    check("x in (none)", "");
    check("x", "abc");
    check("!x", "d");
    check("tier", "a");
    check("x,!env", "c");
    check("example.com/n", "b");
    check("!x,env", "");
    check("x>1", "b");
    check("x < 2", "a");
    check("x in (,1)", "a");
    check("tier in (,1)", "a");
    check("tier in ()", "a");
    check("x in ()", "");
    check("tier notin ()", "bcd");
    check("x notin (abc,,def)", "abd");
    check("in", "");
    check("x notin (1),\t!env", "cd");
}

#[test]
fn malformed_label_selectors_say_why() {
    let refuse = |text: &str, message: &str| {
        assert_eq!(
            LabelSelector::parse(text).map_err(|error| error.0),
            Err(message.to_owned()),
            "{text}"
        );
    };
    refuse("x in", "unable to parse requirement: found '' expected: '('");
    refuse("x in 1", "unable to parse requirement: found '1' expected: '('");
    refuse("x in (1", "unable to parse requirement: found '', expected: ',' or ')'");
    refuse("x in (1))", "found ')', expected: ',' or 'end of string'");
    refuse("=1", "found '=', expected: !, identifier, or 'end of string'");
    refuse("x===1", "unable to parse requirement: found '=', expected: identifier");
    refuse("x=1,", "found '', expected: identifier after ','");
    refuse(",x=1", "found ',', expected: !, identifier, or 'end of string'");
    refuse("x=1,,env=prod", "found ',', expected: identifier after ','");
    refuse("!", "unable to parse requirement: found '', expected: identifier");
    refuse("!x=1", "found '=', expected: ',' or 'end of string'");
    refuse("x=1 2", "found '2', expected: ',' or 'end of string'");
    refuse(
        "x=a/b",
        "unable to parse requirement: values[0][x]: Invalid value: \"a/b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
    refuse(
        "x=-a",
        "unable to parse requirement: values[0][x]: Invalid value: \"-a\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
    refuse(
        "-x",
        "unable to parse requirement: <nil>: Invalid value: \"-x\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    );
    refuse(
        "/n",
        "unable to parse requirement: <nil>: Invalid value: \"/n\": prefix part must be non-empty",
    );
    refuse(
        "Example.com/n",
        "unable to parse requirement: <nil>: Invalid value: \"Example.com/n\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
    refuse(
        "x exists",
        "unable to parse requirement: found 'exists', expected: in, notin, =, ==, !=, gt, lt",
    );
    refuse(
        "*",
        "unable to parse requirement: <nil>: Invalid value: \"*\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    );
    refuse(
        "x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "unable to parse requirement: values[0][x]: Invalid value: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": must be no more than 63 bytes",
    );
    refuse(
        "x>a",
        "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer",
    );
}

#[test]
fn only_so_many_requirements_are_read() {
    let check = |count: usize, expect: Result<usize, &str>| {
        let labels = LabelSelector::parse(&vec!["x"; count].join(","))
            .map(|selector| selector.requirements().len());
        let fields = FieldSelector::parse(&vec!["x=1"; count].join(","))
            .map(|selector| selector.terms().len());
        let expect = expect.map_err(|message| SelectorError(message.to_owned()));
        assert_eq!([labels, fields], [expect.clone(), expect]);
    };
    check(1000, Ok(1000));
    check(1001, Err("invalid selector: it has more than 1000 requirements"));
}

#[test]
fn exact_labels_are_found() {
    let selector = LabelSelector::parse("a=1,b in (1,2),!c").expect("well-formed");
    assert_eq!(selector.requires_exact("a"), Some("1"));
    assert_eq!(selector.requires_exact("b"), None);
    assert_eq!(selector.requires_exact("c"), None);
}

#[test]
fn fields_select() {
    let check = |text: &str, names: &str| {
        let selector = FieldSelector::parse(text).expect(text);
        let value_of =
            |name: &'static str| move |field: &str| (field == "metadata.name").then_some(name);
        let matching = ZOO.iter().filter(|(name, _)| selector.matches(value_of(name)));
        assert_eq!(matching.map(|(name, _)| *name).collect::<String>(), names, "{text}");
        assert_eq!(selector.check_fields::<&str>(&[]), Ok(()));
    };
    check("metadata.name=a", "a");
    check("metadata.name==a", "a");
    check("metadata.name!=a", "bcd");
    check("metadata.name=none", "");
    check("metadata.name=A", "");
    check("metadata.name!=a,metadata.name!=b", "cd");
    check("metadata.name=a,metadata.name=b", "");
    check("", "abcd");
    check("metadata.namespace=", "abcd");
}

#[test]
fn refused_field_selectors_say_why() {
    let refuse = |text: &str, message: &str| {
        let own: &[&str] = &["metadata.name", "type"];
        let selectable = if message.starts_with("field label") {
            own
        } else {
            &["metadata.name", "metadata.namespace"]
        };
        let checked =
            FieldSelector::parse(text).and_then(|selector| selector.check_fields(selectable));
        assert_eq!(checked.map_err(|error| error.0), Err(message.to_owned()), "{text}");
    };
    refuse("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
    refuse(
        "metadata.name in (a)",
        "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'",
    );
    refuse("metadata.name=a=b", "invalid field selector: unescaped character in value: 61");
    refuse("a", "invalid selector: 'a'; can't understand 'a'");
    refuse(
        "=a",
        "\"\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse(
        "spec.x=1",
        "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse(
        "metadata.uid=x",
        "\"metadata.uid\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse(
        "metadata.labels.x=1",
        "\"metadata.labels.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse(
        "rules=x",
        "\"rules\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse(
        "name=a",
        "\"name\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse(
        "metadata.Name=a",
        "\"metadata.Name\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
    );
    refuse("status.certificate=x", "field label not supported: status.certificate");
    refuse("data=x", "field label not supported: data");
    refuse("metadata.name=a,metadata.namespace=b", "field label not supported: metadata.namespace");
    refuse(r"metadata.name=a\b", r"invalid field selector: invalid escape sequence: \b");
}

#[test]
fn field_values_are_unescaped() {
    let selector = FieldSelector::parse(r"a=x\,y\=z\\,b!=2,,c==").expect("well-formed");
    let terms: Vec<_> = selector
        .terms()
        .iter()
        .map(|term| (term.field.as_str(), term.equal, term.value.as_str()))
        .collect();
    assert_eq!(terms, [("a", true, r"x,y=z\"), ("b", false, "2"), ("c", true, "")]);
    assert_eq!(selector.requires_exact("a"), Some(r"x,y=z\"));
    assert_eq!(selector.requires_exact("b"), None);
    assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
}

proptest! {
    #[test]
    fn any_label_text_is_read_or_refused(text in r"[ax!=<>(), \-/in]{0,24}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
        }
    }

    #[test]
    fn any_field_text_is_read_or_refused(text in r"[ax!=,\\.é]{0,24}") {
        if let Ok(selector) = FieldSelector::parse(&text) {
            prop_assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
        }
    }
}
