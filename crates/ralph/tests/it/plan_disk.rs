//! `ralph plan` on a disk that is full, or nearly: a whole plan or the old files, and nothing in between.

use crate::disk::with_mounts;
use crate::plan::{PRD, claude, done, give, half_done, list, story};
use crate::support::Sandbox;
use std::fs;

/// A project, with copies of its files in `old` beside it, and a plan that needs several pages for each of its files.
fn large_plan(before_the_end: &str) -> Sandbox {
    let sandbox = half_done();
    sandbox.sh("cp -r ralph ../old");
    let mut stories = vec![done("US-001", "Hello"), story("US-002", "Goodbye")];
    stories.extend((3..40).map(|number| story(&format!("US-{number:03}"), &format!("Greeting {number}"))));
    give(&sandbox, "tasks.json", &list(&stories).to_string());
    let assumptions = (0..200).map(|number| format!("- Greeting number {number} is in English\n"));
    give(&sandbox, "prd.md", &format!("{PRD}\n## Assumptions\n\n{}", assumptions.collect::<String>()));
    give(&sandbox, "fill.sh", FILL);
    claude(&sandbox, &format!("cp prd.md tasks.json $drafts\n{before_the_end}"));
    sandbox
}

/// Takes all of a disk but `$left` pages.
const FILL: &str = r#"fill() {
  pages=$(($(stat -f -c %a "$1") - left))
  test "$pages" -le 0 || dd if=/dev/zero of="$1/fill" bs=4096 count=$pages 2> /dev/null
}"#;

/// Plans with more and more room on the small disk.
const PLAN: &str = r#"
for left in 0 1 2 3 4 5 6 7 8 30; do
  cp ../old/* ralph; : > ../said
  export left
  before; "$RALPH" plan --yes more > ../said 2>&1; code=$?; after
  if cmp -s ralph/prd.md ../old/prd.md && cmp -s ralph/tasks.json ../old/tasks.json; then files=old
  elif grep -q 'number 199' ralph/prd.md && grep -q US-039 ralph/tasks.json; then files=new
  else files=MIXED; fi
  echo "$left: $code $files" $(ls -A ralph) / $(grep -c 'No space left on device' ../said)
done
"#;

/// Nearly full it does not work, with more room it does.
fn check(sandbox: &Sandbox, prepare: &str) {
    let script = format!(". ../fill.sh\n{prepare}\n{PLAN}");
    let Some(ran) = with_mounts(sandbox, &script) else { return };
    let ran = ran.exits(0);
    let (failed, planned): (Vec<&str>, Vec<&str>) =
        ran.stdout.lines().partition(|line| line.contains(": 1 old "));
    assert!(failed.len() > 1 && !planned.is_empty(), "{}{}", ran.stdout, ran.stderr);
    for line in failed {
        assert!(line.ends_with("1 old prd.md tasks.json / 1"), "{line}\n{}", ran.stdout);
    }
    for line in planned {
        assert!(line.ends_with("0 new prd.md tasks.json / 0"), "{line}\n{}", ran.stdout);
    }
}

#[test]
fn a_full_disk_of_the_project_leaves_the_old_files_and_nothing_beside_them() {
    let sandbox = large_plan("");
    check(
        &sandbox,
        "mount -t tmpfs -o size=512k tmpfs . && cd \"$PWD\" && mkdir ralph || exit 99
         before() { fill .; }
         after() { rm -f fill; }",
    );
}

#[test]
fn a_full_disk_of_the_record_leaves_the_old_files_too() {
    // The agent's drafts still fit.
    let sandbox = large_plan(". ./fill.sh; fill \"$RALPH_HOME\"");
    fs::create_dir_all(sandbox.home()).unwrap();
    check(
        &sandbox,
        "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$RALPH_HOME\" || exit 99
         before() { :; }
         after() { rm -rf \"$RALPH_HOME\"/fill \"$RALPH_HOME\"/plans; }",
    );
}
