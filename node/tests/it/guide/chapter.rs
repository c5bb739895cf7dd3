//! A chapter of the guide that a test goes through, from its first command to its last.
//!
//! Invariants: every command of the chapter is run as it stands, in order, but for those in the table of what is not run here; a
//! test that leaves one out fails.

use super::document::{Command, Place, commands, guide};
use super::sandbox::Sandbox;
use super::tables::LISTED;

/// The commands that have not been run yet.
pub(super) struct Chapter {
    left: std::vec::IntoIter<Command>,
}

impl Chapter {
    /// The chapter under this heading.
    pub(super) fn open(heading: &str) -> Self {
        let mut commands = commands(&guide());
        commands.retain(|command| command.chapter == heading && !is_listed(command));
        assert!(!commands.is_empty(), "the guide has no chapter {heading:?} with commands");
        Self { left: commands.into_iter() }
    }

    /// Runs everything before the next command that begins with this; gives what the last one has
    /// printed.
    #[track_caller]
    pub(super) fn run_until(&mut self, sandbox: &mut Sandbox, begin: &str) -> String {
        let left = self.left.as_slice();
        let count = left.iter().position(|command| command.text.starts_with(begin));
        let count = count.unwrap_or_else(|| panic!("the chapter has no {begin:?} from here on"));
        let mut printed = String::new();
        for command in self.left.by_ref().take(count) {
            printed = run(sandbox, &command);
        }
        printed
    }

    /// Runs everything up to and with the next command that begins with this; gives what that has
    /// printed.
    #[track_caller]
    pub(super) fn run_with(&mut self, sandbox: &mut Sandbox, begin: &str) -> String {
        self.run_until(sandbox, begin);
        run(sandbox, &self.left.next().unwrap())
    }

    /// Runs all that is left.
    #[track_caller]
    pub(super) fn run_to_the_end(mut self, sandbox: &mut Sandbox) -> String {
        let mut printed = String::new();
        for command in self.left.by_ref() {
            printed = run(sandbox, &command);
        }
        printed
    }

    /// Leaves the rest, where only the beginning is needed: another test goes through it.
    pub(super) fn leave(mut self) {
        self.left.by_ref().for_each(drop);
    }
}

impl Drop for Chapter {
    fn drop(&mut self) {
        if let (Some(left), false) = (self.left.next(), std::thread::panicking()) {
            panic!("the test has left out {left:?}");
        }
    }
}

/// Whether a command is one of those that are not run here.
pub(super) fn is_listed(command: &Command) -> bool {
    LISTED.iter().any(|listed| listed.command == command.text)
}

#[track_caller]
fn run(sandbox: &mut Sandbox, command: &Command) -> String {
    match command.place {
        Place::Machine(machine) => sandbox.run(machine, &command.text),
        Place::Everywhere => (1..=3).map(|machine| sandbox.run(machine, &command.text)).collect(),
    }
}
