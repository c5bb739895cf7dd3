//! Hostile input: cut, changed and random bytes, depth, claimed lengths.

use proptest::prelude::*;

use super::*;
use crate::protobuf::{Envelope, MAX_BYTES, MAX_DEPTH, Problem, decode, decode_message, encode};
use crate::random::Random;

#[test]
fn cut_at_every_byte() {
    let graph = Graph::builtin(Naming::Svc.names());
    for name in [
        "core/v1.Secret",
        "core/v1.Pod",
        "apiextensions/v1.CustomResourceDefinition",
        "core/v1.Event",
    ] {
        let id = graph.type_named(name).expect("a type").id;
        let object = Random::new(&graph, 3).object(id);
        let body = encode(&graph, id, &object).expect("writes");
        let raw = Envelope::read(&body).expect("an envelope").raw.to_vec();
        for end in 0..body.len() {
            // What remains may end between two fields; then it is a smaller object, never the whole
            // one.
            let cut = decode(&graph, id, &body[..end]);
            assert!(
                cut.is_err() || end + 4 >= body.len() || cut.as_ref() != Ok(&object),
                "{name} {end}"
            );
        }
        for end in 0..raw.len() {
            let cut = decode_message(&graph, id, &raw[..end]);
            assert!(
                cut.as_ref() != Ok(&object) || is_zero_tail(&graph, id, &raw[end..]),
                "{name} {end}"
            );
        }
    }
}

/// Whether a message consists of nothing but zero values.
fn is_zero_tail(graph: &Graph, id: TypeId, message: &[u8]) -> bool {
    decode_message(graph, id, message) == Ok(quorate_schema::zero(graph, id))
}

#[test]
fn depth() {
    let (graph, id) = all();
    // Tag 12 holds the first Inner, tag 3 of each the next.
    let nested = |levels: usize| {
        let mut message = Vec::new();
        for level in (0..levels).rev() {
            let mut outer = Vec::new();
            crate::protobuf::writer::bytes(if level == 0 { 12 } else { 3 }, &message, &mut outer);
            message = outer;
        }
        message
    };
    assert!(decode_message(&graph, id, &nested(MAX_DEPTH - 1)).is_ok());
    let problem =
        |message: &[u8]| decode_message(&graph, id, message).map_err(|error| error.problem);
    assert_eq!(problem(&nested(MAX_DEPTH)), Err(Problem::TooDeep));
    assert_eq!(problem(&nested(10 * MAX_DEPTH)), Err(Problem::TooDeep));
    // Free JSON counts from where it stands.
    let free = |levels: usize| {
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let (mut any, mut message) = (Vec::new(), Vec::new());
        crate::protobuf::writer::bytes(1, text.as_bytes(), &mut any);
        crate::protobuf::writer::bytes(11, &any, &mut message);
        message
    };
    assert!(decode_message(&graph, id, &free(MAX_DEPTH - 1)).is_ok());
    assert_eq!(problem(&free(MAX_DEPTH)), Err(Problem::TooDeep));
    assert_eq!(problem(&vec![0x0b; 100_000]), Err(Problem::TooDeep));
}

#[test]
fn size() {
    let (graph, id) = all();
    let large = vec![0; MAX_BYTES + 1];
    assert_eq!(
        decode_message(&graph, id, &large).map_err(|error| error.problem),
        Err(Problem::TooLarge)
    );
    assert_eq!(Envelope::read(&large).map_err(|error| error.problem), Err(Problem::TooLarge));
    // A million entries in falling order.
    let mut message = Vec::new();
    for number in (0..1_000_000u32).rev() {
        let mut entry = Vec::new();
        crate::protobuf::writer::bytes(
            1,
            &number.to_be_bytes().map(|byte| byte & 0x7f),
            &mut entry,
        );
        crate::protobuf::writer::bytes(17, &entry, &mut message);
    }
    let value = decode_message(&graph, id, &message).expect("reads");
    assert!(value.get("labels").and_then(Value::as_map).is_some_and(|map| map.len() > 100_000));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(message: Vec<u8>) {
        let (graph, id) = all();
        if let Ok(value) = decode_message(&graph, id, &message) {
            let again = crate::protobuf::encode_message(&graph, id, &value).expect("what was read is written");
            prop_assert_eq!(decode_message(&graph, id, &again), Ok(value));
        }
    }

    #[test]
    fn changed_bytes_are_read_or_refused(seed: u64, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let graph = Graph::builtin(Naming::Svc.names());
        let id = graph.type_named("core/v1.ConfigMap").expect("a type").id;
        let mut body = encode(&graph, id, &Random::new(&graph, seed).object(id)).expect("writes");
        for (index, byte) in changes {
            let at = index.index(body.len());
            body[at] = byte;
        }
        if let Ok(value) = decode(&graph, id, &body) {
            let again = encode(&graph, id, &value).expect("what was read is written");
            prop_assert_eq!(decode(&graph, id, &again), Ok(value));
        }
    }
}
