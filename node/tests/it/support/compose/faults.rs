//! What is done to the containers of a cluster: each fault, and what ends it.

use std::process::Child;

use super::{Compose, Disks, docker, service};

impl Compose {
    /// Takes a node off the network of the cluster. Clients of this machine still reach it: over
    /// another network.
    pub(crate) fn cut_off(&self, node: u64) {
        let container = self.container(node);
        docker(&["network", "disconnect", &self.network(), &container]);
        docker(&["network", "connect", &self.aside(), &container]);
    }

    /// Takes it back.
    pub(crate) fn reconnect(&self, node: u64) {
        let container = self.container(node);
        docker(&["network", "disconnect", &self.aside(), &container]);
        docker(&["network", "connect", "--alias", &service(node), &self.network(), &container]);
    }

    /// Stops a node, which must end by itself and well.
    pub(crate) fn stop(&self, node: u64) {
        docker(&["stop", &self.container(node)]);
        let code = self.inspect(node, "{{.State.ExitCode}}");
        assert_eq!(code, "0", "exit code of node {node}");
    }

    /// Kills a node without warning; it stays down.
    pub(crate) fn kill(&self, node: u64) {
        docker(&["kill", "--signal", "KILL", &self.container(node)]);
    }

    /// Starts a node again that was stopped or killed.
    pub(crate) fn start(&self, node: u64) {
        docker(&["start", &self.container(node)]);
    }

    /// Freezes the processes of a node where they are.
    pub(crate) fn pause(&self, node: u64) {
        docker(&["pause", &self.container(node)]);
    }

    /// Lets them go on.
    pub(crate) fn resume(&self, node: u64) {
        docker(&["unpause", &self.container(node)]);
    }

    /// Stops a node and starts it again.
    pub(crate) fn restart(&self, node: u64) {
        docker(&["restart", &self.container(node)]);
    }

    /// Puts a new container in the place of a node's, with the same volume, as a change of the image
    /// does.
    pub(crate) fn replace(&self, node: u64) {
        let before = self.container(node);
        self.compose(&["up", "--detach", "--no-deps", "--force-recreate", &service(node)]);
        assert_ne!(self.container(node), before, "node {node} has a new container");
    }

    /// Fills the disk of a node and waits until it has ended for that, and was started again by the
    /// engine.
    pub(crate) async fn fill_disk(&self, node: u64) {
        let restarts = "{{.RestartCount}}";
        let before = self.inspect(node, restarts);
        self.own_disks().fill(node);
        let what = format!("node {node} ends for want of room");
        self.until(&what, node, restarts, |now| now != before).await;
    }

    /// Gives the disk its room back.
    pub(crate) fn free_disk(&self, node: u64) {
        self.own_disks().free(node);
    }

    /// Makes the disk of a node slow for a while: until the process ends.
    pub(crate) fn slow_disk(&self, node: u64) -> Child {
        self.own_disks().slow_down(node)
    }

    fn own_disks(&self) -> &Disks {
        self.disks().expect("the cluster has disks of its own")
    }
}
