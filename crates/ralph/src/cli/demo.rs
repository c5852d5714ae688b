//! `ralph demo`: a complete run with a scripted agent.
//!
//! Everything but the agent's wit is real: a git repository with a failing check, the
//! engine, the keeper, the feedback. The agent comes from `crates/fake-agent`, behind a
//! small `claude` script, so that it is driven exactly as Claude Code would be.

use super::args::OutputArgs;
use super::{Stream, report_on};
use crate::error::CliError;
use crate::fsx;
use crate::git;
use crate::layout::{self, Home};
use crate::report::say;
use crate::request::Asked;
use crate::session::{self, SessionOptions};
use clap::Args;
use ralph_loop::Run;
use ralph_loop::check::{CheckSpec, Excerpt, FailAction, Origin};
use ralph_loop::dialect::Dialect;
use ralph_loop::limits::{Backoff, DEFAULT_MAX_OUTAGE_MS, Limits, Patience};
use ralph_loop::plan::Plan;
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use ralph_loop::run::{AgentSpec, Place, PromptOptions, Roles};
use ralph_loop::text::shell_word;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Creates a scratch repository with a small shell script that has two bugs, and a test that finds them. \
The scripted agent needs three iterations: it says it is done too early, and the failed check tells it \
what is still wrong. Removes everything at the end unless you pass --keep.

Example:
  ralph demo --keep")]
pub struct DemoArgs {
    /// Keep the scratch repository
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    output: OutputArgs,
}

const PROMPT: &str = "Make ./test.sh pass: `add` and `double` in calc.sh are wrong.";

const CALC: &str = "\
# Small sums for a small demo.
add() { echo $(($1 - $2)); }
double() { echo $(($1 * 3)); }
";

const TEST: &str = "\
#!/bin/sh
. ./calc.sh
failed=0
check() { [ \"$2\" = \"$3\" ] || { echo \"$1: expected $3, got $2\"; failed=1; }; }
check 'add 2 3' \"$(add 2 3)\" 5
check 'double 4' \"$(double 4)\" 8
exit $failed
";

pub fn demo(args: &DemoArgs) -> Result<ExitCode, CliError> {
    let trouble = |cause: io::Error| CliError::failed("cannot set up the demo").cause(cause);
    let scratch = tempfile::Builder::new().prefix("ralph-demo-").tempdir().map_err(trouble)?;
    let root = scratch.path().canonicalize().map_err(trouble)?;
    let asked = Asked { run: set_up(&root).map_err(trouble)?, texts: vec![PROMPT.to_string()], branch: None };
    // The demo's record is as much a scratch as its repository.
    let home = Home::at(root.join("home"));
    let ended = report_on(&args.output, Stream::Shown, |reporter| {
        session::open(&home, asked, &SessionOptions::of_program(false), reporter)
    });
    if args.keep {
        // Standard output may be a program's, which expects JSON there and nothing else.
        say(&format!("Kept: {}", scratch.keep().join("project").display()));
    }
    ended
}

fn set_up(root: &Path) -> io::Result<Run> {
    let project = root.join("project");
    fsx::dir(&project)?;
    fsx::write_whole(&project.join("calc.sh"), CALC.as_bytes())?;
    fsx::write_program(&project.join("test.sh"), TEST.as_bytes())?;
    let git = git::scratch_repository(&project);
    let script = root.join("script.json");
    fsx::write_whole(&script, script_of_three().to_string().as_bytes())?;
    let agent = root.join("claude");
    let ralph = std::env::current_exe()?;
    let role = fake_agent::SUBCOMMAND;
    let [ralph, script] = [&ralph, &script].map(|path| shell_word(&path.to_string_lossy()));
    let wrapper = format!("#!/bin/sh\nexec {ralph} {role} {script} \"$@\"\n");
    fsx::write_program(&agent, wrapper.as_bytes())?;
    Ok(Run {
        id: "demo".into(),
        plan: Plan::Prompt(PromptPlan {
            source: PromptSource::Text { hash: layout::hash(PROMPT.as_bytes()) },
            completion: Completion::Response("DONE".into()),
        }),
        agents: vec![AgentSpec {
            name: "claude (scripted, built in)".into(),
            dialect: Dialect::Claude,
            program: agent.to_string_lossy().into_owned(),
            args: Vec::new(),
            model: None,
            autonomous: true,
            price: None,
        }],
        roles: Roles::default(),
        checks: vec![CheckSpec {
            command: "./test.sh".into(),
            timeout_ms: 120_000,
            fail_action: FailAction::Append,
            hint: None,
            excerpt: Excerpt::Tail { chars: 2_000 },
            origin: Origin::Flag,
        }],
        limits: Limits {
            iterations_are_the_goal: false,
            iterations: 10,
            max_time_ms: None,
            max_cost: None,
            max_failures: 5,
            stall_after: 5,
            agent_timeout_ms: None,
            backoff: Backoff::default(),
            max_outage_ms: DEFAULT_MAX_OUTAGE_MS,
            patience: Patience::default(),
            min_free: 0,
        },
        scm: None,
        workspace: project,
        place: Place::Here,
        git,
        top: None,
        checkpoints: true,
        largest_file: 10 << 20,
        keep_checkpoints: 0,
        keep_streams: 0,
        prompt: PromptOptions { context: true, iteration_count: false, may_be_empty: false },
        log: None,
        notify: None,
    })
}

/// First it looks, then it fixes one of two bugs and says it is done, then it reads the feedback.
fn script_of_three() -> Value {
    let fixed = |add: &str, double: &str| {
        let content = CALC.replace("$1 - $2", add).replace("$1 * 3", double);
        json!({"write": {"path": "calc.sh", "content": content}})
    };
    let look =
        json!({"tool": {"name": "Read", "input": {"file_path": "calc.sh"}, "output": CALC, "error": false}});
    json!({
        "dialect": "claude",
        "by": "iteration",
        "calls": [
            [
                {"say": "I will look at the code first."}, look, {"sleep_ms": 300},
                {"say": "Both functions look odd. I have changed nothing yet."}, {"cost": 0.011},
            ],
            [
                {"say": "`add` subtracts. That must be the bug."}, {"sleep_ms": 300}, fixed("$1 + $2", "$1 * 3"),
                {"say": "All fixed.\n<response>DONE</response>"}, {"cost": 0.017},
            ],
            [
                {"say": "The check says `double 4: expected 8, got 12`, so I was too quick."}, {"sleep_ms": 300},
                fixed("$1 + $2", "$1 * 2"),
                {"say": "Now both are right.\n<response>DONE</response>"}, {"cost": 0.014},
            ],
        ],
    })
}
