//! The operator's guide, `deploy/README.md`: each chapter's commands are typed as they stand there, on machines of the test's.
//!
//! [`tables`] has what is put in place of a few words, and the commands that are not run here. A test is named after the heading
//! of its chapter, which [`every_command_is_run_or_listed`] holds.

mod backups;
mod chapter;
mod document;
mod keeping;
mod losing;
mod sandbox;
mod service;
mod starting;
mod tables;

use std::collections::BTreeSet;
use std::process::Command;

use self::chapter::is_listed;
use self::document::{commands, guide, spans, workspace};
use self::tables::{ELSEWHERE, LISTED};
use crate::support::quorate;

#[test]
fn every_command_is_run_or_listed() {
    let commands = commands(&guide());
    let texts: BTreeSet<&str> = commands.iter().map(|command| command.text.as_str()).collect();
    for listed in &LISTED {
        assert!(texts.contains(listed.command), "the guide has no {:?} any more", listed.command);
        assert!(!listed.reason.is_empty(), "{} is left out for no reason", listed.command);
    }
    for (chapter, test) in ELSEWHERE {
        assert!(commands.iter().any(|command| command.chapter == chapter), "no {chapter}");
        assert!(workspace().join("node/tests/it").join(test).exists(), "{chapter}: no {test}");
    }
    let tests = tests();
    let here = commands.iter().filter(|command| {
        !is_listed(command) && ELSEWHERE.iter().all(|(chapter, _)| *chapter != command.chapter)
    });
    let missing: BTreeSet<&str> = here
        .filter(|command| !tests.contains(&name_of_test(&command.chapter)))
        .map(|command| command.chapter.as_str())
        .collect();
    assert!(missing.is_empty(), "chapters with commands and without a test: {missing:?}");
    assert!(commands.len() > 100, "only {} commands are found", commands.len());
}

/// The tests of this program in these modules, without the modules' names.
fn tests() -> BTreeSet<String> {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).args(["guide::", "--list"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let names = lines.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(|name| name.rsplit("::").next().unwrap().to_owned()).collect()
}

/// What the test of a chapter is called.
fn name_of_test(chapter: &str) -> String {
    let name = chapter.to_lowercase().replace(' ', "_");
    name.chars().filter(|c| c.is_ascii_lowercase() || *c == '_').collect()
}

/// The commands that the text mentions, beside those that it has typed: each is there, and so are its options.
#[test]
fn commands_in_sentences_are_there() {
    let mentioned: Vec<String> =
        spans(&guide()).into_iter().filter(|span| span.starts_with("quorate ")).collect();
    assert!(mentioned.len() > 20, "only {} are found", mentioned.len());
    for span in mentioned {
        let words: Vec<&str> = span.split_whitespace().skip(1).collect();
        let path: Vec<&str> = words
            .iter()
            .copied()
            .take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
            .collect();
        let output = quorate(&path).arg("--help").output().unwrap();
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{span}`: {says}");
        for option in words.iter().filter(|word| word.starts_with("--")) {
            let option = option.split('=').next().unwrap();
            assert!(help.contains(option), "`{span}`: no {option}");
        }
    }
}

/// Links inside the guide lead somewhere.
#[test]
fn links_lead_to_headings() {
    let text = guide();
    let headings: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("##"))
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            heading.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
        })
        .collect();
    let links: Vec<&str> =
        text.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(links.len() > 20, "only {} links are found", links.len());
    for link in links {
        assert!(headings.contains(link), "#{link} leads nowhere");
    }
}
