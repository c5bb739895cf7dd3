//! What the test puts in place of words of the guide, and the commands of the guide that it does not run.

/// What stands in the guide, and what is run: `{root}` is the folder of a machine, `{net}` the first three numbers of its address,
/// on loopback.
pub(super) const SUBSTITUTIONS: [(&str, &str); 6] = [
    ("10.0.0.", "{net}"),
    ("/var/", "{root}/var/"),
    ("/etc/", "{root}/etc/"),
    // The test has one user.
    ("runuser -u quorate -- ", ""),
    (" -o quorate -g quorate", ""),
    ("quorate dev ", "quorate dev --bind {net}1:6443 "),
];

/// Chapters whose commands other tests run, below `node/tests/it`.
pub(super) const ELSEWHERE: [(&str, &str); 2] =
    [("Containers", "deploy/mod.rs"), ("Kubernetes (Helm)", "chart/mod.rs")];

/// A command that is not run here.
pub(super) struct Listed {
    pub(super) command: &'static str,
    /// Why, and what runs it or its like instead.
    pub(super) reason: &'static str,
}

const BUILD: &str = "compiles for many minutes; CI and releases do";
const BINARY: &str =
    "the test has its binary on the PATH; deploy/upgrade-test replaces one under load";
const CHART: &str =
    "needs a Kubernetes with Prometheus's operator; chart/mod.rs renders these values";
const MEASURE: &str = "measures for minutes; bench.rs runs the like at small clusters";

/// All of them.
pub(super) const LISTED: [Listed; 15] = [
    Listed { command: "cargo build --profile production --locked -p quorate", reason: BUILD },
    Listed { command: "deploy/pgo", reason: BUILD },
    Listed { command: "deploy/image", reason: "deploy/mod.rs builds and runs the image" },
    Listed {
        command: "RUSTFLAGS=-Cprofile-use=$PWD/target/pgo/quorate.profdata deploy/image",
        reason: BUILD,
    },
    Listed {
        command: "install -m 0755 target/production/quorate /usr/local/bin/quorate",
        reason: BINARY,
    },
    Listed {
        command: "useradd --system --home-dir /var/lib/quorate --shell /usr/sbin/nologin quorate",
        reason: "changes the machine of the test; unit.rs has systemd judge the unit with that user",
    },
    Listed {
        command: "quorate bench curve --data-dir EMPTY --objects 10000,100000,1000000 --payload 600B \
            --node-options=--archive=off",
        reason: MEASURE,
    },
    Listed {
        command: "quorate bench create update get --data-dir FOLDER --objects 10000 --payload 600B \
            --duration 6s",
        reason: MEASURE,
    },
    Listed {
        command: "quorate bench idle --data-dir FOLDER --watchers 10000 --connections 40",
        reason: MEASURE,
    },
    Listed {
        command: "quorate bench fanout --data-dir FOLDER --watchers 10000 --connections 100 \
            --share 1/100 --rate 1000",
        reason: MEASURE,
    },
    Listed {
        command: "quorate bench herd --data-dir FOLDER --watchers 5000 --connections 100 --objects 1000",
        reason: MEASURE,
    },
    Listed {
        command: "quorate bench watch-list --data-dir FOLDER --objects 100000 --clients 2",
        reason: MEASURE,
    },
    Listed {
        command: "journalctl -u quorate -n 20",
        reason: "the journal is systemd's; crash.rs and full_disk.rs read the last line of a run",
    },
    Listed {
        command: "kubectl -n quorate create secret generic quorate-monitoring \
            --from-file=tls.crt --from-file=tls.key --from-file=ca.crt",
        reason: CHART,
    },
    Listed {
        command: "helm upgrade quorate deploy/helm/quorate -n quorate --reuse-values \
            --set monitoring.serviceMonitor.enabled=true \
            --set monitoring.serviceMonitor.credentialsSecret=quorate-monitoring \
            --set monitoring.prometheusRule.enabled=true --set monitoring.dashboards.enabled=true",
        reason: CHART,
    },
];
