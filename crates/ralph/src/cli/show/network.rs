//! `ralph show --network`: what programs in the sandbox of a run have sent where.

use super::super::format::{Format, Shape};
use super::super::{print_json, print_lines};
use crate::error::CliError;
use crate::journal;
use crate::layout::RunDir;
use crate::report::{Out, bytes};
use ralph_loop::event::Fact;
use ralph_loop::sandbox::network::{NetworkMode, Refusal, Traffic, sum};
use ralph_loop::text::{counted, printable};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Shown {
    /// None without a sandbox.
    network: Option<NetworkMode>,
    hosts: Vec<Traffic>,
    refused: Vec<RefusedHost>,
}

#[derive(Serialize)]
struct RefusedHost {
    #[serde(flatten)]
    refusal: Refusal,
    /// What would allow it.
    setting: Option<String>,
}

pub fn show(run_dir: &RunDir, format: Format) -> Result<ExitCode, CliError> {
    let (mut traffic, mut refused) = (Vec::new(), Vec::new());
    let replayed = journal::replay(run_dir, |_, _, event| {
        if let Fact::Network(news) = &event.fact {
            // Never more than a host each.
            traffic.extend(news.traffic.iter().cloned());
            traffic = sum(&traffic);
            refused.extend(news.refused.iter().cloned());
        }
    });
    let run = replayed.map_err(|cause| cause.of_run(&run_dir.id()))?.run;
    let with_setting = |refusal: Refusal| RefusedHost { setting: refusal.setting(), refusal };
    let shown = Shown {
        network: run.confinement.sandbox().map(|spec| spec.network.mode),
        hosts: traffic,
        refused: refused.into_iter().map(with_setting).collect(),
    };
    match format.shape() {
        Shape::Text => print(&shown),
        Shape::Value => print_json(&shown),
        Shape::Lines => print_lines(&shown.hosts),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(shown: &Shown) {
    let mut out = Out::stdout();
    match shown.network {
        None => out.line("the run has no sandbox: what it did on the network is not known"),
        Some(NetworkMode::Open) => out.line("the network is open: what was done there is not known"),
        Some(NetworkMode::Off) => out.line("the network is off"),
        Some(NetworkMode::Allowlist) if shown.hosts.is_empty() => out.line("nothing was sent to any host"),
        Some(NetworkMode::Allowlist) => {}
    }
    let width = shown.hosts.iter().map(|of| of.host.len()).max().unwrap_or_default();
    for Traffic { host, connections, sent, received } in &shown.hosts {
        let (sent, received) = (bytes(*sent), bytes(*received));
        let connections = counted(*connections, "connection");
        out.text(&format!(
            "{:<width$}  sent {sent:>9}  received {received:>9}  {connections}",
            printable(host)
        ));
    }
    for RefusedHost { refusal, .. } in &shown.refused {
        out.text(&printable(&refusal.with_setting()));
    }
    out.flush();
}
