//! The guide's text: its chapters, and the commands in them.
//!
//! A command is a line of an indented block, with the lines that continue it, or a code span in a table that begins with a
//! program's name. `# on node 2` in a block says on which machine its next lines are typed, and `# on every node` on all.

use std::path::{Path, PathBuf};

/// What a code span in a table begins with, when it is a command.
const PROGRAMS: [&str; 10] = [
    "quorate ",
    "kubectl ",
    "cargo ",
    "deploy/",
    "docker ",
    "helm ",
    "journalctl ",
    "openssl ",
    "systemctl ",
    "RUSTFLAGS=",
];

/// Where a command is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Machine(u64),
    Everywhere,
}

/// A command as it stands in the guide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// The chapter: the heading above it.
    pub(super) chapter: String,
    pub(super) place: Place,
    pub(super) text: String,
}

/// The root of the workspace.
pub(super) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The guide.
pub(super) fn guide() -> String {
    std::fs::read_to_string(workspace().join("deploy/README.md")).unwrap()
}

/// All commands of the guide, in its order.
pub(super) fn commands(text: &str) -> Vec<Command> {
    let (mut commands, mut chapter) = (Vec::new(), String::new());
    let (mut place, mut begun, mut may_begin) = (Place::Machine(1), String::new(), false);
    for line in text.lines() {
        let code = line.strip_prefix("    ").filter(|_| may_begin);
        may_begin = code.is_some() || line.trim().is_empty();
        if code.is_none() && !line.trim().is_empty() {
            place = Place::Machine(1);
        }
        if let Some(heading) = line.strip_prefix('#') {
            heading.trim_start_matches('#').trim().clone_into(&mut chapter);
        }
        let mut add = |place, text: &str| {
            commands.push(Command { chapter: chapter.clone(), place, text: text.to_owned() });
        };
        match code {
            Some(code) if code.trim_start().starts_with("# on ") => place = told_place(code),
            Some(code) => {
                let (part, goes_on) =
                    code.strip_suffix('\\').map_or((code, false), |part| (part, true));
                begun = format!("{begun} {}", part.trim()).trim().to_owned();
                if !goes_on {
                    add(place, &std::mem::take(&mut begun));
                }
            }
            None if line.starts_with('|') => {
                let spans = code_spans(line).into_iter();
                let is_command =
                    |span: &String| PROGRAMS.iter().any(|program| span.starts_with(program));
                spans.filter(is_command).for_each(|span| add(Place::Machine(1), &span));
            }
            None => {}
        }
    }
    commands
}

fn told_place(comment: &str) -> Place {
    match comment.trim().strip_prefix("# on ") {
        Some("every node") => Place::Everywhere,
        Some(node) => {
            let number = node.strip_prefix("node ").and_then(|number| number.parse().ok());
            Place::Machine(number.unwrap_or_else(|| panic!("where is {comment:?}?")))
        }
        None => panic!("where is {comment:?}?"),
    }
}

/// What stands between backticks.
fn code_spans(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The code spans outside of blocks, each on one line.
pub(super) fn spans(text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.starts_with("    "));
    let one_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    paragraphs.flat_map(|paragraph| code_spans(&one_line(paragraph))).collect()
}

#[test]
fn commands_are_found_in_blocks_and_tables() {
    let text = "\
## One
Text with `quorate status`.

    a --b \\
        --c
    # on node 2
    d

| Task | Command |
|---|---|
| See | `quorate status` and `--data-dir` |

### Two

    # on every node
    e
";
    let found: Vec<_> = commands(text)
        .into_iter()
        .map(|command| (command.chapter, command.place, command.text))
        .collect();
    let expect = [
        ("One", Place::Machine(1), "a --b --c"),
        ("One", Place::Machine(2), "d"),
        ("One", Place::Machine(1), "quorate status"),
        ("Two", Place::Everywhere, "e"),
    ];
    let expect: Vec<_> = expect
        .into_iter()
        .map(|(chapter, place, text)| (chapter.to_owned(), place, text.to_owned()))
        .collect();
    assert_eq!(found, expect);
    assert_eq!(spans("a `b\nc` d\n\n    `e`\n\n`f`"), ["b c", "f"]);
}
