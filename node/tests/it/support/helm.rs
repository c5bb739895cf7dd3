//! helm, where it is at hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::skip;

/// Where `.ci/tools` puts it, below the workspace.
const PLACE: &str = "target/tools/helm";

/// helm with a cluster's kubeconfig.
pub(crate) struct Helm {
    program: PathBuf,
    /// Where it keeps what it remembers.
    home: PathBuf,
    config: PathBuf,
}

impl Helm {
    /// helm for a `dev` cluster's folder. Without it on this machine, gives nothing: the test is
    /// skipped then, see [`skip`].
    pub(crate) fn find(root: &Path) -> Option<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(PLACE);
        if !program.exists() {
            skip(&format!("no {PLACE}; run .ci/tools"));
            return None;
        }
        Some(Self { program, home: root.join("helm"), config: root.join("admin.kubeconfig") })
    }

    fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", &self.config).stdin(Stdio::null());
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, &self.home);
        }
        command.output().unwrap()
    }

    /// Runs a command that must succeed, and gives its output.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "helm {arguments:?}\n{errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail, and gives what it says.
    #[track_caller]
    pub(crate) fn fail(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(!output.status.success(), "helm {arguments:?} succeeds");
        String::from_utf8(output.stderr).unwrap()
    }
}
