//! Options of the authorizer, as they are parsed and as they are refused.

mod webhook;

use clap::Parser;
use quorate_env::SystemEnv;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    authorization: Authorization,
}

fn parse(arguments: &[&str]) -> Result<Authorization, String> {
    let line = Line::try_parse_from(["test"].iter().chain(arguments));
    line.map(|line| line.authorization).map_err(|error| error.to_string())
}

#[test]
fn options_survive_the_way_to_another_process() {
    let given = [
        "--authorization-mode=Node,Webhook,RBAC",
        "--authorization-webhook-config-file=w.kubeconfig",
        "--authorization-webhook-cache-authorized-ttl=1m",
        "--authorization-webhook-cache-unauthorized-ttl=0s",
        "--authorization-webhook-timeout=3s",
        "--authorization-webhook-failure-policy=Deny",
    ];
    for given in [&given[..], &[]] {
        let options = parse(given).unwrap();
        let again = options.to_args();
        assert_eq!(parse(&again.iter().map(String::as_str).collect::<Vec<_>>()).unwrap(), options);
    }
}

/// The modes that come out, or a part of what is said.
#[track_caller]
fn check(arguments: &[&str], expect: Result<&str, &str>) {
    let modes = parse(arguments)
        .and_then(|options| options.modes(&SystemEnv::env()).map_err(|error| error.to_string()));
    match (modes, expect) {
        (Ok(modes), Ok(expect)) => {
            let names: Vec<&str> = modes
                .iter()
                .map(|mode| match mode {
                    ModeOptions::Rules => "rules",
                    ModeOptions::Nodes => "nodes",
                    ModeOptions::Webhook(_) => "webhook",
                    ModeOptions::AlwaysAllow => "allow",
                    ModeOptions::AlwaysDeny => "deny",
                })
                .collect();
            assert_eq!(names.join(","), expect, "{arguments:?}");
        }
        (Err(said), Err(expect)) => assert!(said.contains(expect), "{arguments:?}: {said}"),
        (got, expect) => panic!("{arguments:?}: {got:?}, not {expect:?}"),
    }
}

#[test]
fn modes_are_asked_in_the_order_that_is_given() {
    check(&[], Ok("rules"));
    check(&["--authorization-mode=Node,RBAC"], Ok("nodes,rules"));
    check(
        &["--authorization-mode=AlwaysDeny", "--authorization-mode=AlwaysAllow"],
        Ok("deny,allow"),
    );
}

#[test]
fn options_that_make_no_sense_are_told() {
    check(&["--authorization-mode=RBAC,Magic"], Err("'Magic'"));
    check(&["--authorization-mode=rbac"], Err("'rbac'"));
    check(&["--authorization-mode="], Err("a value is required"));
    check(&["--authorization-mode=RBAC,Node,RBAC"], Err("names RBAC twice"));
    check(&["--authorization-mode=Webhook"], Err("needs --authorization-webhook-config-file"));
    check(&["--authorization-webhook-config-file=f"], Err("needs Webhook in --authorization-mode"));
    let mode = "--authorization-mode=Webhook";
    check(&[mode, "--authorization-webhook-config-file=/no/such/file"], Err("/no/such/file"));
    check(&["--authorization-webhook-timeout=0s"], Err("must be more than 0s"));
    check(&["--authorization-webhook-timeout=1m"], Err("at most 30s"));
    check(&["--authorization-webhook-failure-policy=Allow"], Err("'Allow'"));
}
