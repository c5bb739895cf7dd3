//! Tests of the cache: what is found, what is bounded, and what stays.

use quorate_meta::Naming;
use quorate_schema::Graph;

use super::*;

const MESSAGE_BYTES: usize = 1000;
/// Entries that fit a small cache.
const FIT: usize = 50 * SHARDS;

fn form(ty: &str) -> MessageForm {
    let graph = Graph::builtin(Naming::Svc.names());
    let ty = graph.type_named(ty).expect("a type").id;
    MessageForm { message: ty, object: ty }
}

fn small() -> MessageCache {
    let kept = FIT * (MESSAGE_BYTES + ENTRY_BYTES + 10);
    MessageCache::with_bytes(kept * SIZES_PART / (SIZES_PART - 1))
}

/// Asks for the messages of objects by their numbers, and keeps what is not there; how many
/// were.
fn scan(cache: &MessageCache, form: MessageForm, objects: std::ops::Range<usize>) -> usize {
    let mut hits = 0;
    for number in objects {
        let key = format!("o/{number:08}");
        let place = cache.place(key.as_bytes(), form, Revision::new(1));
        match cache.read(place, Bytes::len) {
            Some(len) => hits += usize::from(len == MESSAGE_BYTES),
            None => drop(cache.keep(place, MESSAGE_BYTES, || vec![0; MESSAGE_BYTES].into())),
        }
    }
    hits
}

#[test]
fn only_the_version_that_is_asked_for_is_found() {
    let (cache, [map, pod]) = (MessageCache::with_bytes(1 << 20), ["ConfigMap", "Pod"]);
    let [map, pod] = [map, pod].map(|kind| form(&format!("core/v1.{kind}")));
    let keep = |key: &str, form, revision, message: &'static str| {
        let place = cache.place(key.as_bytes(), form, Revision::new(revision));
        cache.keep(place, message.len(), || Bytes::from_static(message.as_bytes()));
    };
    let check = |key: &str, form, revision, expect: Option<&'static str>| {
        let place = cache.place(key.as_bytes(), form, Revision::new(revision));
        let expect = expect.map(|text| Bytes::from_static(text.as_bytes()));
        assert_eq!(cache.read(place, Bytes::clone), expect, "{key} {revision}");
    };
    keep("a", map, 5, "a5");
    keep("b", map, 5, "b5");
    keep("a", pod, 5, "pod");
    check("a", map, 5, Some("a5"));
    check("b", map, 5, Some("b5"));
    check("a", pod, 5, Some("pod"));
    check("c", map, 5, None);
    check("a", map, 4, None);
    check("a", map, 6, None);
    keep("a", map, 4, "a4");
    check("a", map, 5, Some("a5"));
    check("a", map, 4, None);
    keep("a", map, 7, "a7, which is longer");
    check("a", map, 5, None);
    check("a", map, 7, Some("a7, which is longer"));
    let lens = ["a7, which is longer", "b5", "pod"].map(|text| text.len() + ENTRY_BYTES);
    let expect =
        MessageCacheCounts { hits: 5, misses: 5, bytes: lens.iter().sum::<usize>() as u64 };
    assert_eq!(cache.counts(), expect);
}

#[test]
fn the_size_of_what_has_no_room_is_known() {
    let (cache, form) = (small(), form("core/v1.ConfigMap"));
    let place = |number: usize, revision| {
        cache.place(format!("o/{number:08}").as_bytes(), form, Revision::new(revision))
    };
    scan(&cache, form, 0..FIT / 4);
    assert_eq!(cache.size(place(7, 1)), Some(MESSAGE_BYTES), "its message is kept");
    assert_eq!(cache.size(place(FIT, 1)), None);
    cache.note_size(place(FIT, 1), 33);
    assert_eq!(cache.size(place(FIT, 1)), Some(33));
    let places: Vec<MessagePlace> = (0..2 * SHARDS).map(|number| place(number, 1)).collect();
    let counts = cache.counts();
    cache.fetch(&places);
    cache.fetch_sizes(&places);
    assert_eq!(cache.counts(), counts, "what is fetched has not been asked for");
    assert_eq!(cache.size(place(FIT, 2)), None);
    assert_eq!(cache.size(place(7, 2)), None);
}

#[test]
fn what_is_kept_is_bounded() {
    let (cache, form) = (small(), form("core/v1.ConfigMap"));
    let most = |cache: &MessageCache| cache.shards.lock(0).most_bytes * SHARDS;
    for revision in 1..40 {
        for number in 0..FIT / 4 {
            let key = format!("o/{number:08}");
            let place = cache.place(key.as_bytes(), form, Revision::new(revision));
            let len = MESSAGE_BYTES / 2 * usize::try_from(revision).unwrap() / 4;
            cache.keep(place, len, || vec![0; len].into());
        }
        assert!(cache.counts().bytes as usize <= most(&cache));
    }
    scan(&cache, form, 0..10 * FIT);
    assert!(cache.counts().bytes as usize <= most(&cache));
    for shard in cache.shards.each() {
        let bytes: usize = shard.entries.values().map(CachedMessage::bytes).sum();
        assert_eq!((shard.ring.len(), bytes as u64), (shard.entries.len(), shard.counts.bytes));
    }
    let place = cache.place(b"huge", form, Revision::new(1));
    let huge = most(&cache) / SHARDS / 2;
    assert_eq!(cache.keep(place, huge, || vec![0; huge].into()), None);
    assert_eq!(cache.read(place, Bytes::len), None, "one object does not drive out others");
}

#[test]
fn a_long_scan_drives_out_neither_what_is_used_nor_itself() {
    let (cache, form) = (small(), form("core/v1.ConfigMap"));
    let used = 0..FIT / 4;
    for _ in 0..8 {
        scan(&cache, form, used.clone());
    }
    // One list of what is twenty times as large.
    scan(&cache, form, FIT..21 * FIT);
    let hits = scan(&cache, form, used.clone());
    assert!(hits >= used.len() * 9 / 10, "{hits} of {}", used.len());
    // Lists of what is a little too large find a part of it each time.
    let cache = small();
    let hits: Vec<usize> = (0..6).map(|_| scan(&cache, form, 0..FIT * 3 / 2)).collect();
    assert!(hits[1..].iter().all(|hits| *hits >= FIT / 2), "{hits:?} of {FIT}");
}

#[test]
fn what_is_not_used_gives_way_in_time() {
    let (cache, form) = (small(), form("core/v1.ConfigMap"));
    scan(&cache, form, 0..FIT);
    let fresh = 2 * FIT..5 * FIT / 2;
    let hits: Vec<usize> = (0..100).map(|_| scan(&cache, form, fresh.clone())).collect();
    assert!(*hits.last().unwrap() >= fresh.len() * 9 / 10, "{hits:?} of {}", fresh.len());
}
