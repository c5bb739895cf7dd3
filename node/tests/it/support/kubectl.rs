//! The official command-line client, release 1.35, where it is at hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::skip;

/// Where `.ci/tools` puts it, below the workspace.
const PLACE: &str = "target/tools/kubectl";

/// kubectl with a cluster's kubeconfig.
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    /// The client for a `dev` cluster's folder. Without kubectl on this machine, gives nothing: the
    /// test is skipped then, see [`skip`].
    pub(crate) fn find(root: &Path) -> Option<Self> {
        Some(Self {
            program: Self::program()?,
            kubeconfig: root.join("admin.kubeconfig"),
            cache: root.join("kubectl-cache"),
        })
    }

    /// The program alone; the same where it is not on this machine.
    pub(crate) fn program() -> Option<PathBuf> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let given = std::env::var_os("KUBECTL").map(PathBuf::from);
        let program = given.or_else(|| Some(workspace.join(PLACE)).filter(|place| place.exists()));
        if program.is_none() {
            skip("no kubectl; run .ci/tools or set KUBECTL");
        }
        program
    }

    /// The same client with other credentials.
    pub(crate) fn with_kubeconfig(&self, kubeconfig: &Path) -> Self {
        Self {
            program: self.program.clone(),
            kubeconfig: kubeconfig.to_owned(),
            cache: self.cache.clone(),
        }
    }

    /// A command that has not started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(&self.cache)
            .args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command that must succeed, and gives its output.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "kubectl {arguments:?}\n{}", all(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail, and gives what it says.
    #[track_caller]
    pub(crate) fn fail(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(!output.status.success(), "kubectl {arguments:?}\n{}", all(&output));
        all(&output)
    }
}

fn all(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
