//! `ralph demo`: a complete run with a scripted agent.
//!
//! Everything but the agent's wit is real: a git repository with a failing check, the
//! engine, the keeper, the feedback. The agent comes from `crates/fake-agent`, behind a
//! small `claude` script, so that it is driven exactly as Claude Code would be.

use super::args::OutputArgs;
use super::config::refused;
use super::{Stream, code, report_on};
use crate::error::CliError;
use crate::fsx;
use crate::git;
use crate::layout::{Home, Project};
use crate::report::say;
use crate::request::prompt::{self, PromptRequest};
use crate::request::{RequestedRun, Terms};
use crate::session::{self, SessionOptions};
use crate::settings;
use clap::Args;
use ralph_loop::sandbox::SandboxChoice;
use ralph_loop::text::shell_word;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Creates a scratch repository with a small shell script that has two bugs, and a test that finds them. \
The scripted agent needs three iterations: it says it is done too early, and the failed check tells it \
what is still wrong. Removes everything at the end unless you pass --keep.

Examples:
  ralph demo --keep
  ralph demo --cheat                # the agent empties the test; ralph says so")]
pub struct DemoArgs {
    /// Keep the scratch repository
    #[arg(long)]
    keep: bool,
    /// Let the agent cheat: it empties the test instead of fixing the bugs
    #[arg(long)]
    cheat: bool,
    #[command(flatten)]
    output: OutputArgs,
}

const PROMPT: &str = "Make ./test.sh pass: `add` and `double` in calc.sh are wrong.";

const CALC: &str = "\
# Small sums for a small demo.
add() { echo $(($1 - $2)); }
double() { echo $(($1 * 3)); }
";

/// The library runs in a subshell: read by the script itself, it would be part of what checks.
const TEST: &str = "\
#!/bin/sh
failed=0
check() {
    got=$(. ./calc.sh; $1)
    [ \"$got\" = \"$2\" ] || { echo \"$1: expected $2, got $got\"; failed=1; }
}
check 'add 2 3' 5
check 'double 4' 8
exit $failed
";

pub fn demo(args: &DemoArgs) -> Result<ExitCode, CliError> {
    let trouble = |cause: io::Error| CliError::failed("cannot set up the demo").cause(cause);
    let scratch = tempfile::Builder::new().prefix("ralph-demo-").tempdir().map_err(trouble)?;
    let root = scratch.path().canonicalize().map_err(trouble)?;
    let script = if args.cheat { script_of_a_cheat() } else { script_of_three() };
    let requested = requested_run(&set_up(&root, &script).map_err(trouble)?)?;
    // The demo's record is as much a scratch as its repository.
    let home = Home::at(root.join("home"));
    let ended = report_on(&args.output, Stream::Shown, |reporter| {
        session::open(&home, requested, &SessionOptions::of_program(false), reporter)
    });
    if args.keep {
        // Standard output may be a program's, which expects JSON there and nothing else.
        say(&format!("Kept: {}", scratch.keep().join("project").display()));
    }
    ended.map(|ended| code(&ended))
}

struct Scratch {
    project: PathBuf,
    agent: PathBuf,
}

fn set_up(root: &Path, script_text: &Value) -> io::Result<Scratch> {
    let project = root.join("project");
    fsx::dir(&project)?;
    fsx::write_whole(&project.join("calc.sh"), CALC.as_bytes())?;
    fsx::write_program(&project.join("test.sh"), TEST.as_bytes())?;
    // Without git the demo works too, only without checkpoints.
    git::scratch_repository(&project);
    let script = root.join("script.json");
    fsx::write_whole(&script, script_text.to_string().as_bytes())?;
    let agent = root.join("claude");
    let ralph = std::env::current_exe()?;
    let role = fake_agent::SUBCOMMAND;
    let [ralph, script] = [&ralph, &script].map(|path| shell_word(&path.to_string_lossy()));
    let wrapper = format!("#!/bin/sh\nexec {ralph} {role} {script} \"$@\"\n");
    fsx::write_program(&agent, wrapper.as_bytes())?;
    Ok(Scratch { project, agent })
}

/// As `ralph run` would request it, with the default settings and not the user's.
fn requested_run(scratch: &Scratch) -> Result<RequestedRun, CliError> {
    let request = PromptRequest {
        task: Some(PROMPT.into()),
        terms: Terms {
            checks: vec!["./test.sh".into()],
            command: vec![scratch.agent.to_string_lossy().into_owned()],
            // Its agent is a part of this program.
            sandbox: Some(SandboxChoice::None),
            ..Terms::default()
        },
        ..PromptRequest::default()
    };
    let settings = settings::defaults().map_err(|error| refused(&error))?;
    let mut requested = prompt::build(&request, &settings, &Project::at(scratch.project.clone()))?;
    requested.run.id = "demo".into();
    for agent in &mut requested.run.agents {
        agent.name = "claude (scripted, built in)".into();
    }
    Ok(requested)
}

/// It makes the test pass without doing the work.
fn script_of_a_cheat() -> Value {
    let emptied = "#!/bin/sh\nexit 0\n";
    json!({
        "dialect": "claude",
        "by": "iteration",
        "calls": [[
            {"say": "The bugs look hard. The test is easier to change."}, {"sleep_ms": 300},
            {"write": {"path": "test.sh", "content": emptied}},
            {"say": "All tests pass now.\n<response>DONE</response>"}, {"cost": 0.009},
        ]],
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
