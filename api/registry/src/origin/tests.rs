//! Origins round trip, keep their limits, and read back whatever the bytes are.

use quorate_store::MAX_ORIGIN_BYTES;

use super::*;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

const ID: &str = "7e4dd5ce-5a8f-4a0c-9d0a-3b1a5a4f0f11";
const KUBECTL: &str = "kubectl/v1.35.0 (linux/amd64) kubernetes/6645204";

fn request<'a>(
    groups: &'a [String],
    extra: &'a [(String, Vec<String>)],
    audit_id: &'a str,
) -> RequestOrigin<'a> {
    RequestOrigin {
        user: UserInfo { name: "ann", uid: "u-1", groups, extra },
        impersonator: None,
        user_agent: KUBECTL,
        audit_id,
        verb: "apply",
        subresource: "status",
        force: true,
    }
}

#[test]
fn what_is_written_is_read_back() {
    let groups = texts(&["dev", GROUP_AUTHENTICATED]);
    let extra =
        vec![("scopes".to_owned(), texts(&["a", "b=\u{e9}"])), ("node".to_owned(), texts(&[""]))];
    for audit_id in [ID, "7E4DD5CE-5A8F-4A0C-9D0A-3B1A5A4F0F11", "mine", ""] {
        let head = OriginHead::of_request(&RequestOrigin {
            impersonator: Some(UserInfo { name: "root", uid: "", groups: &groups, extra: &extra }),
            ..request(&groups, &extra, audit_id)
        });
        let write = WriteOrigin {
            verb: "update",
            subresource: "scale",
            manager: "kubectl",
            propagation: Some(Propagation::Orphan),
            grace_seconds: Some(-3),
        };
        let user = OriginUser {
            name: "ann".to_owned(),
            uid: "u-1".to_owned(),
            groups: groups.clone(),
            extra: extra.clone(),
        };
        let expect = Origin {
            user,
            impersonator: OriginUser {
                name: "root".to_owned(),
                groups: groups.clone(),
                ..OriginUser::default()
            },
            user_agent: KUBECTL.to_owned(),
            audit_id: audit_id.to_owned(),
            verb: "apply".to_owned(),
            subresource: "status".to_owned(),
            manager: "kubectl".to_owned(),
            source: String::new(),
            force: true,
            propagation: Some(Propagation::Orphan),
            grace_seconds: Some(-3),
            truncated: false,
        };
        assert_eq!(Origin::decode(&head.with(&write)), Some(expect), "{audit_id}");
    }
}

#[test]
fn the_server_says_which_part_of_it_wrote_and_what() {
    let write = WriteOrigin { verb: "delete", manager: "m", ..WriteOrigin::default() };
    let found = Origin::decode(&OriginHead::of_source("namespace-controller").with(&write));
    let expect = Origin {
        source: "namespace-controller".to_owned(),
        verb: "delete".to_owned(),
        manager: "m".to_owned(),
        ..Origin::default()
    };
    assert_eq!(found, Some(expect));
}

#[test]
fn an_ordinary_origin_is_small() {
    let groups = texts(&["system:masters", GROUP_AUTHENTICATED]);
    let head = OriginHead::of_request(&RequestOrigin {
        user: UserInfo { name: "admin", uid: "", groups: &groups, extra: &[] },
        force: false,
        verb: "patch",
        subresource: "",
        ..request(&groups, &[], ID)
    });
    let write = WriteOrigin { manager: "kubectl-client-side-apply", ..WriteOrigin::default() };
    assert_eq!(head.with(&write).len(), 116);
}

#[test]
fn nothing_gets_longer_than_the_store_takes() {
    let long = "\u{e9}".repeat(5000);
    let groups: Vec<String> = (0..2000).map(|number| format!("group-{number}")).collect();
    let extra = vec![("k".to_owned(), vec!["v".to_owned(); 3000])];
    let user = UserInfo { name: &long, uid: &long, groups: &groups, extra: &extra };
    let head = OriginHead::of_request(&RequestOrigin {
        user,
        impersonator: Some(user),
        user_agent: &long,
        audit_id: &long,
        verb: &long,
        subresource: &long,
        force: true,
    });
    let bytes = head.with(&WriteOrigin {
        verb: &long,
        subresource: &long,
        manager: &long,
        propagation: Some(Propagation::Background),
        grace_seconds: Some(i64::MAX),
    });
    assert!((3000..=MAX_ORIGIN_BYTES).contains(&bytes.len()), "{}", bytes.len());
    let origin = Origin::decode(&bytes).expect("it is one");
    assert!(origin.truncated && origin.user.name.len() == limits::NAME_BYTES);
    assert_eq!(origin.user.groups[..2], ["group-0", "group-1"]);
}

#[test]
fn other_bytes_are_read_as_far_as_they_go() {
    let check = |bytes: &[u8], expect: Option<&str>| {
        assert_eq!(Origin::decode(bytes).map(|origin| origin.user.name).as_deref(), expect);
    };
    check(&[], None);
    check(&[2, 1, 1, b'a'], None);
    check(&[1], Some(""));
    check(&[1, 1, 1, b'a'], Some("a"));
    check(&[1, 200, 2, 0, 0, 1, 1, b'a'], Some("a"));
    check(&[1, 1, 1, b'a', 2, 9, b'b'], Some("a"));
    check(&[1, 1, 0xff, 0xff, 0xff, 0xff, 0xff], Some(""));
}
