//! Webhook kubeconfigs that change while requests are sent.

pub(crate) mod server;

use std::path::Path;

use quorate_env::SystemEnv;
use tempfile::TempDir;
use tokio::time::{advance, pause, resume};

use self::server::{Answer, ScriptedServer};
use super::*;

struct Setting {
    server: ScriptedServer,
    webhook: Webhook,
    folder: TempDir,
}

impl Setting {
    async fn new(config: impl FnOnce(&ScriptedServer, &Path) -> PathBuf) -> Self {
        let (server, folder) = (ScriptedServer::start().await, TempDir::new().unwrap());
        let webhook =
            Webhook::new(&config(&server, folder.path()), SystemEnv::env().network).unwrap();
        Self { server, webhook, folder }
    }

    fn answers(&self, codes: &[u16]) {
        codes.iter().for_each(|code| self.server.then(Answer::Status(*code, String::new())));
    }

    /// The code that comes back, 0 for none, and by which tokens was asked.
    async fn post(&self) -> (u16, Vec<String>) {
        let answer = self.webhook.post(Bytes::from_static(b"{}")).await;
        let asked =
            self.server.asked().into_iter().map(|asked| asked.authorization.unwrap_or_default());
        (answer.map_or(0, |(status, _)| status.as_u16()), asked.collect())
    }
}

fn bearers(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|token| format!("Bearer {token}")).collect()
}

#[tokio::test]
async fn who_is_not_let_in_looks_whether_the_files_have_changed() {
    let setting = Setting::new(|server, folder| server.with_token(folder, "first")).await;
    setting.answers(&[200, 401, 401, 200, 401, 200]);
    assert_eq!(setting.post().await, (200, bearers(&["first"])));
    assert_eq!(setting.post().await, (401, bearers(&["first"])), "nothing has changed");
    let file = setting.server.with_token(setting.folder.path(), "the second");
    assert_eq!(setting.post().await, (200, bearers(&["first", "the second"])));
    std::fs::write(file, "nothing").unwrap();
    assert_eq!(setting.post().await, (401, bearers(&["the second"])));
    assert_eq!(setting.post().await, (200, bearers(&["the second"])), "what it said before holds");
}

#[tokio::test]
async fn a_file_that_the_kubeconfig_names_is_looked_at_from_time_to_time() {
    let setting = Setting::new(|server, folder| {
        let file = server.with_token(folder, "inline");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace(r#""token":"inline""#, r#""tokenFile":"token""#))
            .unwrap();
        std::fs::write(folder.join("token"), "first\n").unwrap();
        file
    });
    let setting = setting.await;
    setting.answers(&[200, 200, 200]);
    assert_eq!(setting.post().await, (200, bearers(&["first"])));
    std::fs::write(setting.folder.path().join("token"), "the second\n").unwrap();
    assert_eq!(setting.post().await, (200, bearers(&["first"])));
    // Timers run fast while time stands still.
    pause();
    advance(CHECK_INTERVAL).await;
    resume();
    assert_eq!(setting.post().await, (200, bearers(&["the second"])));
}

#[tokio::test]
async fn a_server_that_was_not_believed_is_when_the_file_says_so() {
    let setting = Setting::new(ScriptedServer::with_other_authority).await;
    setting.answers(&[200]);
    assert_eq!(setting.post().await, (0, vec![]));
    let file = setting.server.with_certificate(setting.folder.path());
    // Of another length for certain: a change within the same moment shows only by that.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, text + "\n\n\n\n\n\n\n\n").unwrap();
    assert_eq!(setting.post().await, (200, vec![String::new()]));
}
