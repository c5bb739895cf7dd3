//! Credentials that a program prints: the `exec` of a kubeconfig (KEP-541).
//!
//! Invariant: what the program prints is never in an error.

use std::process::Stdio;

use quorate_meta::Value;
use serde_json::json;
use tokio::process::Command;

use super::file::CredentialPlugin;
use crate::error::Error;
use crate::pki::Identity;

/// The variable that tells the program what is asked.
const INFO: &str = "KUBERNETES_EXEC_INFO";

/// Runs the program; gives the client certificate and the token that it prints.
pub(super) async fn ask(
    plugin: &CredentialPlugin,
    server: &str,
) -> Result<(Option<Identity>, Option<String>), Error> {
    let info = json!({
        "apiVersion": plugin.api_version, "kind": "ExecCredential",
        "spec": {"interactive": true, "cluster": {"server": server}},
    });
    let mut command = Command::new(&plugin.command);
    command.args(plugin.args.iter().flatten()).env(INFO, info.to_string());
    for variable in plugin.env.iter().flatten() {
        command.env(&variable.name, &variable.value);
    }
    command.stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let told = |error: &dyn std::fmt::Display| {
        let hint = plugin.install_hint.as_deref().map(|hint| format!(": {}", hint.trim()));
        Error::config(format_args!("{}: {error}{}", plugin.command, hint.unwrap_or_default()))
    };
    let child = command.spawn().map_err(|error| told(&error))?;
    let output = child.wait_with_output().await.map_err(|error| told(&error))?;
    if !output.status.success() {
        return Err(told(&output.status));
    }
    read(&output.stdout).ok_or_else(|| told(&"it printed no credentials"))
}

fn read(printed: &[u8]) -> Option<(Option<Identity>, Option<String>)> {
    let printed: Value = serde_json::from_slice(printed).ok()?;
    let status = printed.get("status")?;
    let text = |field: &str| status.str_at(&[field]).map(str::to_owned);
    let certificate = text("clientCertificateData").zip(text("clientKeyData"));
    let identity = certificate.map(|(certificate, key)| Identity { certificate, key });
    let token = text("token");
    (identity.is_some() || token.is_some()).then_some((identity, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn token(script: &str) -> Result<Option<String>, String> {
        let plugin = CredentialPlugin {
            command: "sh".to_owned(),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            install_hint: Some("install it".to_owned()),
            ..CredentialPlugin::default()
        };
        let asked = ask(&plugin, "https://a").await;
        asked.map(|(_, token)| token).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn programs_print_tokens() {
        let found = token(r#"echo '{"status": {"token": "t"}}'"#).await;
        assert_eq!(found, Ok(Some("t".to_owned())));
        let told = token("echo nothing").await.unwrap_err();
        assert_eq!(told, "sh: it printed no credentials: install it");
        let told = token("exit 3").await.unwrap_err();
        assert_eq!(told, "sh: exit status: 3: install it");
    }
}
