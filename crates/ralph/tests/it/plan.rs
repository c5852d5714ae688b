//! `ralph plan` without a conversation: what is put in place, and what stays as it was whatever happens.

use crate::support::{Ran, Sandbox, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

pub const PRD: &str = "# PRD: greeter\n\n## 1. Summary\n\nA script that greets people by name.\n";

pub fn story(id: &str, title: &str) -> Value {
    json!({
        "id": id, "title": title, "description": format!("People who run the script want this: {title}."),
        "acceptanceCriteria": [format!("`sh greet.sh {id}` prints the line \"{title}\"")],
        "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "",
        "dependsOn": [],
    })
}

pub fn done(id: &str, title: &str) -> Value {
    let mut story = story(id, title);
    for (name, value) in
        [("passes", json!(true)), ("reviewStatus", json!("approved")), ("reviewCount", json!(1))]
    {
        story[name] = value;
    }
    story["notes"] = json!("It greets.");
    story
}

pub fn list(stories: &[Value]) -> Value {
    json!({
        "project": "greeter", "branchName": "ralph/greeter", "description": "A script that greets.",
        "verifyCommands": ["test -f greet.sh"], "userStories": stories,
    })
}

/// Puts a `claude` into the path. `$drafts` is where it writes, `$n` counts its calls; what it is told is in
/// `prompt-$n` beside the project.
pub fn claude(sandbox: &Sandbox, body: &str) {
    let root = sandbox.root().display();
    sandbox.program(
        "claude",
        &format!(
            r#"for arg; do case "$arg" in --add-dir=*) drafts=${{arg#--add-dir=}};; esac; done
cd {root}; n=$(($(cat calls 2>/dev/null || echo 0) + 1)); echo $n > calls; cat > prompt-$n
{body}
echo '{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"I planned it."}}]}}}}'
echo '{{"type":"result","subtype":"success","is_error":false,"result":"I planned it."}}'"#
        ),
    );
}

/// The same, which also says what it has used.
fn claude_with_costs(sandbox: &Sandbox, body: &str) {
    let usage = r#"{"type":"result","subtype":"success","is_error":false,"result":"I planned it.","total_cost_usd":0.25,"usage":{"input_tokens":1000,"output_tokens":200,"cache_read_input_tokens":30,"cache_creation_input_tokens":4}}"#;
    claude(sandbox, &format!("{body}\necho '{usage}'; exit 0"));
}

#[test]
fn what_all_agents_of_a_plan_have_used_is_told() {
    for (args, agents) in [(&[][..], 1), (&["--format", "json"], 2)] {
        let sandbox = half_done();
        let more = [done("US-001", "Hello"), story("US-002", "Goodbye"), story("US-003", "More")];
        give(&sandbox, "tasks.json", &list(&more).to_string());
        // Of two agents, the first plans badly.
        claude_with_costs(
            &sandbox,
            &format!("cp tasks.json $drafts; test $n = {agents} || echo '{{' > $drafts/tasks.json"),
        );
        let ran = sandbox.ralph(&[&["plan", "--yes", "more"], args].concat()).exits(0);
        if args.is_empty() {
            assert!(ran.stdout.ends_with("Planning cost: $0.2500, 1.2K tokens\n"), "{}", ran.stdout);
            continue;
        }
        let planned = ran.json();
        assert_eq!((&planned["cost"], &planned["cost_estimated"]), (&json!(0.5), &json!(false)));
        let tokens = json!({"input": 2000, "output": 400, "cache_read": 60, "cache_write": 8});
        assert_eq!(planned["tokens"], tokens);
    }
}

#[test]
fn an_agent_that_does_not_say_what_it_has_used_costs_nothing_known() {
    let sandbox = half_done();
    give(&sandbox, "tasks.json", &list(&[story("US-003", "More")]).to_string());
    claude(&sandbox, "cp tasks.json $drafts");
    let planned = sandbox.ralph(&["plan", "--yes", "more", "--format", "json"]).exits(0).json();
    assert_eq!((&planned["cost"], &planned["tokens"]["input"]), (&Value::Null, &json!(0)));
}

/// Files beside the project that the agent can copy.
pub fn give(sandbox: &Sandbox, name: &str, content: &str) {
    fs::write(sandbox.root().join(name), content).unwrap();
}

fn prompt(sandbox: &Sandbox, number: u32) -> String {
    fs::read_to_string(sandbox.root().join(format!("prompt-{number}"))).unwrap()
}

/// A project with a list of which one story is done, and an agent that adds one.
pub fn half_done() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.write("ralph/prd.md", PRD);
    let old = list(&[done("US-001", "Hello"), story("US-002", "Goodbye")]);
    sandbox.write("ralph/tasks.json", serde_json::to_string_pretty(&old).unwrap() + "\n");
    give(&sandbox, "prd.md", PRD);
    sandbox
}

fn tasks(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read("ralph/tasks.json")).unwrap()
}

/// The files of the task list.
pub fn files(sandbox: &Sandbox) -> [String; 2] {
    ["ralph/prd.md", "ralph/tasks.json"].map(|name| sandbox.read(name))
}

/// The record of the only session.
pub fn record(sandbox: &Sandbox) -> PathBuf {
    let mut plans = fs::read_dir(sandbox.home().join("plans")).unwrap().map(|entry| entry.unwrap().path());
    let record = plans.next().unwrap();
    assert_eq!(plans.next(), None);
    record
}

#[test]
fn without_a_terminal_a_plan_is_made_without_questions() {
    let sandbox = Sandbox::git();
    give(&sandbox, "prd.md", &format!("{PRD}\n## Assumptions\n\n- English only\n"));
    give(&sandbox, "tasks.json", &list(&[story("US-001", "Hello")]).to_string());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    let ran = sandbox.ralph(&["plan", "a script that greets"]).exits(0);
    assert!(ran.stderr.contains("there is no task list yet; creating one"), "{}", ran.stderr);
    for said in ["1. US-001  Hello", "test -f greet.sh: runs, fails now", "- English only", "ralph tasks"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    assert!(prompt(&sandbox, 1).contains("a script that greets"));
    assert!(sandbox.read("ralph/prd.md").ends_with("- English only\n"));
    assert_eq!(tasks(&sandbox), list(&[story("US-001", "Hello")]));
    assert!(sandbox.has("ralph/prompt.md") && sandbox.read(".gitignore").contains(".ralph-active"));
    sandbox.ralph(&["tasks", "check"]).exits(0);
    sandbox.nothing_is_left();
}

#[test]
fn stories_that_are_done_stay_as_they_were_whatever_the_agent_writes() {
    let sandbox = half_done();
    let mut forged = story("US-001", "Rewritten");
    forged["passes"] = json!(false);
    let mut approved = done("US-003", "More");
    approved["notes"] = json!("made up");
    let mut draft = list(&[forged, story("US-002", "Farewell"), approved]);
    draft["verifyCommands"] = json!(["test -x greet.sh"]);
    draft["branchName"] = json!("ralph/elsewhere");
    give(&sandbox, "tasks.json", &draft.to_string());
    claude(&sandbox, "cp tasks.json $drafts; echo '# Mine now' > $drafts/prd.md");
    let ran = sandbox.ralph(&["plan", "--yes", "more greetings", "--format", "json"]).exits(0);
    let planned = ran.json();
    assert_eq!(planned["dropped"], json!([{"story": "US-001", "change": "edited"}]));
    let changes: Vec<&str> = planned["stories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|story| story["change"].as_str().unwrap())
        .collect();
    assert_eq!(changes, ["done", "changed", "added"]);
    let list = tasks(&sandbox);
    assert_eq!(list["userStories"][0], done("US-001", "Hello"));
    assert_eq!(list["userStories"][1]["title"], "Farewell");
    assert_eq!(list["userStories"][2]["passes"], false);
    assert_eq!(list["userStories"][2]["notes"], "");
    assert_eq!(list["verifyCommands"], json!(["test -f greet.sh", "test -x greet.sh"]));
    assert_eq!(list["branchName"], "ralph/greeter");
    assert_eq!(sandbox.read("ralph/prd.md"), PRD, "the user's PRD is left alone");
    assert!(record(&sandbox).join("before/tasks.json").exists());
}

/// Titles of the list, by id.
pub fn titles(sandbox: &Sandbox) -> Vec<String> {
    let list = tasks(sandbox);
    let stories = list["userStories"].as_array().unwrap();
    let title =
        |story: &Value| format!("{} {}", story["id"].as_str().unwrap(), story["title"].as_str().unwrap());
    stories.iter().map(title).collect()
}

#[test]
fn stories_that_the_user_adds_or_edits_meanwhile_stay() {
    let sandbox = half_done();
    let mine = [done("US-001", "Hello"), story("US-002", "Mine"), story("US-003", "Added")];
    give(&sandbox, "mine.json", &list(&mine).to_string());
    let theirs = [done("US-001", "Hello"), story("US-002", "Theirs"), story("US-003", "New")];
    give(&sandbox, "tasks.json", &list(&theirs).to_string());
    claude(&sandbox, "cp mine.json project/ralph/tasks.json; cp tasks.json $drafts");
    let planned = sandbox.ralph(&["plan", "--yes", "more", "--format", "json"]).exits(0).json();
    assert_eq!(planned["dropped"], json!([{"story": "US-002", "change": "edited"}]));
    assert_eq!(titles(&sandbox), ["US-001 Hello", "US-002 Mine", "US-003 Added", "US-004 New"]);
}

#[test]
fn stories_do_not_come_back_to_a_list_that_the_user_empties_meanwhile() {
    let sandbox = half_done();
    give(&sandbox, "empty.json", &list(&[]).to_string());
    let theirs = [done("US-001", "Hello"), story("US-002", "Goodbye"), story("US-003", "New")];
    give(&sandbox, "tasks.json", &list(&theirs).to_string());
    claude(&sandbox, "cp empty.json project/ralph/tasks.json; cp tasks.json $drafts");
    sandbox.ralph(&["plan", "--yes", "more"]).exits(0);
    assert_eq!(titles(&sandbox), ["US-003 New"]);
}

#[test]
fn stories_that_are_imported_from_another_loop_are_added_to() {
    let sandbox = Sandbox::git();
    let imported = json!({"project": "greeter", "branchName": "ralph/greeter", "description": "It greets.",
        "userStories": [done("US-001", "Hello"), story("US-002", "Goodbye")]});
    sandbox.write("prd.json", imported.to_string());
    give(&sandbox, "tasks.json", &list(&[story("US-003", "More")]).to_string());
    give(&sandbox, "prd.md", PRD);
    claude(&sandbox, "test -f $drafts/tasks.json && touch seen; cp prd.md tasks.json $drafts");
    sandbox.ralph(&["plan", "--yes", "more"]).exits(0);
    assert!(sandbox.root().join("seen").exists(), "the agent gets what was imported");
    assert_eq!(titles(&sandbox), ["US-001 Hello", "US-003 More"]);
    assert!(sandbox.read("ralph/prd.md").contains("It greets."), "the PRD that was imported stays");
}

#[test]
fn a_prd_that_the_user_writes_meanwhile_stays() {
    let sandbox = Sandbox::git();
    give(&sandbox, "mine.md", "# PRD: mine\n\n## 1. Summary\n\nMy own words.\n");
    give(&sandbox, "prd.md", &format!("{PRD}\n## Assumptions\n\n- English only\n"));
    give(&sandbox, "tasks.json", &list(&[story("US-001", "Hello")]).to_string());
    claude(&sandbox, "cp mine.md project/ralph/prd.md; cp prd.md tasks.json $drafts");
    sandbox.ralph(&["plan", "--yes", "greet"]).exits(0);
    let prd = sandbox.read("ralph/prd.md");
    assert!(prd.contains("My own words.") && prd.contains("- English only"), "{prd}");
    assert!(!prd.contains("greets people"), "{prd}");
}

#[test]
fn a_prd_that_is_not_utf_8_is_refused_and_stays() {
    let sandbox = half_done();
    claude(&sandbox, "true");
    let latin = b"# PRD: caf\xe9\n\nIt greets.\n";
    fs::write(sandbox.project().join("ralph/prd.md"), latin).unwrap();
    let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(2);
    assert!(ran.stderr.contains("it is not UTF-8 text"), "{}", ran.stderr);
    assert_eq!(fs::read(sandbox.project().join("ralph/prd.md")).unwrap(), latin);
}

#[test]
fn what_the_user_has_set_in_a_list_without_stories_stays() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["init", "tasks", "--name", "salute"]).exits(0);
    let mut mine = tasks(&sandbox);
    mine["verifyCommands"] = json!(["test -d ."]);
    sandbox.write("ralph/tasks.json", mine.to_string());
    give(&sandbox, "prd.md", PRD);
    give(&sandbox, "tasks.json", &list(&[story("US-001", "Hello")]).to_string());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    sandbox.ralph(&["plan", "--yes", "greet"]).exits(0);
    let list = tasks(&sandbox);
    assert_eq!((&list["project"], &list["branchName"]), (&json!("salute"), &json!("ralph/salute")));
    assert_eq!(list["verifyCommands"], json!(["test -d .", "test -f greet.sh"]));
    assert_eq!(titles(&sandbox), ["US-001 Hello"]);
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out_of_the_project() {
    for name in ["prd.md", "tasks.json"] {
        let sandbox = half_done();
        let more = [done("US-001", "Hello"), story("US-002", "Goodbye"), story("US-003", "More")];
        give(&sandbox, "tasks.json", &list(&more).to_string());
        give(&sandbox, "prd.md", &format!("{PRD}\n## Assumptions\n\n- English only\n"));
        let outside = sandbox.root().join("outside");
        claude(
            &sandbox,
            &format!(
                "mv project/ralph/{name} outside; ln -s ../../outside project/ralph/{name}; cp prd.md tasks.json $drafts"
            ),
        );
        let before = sandbox.read(&format!("ralph/{name}"));
        let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(1);
        assert!(ran.stderr.contains("a link points outside the project"), "{name}: {}", ran.stderr);
        assert_eq!(fs::read_to_string(&outside).unwrap(), before, "{name}");
        let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(2);
        assert!(ran.stderr.contains("a link points outside the project"), "{name}: {}", ran.stderr);
        fs::remove_file(&outside).unwrap();
        sandbox.ralph(&["plan", "--yes", "more"]).exits(2);
        assert!(!outside.exists(), "{name}: a dangling link");
    }
}

#[test]
fn a_plan_that_stays_invalid_changes_nothing_and_says_where_the_drafts_are() {
    let sandbox = half_done();
    let before = files(&sandbox);
    let mut vague = story("US-003", "More");
    vague["acceptanceCriteria"] = json!(["works correctly"]);
    give(
        &sandbox,
        "tasks.json",
        &list(&[done("US-001", "Hello"), story("US-002", "Goodbye"), vague]).to_string(),
    );
    claude(&sandbox, "cp tasks.json $drafts");
    let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(1);
    assert!(ran.stderr.contains("still invalid after 4 attempts"), "{}", ran.stderr);
    assert!(ran.stderr.contains("works correctly"), "{}", ran.stderr);
    let drafts = record(&sandbox).join("draft");
    assert!(ran.stderr.contains(drafts.to_str().unwrap()) && drafts.join("tasks.json").exists());
    assert_eq!(files(&sandbox), before);
    assert!(
        prompt(&sandbox, 2).contains("works correctly") && !prompt(&sandbox, 1).contains("must be fixed")
    );
}

#[test]
fn a_draft_with_far_too_many_stories_is_a_fault() {
    let sandbox = half_done();
    let before = files(&sandbox);
    let many: Vec<Value> = (1..=1001).map(|number| story(&format!("US-{number:03}"), "More")).collect();
    give(&sandbox, "tasks.json", &list(&many).to_string());
    claude(&sandbox, "cp tasks.json $drafts");
    let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(1);
    assert!(ran.stderr.contains("1001 stories are too many; the limit is 1000"), "{}", ran.stderr);
    assert_eq!(files(&sandbox), before);
}

#[test]
fn an_agent_that_fails_or_writes_nothing_changes_nothing() {
    for (body, message) in [
        ("cp tasks.json $drafts; exit 3", "the agent failed: exit code 3"),
        ("cp tasks.json $drafts; kill -9 $$", "the agent failed: killed by signal 9"),
        ("echo '{broken' > $drafts/tasks.json", "still invalid after 4 attempts"),
        ("ln -sf /etc/passwd $drafts/tasks.json", "still invalid after 4 attempts"),
        ("true", "the agent wrote no plan"),
    ] {
        let sandbox = half_done();
        let before = files(&sandbox);
        give(&sandbox, "tasks.json", &list(&[story("US-003", "More")]).to_string());
        claude(&sandbox, body);
        let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(1);
        assert!(ran.stderr.contains(message), "{body}: {}", ran.stderr);
        assert!(ran.stderr.contains("no plan was put in place"), "{body}: {}", ran.stderr);
        assert_eq!(files(&sandbox), before, "{body}");
        sandbox.nothing_is_left();
    }
}

/// A ralph whose agent has written its drafts and goes on.
fn in_the_middle(sandbox: &Sandbox) -> crate::support::Running {
    give(sandbox, "tasks.json", &list(&[story("US-003", "More")]).to_string());
    claude(sandbox, "cp tasks.json $drafts; echo $$ > up; sleep 600 & sleep 600");
    let running = sandbox.start(&["plan", "--yes", "more"]);
    until("the drafts", || sandbox.root().join("up").exists());
    running
}

#[test]
fn a_hangup_that_is_ignored_does_not_stop_planning() {
    let sandbox = half_done();
    give(&sandbox, "tasks.json", &list(&[story("US-003", "More")]).to_string());
    claude(&sandbox, "cp tasks.json $drafts; echo $$ > up; while ! test -e go; do sleep 0.05; done");
    let mut command = sandbox.command("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" plan --yes more", crate::support::RALPH]);
    let running = sandbox.spawn(command);
    until("the agent", || sandbox.root().join("up").exists());
    running.signal(Signal::HUP);
    give(&sandbox, "go", "");
    running.end().exits(0);
    assert_eq!(titles(&sandbox), ["US-001 Hello", "US-003 More"]);
}

#[test]
fn a_killed_ralph_leaves_the_old_files_and_no_process() {
    let sandbox = half_done();
    let before = files(&sandbox);
    in_the_middle(&sandbox).kill();
    sandbox.soon_nothing_is_left();
    assert_eq!(files(&sandbox), before);
}

#[test]
fn old_sessions_are_removed_by_clean_and_one_at_work_is_not() {
    let sandbox = half_done();
    let running = in_the_middle(&sandbox);
    let live = record(&sandbox);
    let all = ["clean", "--runs", "--keep", "0"];
    assert!(sandbox.ralph(&all).exits(0).stdout.contains("Nothing to remove."));
    running.kill();
    sandbox.soon_nothing_is_left();
    let session = format!("planning session {}", live.file_name().unwrap().to_str().unwrap());
    assert!(sandbox.ralph(&["clean", "--runs"]).exits(0).stdout.contains("Nothing to remove."));
    assert!(sandbox.ralph(&[&all[..], &["--dry-run"]].concat()).exits(0).stdout.contains(&session));
    assert!(live.exists());
    assert!(sandbox.ralph(&all).exits(0).stdout.contains(&session));
    assert!(!live.exists());
}

#[test]
fn an_interrupted_ralph_leaves_the_old_files_and_no_process() {
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = half_done();
        let before = files(&sandbox);
        let running = in_the_middle(&sandbox);
        running.signal(signal);
        let ran = running.end().exits(130);
        assert!(ran.stderr.contains("stopped; nothing was changed; the drafts are in"), "{}", ran.stderr);
        sandbox.nothing_is_left();
        assert_eq!(files(&sandbox), before);
    }
}

#[test]
fn a_check_that_is_not_there_is_reported_to_the_agent_once() {
    let sandbox = Sandbox::git();
    give(&sandbox, "prd.md", PRD);
    let mut draft = list(&[story("US-001", "Hello")]);
    draft["verifyCommands"] = json!(["no-such-program --all", "true && false"]);
    give(&sandbox, "tasks.json", &draft.to_string());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    let planned = sandbox.ralph(&["plan", "--yes", "greet", "--format", "json"]).exits(0).json();
    assert_eq!(planned["checks"][0], json!({"command": "no-such-program --all", "outcome": "not_found"}));
    assert_eq!(planned["checks"][1]["outcome"], "red");
    assert!(prompt(&sandbox, 2).contains("`no-such-program --all` was run once: command not found"));
    assert!(!sandbox.root().join("prompt-3").exists());
}

#[test]
fn what_the_user_wants_can_come_from_a_pipe_or_a_file() {
    let sandbox = Sandbox::git();
    give(&sandbox, "prd.md", PRD);
    give(&sandbox, "tasks.json", &list(&[story("US-001", "Hello")]).to_string());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    give(&sandbox, "issue.md", "# Issue 12\n\nGreet the visitors.\n");
    let issue = fs::File::open(sandbox.root().join("issue.md")).unwrap();
    let mut command = sandbox.command(crate::support::RALPH);
    command.args(["plan", "--from", "-"]).stdin(Stdio::from(issue));
    sandbox.spawn(command).end().exits(0);
    assert!(prompt(&sandbox, 1).contains("Greet the visitors."));
    let told = sandbox.ralph(&["plan", "--from", "../issue.md", "--dry-run"]).exits(0).stdout;
    assert!(told.contains("Greet the visitors.") && told.contains("You cannot ask questions"), "{told}");
    assert!(!sandbox.root().join("prompt-2").exists(), "a dry run starts no agent");
    assert_eq!(fs::read_dir(sandbox.home().join("plans")).unwrap().count(), 1);
}

#[test]
fn one_story_is_split_and_the_others_stay() {
    let sandbox = half_done();
    let mut waiting = story("US-003", "Waits");
    waiting["dependsOn"] = json!(["US-002"]);
    let stories = [done("US-001", "Hello"), story("US-002", "Goodbye"), waiting.clone()];
    sandbox.write("ralph/tasks.json", list(&stories).to_string());
    waiting["dependsOn"] = json!(["US-004"]);
    let mut second = story("US-004", "Second half");
    second["dependsOn"] = json!(["US-002"]);
    let parts = [story("US-002", "First half"), second.clone(), waiting, story("US-001", "Forged")];
    give(&sandbox, "tasks.json", &list(&parts).to_string());
    claude(&sandbox, "cp tasks.json $drafts");
    sandbox.ralph(&["plan", "--yes", "--split", "US-002"]).exits(0);
    let told = prompt(&sandbox, 1);
    assert!(
        told.contains("Split story US-002") && told.contains("no iteration of a run has worked on it"),
        "{told}"
    );
    let list = tasks(&sandbox);
    let titles: Vec<&str> = list["userStories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|story| story["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Hello", "First half", "Waits", "Second half"]);
    assert_eq!(list["userStories"][2]["dependsOn"], json!(["US-004"]));
}

#[test]
fn why_a_story_fails_is_told_from_its_record() {
    let sandbox = half_done();
    sandbox.sh("git checkout -q -b ralph/greeter && git add -A && git commit -qm plan");
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "no"}]]));
    sandbox
        .ralph(
            &[
                &["tasks", "-n", "1", "--check", "echo the greeting is missing; false", "--"],
                &agent.words()[..],
            ]
            .concat(),
        )
        .exits(1);
    let mut clearer = story("US-002", "Goodbye");
    clearer["description"] = json!("Print the greeting, which is what the check looks for.");
    give(&sandbox, "tasks.json", &list(&[done("US-001", "Hello"), clearer.clone()]).to_string());
    claude(&sandbox, "cp tasks.json $drafts; echo 'The check wants a greeting.' > $drafts/why.md");
    let before = files(&sandbox);
    let ran = sandbox.ralph(&["plan", "--yes", "--why", "US-002"]).exits(0);
    let told = prompt(&sandbox, 1);
    assert!(told.contains("iteration 1 (implement)") && told.contains("the greeting is missing"), "{told}");
    for said in [
        "Why it is not done\n  The check wants a greeting.\n",
        "Proposed change to US-002\n  description\n    - People who run the script want this: Goodbye.\n    \
         + Print the greeting, which is what the check looks for.\n",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    assert!(
        ran.stderr.contains("US-002 was not changed. To change it, run `ralph plan --why US-002`"),
        "{}",
        ran.stderr
    );
    let planned = sandbox.ralph(&["plan", "--why", "US-002", "--format", "json"]).exits(0).json();
    let change = json!({
        "field": "description",
        "before": story("US-002", "Goodbye")["description"], "after": clearer["description"],
    });
    assert_eq!(planned["proposal"], json!({"story": "US-002", "changes": [change]}));
    assert_eq!((&planned["why"], &planned["files"]), (&json!("The check wants a greeting."), &json!([])));
    assert_eq!(files(&sandbox), before, "it is only proposed");
}

#[test]
fn a_story_that_is_right_as_it_is_gets_no_proposal() {
    let sandbox = half_done();
    claude(&sandbox, "echo 'The service was down.' > $drafts/why.md");
    let ran = sandbox.ralph(&["plan", "--yes", "--why", "US-002"]).exits(0);
    assert!(
        ran.stdout.contains("The service was down.")
            && ran.stdout.contains("No change is proposed to US-002")
    );
    assert!(!ran.stderr.contains("To change it"), "{}", ran.stderr);
}

const SPEC: &str = "---\ntitle: \"Hello\"\nstatus: pending\ndepends_on: [\"1.1\"]\n---\n\n# 1.2: Hello\n\n## Story\n\nPeople who run the script are greeted.\n\n\
    ## Acceptance criteria\n\n- [ ] `sh greet.sh Ada` prints \"Hello, Ada\"\n\n## Assumptions\n\n- English only\n";

#[test]
fn stories_are_added_beside_those_that_exist() {
    let sandbox = Sandbox::git();
    let first = SPEC
        .replace("[\"1.1\"]", "[]")
        .replace("1.2", "1.1")
        .replace("Hello", "Setup")
        .replace("are greeted", "have one");
    sandbox.write("specs/epic-1/story-1.1-setup.md", &first);
    sandbox.settings(&json!({"stories": {"verify": ["echo ran >> ../tried", "no-such-linter"]}}));
    give(&sandbox, "spec.md", SPEC);
    claude(
        &sandbox,
        "echo gone > $drafts/specs/epic-1/story-1.1-setup.md; cp spec.md $drafts/specs/epic-1/story-1.2-hello.md",
    );
    let ran = sandbox.ralph(&["plan", "--yes", "--stories", "greet"]).exits(0);
    for said in ["1.2  Hello (after 1.1)", "prints \"Hello, Ada\"", "- English only", "ralph stories"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    for said in ["echo ran >> ../tried: runs, passes now", "no-such-linter: command not found"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    assert_eq!(fs::read_to_string(sandbox.root().join("tried")).unwrap(), "ran\n", "each is run once");
    assert_eq!(
        fs::read_to_string(sandbox.root().join("calls")).unwrap(),
        "1\n",
        "the agent cannot change them"
    );
    assert_eq!(sandbox.read("specs/epic-1/story-1.1-setup.md"), first);
    assert_eq!(sandbox.read("specs/epic-1/story-1.2-hello.md"), SPEC);
    sandbox.ralph(&["stories", "check"]).exits(0);
    assert!(!sandbox.has("ralph"));
}

#[test]
fn names_of_specs_are_plain() {
    let sandbox = Sandbox::git();
    give(&sandbox, "spec.md", &SPEC.replace("[\"1.1\"]", "[]"));
    claude(
        &sandbox,
        "mkdir -p $drafts/specs/epic-1; cp spec.md \"$drafts/specs/epic-1/story-1.2-$(printf 'a\\033[2Jb').md\"",
    );
    let ran = sandbox.ralph(&["plan", "--yes", "--stories", "greet"]).exits(1);
    assert!(ran.stderr.contains("the name of the file has other characters"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\x1b') && !ran.stdout.contains('\x1b'), "{:?}", ran.stderr);
    assert!(!sandbox.has("specs"));
}

#[test]
fn words_of_the_agent_never_begin_a_line_of_the_summary() {
    let sandbox = half_done();
    let forged = "\u{1b}[31m\nWritten: nothing";
    let mut more = story("US-003", &format!("More{forged}"));
    more["acceptanceCriteria"] = json!([format!("`sh greet.sh more` prints the line \"More\"{forged}")]);
    let mut draft = list(&[done("US-001", "Hello"), story("US-002", "Goodbye"), more]);
    draft["verifyCommands"] = json!([format!("test -f greet.sh{forged}")]);
    give(&sandbox, "tasks.json", &draft.to_string());
    claude(&sandbox, "cp tasks.json $drafts");
    let ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(0);
    assert!(ran.stdout.contains("US-003  More Written: nothing"), "{}", ran.stdout);
    let begun = ran.stdout.lines().filter(|line| line.starts_with("Written")).count();
    assert!(begun == 1 && !ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let sandbox = half_done();
    claude(&sandbox, "cp tasks.json $drafts");
    sandbox.program("gemini", "true");
    give(&sandbox, "empty.md", " \n");
    give(&sandbox, "large.md", &"x".repeat((1 << 20) + 1));
    fs::write(sandbox.root().join("binary"), [0xff, 0xfe]).unwrap();
    let before = sandbox.sh("find . -path ./.git -prune -o -type f -print | sort | xargs cat");
    for (args, message) in [
        (&["--yes", "x", "--agent", "gemini"][..], "this agent cannot plan: gemini"),
        (&["--yes", "x", "--agent", "nowhere"], "the agent is not installed: nowhere"),
        (&["--from", "nowhere.md"], "cannot read --from: nowhere.md"),
        (&["--from", "../empty.md"], "--from is empty"),
        (&["--from", "../large.md"], "--from is too large"),
        (&["--from", "../binary"], "--from is not UTF-8 text"),
        (&["--from", ".", "--yes"], "cannot read --from"),
        (&["x", "--from", "../empty.md"], "cannot be used with"),
        (&[" "], "TASK is empty"),
        (&["--split", "US-009"], "no such story: US-009"),
        (&["--split", "US-001"], "this story is done: US-001"),
        (&["--why", "US-003"], "did you mean US-00"),
        (&["x", "--ask"], "standard input is not a terminal"),
        (&["x", "--ask", "--format", "json"], "--ask prints questions"),
        (&["x", "--ask", "--agent", "gemini"], "this agent cannot plan"),
        (&["--stories", "--yes"], "nothing to plan"),
        (&["--stories", "--split", "US-002"], "cannot be used with"),
    ] {
        let ran = sandbox.ralph(&[&["plan"], args].concat()).exits(2);
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.stderr);
    }
    sandbox.write("specs", "");
    let ran = sandbox.ralph(&["plan", "--yes", "--stories", "x"]).exits(2);
    assert!(ran.stderr.contains("cannot read") && ran.stderr.contains("specs"), "{}", ran.stderr);
    sandbox.sh("rm specs");
    sandbox.write("ralph/tasks.json", "{ broken");
    let ran = sandbox.ralph(&["plan", "x"]).exits(2);
    assert!(ran.stderr.contains("the list that exists is invalid"), "{}", ran.stderr);
    sandbox.sh("git init -q . && true");
    sandbox.write(
        "ralph/tasks.json",
        serde_json::to_string_pretty(&list(&[done("US-001", "Hello"), story("US-002", "Goodbye")])).unwrap()
            + "\n",
    );
    assert_eq!(sandbox.sh("find . -path ./.git -prune -o -type f -print | sort | xargs cat"), before);
    assert!(!sandbox.home().join("plans").exists(), "nothing was begun");
}

#[test]
fn a_list_that_a_run_works_on_is_not_planned() {
    let sandbox = half_done();
    claude(&sandbox, "true");
    sandbox.sh("git checkout -q -b ralph/greeter && git add -A && git commit -qm plan");
    let agent = sandbox.agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"wait_for": "../go"}]]));
    let running = sandbox.start(&[&["tasks", "-n", "1", "--"], &agent.words()[..]].concat());
    sandbox.until_file("up");
    let ran: Ran = sandbox.ralph(&["plan", "--yes", "more"]).exits(1);
    assert!(ran.stderr.contains("is already working in this directory"), "{}", ran.stderr);
    sandbox.write("../go", "");
    running.end();
}

#[test]
fn the_checks_of_a_plan_are_tried_in_the_sandbox_of_a_run() {
    let sandbox = Sandbox::git().confined();
    give(&sandbox, "prd.md", PRD);
    let mut draft = list(&[story("US-001", "Hello")]);
    draft["verifyCommands"] =
        json!(["touch ../escaped \"$HOME/escaped\"; echo seen > seen; test -f greet.sh"]);
    give(&sandbox, "tasks.json", &draft.to_string());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    let planned = sandbox.ralph(&["plan", "--yes", "greet", "--format", "json"]).exits(0).json();
    assert_eq!(planned["checks"][0]["outcome"], "red");
    assert!(sandbox.has("seen"), "it ran in the project");
    for path in ["escaped", "user/escaped"] {
        assert!(!sandbox.root().join(path).exists(), "{path}");
    }
}
