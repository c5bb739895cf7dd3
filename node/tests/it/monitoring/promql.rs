//! What expressions of Prometheus name: series, the labels and values that select them, and the labels that
//! results are grouped by. Only what a check of names needs: nothing is evaluated.

/// A matcher of a label: its value may be an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matcher {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) is_pattern: bool,
}

/// What an expression names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Series, each with its matchers.
    pub(crate) series: Vec<(String, Vec<Matcher>)>,
    /// Labels of `by`, `on` and the like.
    pub(crate) labels: Vec<String>,
}

/// Words that a list of labels stands behind.
const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// What stands behind the name of an aggregation.
const AGGREGATED: [&str; 2] = ["by (", "without ("];
/// Words between series.
const WORDS: [&str; 7] = ["and", "or", "unless", "bool", "offset", "inf", "nan"];

/// Reads an expression.
pub(crate) fn names(expression: &str) -> Names {
    let mut names = Names::default();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        if length == 0 {
            rest = match first {
                // A range or an offset.
                '[' => after(rest, ']'),
                '{' => panic!("no name before {rest}"),
                _ => &rest[first.len_utf8()..],
            };
            continue;
        }
        let (word, behind) = rest.split_at(length);
        rest = behind.trim_start();
        if first.is_ascii_digit() || WORDS.contains(&word) {
            continue;
        }
        if GROUPING.contains(&word) {
            let Some(list) = rest.strip_prefix('(') else { continue };
            let (list, behind) = list.split_once(')').expect("a list ends");
            let labels = list.split(',').map(str::trim).filter(|label| !label.is_empty());
            names.labels.extend(labels.map(str::to_owned));
            rest = behind;
        } else if let Some(selector) = rest.strip_prefix('{') {
            let (matchers, behind) = matchers(selector);
            names.series.push((word.to_owned(), matchers));
            rest = behind;
        } else if !rest.starts_with('(') && !AGGREGATED.iter().any(|by| rest.starts_with(by)) {
            names.series.push((word.to_owned(), vec![]));
        }
    }
    names
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':' || c == '.'
}

fn after(text: &str, end: char) -> &str {
    text.split_once(end).map_or("", |(_, behind)| behind)
}

/// The matchers up to the end of a selector, and what stands behind it.
fn matchers(mut text: &str) -> (Vec<Matcher>, &str) {
    let mut found = Vec::new();
    loop {
        text = text.trim_start_matches([',', ' ', '\n']);
        if let Some(behind) = text.strip_prefix('}') {
            return (found, behind);
        }
        let (label, behind) = text.split_once(['=', '!']).expect("a matcher has an operator");
        let (operator, behind) = behind.split_once('"').expect("a value is quoted");
        let (value, behind) = behind.split_once('"').expect("a value ends");
        let is_pattern = operator.contains('~');
        found.push(Matcher { label: label.to_owned(), value: value.to_owned(), is_pattern });
        text = behind;
    }
}

/// A label, its value, and whether that is a pattern.
type Expected<'e> = (&'e str, &'e str, bool);

#[test]
fn names_are_found() {
    let check = |expression: &str, series: &[(&str, &[Expected<'_>])], labels: &[&str]| {
        let matcher = |(label, value, is_pattern): &Expected<'_>| Matcher {
            label: (*label).to_owned(),
            value: (*value).to_owned(),
            is_pattern: *is_pattern,
        };
        let series = series.iter().map(|(name, matchers)| {
            ((*name).to_owned(), matchers.iter().map(matcher).collect::<Vec<_>>())
        });
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(names(expression), Names { series: series.collect(), labels }, "{expression}");
    };
    check("up == 0", &[("up", &[])], &[]);
    check("a:b_c{x=\"1\"}[5m] > 14.4 * 0.01", &[("a:b_c", &[("x", "1", false)])], &[]);
    check(
        "sum by (job, le) (rate(m_bucket{a=\"b\",c!~\"d|e.+\"}[$__rate_interval])) / on (job) n",
        &[("m_bucket", &[("a", "b", false), ("c", "d|e.+", true)]), ("n", &[])],
        &["job", "le", "job"],
    );
    check("time() - max(a != 0) >= bool 100 unless b", &[("a", &[]), ("b", &[])], &[]);
    check("a * on (x) group_left (y) b", &[("a", &[]), ("b", &[])], &["x", "y"]);
}
