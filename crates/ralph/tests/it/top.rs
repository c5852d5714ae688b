//! `ralph top` on a real terminal, which an emulator shows as a person would see it.

use crate::screen::{Closed, Screen, winsize};
use crate::support::{RALPH, Running, Sandbox, until};
use crate::tasks_support::{list, new, project, with};
use crate::terminal::skip;
use rustix::process::{Signal, kill_process};
use rustix::termios::tcsetwinsize;
use serde_json::json;
use std::fs;

const UP: &str = "\u{1b}[A";
const DOWN: &str = "\u{1b}[B";
const RIGHT: &str = "\u{1b}[C";

fn resize(screen: &mut Screen, columns: u16, rows: u16) {
    screen.screen.screen_mut().set_size(rows, columns);
    tcsetwinsize(&screen.master, winsize(columns, rows)).unwrap();
}

/// The window is closed: nothing can be read from its terminal, or written to it, any more.
fn close_window(screen: Screen) -> Closed {
    screen.child
}

/// `ralph top` on a terminal of this size.
fn start(sandbox: &Sandbox, args: &[&str], size: (u16, u16)) -> Screen {
    start_with(sandbox, args, size, &[])
}

fn start_with(sandbox: &Sandbox, args: &[&str], size: (u16, u16), env: &[(&str, &str)]) -> Screen {
    let mut setsid = sandbox.command("setsid");
    setsid.env("TZ", "UTC").envs(env.iter().copied());
    Screen::start(setsid, &[&[RALPH, "top"], args].concat(), size)
}

/// A run from long ago, whose record never changes.
fn recorded(sandbox: &Sandbox, id: &str, journal: &str) {
    let dir = sandbox.home().join("runs").join(id);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("journal.jsonl"), journal).unwrap();
}

/// Three of them: a prompt with checks, a task list, one with a proof.
fn with_records() -> Sandbox {
    let sandbox = Sandbox::bare();
    recorded(&sandbox, "20261115-215225-f72a", include_str!("fixtures/journal-v1.jsonl"));
    recorded(&sandbox, "20261116-000000-aaaa", include_str!("fixtures/journal-v2-tasks.jsonl"));
    recorded(&sandbox, "20261117-000000-bbbb", include_str!("fixtures/journal-v5-proof.jsonl"));
    sandbox
}

/// A live run whose agent speaks and waits.
fn live(sandbox: &Sandbox, args: &[&str]) -> Running {
    sandbox.plain_settings();
    let agent = sandbox.sh_agent(
        "cat > /dev/null; for i in 1 2 3; do echo words $i of agent $RALPH_ITERATION; done; \
         echo x > began.$RALPH_ITERATION; until [ -e go.$RALPH_ITERATION ]; do sleep 0.02; done",
    );
    let running = sandbox.begin(&[&["-p", "Do task A"], args].concat(), &agent);
    sandbox.until_file("began.1");
    running
}

#[test]
fn every_tab_of_a_recorded_run_at_80_columns() {
    let sandbox = with_records();
    let mut top = start(&sandbox, &["20261115"], (80, 24));
    for (key, waited) in [
        ("1", "scm: git commit"),
        ("2", "no stories"),
        ("3", "grep -q 3 a"),
        ("5", "] iteration 3"),
        ("6", "total $"),
    ] {
        top.keys(key);
        top.until(waited, |screen| screen.contains(waited) && screen.contains("3 runs"));
        insta::assert_snapshot!(format!("top_80_tab_{key}"), top.text());
    }
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn a_task_list_at_200_columns() {
    let sandbox = with_records();
    let mut top = start(&sandbox, &["20261116"], (200, 60));
    top.until("the list and the run", |screen| {
        screen.contains("3 runs") && screen.contains("US-001 is approved")
    });
    insta::assert_snapshot!("top_200_now", top.text());
    top.keys("\t");
    top.shows("[plan]");
    insta::assert_snapshot!("top_200_plan", top.text());
    top.keys("?");
    top.shows("attach to a worker");
    top.keys("?q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn a_live_run_is_shown_as_it_speaks_and_is_steered_with_keys() {
    let sandbox = Sandbox::bare();
    let running = live(&sandbox, &["-n", "3"]);
    let mut top = start(&sandbox, &[], (100, 30));
    top.shows("words 3 of agent 1");
    top.shows("1 live, 1 run");
    top.keys("p");
    top.shows(" pauses after this iteration");
    sandbox.until_fact("the pause", |fact| fact["asked"] == "pause");
    top.keys("r");
    sandbox.until_fact("the end of the pause", |fact| fact["asked"] == "continue");
    top.keys("s");
    top.shows("say to ");
    // A paste is no keys: its line end sends nothing.
    top.keys("\u{1b}[200~mind the\nquiet\u{1b}[201~");
    top.shows(": mind the quiet");
    top.keys("\r");
    sandbox.until_fact("the note", |fact| !fact["asked"]["say"].is_null());
    top.keys("l2\r");
    sandbox.until_fact("the limit", |fact| fact["asked"]["set"]["max_iterations"] == 2);
    sandbox.write("go.1", "");
    top.shows("words 3 of agent 2");
    top.shows("2/2");
    top.keys("x");
    top.shows("? (y/n)");
    top.keys("n");
    top.until("the question to go", |screen| !screen.contains("? (y/n)"));
    top.keys("xy");
    top.shows("killed");
    running.end().exits(1);
    top.shows("0 live, 1 run");
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
    sandbox.nothing_is_left();
}

#[test]
fn the_screen_follows_a_resize_down_to_20_by_5() {
    let sandbox = with_records();
    let mut top = start(&sandbox, &[], (80, 24));
    top.shows("0 live, 3 runs");
    resize(&mut top, 20, 5);
    top.until("the small screen", |screen| screen.lines().all(|line| !line.contains('│')));
    top.shows("? help  q quit");
    top.keys("?");
    top.shows("Tab, Shift+Tab");
    top.keys(&DOWN.repeat(30));
    top.shows("q, Ctrl+C");
    top.keys("?");
    top.keys(RIGHT);
    top.shows("[now] 1/6");
    resize(&mut top, 200, 60);
    top.shows("[ ] iteration");
    resize(&mut top, 1, 1);
    resize(&mut top, 100, 30);
    top.shows("0 live, 3 runs");
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn a_record_that_is_removed_torn_damaged_or_newer_does_no_harm() {
    let sandbox = with_records();
    let v1 = include_str!("fixtures/journal-v1.jsonl");
    recorded(&sandbox, "20261118-000000-torn", &v1[..v1.len() - 20]);
    recorded(&sandbox, "20261119-000000-dama", "{\"v\":1,\"seq\":1}\n{}\n");
    recorded(&sandbox, "20261120-000000-newr", "{\"v\":999,\"seq\":1}\n");
    let mut top = start(&sandbox, &[], (120, 20));
    top.shows("0 live, 6 runs");
    top.until("the newer one", |screen| screen.contains("written by a newer ralph"));
    top.keys("j");
    top.until("the damaged one", |screen| screen.contains("damaged") || screen.contains("line 1"));
    top.keys("j");
    top.shows("crashed · iteration 3/10");
    fs::remove_dir_all(sandbox.home().join("runs/20261118-000000-torn")).unwrap();
    top.shows("0 live, 5 runs");
    fs::remove_dir_all(sandbox.home()).unwrap();
    top.shows("no runs yet");
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn a_signal_ends_it_and_restores_the_terminal() {
    let sandbox = with_records();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut top = start(&sandbox, &[], (80, 24));
        top.shows("0 live, 3 runs");
        kill_process(top.pid(), signal).unwrap();
        assert_eq!(top.restored().0, Some(0));
    }
}

#[test]
fn a_window_that_is_closed_ends_it() {
    let sandbox = with_records();
    let mut top = start(&sandbox, &[], (80, 24));
    top.shows("0 live, 3 runs");
    let mut closed = close_window(top);
    until("its end", || closed.0.try_wait().unwrap().is_some());
}

#[test]
fn only_the_end_of_a_long_stream_is_read() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.sh_agent(
        "cat > /dev/null; echo the first words; yes 'so many words' | head -n 700000; echo the last words; \
         echo x > began; until [ -e go ]; do sleep 0.02; done; echo words after them",
    );
    let running = sandbox.begin(&["-p", "# Speak at length\n\nAnd more", "-n", "1"], &agent);
    // All of it is there before anything is read.
    sandbox.until_file("began");
    let stream = sandbox.run_dir().join("streams/1-1.out");
    until("the stream", || fs::read_to_string(&stream).is_ok_and(|text| text.ends_with("the last words\n")));
    let mut top = start(&sandbox, &[], (100, 30));
    top.shows("the last words");
    assert!(top.text().contains("Speak at length"), "{}", top.text());
    // The position counts the rows that were read: 8 MiB of 14 bytes each, and what ralph itself says.
    let text = top.text();
    let end: u32 = text.lines().next().unwrap().rsplit_once('/').unwrap().1.parse().unwrap();
    assert!((599_000..600_000).contains(&end), "{text}");
    sandbox.write("go", "");
    top.shows("words after them");
    running.end().exits(1);
    top.keys("[");
    top.until("the iteration", |screen| {
        screen.contains("iteration 1 ") && screen.contains("words after them")
    });
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn five_thousand_stories_with_names_of_any_length() {
    let id = |number: usize| format!("US-{number:04}");
    let hostile = format!("{}\u{202e}\u{1b}[2Jשלום 👩‍👩‍👧 {}", "long ".repeat(2_000), "end");
    let mut stories: Vec<_> = (1..=5_000).map(|number| new(&id(number))).collect();
    stories[0] = with(new(&id(1)), &json!({"title": hostile}));
    stories[4_999] = with(new(&id(5_000)), &json!({"dependsOn": (1..200).map(id).collect::<Vec<_>>()}));
    let sandbox = project(&list(&stories));
    let agent = sandbox.sh_agent("cat > /dev/null; echo nothing to say");
    sandbox.ralph(&[&["tasks", "-n", "1", "--"], &agent.words()[..]].concat()).exits(1);
    let mut top = start(&sandbox, &[], (80, 24));
    top.keys("2");
    top.until("the plan", |screen| screen.contains("US-0001") && screen.contains("/5000"));
    assert!(top.text().contains("long long"), "{}", top.text());
    top.keys("\u{1b}[F");
    top.shows("US-5000");
    resize(&mut top, 20, 5);
    resize(&mut top, 200, 60);
    top.until("the end of it", |screen| screen.contains("US-5000 Do US-5000"));
    let has = |bytes: &[u8]| top.raw.windows(bytes.len()).any(|window| window == bytes);
    assert!(!has("\u{202e}".as_bytes()) && !has("\u{1b}[2Jש".as_bytes()));
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn without_color_the_screen_has_none_and_says_the_same() {
    let sandbox = with_records();
    let mut top = start_with(&sandbox, &["20261115"], (80, 24), &[("NO_COLOR", "1"), ("LANG", "C")]);
    top.keys("3");
    top.shows("grep -q 3 a");
    let screen = top.screen.screen();
    let cells = (0..24).flat_map(|row| (0..80).map(move |column| screen.cell(row, column).unwrap()));
    assert!(cells.clone().all(|cell| cell.fgcolor() == vt100::Color::Default));
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn names_that_an_agent_has_chosen_do_nothing_to_the_screen() {
    let sandbox = Sandbox::bare();
    const EVIL: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}2J\u{8}\u{202e}end 👩‍👩‍👧 ";
    sandbox
        .claude(&json!([[{"say": EVIL}, {"say": "x".repeat(10_000)}, {"stderr": EVIL}, {"say": "after"}]]));
    sandbox.ralph(&["run", "-p", "x", "-n", "1"]).exits(1);
    let mut top = start(&sandbox, &[], (80, 24));
    top.shows("Complete");
    top.keys(&[RIGHT, UP, UP, DOWN].concat());
    top.keys("/red\r");
    top.until("the words", |screen| screen.contains("red") && screen.contains("0 live, 1 run"));
    let has = |bytes: &[u8]| top.raw.windows(bytes.len()).any(|window| window == bytes);
    assert!(!has(b"\x1b]") && !has(b"\x07") && !has("\u{202e}".as_bytes()), "{:?}", top.text());
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["top"]).exits(2).says("top needs a terminal");
    assert!(ran.stderr.contains("ralph status --watch") && ran.stderr.contains("ralph ls"), "{}", ran.stderr);
    let on_a_dumb_one = ["env", "TERM=dumb", RALPH, "top"];
    let mut dumb = Screen::start(sandbox.command("setsid"), &on_a_dumb_one, (80, 24));
    until("its end", || dumb.child.0.try_wait().unwrap().is_some());
    let (code, text) = dumb.restored();
    assert!(code == Some(2) && text.contains("top needs a terminal"), "{text}");
    let mut top = start(&sandbox, &["no-such-run"], (80, 24));
    until("its end", || top.child.0.try_wait().unwrap().is_some());
    let (code, text) = top.restored();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("no-such-run"), "{text}");
}

#[test]
fn changes_are_those_of_the_run_or_of_one_iteration() {
    let sandbox = Sandbox::git();
    let agent = sandbox
        .sh_agent("cat > /dev/null; echo words of $RALPH_ITERATION; echo line $RALPH_ITERATION >> new.txt");
    sandbox.run(&["-p", "x", "-n", "2"], &agent).exits(1);
    let mut top = start(&sandbox, &[], (100, 40));
    top.shows("words of 2");
    top.keys("4");
    top.until("both lines", |screen| screen.contains("+line 1") && screen.contains("+line 2"));
    assert!(top.text().contains("new.txt | 2 ++"), "{}", top.text());
    top.keys("[");
    top.until("the first iteration", |screen| screen.contains("+line 1") && !screen.contains("+line 2"));
    top.keys("1");
    top.until("its words", |screen| screen.contains("words of 1") && !screen.contains("words of 2"));
    top.keys("f");
    top.shows("words of 2");
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}

#[test]
fn a_worker_is_attached_to_and_the_screen_comes_back() {
    let sandbox = Sandbox::bare();
    if sandbox.shell("command -v tmux").code != Some(0) {
        skip("there is no tmux");
        return;
    }
    sandbox.plain_settings();
    let script = "cat > /dev/null; echo words of the worker; until [ -e go.1 ]; do sleep 0.02; done";
    let words = ["spawn", "--name", "night", "run", "-p", "x", "-n", "1", "--", "sh", "-c", script];
    sandbox.ralph(&words).exits(0);
    let mut top = start(&sandbox, &[], (100, 30));
    top.shows("1 live, 1 run");
    top.shows("words of the worker");
    top.keys("a");
    // The line of tmux names the window.
    top.until("tmux", |screen| screen.contains("0:night") && !screen.contains("1 live"));
    top.press_until(&["\u{2}", "d"], "1 live, 1 run");
    top.keys("xy");
    top.shows("0 live, 1 run");
    top.keys("q");
    assert_eq!(top.restored().0, Some(0));
}
