//! Cases about watches: ordered, no gap, no repeat, whole transactions, only what was asked for.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{join, join_all};

use super::subject::{Subject, eventually, next, within};
use crate::{Narrowing, Store, Term, TermSource};

/// A watch that starts after any retained revision gives exactly what followed.
pub async fn watch_from_every_revision(store: Arc<dyn Store>) {
    const WRITES: usize = 40;
    let subject = Subject::new(store, "watch-all").await;
    let start = subject.commit([subject.put("a", "start")]).await;
    let (mut revisions, mut expect) = (vec![start], Vec::new());
    for number in 0..WRITES {
        let (operation, change) = match number % 4 {
            3 => (subject.delete("a"), "-a".to_owned()),
            _ => (subject.put("a", &number.to_string()), format!("a={number}")),
        };
        let revision = subject.commit([operation]).await;
        revisions.push(revision);
        expect.push(format!("{revision} {change}"));
    }
    let newest = *revisions.last().expect("there were writes");
    within(subject.store.applied(newest)).await;
    for (skip, after) in revisions.iter().enumerate() {
        let mut watch = subject.watch("a", *after);
        assert_eq!(
            subject.described(&mut watch, WRITES - skip).await,
            expect[skip..],
            "after {after}"
        );
        assert!(watch.next().now_or_never().is_none(), "nothing more happened");
        assert!(watch.position() >= newest);
    }
}

/// A watch may start after a revision that does not exist yet: it gives nothing up to there, and
/// all that follows.
pub async fn watch_from_the_future(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "watch-future").await;
    let start = subject.commit([subject.put("a", "0")]).await;
    let after = start.next().next();
    let (mut asleep, mut awake) = (subject.watch("a", after), subject.watch("a", after));
    for number in ["1", "2"] {
        let revision = subject.commit([subject.put("a", number)]).await;
        within(subject.store.applied(revision)).await;
        assert!(revision <= after, "the case is the only writer");
        assert!(awake.next().now_or_never().is_none(), "{revision} is not after {after}");
    }
    let third = subject.commit([subject.put("a", "3")]).await;
    let fourth = subject.commit([subject.put("a", "4")]).await;
    for watch in [&mut asleep, &mut awake] {
        assert_eq!(
            subject.described(watch, 2).await,
            [format!("{third} a=3"), format!("{fourth} a=4")]
        );
    }
}

/// A watch that skips to a revision gives what follows it and nothing else, whether it was asleep,
/// in the newest changes or in old history.
pub async fn watch_skips(store: Arc<dyn Store>) {
    const WRITES: usize = 20;
    let subject = Subject::new(store, "watch-skip").await;
    let start = subject.commit([subject.put("a", "start")]).await;
    let mut watch = subject.watch("a", start);
    let mut lines = Vec::new();
    let mut revisions = Vec::new();
    for number in 0..WRITES {
        let revision = subject.commit([subject.put("a", &number.to_string())]).await;
        revisions.push(revision);
        lines.push(format!("{revision} a={number}"));
    }
    within(subject.store.applied(revisions[WRITES - 1])).await;
    assert_eq!(subject.described(&mut watch, 1).await, lines[..1]);
    watch.skip_to(revisions[9]);
    assert_eq!(subject.described(&mut watch, 2).await, lines[10..12]);
    watch.skip_to(revisions[3]);
    assert_eq!(subject.described(&mut watch, 1).await, lines[12..13], "it never goes back");
    watch.skip_to(revisions[WRITES - 1]);
    assert!(watch.next().now_or_never().is_none(), "everything was skipped");
    let last = subject.commit([subject.put("a", "last")]).await;
    assert_eq!(subject.described(&mut watch, 1).await, [format!("{last} a=last")]);
}

/// A batch is one whole transaction, less what has another prefix; transactions without a match do
/// not show at all.
pub async fn watch_is_atomic_and_filtered(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "watch-filter").await;
    let start = subject.commit([subject.put("b/1", "0")]).await;
    let (mut one, mut all) = (subject.watch("a/", start), subject.watch("", start));
    let first = subject
        .commit([subject.put("a/1", "1"), subject.put("b/1", "1"), subject.put("a/2", "1")])
        .await;
    let second = subject
        .commit([subject.put("b/2", "2"), subject.put("a", "2"), subject.put("a0", "2")])
        .await;
    let third = subject
        .commit([subject.delete("b/1"), subject.delete("a/1"), subject.delete("a/absent")])
        .await;
    let fourth = subject.commit([subject.delete("a/absent")]).await;
    let fifth = subject.commit([subject.put("a/1", "5")]).await;
    let expect =
        [format!("{first} a/1=1 a/2=1"), format!("{third} -a/1"), format!("{fifth} a/1=5")];
    assert_eq!(subject.described(&mut one, 3).await, expect);
    let expect = [
        format!("{first} a/1=1 b/1=1 a/2=1"),
        format!("{second} b/2=2 a=2 a0=2"),
        format!("{third} -b/1 -a/1"),
        format!("{fifth} a/1=5"),
    ];
    assert_eq!(subject.described(&mut all, 4).await, expect);
    assert!(third < fourth && fourth < fifth);

    let mut again = subject.watch("a/1", first);
    let deletion = next(&mut again).await;
    let event = deletion.events().next().expect("a batch is never empty");
    let previous = event.previous.as_ref().expect("it was there");
    assert_eq!(
        (&previous.value[..], previous.created, previous.modified),
        (&b"1"[..], first, first)
    );
    let creation = next(&mut again).await;
    assert!(creation.events().all(|event| event.previous.is_none()));
    assert!(creation.time_ms() >= deletion.time_ms());
}

/// The value as a whole is its one term.
#[derive(Debug)]
struct WholeValue;

impl TermSource for WholeValue {
    fn identity(&self) -> usize {
        0
    }

    fn terms(&self, value: &Bytes, found: &mut dyn FnMut(Term)) -> bool {
        let text = std::str::from_utf8(value);
        text.iter().for_each(|text| found(Term::of(&[text])));
        text.is_ok()
    }
}

/// A narrowed watch gives the transactions in which a value comes to have one of its terms, has it
/// or loses it, whether it waits for them or reads what was.
pub async fn watch_narrowed(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "watch-narrowed").await;
    let start = subject.commit([subject.put("other", "red")]).await;
    let narrowed = |terms: &[&str]| {
        let terms = terms.iter().map(|term| Term::of(&[term]));
        subject.watch("a/", start).narrowed(Narrowing::new(Arc::new(WholeValue), terms))
    };
    let (mut red, mut both) = (narrowed(&["red"]), narrowed(&["blue", "red"]));
    assert!(red.next().now_or_never().is_none() && both.next().now_or_never().is_none());
    let mut revisions = Vec::new();
    for value in ["red", "green", "green", "blue", "red", "green"] {
        revisions.push(subject.commit([subject.put("a/1", value)]).await);
        revisions.push(subject.commit([subject.put("other", value)]).await);
    }
    let gone = subject.commit([subject.put("a/2", "red"), subject.delete("a/1")]).await;
    let last = subject.commit([subject.delete("a/2")]).await;
    let line = |place: usize, value: &str| format!("{} a/1={value}", revisions[2 * place]);
    let end = [format!("{gone} a/2=red -a/1"), format!("{last} -a/2")];
    let expect_red = [line(0, "red"), line(1, "green"), line(4, "red"), line(5, "green")];
    let expect_both = [&expect_red[..2], &[line(3, "blue")], &expect_red[2..]].concat();
    for (mut watch, expect) in [(red, &expect_red[..]), (both, &expect_both[..])] {
        let expect = [expect, &end].concat();
        assert_eq!(subject.described(&mut watch, expect.len()).await, expect);
        assert!(watch.next().now_or_never().is_none(), "nothing more happened");
        eventually(|| watch.position() >= last).await;
    }
    within(subject.store.applied(last)).await;
    let mut later = narrowed(&["blue"]);
    let expect = [line(3, "blue"), line(4, "red")];
    assert_eq!(subject.described(&mut later, 2).await, expect);
    assert!(later.next().now_or_never().is_none());
}

/// The position follows the store also while nothing concerns the watch.
pub async fn watch_position_advances(store: Arc<dyn Store>) {
    let subject = Subject::new(store, "watch-position").await;
    let start = subject.commit([subject.put("other", "0")]).await;
    let mut watch = subject.watch("mine", start);
    assert!(watch.position() >= start);
    let other = subject.commit([subject.put("other", "1")]).await;
    eventually(|| watch.position() >= other).await;
    let mine = subject.commit([subject.put("mine", "1")]).await;
    let later = subject.commit([subject.put("other", "2")]).await;
    within(subject.store.applied(later)).await;
    assert!(watch.position() < mine, "what was not given yet does not count");
    assert_eq!(next(&mut watch).await.revision(), mine);
    eventually(|| watch.position() >= later).await;
}

/// Watches that start while several writers are busy agree with each other and with what was
/// acknowledged.
pub async fn watch_under_load(store: Arc<dyn Store>) {
    const WRITERS: usize = 4;
    const WRITES: usize = 50;
    const WATCHES: usize = 8;
    let subject = Subject::new(store, "watch-load").await;
    let start = subject.commit([subject.put("other", "")]).await;
    let writers = (0..WRITERS).map(async |writer| {
        let mut written = Vec::new();
        for number in 0..WRITES {
            let mine = subject.put(&format!("w/{writer}"), &number.to_string());
            let revision =
                subject.commit([mine, subject.put(&format!("other/{writer}"), "")]).await;
            written.push((revision, format!("{revision} w/{writer}={number}")));
        }
        written
    });
    let watches = (0..WATCHES).map(async |index| {
        let mut opener = subject.watch("w/", start);
        for _ in 0..index * 5 {
            next(&mut opener).await;
        }
        let mut watch = subject.watch("w/", start);
        subject.described(&mut watch, WRITERS * WRITES).await
    });
    let (written, watched) = join(join_all(writers), join_all(watches)).await;
    let mut expect: Vec<_> = written.into_iter().flatten().collect();
    expect.sort_unstable();
    let expect: Vec<_> = expect.into_iter().map(|(_, change)| change).collect();
    for seen in watched {
        assert_eq!(seen, expect);
    }
}
