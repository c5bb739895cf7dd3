//! Fuzzed patches and applied bodies on objects of several kinds, through every handler: no panic,
//! memory in proportion to the body.

use http::Method;

use crate::engine::Target;
use crate::requests::{PER_REQUEST, World};
use crate::words;

/// Memory that each byte of a patch may take at one time: a tree of it, the object with it, and the
/// refusal that tells of it.
const PER_BYTE: u64 = 4000;
/// Patches that one server answers; what they make stays in its memory.
const PER_SERVER: u32 = 1000;

/// Media types by the letter that an input begins with.
const MEDIA: [(u8, &str); 4] = [
    (b'j', "application/json-patch+json"),
    (b'm', "application/merge-patch+json"),
    (b's', "application/strategic-merge-patch+json"),
    (b'a', "application/apply-patch+yaml"),
];

/// Objects, by the digit that comes next: where they are made, what they are, what they are called.
const OBJECTS: [(&str, &str, &str); 4] = [
    (
        "/apis/apps/v1/namespaces/a/deployments",
        "d",
        r#"{"metadata":{"name":"d","labels":{"x":"1"},"finalizers":["x/a"]},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"E","value":"v"}]}],"tolerations":[{"key":"k"}]}}}}"#,
    ),
    (
        "/api/v1/namespaces/a/services",
        "s",
        r#"{"metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"name":"p","port":80},{"name":"q","port":81,"protocol":"UDP"}]}}"#,
    ),
    (
        "/api/v1/namespaces/a/configmaps",
        "p",
        r#"{"metadata":{"name":"p"},"data":{"k":"v"},"binaryData":{"b":"AA=="}}"#,
    ),
    (
        "/apis/rbac.authorization.svc.io/v1/clusterroles",
        "r",
        r#"{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}"#,
    ),
];

fn corpus() -> Vec<Vec<u8>> {
    [
        r#"j0[{"op":"add","path":"/metadata/labels/a~1b","value":"c"},{"op":"copy","from":"/spec","path":"/spec/template"},{"op":"move","from":"/spec/template/spec/containers/0/env","path":"/spec/x"},{"op":"test","path":"/spec/replicas","value":1},{"op":"remove","path":"/metadata/finalizers/0"},{"op":"replace","path":"","value":{}}]"#,
        r#"j1[{"op":"add","path":"/spec/ports/-","value":{"port":82,"name":"r"}},{"op":"replace","path":"/spec/ports/0/port","value":1e3}]"#,
        r#"j2[{"op":"add","path":"/data","value":{"a":{"b":[1,null,"\ud800"]}}},{"op":"copy","from":"/data","path":"/data/a"}]"#,
        r#"m0{"metadata":{"labels":null,"managedFields":[{}],"resourceVersion":"1"},"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}"#,
        r#"m2{"data":{"k":null,"l":"v"},"binaryData":{"b":"//79"},"immutable":true,"kind":"ConfigMap"}"#,
        r#"m3{"rules":null,"aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}]}}"#,
        r#"s0{"metadata":{"$deleteFromPrimitiveList/finalizers":["x/a"],"finalizers":["x/b"]},"spec":{"$retainKeys":["template","selector"],"template":{"spec":{"containers":[{"name":"c","$patch":"delete"},{"name":"e","image":"j"}],"$setElementOrder/containers":[{"name":"e"},{"name":"c"}],"tolerations":[{"$patch":"replace"}]}}}}"#,
        r#"s1{"spec":{"ports":[{"port":80,"$patch":"merge"},{"$patch":"replace"}],"$setElementOrder/ports":[{"port":81},{"port":80}]}}"#,
        "a0apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, managedFields: null}\nspec:\n  template: {spec: {containers: [{name: c, image: j, ports: [{containerPort: 80, protocol: UDP}]}, {name: f}]}}\n",
        "a1{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80},{\"port\":81,\"protocol\":\"UDP\"}]}}",
        "a2apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: p\ndata: &a\n  k: |\n    text\n  l: 'x'\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// A server that has the objects.
fn world() -> World {
    let world = World::new();
    for (collection, _, object) in OBJECTS {
        assert_eq!(
            world.ask(Method::POST, collection, "application/json", object.as_bytes()),
            201,
            "{object}"
        );
    }
    world
}

#[test]
fn patches() {
    let mut world = world();
    for (at, path) in
        OBJECTS.iter().map(|(collection, name, _)| format!("{collection}/{name}")).enumerate()
    {
        let good = corpus().into_iter().filter(|input| input[..2] == *format!("m{at}").as_bytes());
        for input in good {
            assert_ne!(world.ask(Method::PATCH, &path, MEDIA[1].1, &input[2..]), 400, "{path}");
        }
    }
    let mut sent = 0;
    let words = [words::JSON, PATCHES].concat();
    Target {
        name: "patches",
        corpus: corpus(),
        words: &words,
        base_bytes: PER_REQUEST,
        bytes_per_byte: PER_BYTE,
    }
    .run(|input| {
        let [letter, digit, body @ ..] = input else {
            return;
        };
        let Some((_, media)) = MEDIA.iter().find(|(known, _)| known == letter) else {
            return;
        };
        let Some((collection, name, _)) = OBJECTS.get(usize::from(digit.wrapping_sub(b'0'))) else {
            return;
        };
        sent += 1;
        if sent % PER_SERVER == 0 {
            world = self::world();
        }
        let path = format!("{collection}/{name}?fieldManager=f{}&force=true", sent % 3);
        let path = if *letter == b'a' { path } else { path.replace("&force=true", "") };
        world.ask(Method::PATCH, &path, media, body);
    });
}

/// Words of patches.
const PATCHES: &[&[u8]] = &[
    br#"{"op":"copy","from":"/spec","path":"/spec/x"},"#,
    br#"{"op":"remove","path":"/metadata"},"#,
    br#""$patch":"delete","#,
    br#""$patch":"replace","#,
    br#""$retainKeys":[""],"#,
    br#""$setElementOrder/containers":[],"#,
    br#""$deleteFromPrimitiveList/finalizers":["x/a"],"#,
    br#""managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{}}}}],"#,
    br#""resourceVersion":"1","#,
    br#""finalizers":[],"#,
];
