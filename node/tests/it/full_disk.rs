//! A full disk: the node ends with one line, no acknowledged write is lost, and with more room the
//! node goes on.
//!
//! The disk is a small file system in memory, in a mount namespace of its own; where those are not
//! allowed the test is skipped, with a message. The script plays the operator: it waits for the
//! node to end, gives the disk more room, and starts the node again.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Client, eventually, free_port};

/// Bytes of one object's filling.
const FILLING: usize = 400_000;
/// Objects that surely do not fit.
const TOO_MANY: usize = 500;

const OPERATOR: &str = r#"
set -e
mount -t tmpfs -o size=48m tmpfs "$DISK"
"$QUORATE" init --data-dir "$DISK/node" --bind "$API" --peer-bind "$PEER" > /dev/null
mkdir "$OUT/pki"
cp "$DISK/node/pki/ca.crt" "$DISK/node/pki/admin.crt" "$DISK/node/pki/admin.key" "$OUT/pki"
touch "$OUT/set-up"
"$QUORATE" serve --data-dir "$DISK/node" 2> "$OUT/first.log" || echo "$?" > "$OUT/first.exit"
mount -o remount,size=600m "$DISK"
exec "$QUORATE" serve --data-dir "$DISK/node" --store-size-limit=1MiB 2> "$OUT/second.log"
"#;

/// Ends with the test, and its node too.
struct Operator(Child);

impl Drop for Operator {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        Command::new("kill").args(["-s", "TERM", "--", &group]).status().unwrap();
        self.0.wait().unwrap();
    }
}

fn may_mount() -> bool {
    let probe = ["-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"];
    Command::new("unshare")
        .args(probe)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn object(number: usize) -> Value {
    let metadata = json!({ "name": format!("large-{number}") });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "fill": "x".repeat(FILLING) } })
}

const OBJECTS: &str = "/api/v1/namespaces/default/configmaps";

async fn ready(client: &mut Client) {
    eventually("the node is ready", async || {
        let answer = client.send(Method::GET, "/readyz", None).await.ok()?;
        (answer.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_the_node_with_one_line_and_loses_nothing() {
    if !may_mount() {
        println!("skipped: this machine does not let users mount a file system");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (disk, out, port) = (folder.path().join("disk"), folder.path().join("out"), free_port());
    [&disk, &out].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let address = format!("127.0.0.1:{port}");
    let operator = Command::new("unshare")
        .args(["-rm", "sh", "-c", OPERATOR])
        .env("QUORATE", env!("CARGO_BIN_EXE_quorate"))
        .envs([("DISK", &disk), ("OUT", &out)])
        .envs([("API", &address), ("PEER", &format!("127.0.0.1:{}", port + 1000))])
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let _operator = Operator(operator);
    let exists = |name: &str| out.join(name).exists().then_some(());
    eventually("the node is set up", async || exists("set-up")).await;
    let mut client = Client::new(&address, &out.join("pki"), "admin");
    ready(&mut client).await;

    let mut acknowledged = 0;
    while let Ok(answer) = client.send(Method::POST, OBJECTS, Some(&object(acknowledged))).await
        && answer.status == 201
    {
        acknowledged += 1;
        assert!(acknowledged < TOO_MANY, "the disk is never full");
    }
    eventually("the node has ended", async || exists("first.exit")).await;
    let reason = last_line(&out.join("first.log"));
    println!("after {acknowledged} objects: {reason}");
    // Whichever of log and state comes first, in the foreground or in the background.
    let clear = ["No space left on device", "the disk may be full"]
        .iter()
        .any(|words| reason.contains(words));
    assert!(reason.starts_with("quorate: ") && clear, "{reason}");

    ready(&mut client).await;
    for number in 0..acknowledged {
        let found = client.get(&format!("{OBJECTS}/large-{number}")).await.expect(200);
        assert_eq!(found.body["data"], object(number)["data"], "object {number}");
    }
    writes_come_back_with_room_below_the_limit(&mut client, acknowledged).await;
}

/// The second start has a limit that is far exceeded.
async fn writes_come_back_with_room_below_the_limit(client: &mut Client, objects: usize) {
    client.post(OBJECTS, &object(TOO_MANY)).await.expect(507);
    for number in 0..objects {
        client
            .send(Method::DELETE, &format!("{OBJECTS}/large-{number}"), None)
            .await
            .unwrap()
            .expect(200);
    }
    // The one of unknown outcome may be there as well.
    let last = format!("{OBJECTS}/large-{objects}");
    let _ = client.send(Method::DELETE, &last, None).await.unwrap();
    client.post(OBJECTS, &object(TOO_MANY)).await.expect(201);
}

fn last_line(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().last().unwrap_or_default().to_owned()
}
