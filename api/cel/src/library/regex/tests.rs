//! Each difference between RE2 and the crate `regex`, and the texts of errors.

use super::*;

fn found(pattern: &str, text: &str) -> Option<String> {
    let pattern = Pattern::parse(pattern).unwrap_or_else(|error| panic!("{error}"));
    pattern.find(text).unwrap().map(str::to_owned)
}

fn matching(pattern: &str, texts: &[&str]) {
    for text in texts {
        assert!(found(pattern, text).is_some(), "{pattern} {text:?}");
    }
}

fn failing(pattern: &str, texts: &[&str]) {
    for text in texts {
        assert!(found(pattern, text).is_none(), "{pattern} {text:?}");
    }
}

#[test]
fn perl_classes_are_ascii() {
    matching(r"^\d$", &["0", "9"]);
    failing(r"^\d$", &["٣", "x"]);
    matching(r"^\w$", &["a", "_", "Z", "5"]);
    failing(r"^\w$", &["é", "ä", "-"]);
    matching(r"^\s$", &[" ", "\t", "\n", "\r", "\u{c}"]);
    failing(r"^\s$", &["\u{b}", "\u{a0}", "\u{85}"]);
    matching(r"^[\D]$", &["٣", "x"]);
    matching(r"^\W\S$", &["éé"]);
    matching(r"^(?i)\w$", &["ſ", "K"]);
    failing(r"^(?i)\W$", &["ſ", "K"]);
    matching(r"(?i)^[[:word:]]$", &["K"]);
}

#[test]
fn posix_classes() {
    matching("^[[:alpha:]]$", &["a"]);
    failing("^[[:alpha:]]$", &["é", "1"]);
    matching("^[[:^alpha:]]$", &["é", "1"]);
    matching("^[[:space:]]$", &["\u{b}", " "]);
    matching("^[[:punct:]]+$", &["!/:@[`{~"]);
    matching("^[x[:digit:]y]+$", &["x1y"]);
    matching("^[[:]$", &["[", ":"]);
    matching("^[[:alpha]]$", &["[]", "a]"]);
}

#[test]
fn word_boundaries_are_ascii() {
    assert_eq!(found(r"\b\S+", "éa"), Some("a".to_owned()));
    matching(r"a\b", &["aé", "a"]);
    matching(r"é\Bé", &["éé"]);
    failing(r"a\Bé", &["aé"]);
}

#[test]
fn quoted_and_escaped() {
    matching(r"^\Qa.b\E$", &["a.b"]);
    failing(r"^\Qa.b\E$", &["axb"]);
    matching(r"^\Qa*", &["a*"]);
    matching(r"^\Qab\E*$", &["a", "abbb"]);
    matching(r"^\141\0\x{1F600}\x41\v\a$", &["a\0😀A\u{b}\u{7}"]);
    matching(r"^\_\/\-\@\#\ $", &["_/-@# "]);
    matching(r"^\12$", &["\n"]);
    matching(r"^\1234$", &["S4"]);
    matching(r"^[\101-\x43]$", &["B"]);
    matching(r"^]$", &["]"]);
    matching(r"^}{$", &["}{"]);
    matching(r"^a{,2}$", &["a{,2}"]);
    matching(r"^a{2$", &["a{2"]);
    matching(r"^a{01}$", &["a{01}"]);
    matching("^#x y $", &["#x y "]);
}

#[test]
fn classes_have_no_operators() {
    matching("^[a&&b]$", &["&", "a", "b"]);
    matching("^[+--b]$", &["+", ",", "-", "b"]);
    matching("^[a~~b]$", &["~"]);
    matching("^[a[b]$", &["[", "a", "b"]);
    matching("^[]a]$", &["]", "a"]);
    matching("^[^]a]$", &["b"]);
    matching("^[a-]$", &["-", "a"]);
    matching("^[-a]$", &["-", "a"]);
    matching("^[a^]$", &["^"]);
    matching(r"^[^\n]$", &["\r"]);
    matching("^[^a]$", &["\n"]);
    failing(r"^[\x{D800}-\x{DFFF}]$", &["a", "\u{fffd}"]);
    matching(r"^[\x{D7FF}-\x{E000}]$", &["\u{e000}"]);
    failing(r"^\x{D800}$", &["a", ""]);
    matching(r"^[^\x{D800}]$", &["a"]);
}

#[test]
fn unicode_classes() {
    matching(r"^\pL\p{Greek}\PN\p{^Greek}\P{^Han}$", &["éαx日日"]);
    matching(r"^\p{Nd}$", &["١"]);
    matching(r"^\p{Letter}\p{lu}\p{old italic}\p{Any}$", &["aB\u{10300}\n"]);
    matching(r"^[\p{Greek}\d]+$", &["α1"]);
    matching(r"(?i)^\p{Lu}$", &["a"]);
    failing(r"(?i)^\P{Lu}$", &["a"]);
    failing(r"^\p{Cs}$", &["a"]);
    matching(r"^\P{Cs}\p{ASCII}\p{Assigned}$", &["éaa"]);
    for name in
        ["Foo", "Grek", "Alphabetic", "sc=Greek", "Garay", "Script=Greek", "Emoji", "gc=Lu", ""]
    {
        assert!(Pattern::parse(&format!("\\p{{{name}}}")).is_err(), "{name}");
    }
}

#[test]
fn flags() {
    matching("(?i)^s$", &["ſ", "S"]);
    matching("^(?i:k)K$", &["KK"]);
    failing("^(?i:k)K$", &["kk"]);
    matching("(?i)a(?-i)b", &["Ab"]);
    failing("(?i)a(?-i)b", &["AB"]);
    matching("(a(?i)b)c", &["aBc"]);
    failing("(a(?i)b)c", &["aBC"]);
    failing("a.c", &["a\nc"]);
    matching("(?s)a.c", &["a\nc"]);
    failing("^b$", &["a\nb"]);
    matching("(?m)^b$", &["a\nb\nc"]);
    failing("(?m)b\\z", &["b\n"]);
    failing("b$", &["b\n"]);
    assert_eq!(found("(?U)a+", "aaa"), Some("a".to_owned()));
    assert_eq!(found("(?U)a+?", "aaa"), Some("aaa".to_owned()));
    matching("(?-s:.)|(?i-s:x)", &["X"]);
    matching("(?P<n>a)(?<m_1>b)(?P<n>c)", &["abc"]);
}

#[test]
fn leftmost_first() {
    assert_eq!(found("a|ab", "ab"), Some("a".to_owned()));
    assert_eq!(found("(|a)*", "aa"), Some(String::new()));
    assert_eq!(found("a{2,3}?", "aaa"), Some("aa".to_owned()));
    assert_eq!(found("(a+)(b+)", "aabb"), Some("aabb".to_owned()));
    assert_eq!(found("a*\\Q\\E*", "aaa"), Some("aaa".to_owned()));
    assert_eq!(found("a??(?i)*", "aa"), Some(String::new()));
    assert_eq!(found("(?:a?)*?b", "aab"), Some("aab".to_owned()));
    matching("^*", &["x"]);
    matching("(?:)*", &["x"]);
    matching("()|x||", &["y"]);
}

#[test]
fn all_matches() {
    let check = |pattern: &str, text: &str, limit: usize, expect: &[&str]| {
        assert_eq!(
            Pattern::parse(pattern).unwrap().find_all(text, limit).unwrap(),
            expect,
            "{pattern} {text}"
        );
    };
    check("[0-9]*", "12 ab 345", usize::MAX, &["12", "", "", "", "345"]);
    check("", "éa", usize::MAX, &["", "", ""]);
    check("a*", "baac", usize::MAX, &["", "aa", ""]);
    check("aa", "aaa", usize::MAX, &["aa"]);
    check("a", "aaa", 2, &["a", "a"]);
    check("a", "aaa", 0, &[]);
}

#[test]
fn errors() {
    let check = |pattern: &str, reason: &str, part: &str| {
        assert_eq!(
            check(pattern),
            Err(format!("error parsing regexp: {reason}: `{part}`")),
            "{pattern}"
        );
    };
    check("[", "missing closing ]", "[");
    check("([", "missing closing ]", "[");
    check("x[^", "missing closing ]", "[^");
    check("[a", "missing closing ]", "[a");
    check("a(b", "missing closing )", "a(b");
    check("a)b", "unexpected )", "a)b");
    check("*", "missing argument to repetition operator", "*");
    check("a|*?", "missing argument to repetition operator", "*?");
    check("(+)", "missing argument to repetition operator", "+");
    check("(?i)*", "missing argument to repetition operator", "*");
    check("a++", "invalid nested repetition operator", "++");
    check("a**?b", "invalid nested repetition operator", "**?");
    check("a{2}{3}", "invalid nested repetition operator", "{2}{3}");
    check("a*??", "invalid nested repetition operator", "*??");
    check("a{1001}", "invalid repeat count", "{1001}");
    check("a{2,1}", "invalid repeat count", "{2,1}");
    check("a{2,99999999999999999999}", "invalid repeat count", "{2,99999999999999999999}");
    check("(a{1000}){2}", "invalid repeat count", "{2}");
    check("((a{10}){10}b{50}){11}?", "invalid repeat count", "{11}?");
    check(r"\y", "invalid escape sequence", r"\y");
    check(r"a\Z", "invalid escape sequence", r"\Z");
    check(r"\C", "invalid escape sequence", r"\C");
    check(r"\8", "invalid escape sequence", r"\8");
    check(r"\1", "invalid escape sequence", r"\1");
    check(r"\é", "invalid escape sequence", r"\é");
    check(r"\x{110000}", "invalid escape sequence", r"\x{110000");
    check(r"\x{}", "invalid escape sequence", r"\x{}");
    check(r"\x{1g}", "invalid escape sequence", r"\x{1g");
    check(r"\x1", "invalid escape sequence", r"\x1");
    check(r"\xg1", "invalid escape sequence", r"\xg1");
    check("a\\", "trailing backslash at end of expression", "");
    check("[b-a]", "invalid character class range", "b-a");
    check(r"[a-\d]", "invalid escape sequence", r"\d");
    check("[[:foo:]]", "invalid character class range", "[:foo:]");
    check(r"\p{Foo}x", "invalid character class range", r"\p{Foo}");
    check(r"\pX", "invalid character class range", r"\pX");
    check(r"\p{Lu", "invalid character class range", r"\p{Lu");
    check("(?z)a", "invalid or unsupported Perl syntax", "(?z");
    check("(?i", "invalid or unsupported Perl syntax", "(?i");
    check("(?=a)", "invalid or unsupported Perl syntax", "(?=");
    check("(?i-)", "invalid or unsupported Perl syntax", "(?i-)");
    check("(a)(?P=n)", "invalid or unsupported Perl syntax", "(?P");
    check("(?P<n", "invalid named capture", "(?P<n");
    check("(?P<>a)", "invalid named capture", "(?P<>");
    check("(?P<x y>a)", "invalid named capture", "(?P<x y>");
}

#[test]
fn limits() {
    matching("^(a{10}){100}$", &[&"a".repeat(1000)]);
    matching("^(?:(?:a{0}){1000}b?){1}$", &["", "b"]);
    matching("^(?:(?:a*){1000})$", &["aaa"]);
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    matching(&nested(60), &["a"]);
    assert!(
        check(&nested(5000))
            .unwrap_err()
            .starts_with("error parsing regexp: expression nests too deeply")
    );
    let large = r"(?i)(\pL{1000}|x{1000})".repeat(3000);
    assert!(check(&large).unwrap_err().starts_with("error parsing regexp: expression too large"));
    for piece in [r"\pL", "(?i)[^a]", "(?i:x)", "é[b]", "a|"] {
        let text = piece.repeat((3 << 20) / piece.len());
        let checked = check(&text);
        assert!(
            checked.is_ok() || checked.unwrap_err().contains("expression too large"),
            "{piece}"
        );
    }
    assert!(check(&"[[:".repeat(1 << 20)).unwrap_err().contains("missing closing ]"));
    let stacked = format!("a{}", "*\\Q\\E".repeat(5000));
    assert!(
        check(&stacked)
            .unwrap_err()
            .starts_with("error parsing regexp: expression nests too deeply")
    );
}

#[test]
fn deepest_nesting_needs_little_stack() {
    let stack = 256 << 10;
    let deepest = || {
        let mut pattern = "a".to_owned();
        while check(&format!("(b|(?:{pattern})*)")).is_ok() {
            pattern = format!("(b|(?:{pattern})*)");
        }
        matching(&pattern, &["aaa"]);
    };
    std::thread::Builder::new().stack_size(stack).spawn(deepest).unwrap().join().unwrap();
}

/// Expressions of random pieces: what is accepted compiles, and matching ends.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_accepted_compiles() {
    const PIECES: [&str; 64] = [
        "a",
        "b",
        "é",
        "😀",
        ".",
        "^",
        "$",
        "|",
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?s:",
        "(?P<n>",
        "(?U-s)",
        "(?m)",
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0,}",
        "{",
        "}",
        "[",
        "]",
        "[^",
        "-",
        "[a-z]",
        "[[:alpha:]]",
        "[[:^digit:]",
        "[:word:]",
        "\\d",
        "\\D",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\b",
        "\\B",
        "\\A",
        "\\z",
        "\\pL",
        "\\P{Greek}",
        "\\p{^Lu}",
        "\\Q",
        "\\E",
        "\\x{1F600}",
        "\\x41",
        "\\012",
        "\\n",
        "\\.",
        "\\",
        "&&",
        "--",
        "~~",
        "#",
        " ",
        "\n",
        "\\x{D800}",
        "\\-",
        "\\]",
        ",",
        "??",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    let mut accepted = 0;
    for _ in 0..6_000 {
        let text: String = (0..=random(8)).map(|_| PIECES[random(PIECES.len())]).collect();
        let Ok(pattern) = Pattern::parse(&text) else {
            continue;
        };
        accepted += 1;
        for subject in ["", "ab é😀\n", "aA1-&]"] {
            pattern.is_match(subject).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        }
    }
    assert!(accepted > 1_500, "{accepted}");
}
