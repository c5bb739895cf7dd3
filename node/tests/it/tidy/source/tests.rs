//! Small sources, taken apart.

use super::Source;

#[test]
fn comments_and_literals_are_no_code() {
    let check = |text: &str, expect: &[&str], comments: &[&str]| {
        let source = Source::parse(text);
        assert_eq!(source.tokens, expect, "{text}");
        assert_eq!(
            source.comments.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(),
            comments,
            "{text}"
        );
    };
    check("a // b\nc", &["a", "c"], &["// b"]);
    check("a /* b /* c */ d */ e", &["a", "e"], &["/* b /* c */ d */"]);
    check(
        r#"a("b // c", "\"", 'd', '\'', b'e', b"f")"#,
        &["a", "(", ",", ",", ",", ",", ",", ")"],
        &[],
    );
    check(r##"r#"a " b"# c"##, &["c"], &[]);
    check(
        "fn a<'b>(c: &'b d)",
        &["fn", "a", "<", "'", "b", ">", "(", "c", ":", "&", "'", "b", "d", ")"],
        &[],
    );
    check("bar\"x\"", &["bar"], &[]);
    check("br\"x\" b", &["b"], &[]);
}

#[test]
fn uses_are_found_by_crate_and_by_super() {
    let check = |depth: usize, text: &str, expect: &[&str]| {
        assert_eq!(Source::parse(text).uses(depth), expect, "{text}");
    };
    check(1, "use crate::a::B; fn f() { crate::c::d(); }", &["a", "c"]);
    check(1, "use crate::{a::{B, C}, d, e::F};", &["a", "d", "e"]);
    check(1, "use super::a::B;", &["a"]);
    check(2, "use super::a::B;", &[]);
    check(2, "use super::super::{a, b::C};", &["a", "b"]);
    check(1, "mod tests { use super::a; use super::super::b; }", &["b"]);
    check(1, "pub(crate) fn f() { other::crate_name::g(); }", &[]);
}

#[test]
fn types_and_inherent_impls_are_found() {
    let check = |text: &str, types: &[&str], impls: &[&str]| {
        let source = Source::parse(text);
        assert_eq!(source.types(), types, "{text}");
        assert_eq!(source.inherent_impls(), impls, "{text}");
    };
    check("pub struct A; #[derive(B)] pub(crate) enum C {} trait D {}", &["A", "C", "D"], &[]);
    check("struct A<T>(T); impl<T: Fn() -> U> A<T> {} impl B for A<u8> {}", &["A"], &["A"]);
    check(
        "impl super::A where for<'a> B: C<'a> {} impl<'a> D<'a> { type E = F; }",
        &[],
        &["A", "D"],
    );
    check(
        "impl Iterator for A { type Item = B; } fn f() -> impl C { struct D; impl D {} }",
        &[],
        &[],
    );
    check("struct A; #[cfg(test)] mod tests { struct B; impl A {} }", &["A"], &[]);
    check("#[cfg(test)] impl A { } #[cfg(test)] pub(crate) struct B;", &[], &[]);
    check("mod inner { pub(super) struct A; impl A {} }", &["A"], &["A"]);
}

#[test]
fn modules_for_tests_are_found() {
    let source = Source::parse(
        "mod a; #[cfg(test)] mod b; #[cfg(test)]\n#[path = \"x\"]\npub(crate) mod c; mod tests;",
    );
    assert_eq!(source.test_modules(), ["b", "c"]);
}

#[test]
fn what_a_root_passes_on_is_found() {
    let source =
        Source::parse("pub use a::B; pub(crate) use self::c::{D, e::F, G as H}; use std::fmt;");
    let owned = |name: &str, module: &str| (name.to_owned(), module.to_owned());
    assert_eq!(
        source.passed_on(),
        [owned("B", "a"), owned("D", "c"), owned("F", "c"), owned("H", "c"), owned("fmt", "std")]
    );
}
