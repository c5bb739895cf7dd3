//! Machines on which the guide's commands are typed: folders and loopback addresses, each machine with its own.
//!
//! A command that goes on until Ctrl-C runs in the background once it is ready. `systemctl` is the test's own: it starts what
//! the unit in the machine's folder says. Everything ends with the sandbox.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::document::workspace;
use super::service::Service;
use super::tables::SUBSTITUTIONS;
use crate::support::{Kubectl, PATIENCE};

/// The third number of the addresses of the next sandbox.
static NEXT_NET: AtomicU8 = AtomicU8::new(0);
/// Commands that go on until Ctrl-C, and say so when they are ready.
const LASTING: [&str; 2] = ["quorate dev ", "quorate fork "];

/// The machines.
pub(super) struct Sandbox {
    folder: TempDir,
    net: String,
    machines: BTreeMap<u64, Machine>,
    lasting: Vec<Child>,
    /// Words in capitals, and what commands have printed for them.
    values: BTreeMap<String, String>,
    /// Variables of every process.
    pub(super) variables: Vec<(String, String)>,
}

/// A machine.
#[derive(Default)]
struct Machine {
    /// Lines that set variables of the shell.
    settings: Vec<String>,
    service: Service,
}

impl Sandbox {
    /// Machines that have nothing yet. Without kubectl here, gives nothing: the test is skipped then.
    pub(super) fn new() -> Option<Self> {
        let kubectl = Kubectl::program()?;
        let folder = TempDir::new().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let quorate = env!("CARGO_BIN_EXE_quorate");
        std::os::unix::fs::symlink(quorate, bin.join("quorate")).unwrap();
        std::os::unix::fs::symlink(kubectl, bin.join("kubectl")).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let variables = vec![("PATH".to_owned(), path)];
        let (net, machines, values) = (free_net(), BTreeMap::new(), BTreeMap::new());
        Some(Self { folder, net, machines, lasting: vec![], values, variables })
    }

    /// The folder of a machine; made as a bare machine has it.
    pub(super) fn root(&mut self, machine: u64) -> PathBuf {
        let root = self.folder.path().join(format!("machine-{machine}"));
        if let std::collections::btree_map::Entry::Vacant(entry) = self.machines.entry(machine) {
            for folder in ["var/lib", "var/log", "etc/systemd/system"] {
                std::fs::create_dir_all(root.join(folder)).unwrap();
            }
            std::os::unix::fs::symlink(workspace().join("deploy"), root.join("deploy")).unwrap();
            entry.insert(Machine::default());
        }
        root
    }

    /// The address of a machine.
    pub(super) fn address(&self, machine: u64) -> String {
        format!("{}{machine}", self.net)
    }

    /// Puts this in place of a word in capitals from here on.
    pub(super) fn know(&mut self, word: &str, value: &str) {
        self.values.insert(word.to_owned(), value.to_owned());
    }

    /// Writes a file that the guide takes as given, where the machine's commands are typed.
    pub(super) fn write(&mut self, machine: u64, name: &str, text: &str) {
        std::fs::write(self.root(machine).join(name), text).unwrap();
    }

    /// Types a command and gives what it prints. It must succeed.
    #[track_caller]
    pub(super) fn run(&mut self, machine: u64, text: &str) -> String {
        let (succeeded, output) = self.try_run(machine, text);
        assert!(succeeded, "on machine {machine}: {text}\n{output}\n{}", self.logs());
        if let Some((token, hash)) = token_and_hash(&output) {
            self.know("TOKEN", &token);
            self.know("HASH", &hash);
        }
        output
    }

    /// The same; gives whether it succeeded besides.
    pub(super) fn try_run(&mut self, machine: u64, text: &str) -> (bool, String) {
        let root = self.root(machine);
        let command = self.substituted(&root, text);
        let settings = &mut self.machines.get_mut(&machine).unwrap().settings;
        if command.starts_with("export ") {
            settings.push(command);
            return (true, String::new());
        }
        if let Some(arguments) = command.strip_prefix("systemctl ") {
            let variables = self.variables.clone();
            let service = &mut self.machines.get_mut(&machine).unwrap().service;
            return (service.systemctl(arguments, &root, &variables), String::new());
        }
        let settings = settings.join("; ");
        if LASTING.iter().any(|begin| command.starts_with(begin)) {
            return (true, self.start_lasting(&format!("{settings}\nexec {command}"), &root));
        }
        let script = format!("set -euo pipefail; {settings}\n{command}");
        let output = self.shell(&script, &root).output().unwrap();
        let printed = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        (output.status.success(), printed.concat())
    }

    fn shell(&self, script: &str, root: &Path) -> Command {
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).current_dir(root).stdin(Stdio::null());
        shell.env_remove("KUBECONFIG").env("HOME", root).envs(self.variables.clone());
        shell
    }

    /// Runs a command in the background, and gives what it has printed once it is ready.
    fn start_lasting(&mut self, script: &str, root: &Path) -> String {
        let output = root.join("output");
        let file = std::fs::File::create(&output).unwrap();
        self.lasting.push(self.shell(script, root).stdout(file).spawn().unwrap());
        until("it is ready", || {
            let printed = std::fs::read_to_string(&output).unwrap();
            printed.lines().any(|line| line.starts_with("ready")).then_some(printed)
        })
    }

    /// Ctrl-C for what goes on in the background.
    pub(super) fn end_lasting(&mut self) {
        for mut child in self.lasting.drain(..) {
            end(&mut child);
        }
    }

    /// Takes the power of a machine.
    pub(super) fn kill(&mut self, machine: u64) {
        self.machines.get_mut(&machine).unwrap().service.kill();
    }

    /// A line of the guide as this machine types it.
    fn substituted(&self, root: &Path, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, value) in &self.values {
            text = with_word(&text, word, value);
        }
        let root = root.to_str().unwrap();
        for (words, value) in SUBSTITUTIONS {
            let value = value.replace("{root}", root).replace("{net}", &self.net);
            text = text.replace(words, &value);
        }
        text
    }

    /// The ends of what the nodes have logged.
    fn logs(&self) -> String {
        let mut all = String::new();
        for machine in self.machines.keys() {
            let log = self.folder.path().join(format!("machine-{machine}/journal"));
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let end = lines[lines.len().saturating_sub(15)..].join("\n");
            all.push_str(&format!("-- machine {machine}\n{end}\n"));
        }
        all
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end_lasting();
        // All at once: a node that stops alone waits for the others.
        self.machines.values_mut().for_each(|machine| machine.service.kill());
    }
}

/// Asks until there is an answer.
#[track_caller]
pub(super) fn until<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Has a process stop, and gives whether it says that it went well.
pub(super) fn end(child: &mut Child) -> bool {
    Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    child.wait().unwrap().success()
}

/// Addresses of loopback that nothing listens at: their first three numbers.
fn free_net() -> String {
    let second = 64 + std::process::id() % 128;
    for _ in 0..u8::MAX {
        let net = format!("127.{second}.{}.", NEXT_NET.fetch_add(1, Ordering::Relaxed));
        if TcpListener::bind(format!("{net}1:6443")).is_ok() {
            return net;
        }
    }
    panic!("no free addresses");
}

/// A text with a value in place of a word.
fn with_word(text: &str, word: &str, value: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(word) {
        let is_word = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
        done.push_str(before);
        done.push_str(if is_word { value } else { word });
        rest = after;
    }
    done + rest
}

/// What `quorate token create` prints to join with.
fn token_and_hash(output: &str) -> Option<(String, String)> {
    let word =
        |after: &str| Some(output.split_once(after)?.1.split_whitespace().next()?.to_owned());
    Some((word(" --token ")?, word(" --ca-hash sha256:")?))
}

#[test]
fn words_are_replaced_whole() {
    let check = |text: &str, expect: &str| assert_eq!(with_word(text, "ID", "7"), expect, "{text}");
    check("remove ID --x", "remove 7 --x");
    check("KEY_ID=ID", "KEY_ID=7");
    check("IDS and ID", "IDS and 7");
    let printed = "quorate join a:1 --token t.s --ca-hash sha256:ab --data-dir DIR\n";
    assert_eq!(token_and_hash(printed), Some(("t.s".to_owned(), "ab".to_owned())));
    assert_eq!(token_and_hash("node 2 votes"), None);
}
