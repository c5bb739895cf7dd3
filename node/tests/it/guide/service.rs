//! `systemctl` for the unit of one machine, as far as the guide uses it.
//!
//! It reads the unit that the guide has installed: what it starts, its folders, its variables and how it reloads. What the
//! unit says about hardening is systemd's own, which `unit.rs` asks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::sandbox::end;

/// The unit, below a machine's folder.
const UNIT: &str = "etc/systemd/system/quorate.service";

/// The service of a machine.
#[derive(Default)]
pub(super) struct Service {
    process: Option<Child>,
}

impl Service {
    /// Carries a command out; gives whether it succeeded.
    pub(super) fn systemctl(
        &mut self,
        arguments: &str,
        root: &Path,
        variables: &[(String, String)],
    ) -> bool {
        let unit = std::fs::read_to_string(root.join(UNIT)).unwrap();
        match arguments {
            "daemon-reload" => true,
            "enable --now quorate" | "start quorate" => self.start(&unit, root, variables),
            "stop quorate" => self.stop(),
            "restart quorate" => self.stop() && self.start(&unit, root, variables),
            "reload quorate" => self.reload(&unit),
            "status quorate" => self.runs(),
            other => panic!("systemctl {other}"),
        }
    }

    /// Ends the process without warning, as a power cut does.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // One that has ended is no error.
            let _ = process.kill();
            process.wait().unwrap();
        }
    }

    fn runs(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().unwrap().is_none())
    }

    fn start(&mut self, unit: &str, root: &Path, variables: &[(String, String)]) -> bool {
        if self.runs() {
            return true;
        }
        for (key, place) in [("StateDirectory", "var/lib"), ("LogsDirectory", "var/log")] {
            let folder = value(unit, key).unwrap();
            std::fs::create_dir_all(root.join(place).join(folder)).unwrap();
        }
        let given = environment(unit, root);
        let mut command = value(unit, "ExecStart").unwrap().to_owned();
        command = command.replace("/var/", &format!("{}/var/", root.display()));
        for name in value(unit, "Environment").unwrap().split_whitespace() {
            let name = name.strip_suffix('=').unwrap();
            command =
                command.replace(&format!("${name}"), given.get(name).map_or("", String::as_str));
        }
        let mut words = command.split_whitespace();
        assert_eq!(words.next(), Some("/usr/local/bin/quorate"));
        let journal = root.join("journal");
        let journal = std::fs::File::options().create(true).append(true).open(journal).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_quorate"));
        process.args(words).envs(variables.iter().cloned()).envs(given);
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(journal);
        self.process = Some(process.spawn().unwrap());
        true
    }

    fn stop(&mut self) -> bool {
        let runs = self.runs();
        let process = self.process.take();
        !runs || process.is_none_or(|mut process| end(&mut process))
    }

    fn reload(&mut self, unit: &str) -> bool {
        let main = self.process.as_ref().unwrap().id().to_string();
        let command = value(unit, "ExecReload").unwrap().replace("$MAINPID", &main);
        Command::new("sh").args(["-c", &command]).status().unwrap().success()
    }
}

/// The variables in the files that the unit reads.
fn environment(unit: &str, root: &Path) -> BTreeMap<String, String> {
    let place = value(unit, "EnvironmentFile").unwrap().strip_prefix("-/").unwrap();
    let (folder, ending) = place.split_once("/*").unwrap();
    let Ok(files) = std::fs::read_dir(root.join(folder)) else { return BTreeMap::new() };
    let files = files.map(|file| file.unwrap().path());
    let files = files.filter(|file| file.to_str().unwrap().ends_with(ending));
    let text: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let variable = |line: &str| {
        let (name, value) = line.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    text.lines().map(variable).collect()
}

/// The value of a key of a unit.
fn value<'a>(unit: &'a str, key: &str) -> Option<&'a str> {
    unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}
