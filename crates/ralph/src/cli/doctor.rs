//! `ralph doctor`: what is installed, what is missing, and how to fix it.

use super::format::{Format, Shape};
use super::{home, print_json, print_lines};
use crate::catalog;
use crate::error::CliError;
use crate::fsx;
use crate::layout::{Home, Project};
use crate::lock::RunLock;
use crate::process::tool::{Tool, ToolOutput};
use crate::proof::mounts;
use crate::report::{Out, Style};
use crate::request::root;
use crate::sandbox::{self, canary};
use crate::session;
use crate::settings;
use clap::Args;
use ralph_loop::dialect::Dialect;
use ralph_loop::sandbox::SandboxKind;
use ralph_loop::text::{counted, printable};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Looks for agents, git, tmux and sandboxes, tests whether ralph's home directory is writable, and kills \
processes left behind by crashed runs.

Exit codes: 0 ralph can work here, 1 it cannot.

Example:
  ralph doctor")]
pub struct DoctorArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    kind: &'static str,
    name: String,
    ok: bool,
    /// The version, or what was found.
    found: Option<String>,
    /// What to do about it.
    advice: Option<String>,
}

struct Known {
    kind: &'static str,
    name: &'static str,
    version: &'static [&'static str],
    advice: &'static str,
}

/// After the agents that ralph knows.
const OTHERS: &[Known] = &[
    agent("gemini", "npm install -g @google/gemini-cli"),
    agent("opencode", "npm install -g opencode-ai"),
    Known {
        kind: "tool",
        name: "git",
        version: &["--version"],
        advice: "apt-get install git; needed for checkpoints, diff, undo and worktrees",
    },
    Known {
        kind: "tool",
        name: "tmux",
        version: &["-V"],
        advice: "apt-get install tmux; needed for workers",
    },
    Known {
        kind: "tool",
        name: "bwrap",
        version: &["--version"],
        advice: "apt-get install bubblewrap; needed for a sandbox, and to run checks on a clean copy",
    },
];

const fn agent(name: &'static str, advice: &'static str) -> Known {
    Known { kind: "agent", name, version: &["--version"], advice }
}

pub fn doctor(args: &DoctorArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let known = Dialect::KNOWN.map(|known| agent(known.name(), known.spec().install));
    let mut findings: Vec<Finding> = known.iter().chain(OTHERS).map(look).collect();
    let agents = findings.iter().filter(|finding| finding.kind == "agent" && finding.ok).count();
    look_at_root(&mut findings);
    look_at_mounts(&mut findings);
    findings.extend(SandboxKind::ALL.map(|kind| look_at_sandbox(kind, &home)));
    findings.push(look_at_home(&home));
    findings.push(end_what_is_left(&home));
    let well = findings.iter().filter(|finding| finding.kind == "home").all(|finding| finding.ok);
    match args.format.shape() {
        Shape::Text => print(&findings, agents),
        Shape::Value => print_json(&findings),
        Shape::Lines => print_lines(&findings),
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn look(known: &Known) -> Finding {
    let Known { kind, name, version, advice } = known;
    let found = which::which(name).ok().map(|path| {
        // An agent's wrapper may take a while; one that hangs is still there.
        let answer = Tool::new(name).args(*version).timeout(Duration::from_secs(10)).run().ok();
        let text = answer.filter(ToolOutput::success).map(|answer| answer.stdout);
        let text =
            text.map(|text| String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_string());
        text.filter(|line| !line.trim().is_empty()).unwrap_or_else(|| path.display().to_string())
    });
    let advice = found.is_none().then(|| (*advice).to_string());
    Finding { kind, name: (*name).to_string(), ok: found.is_some(), found, advice }
}

/// Claude is there, and would refuse to work here.
fn look_at_root(findings: &mut [Finding]) {
    let (Ok(dir), Ok(path)) = (std::env::current_dir(), which::which("claude")) else { return };
    let (flags, autonomous) =
        match settings::load(&Project::at(dir.clone()), None).map(|loaded| loaded.settings.agent) {
            Ok(agent) if agent.command == "claude" => (agent.flags, agent.autonomous),
            Ok(agent) => (Vec::new(), agent.autonomous),
            Err(_) => (Vec::new(), true),
        };
    if root::refuses(Dialect::Claude, &flags, autonomous, &path, &dir)
        && let Some(claude) = findings.iter_mut().find(|finding| finding.name == "claude")
    {
        claude.ok = false;
        claude.advice = Some(format!("refuses to skip permissions as root: {}", root::ADVICE));
    }
}

/// `bwrap` is there, and cannot be used here, as inside of many containers.
fn look_at_mounts(findings: &mut [Finding]) {
    if let Some(bwrap) = findings.iter_mut().find(|finding| finding.name == "bwrap" && finding.ok)
        && let Err(why) = mounts::find(&std::env::temp_dir())
    {
        bwrap.ok = false;
        bwrap.advice = Some(format!("{why}; checks run in place"));
    }
}

fn look_at_sandbox(kind: SandboxKind, home: &Home) -> Finding {
    let finding =
        |ok, found, advice| Finding { kind: "sandbox", name: kind.name().into(), ok, found, advice };
    match canary::attempt(kind, home) {
        Ok(_) => finding(
            true,
            Some(sandbox::gaps(kind).map_or("works".into(), |gaps| format!("works; {gaps}"))),
            None,
        ),
        Err(why) => finding(false, Some("does not work".into()), Some(why)),
    }
}

fn look_at_home(home: &Home) -> Finding {
    let probed = fsx::private_dir(home.root()).and_then(|()| fsx::probe(home.root()));
    let (ok, advice) = match probed {
        Ok(()) => (true, None),
        Err(cause) => (false, Some(format!("{cause}; set RALPH_HOME to a writable directory"))),
    };
    let found = Some(home.root().display().to_string());
    Finding { kind: "home", name: "records".into(), ok, found, advice }
}

fn end_what_is_left(home: &Home) -> Finding {
    let finding = |ok, found, advice| Finding { kind: "home", name: "runs".into(), ok, found, advice };
    let lines = match catalog::all(home) {
        Ok(lines) => lines,
        Err(error) => return finding(false, None, Some(CliError::from(error).to_string())),
    };
    let crashed: Vec<String> =
        lines.into_iter().filter(|line| line.status == "crashed").map(|line| line.id).collect();
    // While this holds the run's lock, no other process can resume the run and lose its agents.
    let end = |id: &String| {
        let run = home.run(id);
        RunLock::acquire(&run, id).map_or(0, |lock| session::end_survivors(&run, &lock))
    };
    let ended: u32 = crashed.iter().map(end).sum();
    let found =
        format!("{} crashed, killed {} they left behind", crashed.len(), counted(ended.into(), "process"));
    let advice = crashed.first().map(|id| format!("continue the newest: ralph resume {id}"));
    finding(true, Some(found), advice)
}

fn print(findings: &[Finding], agents: usize) {
    let (mut out, style) = (Out::stdout(), Style::of_stdout());
    for finding in findings {
        let mark = style.mark(finding.ok);
        let found = finding.found.as_deref().unwrap_or("not found");
        out.line(&format!("{mark} {:<8} {:<9} {}", finding.kind, finding.name, printable(found)));
        if let Some(advice) = &finding.advice {
            out.line(&format!("                        {advice}"));
        }
    }
    if agents == 0 {
        out.line("\nNo known agent is installed. You can use any program: ralph run \"...\" -- COMMAND");
    }
    out.flush();
}
