//! What keys do.

use super::model::{Effect, Focus, Model, Scroll, Steering};
use super::runs::ListedRun;
use super::tabs::{Content, Tab};
use super::text::Row;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const HEIGHT: usize = 10;

fn content() -> Content<'static> {
    Content::new(100, |at| Row::plain(format!("row {at}")))
}

fn run(name: &str) -> ListedRun {
    let name = name.to_string();
    ListedRun { id: name.clone(), name, is_worker: true, alive: true, view: None, problem: None }
}

fn model(names: &[&str]) -> Model {
    let mut model = Model::new(None);
    model.set_runs(names.iter().map(|name| run(name)).collect());
    model
}

fn press(model: &mut Model, code: KeyCode) -> Effect {
    model.key(KeyEvent::new(code, KeyModifiers::NONE), &content(), HEIGHT)
}

/// Types keys; what the last one does.
fn type_keys(model: &mut Model, text: &str) -> Effect {
    text.chars()
        .fold(Effect::None, |_, c| press(model, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) }))
}

fn chosen(model: &Model) -> &str {
    model.chosen().map_or("", |run| &run.name)
}

fn steers(run: &str, what: Steering) -> Effect {
    Effect::Steer { run: run.to_string(), what }
}

#[test]
fn the_first_run_is_chosen_and_arrows_stop_at_the_ends() {
    let mut model = model(&["a", "b", "c"]);
    assert_eq!(chosen(&model), "a");
    type_keys(&mut model, "jjjj");
    assert_eq!(chosen(&model), "c");
    type_keys(&mut model, "k");
    assert_eq!(chosen(&model), "b");
    for _ in 0..3 {
        press(&mut model, KeyCode::Up);
    }
    assert_eq!(chosen(&model), "a");
}

#[test]
fn a_run_that_goes_is_replaced_by_its_neighbour_and_one_that_stays_stays() {
    let mut model = model(&["a", "b", "c"]);
    type_keys(&mut model, "jj");
    model.set_runs(vec![run("x"), run("a"), run("c")]);
    assert_eq!(chosen(&model), "c");
    model.set_runs(vec![run("x"), run("a")]);
    assert_eq!(chosen(&model), "a");
    model.set_runs(Vec::new());
    assert_eq!(chosen(&model), "");
    assert_eq!(type_keys(&mut model, "jkp"), Effect::None);
}

#[test]
fn a_filter_narrows_the_list_while_it_is_typed_and_escape_takes_it_back() {
    let mut model = model(&["night", "day", "noon"]);
    type_keys(&mut model, "/no");
    assert_eq!(model.visible().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["noon"]);
    assert_eq!(chosen(&model), "noon");
    type_keys(&mut model, "\n");
    assert!(model.input.is_none());
    press(&mut model, KeyCode::Esc);
    assert_eq!(model.visible().count(), 3);
    assert_eq!(chosen(&model), "noon");
}

#[test]
fn tabs_go_around_and_keep_their_places() {
    let mut model = model(&["a"]);
    press(&mut model, KeyCode::BackTab);
    assert_eq!(model.tab, Tab::Cost);
    press(&mut model, KeyCode::Tab);
    assert_eq!(model.tab, Tab::Now);
    press(&mut model, KeyCode::PageUp);
    assert_eq!(model.scroll(), Scroll::At(81));
    type_keys(&mut model, "2");
    assert_eq!((model.tab, model.scroll()), (Tab::Plan, Scroll::At(0)));
    type_keys(&mut model, "1");
    assert_eq!(model.scroll(), Scroll::At(81));
}

#[test]
fn what_follows_stays_where_it_was_scrolled_to_until_it_is_at_the_end_again() {
    let mut model = model(&["a"]);
    model.focus = Focus::Detail;
    assert_eq!(model.top(&content(), HEIGHT), 90);
    press(&mut model, KeyCode::Up);
    assert_eq!(model.scroll(), Scroll::At(89));
    let longer = Content::new(200, |at| Row::plain(at.to_string()));
    assert_eq!(model.top(&longer, HEIGHT), 89);
    press(&mut model, KeyCode::PageDown);
    assert_eq!(model.scroll(), Scroll::End);
    press(&mut model, KeyCode::Home);
    assert_eq!(model.top(&content(), HEIGHT), 0);
    type_keys(&mut model, "f");
    assert_eq!(model.scroll(), Scroll::End);
    // A place whose rows were dropped.
    press(&mut model, KeyCode::Home);
    let mut later = Content::new(200, |at| Row::plain(at.to_string()));
    later.first = 50;
    assert_eq!(model.top(&later, HEIGHT), 50);
}

#[test]
fn a_search_goes_from_match_to_match_around_the_end() {
    let mut model = model(&["a"]);
    model.focus = Focus::Detail;
    press(&mut model, KeyCode::Home);
    type_keys(&mut model, "/ROW 1\n");
    assert_eq!(model.scroll(), Scroll::At(1));
    type_keys(&mut model, "n");
    assert_eq!(model.scroll(), Scroll::At(10));
    type_keys(&mut model, "NN");
    assert_eq!(model.scroll(), Scroll::At(19));
    type_keys(&mut model, "/nothing\n");
    assert_eq!(model.note.as_deref(), Some("not found: nothing"));
}

#[test]
fn steering_is_about_the_chosen_run_and_killing_asks_first() {
    let mut model = model(&["a", "b"]);
    type_keys(&mut model, "j");
    assert_eq!(type_keys(&mut model, "p"), steers("b", Steering::Pause));
    assert_eq!(type_keys(&mut model, "r"), steers("b", Steering::Resume));
    assert_eq!(type_keys(&mut model, "s quit?\n"), steers("b", Steering::Say("quit?".into())));
    assert_eq!(type_keys(&mut model, "s\n"), Effect::None);
    assert_eq!(type_keys(&mut model, "l$5\n"), steers("b", Steering::Limit("$5".into())));
    assert_eq!(type_keys(&mut model, "xn"), Effect::None);
    assert_eq!(type_keys(&mut model, "x\n"), Effect::None);
    assert_eq!(type_keys(&mut model, "xy"), steers("b", Steering::Kill));
    assert_eq!(type_keys(&mut model, "a"), Effect::Attach("b".into()));
    assert_eq!(type_keys(&mut model, "q"), Effect::Quit);
}

#[test]
fn pasted_text_goes_into_a_line_that_is_typed_and_nowhere_else() {
    let mut model = model(&["a"]);
    model.paste("qxy\n");
    assert_eq!(chosen(&model), "a");
    type_keys(&mut model, "x");
    model.paste("y");
    assert_eq!(press(&mut model, KeyCode::Esc), Effect::None);
    type_keys(&mut model, "s");
    model.paste("two\nlines\u{1b}[2J");
    assert_eq!(press(&mut model, KeyCode::Enter), steers("a", Steering::Say("two lines[2J".into())));
    type_keys(&mut model, "s");
    model.paste(&"x".repeat(1 << 20));
    assert!(model.input.as_ref().is_some_and(|input| input.text.len() <= 4096));
}

#[test]
fn control_c_takes_a_line_back_and_then_quits() {
    let mut model = model(&["a"]);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    type_keys(&mut model, "shello");
    assert_eq!(model.key(control_c, &content(), HEIGHT), Effect::None);
    assert_eq!(model.key(control_c, &content(), HEIGHT), Effect::Quit);
}

#[test]
fn other_keys_with_control_do_nothing() {
    let mut model = model(&["a"]);
    for c in ['q', 'x', 'p', 's'] {
        let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(model.key(key, &content(), HEIGHT), Effect::None);
    }
    assert!(model.input.is_none());
}

#[test]
fn a_kill_is_for_the_run_that_it_was_asked_about() {
    let mut model = model(&["a", "b", "c"]);
    type_keys(&mut model, "jx");
    assert_eq!(model.input.as_ref().unwrap().prompt(), "kill b? (y/n) ");
    // It goes while the question is open, and its neighbour is chosen.
    model.set_runs(vec![run("a"), run("c")]);
    assert_eq!(chosen(&model), "c");
    assert_eq!(type_keys(&mut model, "y"), steers("b", Steering::Kill));
    let over = ListedRun { alive: false, ..run("d") };
    model.set_runs(vec![over]);
    assert_eq!(type_keys(&mut model, "x"), Effect::None);
    assert_eq!((model.input.as_ref(), model.note.as_deref()), (None, Some("d is not running")));
}

#[test]
fn the_next_match_is_found_on_the_last_page_and_around_the_end() {
    let content = Content::new(100, |at| Row::plain(if at >= 95 { "match" } else { "other" }));
    let mut model = model(&["a"]);
    model.focus = Focus::Detail;
    let mut press = |code: KeyCode| {
        model.key(KeyEvent::new(code, KeyModifiers::NONE), &content, HEIGHT);
        model.found()
    };
    for key in "/match".chars() {
        press(KeyCode::Char(key));
    }
    let found: Vec<_> = [KeyCode::Enter]
        .into_iter()
        .chain([KeyCode::Char('n'); 5])
        .chain([KeyCode::Char('N'); 2])
        .map(&mut press)
        .collect();
    assert_eq!(found, [95, 96, 97, 98, 99, 95, 99, 98].map(Some));
}

#[test]
fn without_a_search_the_next_file_of_the_changes_is_found() {
    let content =
        Content::new(50, |at| Row::plain(if at % 20 == 5 { "diff --git a/x b/x" } else { "+ line" }));
    let mut model = model(&["a"]);
    for (key, found) in
        [('4', None), ('n', Some(5)), ('n', Some(25)), ('n', Some(45)), ('n', Some(5)), ('N', Some(45))]
    {
        model.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE), &content, HEIGHT);
        assert_eq!(model.found(), found, "{key}");
    }
}
