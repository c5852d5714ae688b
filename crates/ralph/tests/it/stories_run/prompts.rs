//! What an agent is told: the template, and what fills it in.

use super::stage::Stage;
use serde_json::json;

#[test]
fn the_next_prompt_says_what_the_last_attempt_tried_and_why_it_failed() {
    let stage = Stage::new("1.1 1.2");
    let script = "case $try in
        1.1#1) echo 'a wrong turn' > turn.txt; commit turn; echo more > new.txt; FAIL 'the bridge is out' ;;
        *) DONE ;; esac";
    stage.run(&[], script).exits(0);
    assert!(!stage.prompt("1.1#1").contains("THE ATTEMPT BEFORE YOURS"));
    let second = stage.prompt("1.1#2");
    let kept = format!("git diff {}^-2", stage.kept(1));
    for part in ["attempt 2 of 3", "It failed: the bridge is out", "+a wrong turn", "+more", &kept] {
        assert!(second.contains(part), "{part}\n{second}");
    }
    assert!(stage.sandbox.sh(&kept).contains("+a wrong turn"), "and the command works");
    assert!(!stage.prompt("1.2#1").contains("the bridge is out"), "another story is not told");
}

#[test]
fn a_large_attempt_is_told_in_part() {
    let stage = Stage::new("1.1");
    let script = "case $try in *#1) seq 100000 > big.txt; echo here > small.txt; FAIL no ;; *) DONE ;; esac";
    stage.run(&[], script).exits(0);
    let prompt = stage.prompt("1.1#2");
    // Every file is named before the first of them fills the room.
    let stat = prompt.split("diff --git").next().unwrap();
    assert!(stat.contains(" small.txt |") && stat.contains("2 files changed, 100001 insertions"), "{stat}");
    assert!(prompt.contains("+100\n") && prompt.len() < 12_000, "{} bytes", prompt.len());
}

#[test]
fn an_attempt_that_was_put_aside_unjudged_does_not_hide_the_one_that_failed() {
    let stage = Stage::new("1.1");
    stage.sandbox.claude(&json!([
        [{"write": {"path": "tried", "content": "the first way\n"}}, {"say": "<ralph>FAIL 1.1: too far</ralph>"}],
        [
            {"write": {"path": "tried", "content": "half of another\n"}},
            {"result": {"is_error": true, "api_error_status": 529, "text": "API Error: 529 Overloaded"}},
            {"exit": 1}
        ],
        [{"save_prompt": "../told"}, {"say": "<ralph>DONE 1.1</ralph>"}],
    ]));
    stage.sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.01}}));
    stage.sandbox.ralph(&["stories"]).exits(0);
    let prompt = stage.sandbox.read("../told");
    assert!(prompt.contains("It failed: too far") && prompt.contains("+the first way"), "{prompt}");
    assert!(!prompt.contains("half of another") && prompt.contains("attempt 2 of 3"), "{prompt}");
    assert!(!stage.sandbox.has("tried"), "each agent began where the story began");
    assert_eq!(stage.sandbox.sh(&format!("git show {}:tried", stage.kept(2))), "half of another\n");
}

#[test]
fn learnings_of_earlier_stories_and_runs_are_given_to_later_ones() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("progress.txt", "[LEARN] the port is 8081\n");
    stage.run(&[], "case $try in 1.1#1) LEARN 'no $HOME here'; FAIL x ;; *) DONE ;; esac").exits(0);
    assert!(stage.prompt("1.1#1").contains("- the port is 8081"));
    for prompt in ["1.1#2", "1.2#1"] {
        let text = stage.prompt(prompt);
        assert!(text.contains("- the port is 8081\n- no $HOME here"), "{text}");
    }
    assert_eq!(stage.progress()[..2], ["[LEARN] the port is 8081", "[LEARN] no $HOME here"]);
}

#[test]
fn rules_and_verification_come_from_the_settings_and_verification_is_also_run() {
    let stage = Stage::new("1.1");
    stage.sandbox.settings(&json!({"stories": {
        "rules": ["Money is integer cents.", "No new dependencies."],
        "verify": ["test -e built", "test -e tested"],
    }}));
    let script = "case $try in 1.1#1) : > built ;; *) : > built; : > tested ;; esac; DONE";
    stage.run(&[], script).exits(0);
    let prompt = stage.prompt("1.1#1");
    for part in
        ["\n- Money is integer cents.\n- No new dependencies.", "\n   - test -e built\n   - test -e tested\n"]
    {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }
    assert_eq!(stage.asked(), "1.1 1.1", "what the agent says is not enough");
}

#[test]
fn the_template_can_be_replaced() {
    let stage = Stage::new("1.1 1.2<1.1");
    stage.sandbox.settings(&json!({"stories": {"rules": ["r1"], "verify": ["true"], "maxRetries": 2}}));
    stage.sandbox.write(
        ".ralph/templates/story.md",
        "{{ story.id }}|{{ story.title }}|{{ story.spec }}|{{ story.depends_on|join }}|{{ attempt }}/{{ max_attempts }}\
         |{{ rules|join }}|{{ verify|join }}|{{ learnings|join(',') }}|{{ last_failure or 'none' }}|{{ 'git' if git else 'no git' }}\n\
         {% if last_kept %}{{ last_kept }} {{ last_diff }}{% endif %}{{ spec }}",
    );
    let script = "case $try in 1.2#1) LEARN l; echo x > new; FAIL why ;; *) DONE ;; esac";
    stage.run(&[], script).exits(0);
    let spec = |deps: &str, id: &str| {
        format!("---\nstatus: pending\ndepends_on: {deps}\n---\n# Build part {id}\n\nIt works.\n")
    };
    assert_eq!(
        stage.prompt("1.1#1"),
        format!(
            "1.1|Part 1 1|specs/epic-1/story-1.1-part-1-1.md||1/2|r1|true||none|git\n{}",
            spec("[]", "1.1")
        )
    );
    let second = stage.prompt("1.2#2");
    let first_line = "1.2|Part 1 2|specs/epic-1/story-1.2-part-1-2.md|1.1|2/2|r1|true|l|why|git\n";
    assert!(second.starts_with(&format!("{first_line}{}  new | 1 +\n", stage.kept(1))), "{second}");
    assert!(second.contains("\n\ndiff --git a/new b/new\n"), "{second}");
    assert!(second.ends_with(&spec("[\"1.1\"]", "1.2")), "{second}");
}

#[test]
fn a_wrong_template_is_refused_with_its_line_before_anything_runs() {
    for (template, said) in [
        ("fine\n{{ stroy.id }}\n", "(line 2)"),
        ("a\nb\n{% for rule in rules %}\n", "(line 3)"),
        ("{{ story.id|shout }}", "(line 1)"),
    ] {
        let stage = Stage::new("1.1");
        stage.sandbox.write(".ralph/templates/story.md", template);
        let refused = stage.run(&[], "DONE").exits(2);
        assert!(refused.stderr.contains(".ralph/templates/story.md"), "{}", refused.stderr);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
        assert_eq!((stage.asked().as_str(), stage.sandbox.runs().len()), ("", 0));
    }
}

#[test]
fn a_run_keeps_the_template_it_began_with() {
    let stage = Stage::new("1.1");
    stage.sandbox.write(".ralph/templates/story.md", "the first\n");
    let script =
        "printf 'the second {{' > .ralph/templates/story.md; case $try in *#2) DONE ;; *) FAIL x ;; esac";
    stage.run(&[], script).exits(0);
    assert_eq!(stage.prompt("1.1#2"), "the first\n");
}

#[test]
fn without_git_nothing_is_promised_that_needs_it() {
    let stage = Stage::without_git("1.1");
    stage.run(&[], "DONE").exits(0);
    let prompt = stage.prompt("1.1#1");
    for said in ["git", "as they were"] {
        assert!(!prompt.contains(said), "{said}\n{prompt}");
    }
}

#[test]
fn what_ralph_writes_is_not_told_as_the_doing_of_a_failed_attempt() {
    let stage = Stage::new("1.1 1.2 1.3 1.4");
    // Files that ralph writes can be committed all the same.
    stage.write_state(&[], None, 0);
    stage.sandbox.write("progress.txt", "[LEARN] first\n");
    stage.sandbox.sh("git add -f .ralph/state.json progress.txt && git commit -q -m all");
    let script = "case $try in
        *#1) echo wrong > way; echo 'and more' >> specs/epic-1/story-1.1-part-1-1.md
             LEARN \"from $RALPH_STORY\"; FAIL 'no way' ;;
        *) echo $RALPH_STORY >> made; DONE ;; esac";
    let ran = stage.run(&["--log-file", "run.log"], script).exits(0);
    assert!(ran.stdout.contains(&format!("  git diff {}^-", stage.kept(1))), "{}", ran.stdout);
    for story in ["1.1", "1.2", "1.3", "1.4"] {
        let prompt = stage.prompt(&format!("{story}#2"));
        let (_, rest) = prompt.split_once("They start like this:").unwrap();
        let (diff, _) = rest.split_once("## STORY SPECIFICATION").unwrap();
        for agents in ["+++ b/way\n", "+wrong\n", "+and more\n"] {
            assert!(diff.contains(agents), "{story}: {agents}\n{diff}");
        }
        let (_, command) = prompt.split_once("Its changes were set aside (").unwrap();
        let all = stage.sandbox.sh(command.split_once(')').unwrap().0);
        assert!(all.contains("+wrong\n") && all.contains("+and more\n"), "{story}: {all}");
        for ralphs in ["progress.txt", "state.json", "run.log", "+status", "-status", "made"] {
            assert!(!diff.contains(ralphs), "{story}: {ralphs}\n{diff}");
            assert!(!all.contains(ralphs), "{story}: {ralphs}\n{all}");
        }
    }
}

#[test]
fn an_attempt_that_left_nothing_but_what_ralph_wrote_is_not_kept() {
    let stage = Stage::new("1.1");
    stage.write_state(&[], None, 0);
    stage.sandbox.sh("git add -f .ralph/state.json && git commit -q -m all");
    stage.run(&[], "case $try in *#1) LEARN x; FAIL 'no way' ;; *) DONE ;; esac").exits(0);
    let prompt = stage.prompt("1.1#2");
    assert!(prompt.contains("It failed: no way") && !prompt.contains("put aside"), "{prompt}");
    assert_eq!(stage.sandbox.sh("git for-each-ref refs/ralph"), "");
}
