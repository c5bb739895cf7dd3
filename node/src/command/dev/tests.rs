//! The renewal of the administrator's certificate.

use quorate_env::{Clock, SystemEnv};

use super::*;

#[derive(Debug)]
struct Day(u64);

impl Clock for Day {
    fn now_ms(&self) -> u64 {
        self.0 * 24 * 3600 * 1000
    }
}

#[test]
fn the_administrators_certificate_is_renewed_in_time() {
    let folder = tempfile::TempDir::new().unwrap();
    let root = folder.path();
    let env = |day| Env { clock: Arc::new(Day(day)), ..SystemEnv::env() };
    let bind = "127.0.0.1:6443".parse().unwrap();
    NewCluster::new(Naming::Svc, &env(1)).unwrap().set_up_dev(root, 1, bind).unwrap();
    let certificate = || Identity::read(&root.join("pki"), names::ADMIN).unwrap().certificate;
    let config = || read_text(&root.join("admin.kubeconfig")).unwrap();
    let mut known = (certificate(), config());
    for (day, expect) in
        [(2, false), (200, false), (300, true), (301, false), (600, true), (1, true)]
    {
        renew_admin(root, "127.0.0.1:6443", &env(day)).unwrap();
        let now = (certificate(), config());
        assert_eq!((known.0 != now.0, known.1 != now.1), (expect, expect), "{day}");
        known = now;
    }
}
