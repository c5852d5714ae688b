//! ralph as a library, as another crate's test would use it.
#![expect(clippy::disallowed_methods, reason = "tests set the stage from outside")]
#![expect(clippy::unwrap_used, reason = "clippy.toml allows it in tests, but not in helpers")]

use ralph::{
    Agent, Config, Error, Kept, Mode, Moment, Plan, Prompt, Resume, Round, StopReason, Stories, Tasks,
    Unmerged,
};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// An empty project and a home.
struct Stage(TempDir);

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        Stage(dir)
    }

    /// Whose project is a git repository.
    fn with_git() -> Stage {
        let stage = Stage::new();
        stage.sh("git init -q -b main; git config user.name x; git config user.email x@localhost");
        stage.sh("git commit -q --allow-empty -m begin");
        stage
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    fn sh(&self, script: &str) -> String {
        let output = Command::new("sh").args(["-ec", script]).current_dir(self.project()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn set(&self, config: impl Into<Config>) -> Config {
        Config {
            project_dir: Some(self.project()),
            home: Some(self.0.path().join("home")),
            ralph: Some(env!("CARGO_BIN_EXE_ralph").into()),
            max_iterations: Some(5),
            ..config.into()
        }
    }

    fn prompt(&self, agent: Agent) -> Config {
        Config { agent, ..self.set(Config::new("make it exist")) }
    }

    fn shell(&self, script: &str) -> Config {
        self.prompt(sh_agent(script))
    }
}

fn sh_agent(script: &str) -> Agent {
    Agent::command("sh", ["-c", script])
}

const DONE: &str = "<response>DONE</response>";

fn wait_for(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} is missing", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_run_returns_its_iterations() {
    let stage = Stage::new();
    let mut config = stage.shell("echo x >> it; echo '<response>DONE</response>'");
    config.checks = vec!["test $(wc -l < it) -ge 2".into()];
    let result = config.run().unwrap();
    assert!(result.success);
    assert_eq!(result.stop_reason, StopReason::Completed);
    let passed: Vec<bool> = result.iterations.iter().map(|i| i.all_checks_passed).collect();
    assert_eq!(passed, [false, true]);
    assert!(result.iterations.iter().all(|i| i.completion_tag_found && i.error.is_none()));
    assert_eq!(result.iterations[0].check_results[0].name, "test $(wc -l < it) -ge 2");
    assert_eq!(serde_json::to_value(&result).unwrap()["stop_reason"], "completed");
}

#[test]
fn an_unsuccessful_run_is_a_result_and_a_wrong_request_an_error() {
    let stage = Stage::new();
    let mut config = stage.shell("echo not yet");
    config.max_iterations = Some(1);
    let result = config.run().unwrap();
    assert!(!result.success);
    assert_eq!(result.stop_reason, StopReason::MaxIterations);
    config.plan = Plan::Prompt(Prompt::default());
    let error = config.start().err().unwrap();
    assert!(matches!(error, Error::Prompt(_)));
    assert_eq!(error.report().message, "no prompt was given");
    config.ralph = Some(stage.project().join("nowhere"));
    let error = config.run().unwrap_err();
    assert!(matches!(error, Error::NoProgram(_)) && error.report().hint.is_some());
    config.project_dir = Some(stage.project().join("nowhere"));
    config.ralph = stage.shell("").ralph;
    assert!(matches!(config.run(), Err(Error::NoDirectory { .. })));
}

#[test]
fn neither_moments_nor_the_result_have_a_secret() {
    const SECRET: &str = "tok-library-0123456789";
    let stage = Stage::new();
    // The settings make it one.
    stage.write(".ralph/settings.json", &format!(r#"{{"notify": "true --token={SECRET}"}}"#));
    let mut config = stage.shell(&format!("cat; echo {SECRET}; echo {SECRET} >&2"));
    config.checks = vec![format!("echo {SECRET}; false")];
    config.plan = Plan::Prompt(Prompt { task: format!("use {SECRET}"), ..Prompt::default() });
    config.max_iterations = Some(1);
    let mut handle = config.start().unwrap();
    let told: String = handle.moments().map(|moment| format!("{moment:?}\n")).collect();
    let result = serde_json::to_string(&handle.wait().unwrap()).unwrap();
    for text in [&told, &result] {
        assert!(!text.contains("tok-library") && text.contains("***notify***"), "{text}");
    }
}

#[test]
fn moments_tell_a_run_as_it_happens() {
    let stage = Stage::new();
    let mut config = stage.shell("echo working; echo oops >&2; echo '<response>DONE</response>'");
    config.checks = vec!["true".into()];
    let mut handle = config.start().unwrap();
    let run = handle.run_id().to_string();
    let moments: Vec<Moment> = handle.moments().collect();
    let result = handle.wait().unwrap();
    assert_eq!(result.run.as_deref(), Some(run.as_str()));
    let at = |what: &str, wanted: &dyn Fn(&Moment) -> bool| {
        moments.iter().position(wanted).unwrap_or_else(|| panic!("{what} is missing: {moments:#?}"))
    };
    let order = [
        at("start", &|m| matches!(m, Moment::Started { run: of, .. } if *of == run)),
        at("baseline", &|m| matches!(m, Moment::CheckStarted { round: Round::Baseline, .. })),
        at("baseline's end", &|m| matches!(m, Moment::CheckEnded { round: Round::Baseline, .. })),
        at("agent", &|m| matches!(m, Moment::AgentStarted { iteration: 1, agent, .. } if agent == "sh")),
        at("prompt", &|m| matches!(m, Moment::Prompt { text } if text.contains("make it exist"))),
        at("words", &|m| matches!(m, Moment::AgentSaid { text } if text.contains("working"))),
        at("agent's end", &|m| matches!(m, Moment::AgentEnded { problem: None, .. })),
        at(
            "check",
            &|m| matches!(m, Moment::CheckStarted { name, round: Round::Delivered } if name == "true"),
        ),
        at("check's end", &|m| matches!(m, Moment::CheckEnded { round: Round::Delivered, passed: true, .. })),
        at("iteration", &|m| matches!(m, Moment::IterationEnded(i) if i.all_checks_passed)),
        at("stop", &|m| matches!(m, Moment::Stopped { reason: StopReason::Completed, success: true, .. })),
    ];
    assert!(order.is_sorted(), "{order:?}: {moments:#?}");
    at("standard error", &|m| matches!(m, Moment::AgentStderr { line } if line == "oops"));
}

#[test]
fn a_cancelled_run_finishes_its_step_and_can_be_resumed() {
    let stage = Stage::new();
    let config = stage.shell("touch began; while [ ! -e go ]; do sleep 0.01; done; echo $(cat say)");
    let mut handle = config.start().unwrap();
    wait_for(&stage.project().join("began"));
    handle.cancel();
    let asked = handle.moments().any(|moment| moment == Moment::StopRequested);
    assert!(asked);
    stage.write("say", "not yet");
    stage.write("go", "");
    let result = handle.wait().unwrap();
    assert_eq!(result.stop_reason, StopReason::Interrupted);
    stage.write("say", DONE);
    let mut resume = Resume::new(result.run.unwrap());
    (resume.home, resume.ralph) = (config.home, config.ralph);
    let result = resume.run().unwrap();
    assert_eq!(result.stop_reason, StopReason::Completed);
    assert!(matches!(resume.run(), Err(Error::Session(_))), "it is complete");
    resume.run = "nothing-like-it".into();
    assert!(matches!(resume.run(), Err(Error::Catalog(_))));
}

#[test]
fn a_second_cancel_ends_the_agent() {
    let stage = Stage::new();
    let handle = stage.shell("touch began; sleep 300").start().unwrap();
    wait_for(&stage.project().join("began"));
    let canceller = handle.canceller();
    canceller.cancel();
    canceller.cancel();
    let started = Instant::now();
    assert_eq!(handle.wait().unwrap().stop_reason, StopReason::Interrupted);
    assert!(started.elapsed() < Duration::from_secs(30));
}

/// The calls that wait must not panic there, nor keep other tasks from running.
#[test]
fn a_run_works_within_a_tokio_runtime() {
    let stage = Stage::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = stage.shell("sleep 0.2; echo '<response>DONE</response>'");
        let mut handle = config.start().unwrap();
        let ticks = Arc::new(AtomicU32::new(0));
        let ticking = tokio::spawn({
            let ticks = Arc::clone(&ticks);
            async move {
                loop {
                    ticks.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
        let mut last = None;
        while let Some(moment) = handle.next().await {
            last = Some(moment);
        }
        assert!(matches!(last, Some(Moment::Stopped { success: true, .. })), "{last:?}");
        assert!(handle.finished().await.unwrap().success);
        assert!(ticks.load(Ordering::SeqCst) > 10);
        ticking.abort();
        assert!(config.run().unwrap().success);
    });
}

#[test]
fn runs_work_side_by_side() {
    let stages: Vec<Stage> = (0..3).map(|_| Stage::new()).collect();
    let handles: Vec<_> =
        stages.iter().map(|stage| stage.shell("echo '<response>DONE</response>'").start().unwrap()).collect();
    assert!(handles.into_iter().all(|handle| handle.wait().unwrap().success));
}

/// `ralph` itself ends what it has not started; a program has children that are none of ralph's business.
#[test]
fn children_of_the_program_are_left_alone() {
    let stage = Stage::new();
    let mut config = stage.shell("touch began; while [ ! -e go ]; do sleep 0.01; done; echo not yet");
    config.max_iterations = Some(1);
    config.checks = vec!["true".into()];
    let mut before = Command::new("sleep").arg("300").spawn().unwrap();
    let handle = config.start().unwrap();
    wait_for(&stage.project().join("began"));
    let mut meanwhile = Command::new("sleep").arg("300").spawn().unwrap();
    let mut short = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
    // It has ended, and only its parent may take note of that.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&short)), ended).unwrap();
    stage.write("go", "");
    handle.wait().unwrap();
    config.run().unwrap();
    assert_eq!(short.wait().unwrap().code(), Some(7));
    for child in [&mut before, &mut meanwhile] {
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Where no orphans come to the program, the environment leads to them.
#[test]
fn what_a_killed_keeper_leaves_is_ended() {
    let stage = Stage::new();
    // The keeper is the parent of the agent.
    let script = "if [ -e left ]; then echo '<response>DONE</response>'; exit; fi
        sleep 300 & echo $! > left; kill -KILL $PPID; sleep 300";
    let result = stage.shell(script).run().unwrap();
    assert!(result.success, "{result:?}");
    let left = fs::read_to_string(stage.project().join("left")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[test]
fn a_function_is_an_agent() {
    let stage = Stage::new();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&calls);
    let mut config = stage.prompt(Agent::function(move |call| {
        noted.lock().unwrap().push((call.iteration(), call.prompt().to_string(), call.dir().to_path_buf()));
        call.print("at work\n");
        match call.iteration() {
            1 => Err("the model is asleep".into()),
            2 => panic!("as planned"),
            number => {
                fs::write(call.dir().join("it"), "x".repeat(number as usize - 2))?;
                Ok(DONE.to_string())
            }
        }
    }));
    config.checks = vec!["test $(wc -c < it) -ge 2".into()];
    let mut handle = config.start().unwrap();
    let run = handle.run_id().to_string();
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    for moment in handle.moments() {
        match moment {
            Moment::AgentSaid { text } => said.push(text),
            Moment::AgentStderr { line } => complained.push(line),
            _ => {}
        }
    }
    let result = handle.wait().unwrap();
    assert_eq!(result.stop_reason, StopReason::Completed, "{result:#?}");
    assert_eq!(said.iter().filter(|text| text.contains("at work")).count(), 4);
    assert_eq!(complained, ["the model is asleep", "the agent's function panicked"]);
    assert!(result.iterations[..2].iter().all(|iteration| iteration.error.is_some()));
    let calls = calls.lock().unwrap();
    assert_eq!(calls.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let (_, prompt, dir) = &calls[3];
    assert!(prompt.contains("make it exist") && prompt.contains("wc -c < it"), "{prompt}");
    assert_eq!(*dir, stage.project().canonicalize().unwrap());
    let stream = stage.0.path().join(format!("home/runs/{run}/streams/4-1.out"));
    assert!(fs::read_to_string(stream).unwrap().contains(DONE), "its words are kept like any agent's");
}

#[test]
fn a_function_that_takes_too_long_is_told_so() {
    let stage = Stage::new();
    let cancelled = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&cancelled);
    let mut config = stage.prompt(Agent::function(move |call| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !call.is_cancelled() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        noted.store(call.is_cancelled(), Ordering::SeqCst);
        Ok("too late".into())
    }));
    (config.max_iterations, config.agent_timeout) = (Some(1), Some(Duration::from_millis(300)));
    let result = config.run().unwrap();
    assert!(!result.success);
    assert!(cancelled.load(Ordering::SeqCst));
    assert!(result.iterations[0].error.as_ref().is_some_and(|error| error.contains("time")), "{result:?}");
}

#[test]
fn a_run_whose_function_is_gone_can_be_resumed_with_another() {
    let stage = Stage::new();
    let mut config = stage.prompt(Agent::function(|_| Ok("not yet".into())));
    config.max_iterations = Some(1);
    let result = config.run().unwrap();
    assert_eq!(result.stop_reason, StopReason::MaxIterations);
    let mut resume = Resume::new(result.run.unwrap());
    (resume.home, resume.ralph, resume.max_iterations) = (config.home, config.ralph, Some(2));
    let result = resume.run().unwrap();
    assert!(result.iterations[1].error.is_some(), "{result:?}");
    resume.max_iterations = Some(3);
    resume.function = Some(ralph::AgentFunction::new(|_| Ok(DONE.into())));
    assert!(resume.run().unwrap().success);
}

#[test]
fn a_run_that_cannot_begin_leaves_no_record_of_its_function() {
    let stage = Stage::new();
    let config = stage.shell("touch began; sleep 300");
    let first = config.start().unwrap();
    wait_for(&stage.project().join("began"));
    let refused = stage.prompt(Agent::function(|_| Ok(DONE.into()))).run();
    assert!(matches!(refused, Err(Error::Session(_))), "{refused:?}");
    assert_eq!(fs::read_dir(stage.0.path().join("home/runs")).unwrap().count(), 1);
    assert!(matches!(config.cleanup_progress(), Err(Error::DirectoryInUse(_))));
    first.cancel();
    first.cancel();
    first.wait().unwrap();
}

#[test]
fn stories_are_worked_through() {
    let stage = Stage::with_git();
    for number in [1, 2] {
        stage.write(
            &format!("specs/epic-1/story-1.{number}-part.md"),
            &format!("---\ntitle: Part {number}\n---\n\n# Story 1.{number}: Part {number}\n\nWrite it.\n"),
        );
    }
    let agent = "echo x > part-$RALPH_STORY; echo \"<ralph>DONE $RALPH_STORY</ralph>\"";
    let stories = Stories { max_retries: Some(1), ..Stories::default() };
    let mut config = Config { agent: sh_agent(agent), ..stage.set(stories) };
    config.max_iterations = None;
    let mut handle = config.start().unwrap();
    let started: Vec<String> = handle
        .moments()
        .filter_map(|moment| match moment {
            Moment::AgentStarted { story, .. } => story,
            _ => None,
        })
        .collect();
    let result = handle.wait().unwrap();
    assert!(result.success, "{result:?}");
    assert_eq!((result.plan, started), (Some("stories"), vec!["1.1".to_string(), "1.2".to_string()]));
    let only = Stories { only: Some("9.9".parse().unwrap()), ..Stories::default() };
    assert!(matches!(stage.set(only).start(), Err(Error::Stories(_))));
}

#[test]
fn tasks_are_worked_through() {
    let stage = Stage::with_git();
    stage.write(
        "ralph/tasks.json",
        r#"{"project": "p", "branchName": "", "userStories": [{"id": "US-001", "title": "One",
            "description": "d", "acceptanceCriteria": ["c"], "priority": 1, "passes": false, "notes": ""}]}"#,
    );
    stage.sh("git add -A; git commit -q -m tasks");
    let agent = "sed -i 's/\"passes\": false/\"passes\": true/; s/\"notes\": \"\"/\"notes\": \"did it\"/' \
                 ralph/tasks.json; echo done";
    let tasks = Tasks { skip_review: true, ..Tasks::default() };
    let config = Config { agent: sh_agent(agent), ..stage.set(tasks) };
    let mut handle = config.start().unwrap();
    let implemented = handle.moments().any(|moment| {
        matches!(moment, Moment::AgentStarted { story: Some(story), mode: Some(Mode::Implement), .. }
            if story == "US-001")
    });
    assert!(implemented);
    let result = handle.wait().unwrap();
    assert!(result.success, "{result:#?}");
    assert_eq!(result.tasks.len(), 1);
    fs::remove_file(stage.project().join("ralph/tasks.json")).unwrap();
    assert!(matches!(stage.set(Tasks::default()).start(), Err(Error::Tasks(_))));
}

/// The commit at the end is made by the ralph program, not by the one that calls.
#[test]
fn a_worktree_is_removed_only_if_nothing_is_lost() {
    let stage = Stage::with_git();
    let mut config = stage.shell("echo x > it; echo '<response>DONE</response>'");
    config.use_worktree = true;
    let result = config.run().unwrap();
    assert!(result.success);
    let (run, worktree) = (result.run.unwrap(), PathBuf::from(&result.worktree_path));
    let branch = format!("ralph/{run}");
    assert_eq!(stage.sh(&format!("git show --name-only --format= {branch}")), "it\n");
    let kept = |result: Result<bool, Error>| match result {
        Err(Error::WorktreeKept { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let why = kept(config.cleanup_worktree(&run, Unmerged::Keep));
    assert!(matches!(why, Kept::Unmerged { branch: of, .. } if of == branch));
    fs::write(worktree.join("more"), "").unwrap();
    assert_eq!(kept(config.cleanup_worktree(&run, Unmerged::Keep)), Kept::Uncommitted);
    fs::remove_file(worktree.join("more")).unwrap();
    stage.sh(&format!("git merge -q {branch}"));
    assert!(config.cleanup_worktree(&run, Unmerged::Keep).unwrap());
    assert!(!worktree.exists() && stage.sh("git branch --list 'ralph/*'").is_empty());
    assert!(!config.cleanup_worktree(&run, Unmerged::Keep).unwrap());

    let began = stage.0.path().join("began");
    config.agent = sh_agent(&format!("echo x > other; touch {}; sleep 300", began.display()));
    let handle = config.start().unwrap();
    let run = handle.run_id().to_string();
    wait_for(&began);
    for unmerged in [Unmerged::Keep, Unmerged::Discard] {
        let why = kept(config.cleanup_worktree(&run, unmerged));
        assert!(matches!(why, Kept::NotEnded { .. }), "{why}");
    }
    handle.cancel();
    handle.cancel();
    handle.wait().unwrap();
    let why = kept(config.cleanup_worktree(&run, Unmerged::Keep));
    assert!(matches!(why, Kept::NotEnded { .. }), "it can be resumed: {why}");
    assert!(config.cleanup_worktree(&run, Unmerged::Discard).unwrap());
    assert!(stage.sh("git branch --list 'ralph/*'").is_empty());
}

#[test]
fn progress_files_are_removed() {
    let stage = Stage::new();
    let mut config = stage.shell("echo not yet");
    (config.max_iterations, config.checks) = (Some(1), vec!["echo no; false".into()]);
    config.run().unwrap();
    let ralph_dir = stage.project().join(".ralph");
    stage.write(".ralph/settings.json", "{}");
    assert!(ralph_dir.join("progress.md").exists());
    assert!(config.cleanup_progress().unwrap());
    let left: Vec<_> = fs::read_dir(&ralph_dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "settings.json" || name == ".gitignore"), "{left:?}");
    assert!(!config.cleanup_progress().unwrap());
}
