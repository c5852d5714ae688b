//! A whole project: twelve stories in three epics, with dependencies, failures and retries.

use super::stage::{Stage, spec_path};

pub const STORIES: &str =
    "1.1 1.2<1.1 1.3 1.10<1.9 1.9<1.2 2.1<1.1 2.2<2.1<3.1 2.3 3.1<1.3 3.2<3.1 3.3<2.2 3.4";

/// Each commits its own file; some fail first, in every way there is.
const SCRIPT: &str = "echo half > half-$RALPH_STORY
case $try in
    1.2#1) FAIL 'not yet' ;;
    1.9#1) commit \"$RALPH_STORY, too early\"; echo nothing to say ;;
    2.1#1 | 2.1#2) git add -A; exit 5 ;;
    2.2#1) echo \"<ralph>DONE 2.1</ralph>\" ;;
    3.1#1) LEARN 'mind the gap'; echo \"<ralph>DONE 3.1</ralph>\" ;;
    3.3#1) sleep 600 ;;
    *) rm half-$RALPH_STORY; echo $try > made-$RALPH_STORY; commit \"story $RALPH_STORY\"; DONE ;; esac";

const ORDER: [&str; 12] =
    ["1.1", "1.2", "1.3", "1.9", "1.10", "2.1", "2.3", "3.1", "2.2", "3.2", "3.3", "3.4"];

#[test]
fn twelve_stories_with_dependencies_failures_and_retries() {
    let stage = Stage::new(STORIES);
    stage.sandbox.write("mine", "not committed\n");
    stage.sandbox.sh("git add -N mine && git reset -q mine");
    // The check knows what has to be there.
    let check = format!("test -e \"made-$(tail -n 1 '{}')\"", stage.at("asked").display());
    let ran = stage.run(&["-t", "15", "--check", &check, "--format", "json"], SCRIPT);
    let result = ran.stops(0, "completed", 19);
    assert_eq!(result["success"], true);
    let mut asked: Vec<String> = stage.asked().split(' ').map(String::from).collect();
    assert_eq!(asked.len(), 19);
    asked.dedup();
    assert_eq!(asked, ORDER);
    assert_eq!(stage.state(), format!("{} / - / 0", ORDER.join(" ")));

    let progress = stage.progress();
    for id in ORDER {
        let done = format!("[DONE] Story {id} - Part {} - TIME", id.replace('.', " "));
        assert_eq!(progress.iter().filter(|line| **line == done).count(), 1, "{progress:#?}");
        assert_eq!(
            progress.iter().filter(|line| line.starts_with(&format!("[DONE] Story {id} "))).count(),
            1
        );
        assert!(stage.sandbox.read(&spec_path(id)).contains("status: done"), "{id}");
        assert!(stage.sandbox.has(&format!("made-{id}")));
        assert!(!stage.sandbox.has(&format!("half-{id}")), "{id}");
    }
    assert_eq!(progress.iter().filter(|line| line.starts_with("[FAIL]")).count(), 7);
    assert_eq!(progress.iter().filter(|line| *line == "[LEARN] mind the gap").count(), 1);
    let commits: Vec<String> = ORDER.iter().map(|id| format!("story {id}")).collect();
    assert_eq!(stage.commits(), commits.join(", "), "one each, in this order");
    let kept = stage.sandbox.sh("git for-each-ref --format='%(refname)' refs/ralph");
    assert_eq!(kept.lines().count(), 7, "{kept}");
    assert!(stage.prompt("3.2#1").contains("- mind the gap"));
    stage.sandbox.nothing_is_left();
}
