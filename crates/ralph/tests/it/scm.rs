//! Source control tasks: what is committed, under which message, and what goes wrong.

use crate::support::{Ran, Sandbox};
use serde_json::{Value, json};
use std::fs;

/// A repository whose runs do these tasks, with everything in it committed.
fn with_tasks(tasks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::git();
    let settings = json!({"context": false, "scm": {"tasks": tasks}, "backoff": {"base": 0.01}});
    sandbox.settings(&settings);
    sandbox.sh("git add . && git commit -q -m settings");
    sandbox
}

/// A plain agent: a script for its work, and one that answers when it is asked for a message.
fn plain_agent(sandbox: &Sandbox, work: &str, message: &str) {
    let body = format!("case \"$(cat)\" in *'commit message'*)\n{message}\n;;\n*)\n{work}\n;;\nesac");
    sandbox.program("agent", &body);
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Ran {
    sandbox.ralph(&[&["run", "-p", "x"], args, &["--", "agent"]].concat())
}

const NEW_FILE: &str = "echo new > new; echo '<response>DONE</response>'";

/// The subjects of all commits, newest first, without those that the test began with.
fn subjects(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.sh("git log --format=%s HEAD");
    log.lines().take_while(|line| *line != "settings").map(String::from).collect()
}

/// The outcomes of the tasks, in order.
fn outcomes(sandbox: &Sandbox) -> Vec<Value> {
    let facts = sandbox.facts().into_iter();
    facts.map(|fact| fact["ended"]["end"]["scm"].clone()).filter(|outcome| !outcome.is_null()).collect()
}

#[test]
fn the_first_line_with_something_on_it_is_the_message_and_the_commit_names_its_run() {
    let sandbox = with_tasks(&["commit"]);
    plain_agent(&sandbox, NEW_FILE, "printf '\\n   \\n  Add the file  \\nbecause of this\\n'");
    run(&sandbox, &[]).exits(0).says("asking the agent for a commit message").says("Add the file");
    let id = sandbox.only_run();
    assert_eq!(sandbox.sh("git log -1 --format=%B"), format!("Add the file\n\nRalph-Run: {id}/1\n\n"));
    let trailer = sandbox.sh("git log -1 --format='%(trailers:key=Ralph-Run,valueonly)'");
    assert_eq!(trailer.trim(), format!("{id}/1"), "git itself reads the trailer");
    assert_eq!(subjects(&sandbox).len(), 1);
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn a_response_tag_wins_over_the_first_line() {
    let sandbox = with_tasks(&["commit"]);
    plain_agent(&sandbox, NEW_FILE, "echo 'Here it is:'; echo 'So: <response> Add it </response> bye'");
    run(&sandbox, &[]).exits(0);
    assert_eq!(subjects(&sandbox), ["Add it"]);
}

#[test]
fn an_agent_without_a_message_leaves_the_tasks_out_and_the_run_whole() {
    for message in ["true", "echo no; exit 3"] {
        let sandbox = with_tasks(&["commit", "push"]);
        plain_agent(&sandbox, NEW_FILE, message);
        run(&sandbox, &[]).exits(0).says("no commit message");
        assert_eq!(subjects(&sandbox), [""; 0]);
        assert_eq!(outcomes(&sandbox), [json!(null); 0], "{message}");
    }
}

/// A `claude` that streams its work and answers in text where it is asked for text.
fn claude(sandbox: &Sandbox, words: &str) {
    sandbox
        .claude(&json!([[{"write": {"path": "new", "content": "1"}}, {"say": "<response>DONE</response>"}]]));
    let streaming = sandbox.root().join("bin/claude");
    fs::rename(&streaming, sandbox.root().join("bin/streaming")).unwrap();
    let args = sandbox.root().join("args");
    let body = format!(
        "case \"$*\" in *'--output-format text'*) printf '%s\\n' \"$@\" > '{}'; {words} ;;\n\
         *) exec streaming \"$@\" ;; esac",
        args.display()
    );
    sandbox.program("claude", &body);
}

#[test]
fn claude_is_asked_for_a_message_in_text_mode() {
    let sandbox = with_tasks(&["commit"]);
    claude(&sandbox, "cat > ../asked; echo 'Add the new file'");
    sandbox.ralph(&["run", "-p", "x", "--model", "opus"]).exits(0);
    assert_eq!(subjects(&sandbox), ["Add the new file"]);
    let args = fs::read_to_string(sandbox.root().join("args")).unwrap();
    assert_eq!(
        args.lines().collect::<Vec<_>>().join(" "),
        "-p --output-format text --dangerously-skip-permissions --model opus"
    );
    assert_eq!(
        fs::read_to_string(sandbox.root().join("asked")).unwrap(),
        "Provide a short imperative commit message for the changes. Output only the message, no explanation."
    );
}

#[test]
fn a_stream_that_the_user_insists_on_is_read_as_one_and_its_cost_counts() {
    let sandbox = with_tasks(&["commit"]);
    sandbox.claude(&json!([
        [{"write": {"path": "new", "content": "1"}}, {"say": "<response>DONE</response>"}, {"cost": 0.25}],
        [{"say": "I look at the changes."}, {"say": "Add the file\nfor a reason"}, {"cost": 0.5}],
    ]));
    let args = ["run", "-p", "x", "--format", "json", "--", "claude", "--output-format", "stream-json"];
    let result = sandbox.ralph(&args).stops(0, "completed", 1);
    assert_eq!(subjects(&sandbox), ["Add the file"], "never a line of JSON");
    assert_eq!(result["total_cost"], 0.75);
}

#[test]
fn a_message_is_one_argument_whatever_is_in_it() {
    for message in [
        "--amend \"a\" 'b' $(touch pwned) `touch pwned` ; touch pwned",
        "first $HOME\n\nsecond \\ line\n-third",
        "-",
        "#12: not a comment",
    ] {
        let sandbox = with_tasks(&["commit"]);
        fs::write(sandbox.root().join("words"), format!("<response>{message}</response>")).unwrap();
        plain_agent(&sandbox, NEW_FILE, "cat ../words");
        run(&sandbox, &[]).exits(0);
        let said = sandbox.sh("git log -1 --format=%B");
        assert_eq!(said, format!("{message}\n\nRalph-Run: {}/1\n\n", sandbox.only_run()));
        assert!(!sandbox.has("pwned"), "{message}");
        assert_eq!(subjects(&sandbox).len(), 1, "nothing is amended");
    }
}

#[test]
fn everything_new_is_committed_but_what_is_ignored_or_ralphs_own() {
    let sandbox = with_tasks(&["commit"]);
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("gone", "1");
    sandbox.write("renamed", "2");
    sandbox.write("changed", "3");
    sandbox.sh("git add . && git commit -q -m settings");
    let work = "echo 1 > x.o; mkdir -p 'a dir/b'; echo 1 > 'a dir/b/new*file'; echo 4 > changed; \
                git rm -q gone; git mv renamed named; git init -q inner; echo 1 > inner/file; \
                echo '<response>DONE</response>'";
    plain_agent(&sandbox, work, "echo work");
    run(&sandbox, &["--check", "echo out"]).exits(0);
    for name in ["progress.md", "guardrail_1_echo_out.log"] {
        assert!(sandbox.has(&format!(".ralph/{name}")), "there was something of ralph's to leave out");
    }
    let changed = sandbox.sh("git show --no-renames --name-status --format= HEAD");
    assert_eq!(
        changed.lines().collect::<Vec<_>>(),
        ["A\ta dir/b/new*file", "M\tchanged", "D\tgone", "A\tnamed", "D\trenamed"]
    );
    assert_eq!(sandbox.sh("git status --porcelain"), "?? inner/\n", "a repository inside is its own");
}

#[test]
fn a_directory_with_the_name_of_a_pattern_still_has_no_runtime_files_in_git() {
    let sandbox = with_tasks(&["commit"]);
    let name = "a [b] *c";
    sandbox.write(&format!("{name}/.ralph/settings.json"), sandbox.read(".ralph/settings.json"));
    sandbox.sh("git add . && git commit -q -m settings");
    plain_agent(&sandbox, NEW_FILE, "echo work");
    run(&sandbox, &["-C", name, "--check", "true"]).exits(0);
    assert_eq!(sandbox.sh("git show --name-only --format= HEAD"), format!("{name}/new\n"));
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn an_iteration_that_changed_nothing_is_neither_committed_nor_pushed() {
    let sandbox = with_tasks(&["commit", "push"]);
    sandbox
        .sh("git init -q --bare ../far.git && git remote add origin ../far.git && git push -q -u origin main
         git commit -q --allow-empty -m mine && echo mine > mine");
    let work = "echo hm; [ $RALPH_ITERATION = 1 ] || echo '<response>DONE</response>'";
    plain_agent(&sandbox, work, "touch ../asked; echo never");
    run(&sandbox, &[]).exits(0);
    assert!(!sandbox.root().join("asked").exists(), "no message is asked for");
    assert_eq!(outcomes(&sandbox), [json!(null); 0]);
    assert_eq!(sandbox.sh("git --git-dir=../far.git log --format=%s main -1"), "settings\n");
    assert_eq!(sandbox.sh("git status --porcelain"), "?? mine\n", "what was there before is the user's");
}

#[test]
fn what_an_agent_has_committed_itself_is_pushed() {
    let sandbox = with_tasks(&["commit", "push"]);
    sandbox
        .sh("git init -q --bare ../far.git && git remote add origin ../far.git && git push -q -u origin main
         echo mine > mine");
    let work = "git add -A && git commit -q -m own; echo '<response>DONE</response>'";
    plain_agent(&sandbox, work, "touch ../asked; echo never");
    run(&sandbox, &[]).exits(0).says("nothing to commit");
    assert!(!sandbox.root().join("asked").exists(), "no message is asked for");
    assert_eq!(sandbox.sh("git --git-dir=../far.git log --format=%s main -1"), "own\n");
}

fn hook(sandbox: &Sandbox, name: &str, body: &str) {
    sandbox.write(&format!(".git/hooks/{name}"), format!("#!/bin/sh\n{body}\n"));
    sandbox.sh(&format!("chmod +x .git/hooks/{name}"));
}

#[test]
fn the_users_hook_runs_and_its_no_is_told_without_losing_the_run() {
    let sandbox = with_tasks(&["commit", "push"]);
    plain_agent(&sandbox, NEW_FILE, "echo work");
    hook(&sandbox, "pre-commit", "echo 'the hook says no' >&2; exit 1");
    run(&sandbox, &[]).exits(0).says("git commit").says("the hook says no").says("completed");
    assert_eq!(subjects(&sandbox), [""; 0]);
    assert_eq!(outcomes(&sandbox).len(), 1, "the tasks after it are left out");
    assert_eq!(sandbox.read("new"), "new\n");
    hook(&sandbox, "pre-commit", "touch .git/hook-ran");
    sandbox.sh("rm new");
    run(&sandbox, &[]).exits(0);
    assert!(sandbox.has(".git/hook-ran"));
    assert_eq!(subjects(&sandbox), ["work"]);
}

#[test]
fn every_green_iteration_is_committed_and_no_red_one() {
    let sandbox = with_tasks(&["commit"]);
    let work =
        "echo $RALPH_ITERATION | tee -a work; [ $RALPH_ITERATION -lt 4 ] || echo '<response>DONE</response>'";
    plain_agent(&sandbox, work, "echo iteration $RALPH_ITERATION");
    let result = run(&sandbox, &["--format", "json", "--check", "! grep -q 2 work || grep -q 3 work"]);
    result.stops(0, "completed", 4);
    assert_eq!(subjects(&sandbox), ["iteration 4", "iteration 3", "iteration 1"]);
    assert_eq!(sandbox.sh("git show HEAD~1:work"), "1\n2\n3\n", "the red one's work is in the next");
}

#[test]
fn tasks_run_in_order_and_a_push_arrives() {
    let sandbox = with_tasks(&["commit", "push"]);
    sandbox.sh(
        "git init -q --bare ../far.git && git remote add origin ../far.git && git push -q -u origin main",
    );
    let work =
        "echo $RALPH_ITERATION | tee work; [ $RALPH_ITERATION = 1 ] || echo '<response>DONE</response>'";
    plain_agent(&sandbox, work, "echo $RALPH_ITERATION");
    run(&sandbox, &[]).exits(0);
    assert_eq!(sandbox.sh("git --git-dir=../far.git log --format=%s main -2"), "2\n1\n");
    assert_eq!(outcomes(&sandbox), [json!("done"), json!("done"), json!("done"), json!("done")]);
}

#[test]
fn a_failing_task_ends_those_of_its_iteration_only() {
    let sandbox = with_tasks(&["commit", "no-such-command", "push"]);
    sandbox.sh(
        "git init -q --bare ../far.git && git remote add origin ../far.git && git push -q -u origin main",
    );
    let work =
        "echo $RALPH_ITERATION | tee work; [ $RALPH_ITERATION = 1 ] || echo '<response>DONE</response>'";
    plain_agent(&sandbox, work, "echo $RALPH_ITERATION");
    run(&sandbox, &[]).exits(0).says("no-such-command");
    assert_eq!(subjects(&sandbox), ["2", "1"], "each iteration begins with its first task again");
    assert_eq!(outcomes(&sandbox).len(), 4);
    assert_eq!(sandbox.sh("git --git-dir=../far.git log --format=%s main -1"), "settings\n");
}

#[test]
fn a_run_killed_between_a_commit_and_its_record_commits_once() {
    let sandbox = with_tasks(&["commit", "push"]);
    sandbox.sh(
        "git init -q --bare ../far.git && git remote add origin ../far.git && git push -q -u origin main",
    );
    plain_agent(&sandbox, NEW_FILE, "echo work");
    // The hook's parent is git, and git's is ralph.
    hook(&sandbox, "post-commit", "kill -9 $(sed -n 's/^PPid:\\s*//p' /proc/$PPID/status)");
    let ran = run(&sandbox, &[]);
    assert_eq!(ran.code, None, "it was killed\n{}", ran.stderr);
    assert_eq!(subjects(&sandbox), ["work"]);
    assert_eq!(outcomes(&sandbox), [json!(null); 0], "no process was left to record it");
    sandbox.sh("rm .git/hooks/post-commit");
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    assert_eq!(subjects(&sandbox), ["work"]);
    assert_eq!(outcomes(&sandbox), [json!("done"), json!("done")]);
    assert_eq!(sandbox.sh("git --git-dir=../far.git log --format=%s main -1"), "work\n");
    sandbox.soon_nothing_is_left();
}

#[test]
fn a_conflict_is_not_committed() {
    let sandbox = with_tasks(&["commit"]);
    sandbox.sh(
        "git checkout -q -b other && echo theirs > README && git commit -q -am theirs && git checkout -q main \
         && echo ours > README && git commit -q -am settings && ! git merge -q other",
    );
    plain_agent(&sandbox, NEW_FILE, "echo work");
    run(&sandbox, &[]).exits(0).says("unresolved merge conflict: README");
    assert_eq!(subjects(&sandbox), [""; 0]);
    assert!(sandbox.sh("git status --porcelain").contains("UU README\n"));
}

#[test]
fn a_detached_head_gets_its_commits() {
    let sandbox = with_tasks(&["commit"]);
    sandbox.sh("git checkout -q --detach");
    plain_agent(&sandbox, NEW_FILE, "echo work");
    run(&sandbox, &[]).exits(0);
    assert_eq!(subjects(&sandbox), ["work"]);
    assert_eq!(sandbox.sh("git log --format=%s main -1"), "settings\n");
}

#[test]
fn a_repository_that_does_not_know_its_user_says_so() {
    let sandbox = with_tasks(&["commit"]);
    sandbox.sh(
        "git config --unset user.name && git config --unset user.email && git config user.useConfigOnly true",
    );
    plain_agent(&sandbox, NEW_FILE, "echo work");
    run(&sandbox, &[]).exits(0).says("git commit").says("identity unknown");
    assert_eq!(subjects(&sandbox), [""; 0]);
}

#[test]
fn the_first_commit_of_a_repository_can_be_a_runs() {
    let sandbox = Sandbox::empty_repository();
    sandbox.settings(&json!({"scm": {"tasks": ["commit"]}}));
    plain_agent(&sandbox, NEW_FILE, "echo work");
    run(&sandbox, &[]).exits(0);
    assert_eq!(sandbox.sh("git log --format=%s"), "work\n");
    assert_eq!(sandbox.sh("git ls-files"), ".ralph/settings.json\nnew\n");
}

#[test]
fn another_program_than_git_gets_the_message_as_one_argument() {
    let sandbox = Sandbox::bare();
    let settings =
        json!({"context": false, "scm": {"command": "hg", "tasks": ["commit", "push --force far"]}});
    sandbox.settings(&settings);
    sandbox.program("hg", "for arg; do printf '<%s>' \"$arg\"; done >> ../hg; echo >> ../hg");
    plain_agent(&sandbox, NEW_FILE, "echo '<response>two \"words\"\nand $HOME</response>'");
    run(&sandbox, &[]).exits(0);
    let called = fs::read_to_string(sandbox.root().join("hg")).unwrap();
    assert_eq!(called, "<commit><-am><two \"words\"\nand $HOME>\n<push><--force><far>\n");
}

/// The record is cut after the fact; the world is as the finished run left it. The
/// resumed run must find the commits that are there.
#[test]
fn a_journal_cut_anywhere_leads_to_one_commit_an_iteration() {
    let sandbox = with_tasks(&["commit"]);
    let work = "echo $RALPH_ITERATION >> log; test $RALPH_ITERATION = 1 || echo '<response>DONE</response>'; echo ok";
    plain_agent(&sandbox, work, "echo \"Add line $RALPH_ITERATION\"");
    run(&sandbox, &["-n", "4"]).exits(0);
    let journal = fs::read(sandbox.journal_file()).unwrap();
    let head = sandbox.sh("git rev-parse HEAD");
    let ends: Vec<usize> = (0..journal.len()).filter(|at| journal[*at] == b'\n').map(|at| at + 1).collect();
    for pair in ends.windows(2) {
        for cut in [pair[0], pair[0].midpoint(pair[1])] {
            sandbox.sh(&format!("git reset -q --hard {head}"));
            fs::write(sandbox.journal_file(), &journal[..cut]).unwrap();
            let ran = sandbox.ralph(&["resume"]);
            assert_eq!(ran.code, Some(0), "cut at {cut}: {}", ran.stderr);
            let trailers = sandbox.sh("git log --format='%(trailers:key=Ralph-Run,valueonly)' HEAD");
            let mut iterations: Vec<&str> = trailers.split_whitespace().collect();
            let commits = iterations.len();
            iterations.sort_unstable();
            iterations.dedup();
            assert_eq!(commits, iterations.len(), "cut at {cut}: {trailers}");
            assert_eq!(commits, 2, "cut at {cut}: {trailers}");
        }
    }
}

/// They may hold keys. `.gitignore` beats `.git/info/exclude`, and agents can write both.
#[test]
fn local_settings_are_never_committed() {
    let local = ".ralph/settings.local.json";
    for (gitignore, staged) in [
        ("", ""),
        ("!.ralph/\n!.ralph/*\n", ""),
        ("!.ralph/*\n", "git add -A;"),
        ("", "git add -f .ralph;"),
        ("", "git add -f -N .ralph;"),
    ] {
        let sandbox = with_tasks(&["commit", "push"]);
        sandbox.write(".gitignore", gitignore);
        sandbox.write("sub/.ralph/settings.local.json", "{}");
        sandbox.sh("git add . && git commit -q --allow-empty -m ignored && git rm -q --cached -r sub \
             && git commit -q -m 'not this' && git init -q --bare ../remote && git remote add origin ../remote \
             && git push -q -u origin main");
        sandbox.write(local, r#"{"notify": "secret"}"#);
        plain_agent(&sandbox, &format!("{staged} {NEW_FILE}"), "echo Add it");
        run(&sandbox, &[]).exits(0);
        assert_eq!(outcomes(&sandbox), ["done", "done"], "{gitignore} {staged}");
        let pushed = sandbox.sh("git -C ../remote ls-tree -r --name-only main");
        assert!(
            pushed.contains("new\n") && !pushed.contains("settings.local"),
            "{gitignore} {staged}\n{pushed}"
        );
        assert!(sandbox.has(local) && sandbox.has("sub/.ralph/settings.local.json"));
    }
}

#[test]
fn neither_by_a_command_that_is_git_under_another_name_nor_by_a_task_of_the_users_own() {
    for (command, task) in [("wrapped", "commit"), ("git", "commit -m wip"), ("wrapped", "commit -m wip")] {
        let sandbox = Sandbox::git();
        sandbox.program("wrapped", "exec git \"$@\"");
        sandbox.settings(&json!({"context": false, "scm": {"tasks": [task], "command": command}}));
        sandbox.sh("git add . && git commit -q -m settings");
        sandbox.write(".ralph/settings.local.json", r#"{"notify": "secret"}"#);
        plain_agent(&sandbox, &format!("echo new > new; git add -f -A; {NEW_FILE}"), "echo Add it");
        run(&sandbox, &[]).exits(0);
        assert_eq!(outcomes(&sandbox), ["done"], "{command} {task}");
        let files = sandbox.sh("git ls-tree -r --name-only HEAD");
        assert!(files.contains("new\n") && !files.contains("settings.local"), "{command} {task}\n{files}");
        assert!(sandbox.has(".ralph/settings.local.json"));
    }
}

/// A link that stays in the project is followed, and what is behind it is the same.
#[test]
fn nor_where_ralphs_directory_is_a_link() {
    for (project, staged) in [("", ""), ("", "git add -f -A;"), ("sub/", ""), ("sub/", "git add -f -A;")] {
        let sandbox = with_tasks(&["commit"]);
        let settings = sandbox.read(".ralph/settings.json");
        sandbox.sh("git rm -q -r .ralph && git commit -q -m settings");
        sandbox.sh(&format!("mkdir -p {project}own/deep && ln -s own/deep {project}.ralph"));
        sandbox.write(&format!("{project}own/deep/settings.json"), settings);
        sandbox.write(&format!("{project}own/deep/mine"), "1");
        sandbox.write(&format!("{project}own/deep/settings.local.json"), "{}");
        plain_agent(&sandbox, &format!("{staged} {NEW_FILE}"), "echo Add it");
        let dir = sandbox.project().join(project);
        run(&sandbox, &["--check", "true", "-C", dir.to_str().unwrap()]).exits(0);
        let files = sandbox.sh("git ls-tree -r --name-only HEAD");
        for name in ["new", "own/deep/mine", "own/deep/settings.json", ".ralph"] {
            assert!(files.lines().any(|file| file == format!("{project}{name}")), "{name}\n{files}");
        }
        assert!(!files.contains("settings.local"), "{project} {staged}\n{files}");
        assert!(sandbox.has(&format!("{project}own/deep/progress.md")));
        if staged.is_empty() {
            assert!(!files.contains("progress.md") && !files.contains("guardrail"), "{files}");
        }
    }
}

#[test]
fn nothing_else_of_ralphs_commits_local_settings() {
    let agent = "echo 1 > made; echo '!.ralph/settings.local.json' > .gitignore; mkdir -p .ralph; \
         echo '{}' > .ralph/settings.local.json; git add -A; echo '<response>DONE</response>'";
    let sandbox = Sandbox::git();
    sandbox.run(&["-p", "x", "--worktree"], &sandbox.sh_agent(agent)).exits(0);
    let branch = format!("ralph/{}", sandbox.only_run());
    let files = sandbox.sh(&format!("git ls-tree -r --name-only {branch}"));
    assert!(files.contains("made") && !files.contains("settings.local"), "{files}");
}

#[test]
fn local_settings_that_the_user_has_committed_are_committed_again() {
    let sandbox = with_tasks(&["commit"]);
    let local = ".ralph/settings.local.json";
    sandbox.write(local, "{}");
    sandbox.sh("git add -f .ralph && git commit -q -m mine");
    plain_agent(
        &sandbox,
        &format!("echo ' {{}}' > {local}; echo '<response>DONE</response>'"),
        "echo Change it",
    );
    run(&sandbox, &[]).exits(0);
    assert_eq!(sandbox.sh(&format!("git show HEAD:{local}")), " {}\n");
}

/// An agent can delete the run's own. Git would then take one that lies around it.
#[test]
fn nothing_is_committed_to_a_repository_around_the_runs_own() {
    let sandbox = with_tasks(&["commit", "push"]);
    sandbox.sh("git init -q -b main .. && git -C .. config user.name A && git -C .. config user.email a@b \
         && git -C .. commit -q --allow-empty -m around");
    plain_agent(&sandbox, &format!("rm -rf .git; {NEW_FILE}"), "echo Add it");
    run(&sandbox, &[]).exits(0).says("the repository is gone");
    assert_eq!(sandbox.sh("git -C .. log --format=%s; git -C .. ls-files"), "around\n");
    let why = format!("the repository is gone: {}", sandbox.project().display());
    assert_eq!(outcomes(&sandbox), [json!({"failed": {"why": why}})]);
}
