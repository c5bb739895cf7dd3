//! URLs as the reference engine reads and prints them.

use super::*;

#[test]
fn urls_that_are_read() {
    let check =
        |text: &str, expect: &str| assert_eq!(Url::parse(text).unwrap().to_string(), expect);
    for same in [
        "https://user:pw@example.com:8443/a/b?x=1&y=2#frag",
        "/abs/path",
        "//host/path",
        "mailto:a@b.c",
        "file:///etc/x",
        "http:///path",
        "http:/one",
        "http://h:99999/",
        "http://h:/",
        "http://h/%2F%2f",
        "http://h/a;p=1",
        "http://h/?a=1;b=2",
        "http://h/p?",
        "http://[::1]:443/x",
        "*",
        "a+b-c.d://h/",
    ] {
        check(same, same);
    }
    check("http://", "http:");
    check("HTTP://H/P", "http://H/P");
    check("http://h/a b", "http://h/a%20b");
    check("http://h/日", "http://h/%E6%97%A5");
    check("http://é.example/", "http://%C3%A9.example/");
    check("https://[fe80::1%25eth0]/x", "https://[fe80::1%25eth0]/x");
    check("http://u%40:p%3A@h/", "http://u%40:p%3A@h/");
    check("http://h/p?x#f?g", "http://h/p?x#f?g");
    check("http://h/p#f g%41", "http://h/p#f%20gA");
}

#[test]
fn texts_that_are_no_urls() {
    let check = |text: &str, reason: &str| {
        assert_eq!(Url::parse(text).unwrap_err(), format!("parse {text:?}: {reason}"));
    };
    check("", "empty url");
    check("a/b", "invalid URI for request");
    check("?q=1", "invalid URI for request");
    check("1http://h/", "invalid URI for request");
    check("::", "missing protocol scheme");
    check("http://h/\n", "net/url: invalid control character in URL");
    check("https://[::1", "missing ']' in host");
    check("http://h:port/", "invalid port \":port\" after host");
    check("http://a:b:c/", "invalid port \":c\" after host");
    check("http://h/a%zz", "invalid URL escape \"%zz\"");
    check("http://h/%", "invalid URL escape \"%\"");
    check("http://ex%20ample/", "invalid URL escape \"%20\"");
    check("http://ex ample/", "invalid character \" \" in host name");
    check("https://h#f", "invalid character \"#\" in host name");
    check("https://[fe80::1%eth0]/", "invalid URL escape \"%et\"");
    check("http://us er@h/", "net/url: invalid userinfo");
    check("http://[1.2.3.4]/", "invalid IP-literal");
    check("//h:port/", "invalid port \":port\" after host");
    assert_eq!(Url::check("//h:port/"), Ok(()));
    check("http://[x]/", "invalid host: ParseAddr(\"x\"): unable to parse IP");
}

#[test]
fn parts() {
    let check = |text: &str, expect: [&str; 5]| {
        let url = Url::parse(text).unwrap();
        let parts =
            [url.scheme().to_owned(), url.host(), url.hostname(), url.port(), url.escaped_path()];
        assert_eq!(parts, expect);
    };
    check("https://example.com", ["https", "example.com", "example.com", "", ""]);
    check("http://example.com:80/path", ["http", "example.com:80", "example.com", "80", "/path"]);
    check("https://[::1]:443/x", ["https", "[::1]:443", "::1", "443", "/x"]);
    check("https://[fe80::1%25eth0]/x", ["https", "[fe80::1%eth0]", "fe80::1%eth0", "", "/x"]);
    check("mailto:a@b.c", ["mailto", "", "", "", ""]);
    check("http://:80/", ["http", ":80", "", "80", "/"]);
    check("//host/path", ["", "host", "host", "", "/path"]);
    check("///path", ["", "", "", "", "///path"]);
    check("http://h/%41!", ["http", "h", "h", "", "/%41!"]);
}

#[test]
fn queries() {
    let check = |text: &str, expect: &[(&str, &str)]| {
        let url = Url::parse(text).unwrap();
        let owned: Vec<_> =
            expect.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(url.query().collect::<Vec<_>>(), owned);
    };
    check("http://h/?q=a%20b+c&q=c&r", &[("q", "a b c"), ("q", "c"), ("r", "")]);
    check("http://h/?a=1;b=2", &[]);
    check("http://h/?=v&k=&&", &[("", "v"), ("k", "")]);
    check("http://h/?q=%zz&x=%41", &[("x", "A")]);
    check("http://h/p?x#f?g", &[("x", "")]);
}

#[test]
fn equal_when_printed_equal() {
    let of = |text: &str| Url::parse(text).unwrap();
    assert_eq!(of("http://h/a b"), of("http://h/a%20b"));
    assert_ne!(of("http://h/%61"), of("http://h/a"));
}
