//! `ralph ls`, `runs` and `status --watch`: what they show of many runs, on screens of any size and in a pipe.

use crate::pty::{CTRL_C, Terminal};
use crate::support::{Agent, Running, Sandbox, until};
use crate::workers::Yard;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unicode_width::UnicodeWidthStr;

/// Says something and waits for the end of the test.
fn waiting(sandbox: &Sandbox) -> Agent {
    sandbox.sh_agent("cat > /dev/null; echo words; while [ ! -e ../go ]; do sleep 0.05; done")
}

/// Another project.
fn other(yard: &Yard) -> PathBuf {
    let other = yard.0.root().join("other");
    fs::create_dir_all(&other).unwrap();
    other
}

/// Two live workers of another project, a run in a terminal, and a worker that has ended.
fn several(yard: &Yard) -> Running {
    let other = other(yard);
    for (name, asked) in [("w10", "# Write docs\nall of them"), ("w2", "Fix login")] {
        let args = ["-p", asked, "-n", "3", "--share-workspace", "-C", other.to_str().unwrap()];
        yard.spawn_as(name, &args, &waiting(&yard.0)).exits(0);
        yard.until_says(name, "words");
    }
    yard.spawn_as("a1", &["-f", "PROMPT.md", "-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    let running = yard.0.begin(&["-p", "Tidy up", "-n", "2"], &waiting(&yard.0));
    until("the agent", || running.stdout().contains("words"));
    running
}

/// The id of the run in the terminal.
fn id_of(yard: &Yard) -> String {
    let names = yard.0.ralph(&["ls", "--format", "names"]).exits(0).stdout;
    names.lines().next().unwrap().to_string()
}

fn on_xterm(sandbox: &Sandbox) -> impl FnOnce(&Path) -> Command {
    |program: &Path| {
        let mut command = sandbox.command(program.to_str().unwrap());
        command.env("TERM", "xterm");
        command
    }
}

/// What a command shows on a terminal.
fn on_screen(sandbox: &Sandbox, columns: u16, args: &[&str]) -> Vec<String> {
    let (code, seen) = Terminal::sized(columns, 24, on_xterm(sandbox), args).end();
    assert_eq!(code, Some(0), "{seen}");
    seen.lines().map(String::from).collect()
}

/// One space between words, and times as `[TIME]`.
fn without_times(lines: &[String]) -> String {
    let is_time = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.ends_with(['s', 'm'])
            && word.chars().all(|c| c.is_ascii_digit() || "hms.".contains(c))
    };
    let word = |word: &str| if is_time(word) { "[TIME]".to_string() } else { word.to_string() };
    let line = |line: &String| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n";
    lines.iter().map(line).collect()
}

#[test]
fn live_runs_of_all_projects_are_listed_in_natural_order_and_then_ended_workers() {
    let yard = Yard::new();
    let _running = several(&yard);
    let id = id_of(&yard);
    let names = |args: &[&str]| yard.0.ralph(&[args, &["--format", "names"]].concat()).exits(0).stdout;
    assert_eq!(names(&["ls"]), format!("{id}\nw2\nw10\na1\n"));
    assert_eq!(names(&["ls", "--here"]), format!("{id}\na1\n"));
    assert_eq!(names(&["ls", "--here", "-C", "../other"]), "w2\nw10\n");
    assert_eq!(names(&["runs", "--here", "-C", "../other"]).lines().count(), 2);
    assert_eq!(names(&["runs"]).lines().count(), 4);
    yard.0.ralph(&["pause", "w2"]).exits(0);
    // Its agent goes on until the end of its iteration.
    assert!(
        on_screen(&yard.0, 80, &["ls"]).iter().any(|line| line.contains("w2 ") && line.contains(" pausing "))
    );
    yard.0.ralph(&["resume", "w2"]).exits(0);
    let listed = on_screen(&yard.0, 120, &["ls"]);
    insta::assert_snapshot!("ls", without_times(&listed).replace(&id, "[RUN]"));
    let listed = on_screen(&yard.0, 80, &["ls"]);
    // How much there is of it depends on the time.
    let state = |line: &str| match line.split_once("stopped (").and_then(|(_, rest)| rest.split_once('…')) {
        Some((cut, _)) => line.replace(cut, ""),
        None => line.to_string(),
    };
    let listed: Vec<String> = listed.iter().map(|line| state(line)).collect();
    insta::assert_snapshot!("ls_80", without_times(&listed).replace(&id, "[RUN]"));
    let runs = on_screen(&yard.0, 80, &["runs"]);
    assert_eq!(runs.iter().filter(|line| line.contains(" running ")).count(), 3, "{runs:#?}");
    assert!(
        runs.iter().any(|line| line.contains(" max_iterations ") && line.contains(" PROMPT.md ")),
        "{runs:#?}"
    );
    for columns in [20, 40, 80, 200] {
        for command in ["ls", "runs"] {
            let lines = on_screen(&yard.0, columns, &[command]);
            assert!(lines.iter().all(|line| line.width() <= usize::from(columns)), "{columns}: {lines:#?}");
            assert_eq!(lines.len(), 5, "{columns}: {lines:#?}");
        }
    }
    let piped = yard.0.ralph(&["ls"]).exits(0).stdout;
    assert!(
        piped.contains("Write docs") && piped.contains(" other\n") && piped.contains(" PROJECT\n"),
        "{piped}"
    );
}

#[test]
fn a_list_shows_the_tool_that_an_agent_is_using() {
    let sandbox = Sandbox::bare();
    let tool = json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test"}}]}});
    sandbox.claude(&json!([[{"raw": format!("{tool}\n")}, {"hang": true}]]));
    let running = sandbox.start(&["run", "-p", "x", "-n", "1"]);
    until("the tool in the list", || sandbox.ralph(&["ls"]).stdout.contains(" Bash cargo test "));
    let view = sandbox.ralph(&["ls", "--format", "json"]).exits(0).json()[0]["view"].take();
    assert_eq!(view["agent_now"]["tool"]["name"], "Bash", "{view:#}");
    assert!(view["now"].as_str().unwrap().starts_with("Bash cargo test "), "{view:#}");
    let mut terminal =
        Terminal::sized(60, 24, on_xterm(&sandbox), &["status", "--watch", &sandbox.only_run()]);
    terminal.expect("Now: Bash cargo test ");
    terminal.key(CTRL_C);
    assert_eq!(terminal.end().0, Some(0));
    running.kill();
    sandbox.soon_nothing_is_left();
    let view = sandbox.listed()["view"].take();
    assert_eq!((&view["alive"], &view["now"]), (&json!(false), &Value::Null), "{view:#}");
    assert_eq!(view["agent_now"]["tool"], Value::Null, "nothing uses it any more: {view:#}");
}

#[test]
fn the_time_of_a_live_run_is_live() {
    let yard = Yard::new();
    let running = yard.0.begin(&["-p", "Tidy up", "-n", "2"], &waiting(&yard.0));
    until("the agent", || running.stdout().contains("words"));
    let up =
        || yard.0.ralph(&["ls", "--format", "json"]).exits(0).json()[0]["view"]["up_ms"].as_u64().unwrap();
    let before = up();
    until("time has passed", || up() > before + 1000);
    let seconds = |line: &str| line.trim_end_matches('s').parse::<u64>().ok();
    let shown = || {
        let status = yard.0.ralph(&["status"]).exits(0).stdout;
        status.lines().find_map(|line| line.strip_prefix("Time: ").map(str::to_string)).unwrap()
    };
    until("the status counts", || seconds(&shown()).is_none_or(|now| now > before / 1000));
    yard.0.ralph(&["show"]).exits(0).says("asked      Tidy up\n").says(" so far)\n");
}

#[test]
fn hostile_names_are_shown_safely_in_every_list() {
    let yard = Yard::new();
    let name = "\u{1b}[31m\u{202e}\u{200f}שלום\u{1b}]0;title\u{7} 👩\u{200d}🚀";
    let dir = yard.0.root().join(name);
    fs::create_dir(&dir).unwrap();
    let asked = format!("\u{1b}[2J\u{202e}{}", "日本👩\u{200d}🚀e\u{301}".repeat(1_500));
    let args = ["-p", &asked, "-n", "3", "-C", dir.to_str().unwrap()];
    yard.spawn_as("evil", &args, &waiting(&yard.0)).exits(0);
    yard.until_says("evil", "words");
    for args in [&["ls"][..], &["runs"], &["status"], &["status", "--watch"], &["show", "evil"]] {
        let ran = yard.0.ralph(args).exits(0);
        let bad = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200f}".contains(c);
        assert!(!ran.stdout.contains(bad) && !ran.stdout.contains("title"), "{args:?}: {:.999?}", ran.stdout);
    }
    for columns in [20, 80, 200] {
        for command in ["ls", "runs"] {
            let lines = on_screen(&yard.0, columns, &[command]);
            assert!(lines.iter().all(|line| line.width() <= usize::from(columns)), "{lines:#?}");
            assert!(!lines.concat().contains('\u{1b}'), "{lines:#?}");
        }
    }
}

#[test]
fn status_watch_fits_the_screen_and_leaves_it_as_it_was() {
    let yard = Yard::new();
    let _running = several(&yard);
    let piped = yard.0.ralph(&["status", "--watch"]).exits(0).stdout;
    assert_eq!(piped.lines().count(), 5, "once, a line per run: {piped}");
    let mut terminal = Terminal::sized(60, 4, on_xterm(&yard.0), &["status", "--watch"]);
    terminal.expect("\u{1b}[?1049h");
    terminal.expect("NAME");
    terminal.expect("… and 2 more");
    // Again, from the upper left corner.
    terminal.expect("\u{1b}[H");
    terminal.expect("… and 2 more");
    terminal.key(CTRL_C);
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen:?}");
    assert!(seen.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{seen:?}");
    let frame = seen.split("\u{1b}[H").nth(1).unwrap().replace("\u{1b}[K", "");
    let frame: Vec<&str> = frame.split("\u{1b}[J").next().unwrap().lines().collect();
    assert!(frame.len() == 4 && frame.iter().all(|line| line.width() <= 60), "{frame:#?}");
}

#[test]
fn one_run_is_watched_in_full_or_in_a_line_if_that_does_not_fit() {
    let yard = Yard::new();
    let _running = several(&yard);
    for (rows, waited) in [(30, "Status: running"), (6, "STATE")] {
        let mut terminal = Terminal::sized(100, rows, on_xterm(&yard.0), &["status", "w2", "--watch"]);
        terminal.expect(waited);
        terminal.key(CTRL_C);
        let (code, seen) = terminal.end();
        assert!(code == Some(0) && !seen.contains(" more"), "{seen:?}");
    }
}

#[test]
fn what_is_done_of_a_list_counts_stories() {
    use crate::tasks_support::{list, new, project, right};
    let sandbox = project(&list(&[right("US-001", 1), new("US-002"), new("US-003")]));
    let agent = sandbox.sh_agent("cat > /dev/null; echo nothing to say");
    sandbox.ralph(&[&["tasks", "-n", "1", "--"], &agent.words()[..]].concat()).exits(1);
    let runs = sandbox.ralph(&["runs"]).exits(0).stdout;
    assert!(runs.lines().nth(1).unwrap().contains(" 1/3 "), "{runs}");
}

/// Whether a value is what a schema says, as far as `ralph schema view` uses schemas.
fn fits(schema: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => panic!("{kind}"),
    };
    let kind = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    };
    let any = schema["anyOf"].as_array().is_none_or(|kinds| kinds.iter().any(|kind| fits(kind, value)));
    let listed = schema["enum"].as_array().is_none_or(|words| words.contains(value));
    let constant = schema.get("const").is_none_or(|word| word == value);
    let items = value.as_array().is_none_or(|items| items.iter().all(|item| fits(&schema["items"], item)));
    let whole = schema["required"].as_array().is_none_or(|names| {
        value.is_null() || names.iter().all(|name| value.get(name.as_str().unwrap()).is_some())
    });
    let fields = schema["properties"].as_object().is_none_or(|fields| {
        fields.iter().all(|(name, field)| value.get(name).is_none_or(|value| fits(field, value)))
    });
    kind && any && listed && constant && items && whole && fields
}

#[test]
fn the_json_of_every_list_is_as_the_schema_says() {
    let yard = Yard::new();
    let _running = several(&yard);
    yard.0.write("go", "");
    let check =
        ["-p", "x", "-n", "1", "--max-cost", "5", "--check", "false", "-C", "../other", "--share-workspace"];
    yard.0.run(&check, &yard.0.sh_agent("cat")).exits(1);
    let schema = yard.0.ralph(&["schema", "view"]).exits(0).json();
    let mut views = Vec::new();
    for command in [&["ls"][..], &["runs"], &["status"]] {
        let listed = yard.0.ralph(&[command, &["--format", "json"]].concat()).exits(0).json();
        assert!(listed.as_array().unwrap().len() >= 4, "{listed:#}");
        views.extend(listed.as_array().unwrap().iter().map(|object| object["view"].clone()));
    }
    for view in views {
        assert!(fits(&schema, &view), "{view:#}");
        for name in view.as_object().unwrap().keys() {
            assert!(schema["properties"].get(name).is_some(), "{name} is not described");
        }
        for (name, field) in schema["properties"].as_object().unwrap() {
            assert!(fits(field, &view[name]), "{name}: {field} {}", view[name]);
            assert!(field["description"].as_str().is_some_and(|doc| doc.ends_with('.')), "{name}");
        }
    }
    assert!(!fits(&schema, &json!({"id": "x"})), "the test can fail");
}
