//! What the functions of text do, by code points.

use super::text::*;

const INDEX: fn(i64) -> Misplaced = Misplaced::Index;

#[test]
fn characters() {
    let check = |text: &str, index: i64, expect| assert_eq!(char_at(text, index), expect);
    check("abc", 0, Ok("a"));
    check("abc", 3, Ok(""));
    check("abc", 4, Err(INDEX(4)));
    check("abc", -1, Err(INDEX(-1)));
    check("é😀", 1, Ok("😀"));
    check("é😀", 3, Err(INDEX(3)));
}

#[test]
fn places() {
    let check =
        |text: &str, part: &str, from: i64, expect| assert_eq!(index_of(text, part, from), expect);
    check("abc", "c", 0, Ok(2));
    check("abc", "", 7, Ok(7));
    check("abc", "", -1, Ok(-1));
    check("abc", "a", 3, Ok(-1));
    check("", "a", 0, Ok(-1));
    check("abc", "a", -1, Err(INDEX(-1)));
    check("é😀é", "é", 1, Ok(2));
    let check = |text: &str, part: &str, from: i64, expect| {
        assert_eq!(last_index_of_until(text, part, from), expect)
    };
    check("abcabc", "c", 1, Ok(-1));
    check("aaa", "aa", 1, Ok(1));
    check("aaa", "aa", 3, Ok(-1));
    check("é😀é", "é", 1, Ok(0));
    check("é😀é", "😀é", 0, Ok(-1));
    check("é😀é", "é", 2, Ok(2));
    check("ta©o©αT", "©", 3, Ok(2));
    check("abc", "", 7, Ok(7));
    check("abc", "a", -1, Err(INDEX(-1)));
    assert_eq!(
        (last_index_of("é😀é", "é"), last_index_of("abc", ""), last_index_of("a", "b")),
        (2, 3, -1)
    );
}

#[test]
fn parts() {
    assert_eq!(substring_from("é😀z", 1), Ok("😀z"));
    assert_eq!(substring_from("abc", 4), Err(INDEX(4)));
    assert_eq!(substring("aé😀", 1, 3), Ok("é😀"));
    assert_eq!(substring("aé😀", 2, 1), Err(Misplaced::Range { start: 2, end: 1 }));
    assert_eq!(substring("aé😀", 0, 4), Err(INDEX(4)));
    let check = |text: &str, separator: &str, limit: i64, expect: &[&str]| {
        assert_eq!(split(text, separator, limit), expect, "{text:?} {separator:?} {limit}");
    };
    check("a,b,c", ",", -2, &["a", "b", "c"]);
    check("a,b,c", ",", 2, &["a", "b,c"]);
    check("a,b,c", ",", 0, &[]);
    check("", ",", -1, &[""]);
    check("", "", -1, &[]);
    check("aé😀", "", -1, &["a", "é", "😀"]);
    check("aé😀", "", 2, &["a", "é😀"]);
    check("aé😀", "", 1, &["aé😀"]);
    check("aé😀", "", 9, &["a", "é", "😀"]);
}

#[test]
fn changes() {
    let check = |text: &str, old: &str, new: &str, limit: i64, expect: Option<&str>| {
        assert_eq!(replace(text, old, new, limit).as_deref(), expect, "{text:?} {old:?}");
    };
    check("abc", "", "_", 2, Some("_a_bc"));
    check("aé", "", "-", -1, Some("-a-é-"));
    check("", "", "x", -1, Some("x"));
    check("banana", "a", "xx", 0, Some("banana"));
    let large = "x".repeat(1 << 20);
    check(&large, "", &large, -1, None);
    check(&large, "x", "", -1, Some(""));
    check(&large, "y", &large, -1, Some(&large));
    assert_eq!(trim("\t\u{85}\u{a0}\u{1680}x\u{2003}\n"), "x");
    assert_eq!(trim("\u{200b}a\u{feff}"), "\u{200b}a\u{feff}");
    assert_eq!(quote("it's\u{7}\n\\\"\u{2028}"), "\"it's\\a\\n\\\\\\\"\u{2028}\"");
}
