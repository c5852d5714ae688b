//! What is on the screen, and what a key changes about it. No clock, no disk, no terminal.

use super::chosen::Wanted;
use super::runs::ListedRun;
use super::tabs::{Content, Tab};
use super::view::help_lines;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the arrows move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    Runs,
    Detail,
}

/// Which rows of a tab are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// The last ones, also of those to come.
    End,
    /// From the one with this number.
    At(usize),
}

/// What a line that is typed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Filter,
    Search,
    Say,
    Limit,
    ConfirmKill,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub purpose: Purpose,
    /// The run that was chosen when it began: another one may be chosen meanwhile.
    about: Option<Named>,
    pub text: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    id: String,
    name: String,
}

impl Input {
    /// What is shown before the text.
    pub fn prompt(&self) -> String {
        let name = self.about.as_ref().map_or("it", |run| &run.name);
        match self.purpose {
            Purpose::Filter => "filter: ".to_string(),
            Purpose::Search => "search: ".to_string(),
            Purpose::Say => format!("say to {name}: "),
            Purpose::Limit => format!("limit of {name} (20, $5 or 2h): "),
            Purpose::ConfirmKill => format!("kill {name}? (y/n) "),
        }
    }

    fn steers(&self, what: Steering) -> Effect {
        match &self.about {
            Some(run) => Effect::Steer { run: run.id.clone(), what },
            None => Effect::None,
        }
    }
}

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steering {
    Pause,
    Resume,
    Kill,
    Say(String),
    Limit(String),
}

/// What has to be done outside of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    Quit,
    /// To the worker of this name.
    Attach(String),
    Steer {
        run: String,
        what: Steering,
    },
}

#[derive(Debug)]
pub struct Model {
    runs: Vec<ListedRun>,
    /// The list was read.
    pub is_read: bool,
    pub filter: String,
    /// The id of the chosen run.
    chosen: Option<String>,
    pub focus: Focus,
    pub tab: Tab,
    scrolls: [Scroll; Tab::ALL.len()],
    pub search: String,
    /// The row that a search has found last.
    found: Option<usize>,
    pub input: Option<Input>,
    /// The one to look at; none is the last one.
    pub iteration: Option<u32>,
    /// What was just done, or could not be.
    pub note: Option<String>,
    /// The keys are explained, from this line on.
    pub help: Option<usize>,
}

/// With one of these a character is a command, and there is none.
const NO_TEXT: KeyModifiers = KeyModifiers::CONTROL.union(KeyModifiers::ALT);

/// What the changes of a file begin with.
const FILE: &str = "diff --git ";

/// A line that is typed is no longer than this.
const LONGEST_INPUT: usize = 4096;

impl Model {
    /// `chosen`: the run to begin with.
    pub fn new(chosen: Option<String>) -> Model {
        let focus = if chosen.is_some() { Focus::Detail } else { Focus::Runs };
        Model {
            runs: Vec::new(),
            is_read: false,
            filter: String::new(),
            chosen,
            focus,
            tab: Tab::Now,
            scrolls: at_first(),
            search: String::new(),
            found: None,
            input: None,
            iteration: None,
            note: None,
            help: None,
        }
    }

    pub fn set_runs(&mut self, runs: Vec<ListedRun>) {
        // One that is gone is replaced by its neighbour.
        let was_at = self.visible().position(|run| Some(&run.id) == self.chosen.as_ref());
        self.runs = runs;
        self.is_read = true;
        if !self.runs.iter().any(|run| Some(&run.id) == self.chosen.as_ref()) {
            let last = self.visible().count().saturating_sub(1);
            let id = self.visible().nth(was_at.unwrap_or(0).min(last)).map(|run| run.id.clone());
            self.choose(id);
        }
    }

    pub fn live(&self) -> usize {
        self.runs.iter().filter(|run| run.is_live()).count()
    }

    /// Those that the filter leaves.
    pub fn visible(&self) -> impl Iterator<Item = &ListedRun> {
        self.runs.iter().filter(|run| self.filter.is_empty() || run.fits(&self.filter))
    }

    pub fn chosen(&self) -> Option<&ListedRun> {
        self.runs.iter().find(|run| Some(&run.id) == self.chosen.as_ref())
    }

    pub fn wanted(&self, width: usize) -> Option<Wanted> {
        Some(Wanted { run: self.chosen.clone()?, iteration: self.iteration, width })
    }

    /// The row that a search has found last.
    #[cfg(test)]
    pub fn found(&self) -> Option<usize> {
        self.found
    }

    pub fn scroll(&self) -> Scroll {
        self.scrolls[self.tab as usize]
    }

    /// The number of the row at the top.
    pub fn top(&self, content: &Content<'_>, height: usize) -> usize {
        let last = content.end.saturating_sub(height).max(content.first);
        match self.scroll() {
            Scroll::End => last,
            Scroll::At(at) => at.clamp(content.first, last),
        }
    }

    fn choose(&mut self, id: Option<String>) {
        if self.chosen != id {
            self.chosen = id;
            self.iteration = None;
            self.scrolls = at_first();
        }
    }

    /// What a key does, with what the tab shows in so many rows.
    pub fn key(&mut self, key: KeyEvent, content: &Content<'_>, height: usize) -> Effect {
        self.note = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c')) {
            return if self.input.take().is_some() { Effect::None } else { Effect::Quit };
        }
        // A terminal that was not raw yet when Enter was pressed has made Ctrl+J of it.
        let key = match key.code {
            KeyCode::Char('j') if control => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
            KeyCode::Char('u') if control && self.input.is_some() => key,
            KeyCode::Char(_) if key.modifiers.intersects(NO_TEXT) => return Effect::None,
            _ => key,
        };
        if let Some(input) = self.input.take() {
            return self.typed(input, key, content, height);
        }
        if let Some(first) = self.help {
            self.help = match key.code {
                KeyCode::Down | KeyCode::Char('j') => Some((first + 1).min(help_lines())),
                KeyCode::Up | KeyCode::Char('k') => Some(first.saturating_sub(1)),
                _ => None,
            };
            return Effect::None;
        }
        let page = height.saturating_sub(1).max(1);
        match key.code {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Tab => self.tab = self.tab.after(1),
            KeyCode::BackTab => self.tab = self.tab.after(Tab::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='6') => self.tab = Tab::ALL[digit as usize - '1' as usize],
            KeyCode::Left => self.focus = Focus::Runs,
            KeyCode::Right | KeyCode::Enter => self.focus = Focus::Detail,
            KeyCode::Esc => self.escape(),
            KeyCode::Up | KeyCode::Char('k') => self.up(content, height),
            KeyCode::Down | KeyCode::Char('j') => self.down(content, height),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll_by(content, height, -(page as isize)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll_by(content, height, page as isize),
            KeyCode::Home | KeyCode::Char('g') => self.set_scroll(Scroll::At(content.first)),
            KeyCode::End | KeyCode::Char('G') => self.set_scroll(Scroll::End),
            KeyCode::Char('f') => {
                self.set_scroll(Scroll::End);
                self.iteration = None;
            }
            KeyCode::Char('[') => self.earlier(),
            KeyCode::Char(']') => self.later(),
            KeyCode::Char('n') => self.find(content, height, Direction::Down),
            KeyCode::Char('N') => self.find(content, height, Direction::Up),
            KeyCode::Char('/') if self.focus == Focus::Runs => self.ask(Purpose::Filter),
            KeyCode::Char('/') => self.ask(Purpose::Search),
            KeyCode::Char('p') => return self.steer(Steering::Pause),
            KeyCode::Char('r') => return self.steer(Steering::Resume),
            KeyCode::Char('s') => self.ask_about_run(Purpose::Say),
            KeyCode::Char('l') => self.ask_about_run(Purpose::Limit),
            KeyCode::Char('x') => self.ask_about_run(Purpose::ConfirmKill),
            KeyCode::Char('a') => return self.attach(),
            _ => {}
        }
        Effect::None
    }

    /// Text that was pasted: only a line that is typed takes it.
    pub fn paste(&mut self, text: &str) {
        if let Some(input) = self.input.as_mut().filter(|input| input.purpose != Purpose::ConfirmKill) {
            let room = LONGEST_INPUT.saturating_sub(input.text.len());
            let kept = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
            input.text.extend(kept.filter(|c| !c.is_control()).take(room));
        }
    }

    fn typed(&mut self, mut input: Input, key: KeyEvent, content: &Content<'_>, height: usize) -> Effect {
        if input.purpose == Purpose::ConfirmKill {
            return match key.code {
                KeyCode::Char('y' | 'Y') => input.steers(Steering::Kill),
                _ => Effect::None,
            };
        }
        match key.code {
            KeyCode::Esc => {
                if input.purpose == Purpose::Filter {
                    self.set_filter("");
                }
                return Effect::None;
            }
            KeyCode::Enter => return self.entered(&input, content, height),
            KeyCode::Backspace => drop(input.text.pop()),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => input.text.clear(),
            KeyCode::Char(c) if input.text.len() < LONGEST_INPUT && !c.is_control() => input.text.push(c),
            _ => {}
        }
        if input.purpose == Purpose::Filter {
            self.set_filter(&input.text);
        }
        self.input = Some(input);
        Effect::None
    }

    fn entered(&mut self, input: &Input, content: &Content<'_>, height: usize) -> Effect {
        let text = input.text.trim().to_string();
        match input.purpose {
            Purpose::Filter => self.set_filter(&text),
            Purpose::Search => {
                self.search = text;
                self.find(content, height, Direction::Here);
            }
            Purpose::Say if !text.is_empty() => return input.steers(Steering::Say(text)),
            Purpose::Limit if !text.is_empty() => return input.steers(Steering::Limit(text)),
            Purpose::Say | Purpose::Limit | Purpose::ConfirmKill => {}
        }
        Effect::None
    }

    fn set_filter(&mut self, filter: &str) {
        self.filter = filter.to_string();
        if !self.visible().any(|run| Some(&run.id) == self.chosen.as_ref()) {
            let first = self.visible().next().map(|run| run.id.clone());
            if first.is_some() {
                self.choose(first);
            }
        }
    }

    /// Takes one thing back at a time.
    fn escape(&mut self) {
        if !self.search.is_empty() {
            self.search.clear();
        } else if self.focus == Focus::Detail {
            self.focus = Focus::Runs;
        } else {
            self.set_filter("");
        }
    }

    fn ask(&mut self, purpose: Purpose) {
        self.input = Some(Input { purpose, about: None, text: String::new() });
    }

    fn ask_about_run(&mut self, purpose: Purpose) {
        let Some(run) = self.chosen() else { return };
        if purpose == Purpose::ConfirmKill && !run.alive {
            self.note = Some(format!("{} is not running", run.name));
            return;
        }
        let about = Some(Named { id: run.id.clone(), name: run.name.clone() });
        self.input = Some(Input { purpose, about, text: String::new() });
    }

    fn steer(&mut self, what: Steering) -> Effect {
        match &self.chosen {
            Some(run) => Effect::Steer { run: run.clone(), what },
            None => Effect::None,
        }
    }

    fn attach(&mut self) -> Effect {
        match self.chosen() {
            Some(run) if run.is_worker && run.alive => Effect::Attach(run.name.clone()),
            Some(_) => {
                self.note = Some("only a running worker has a window to attach to".to_string());
                Effect::None
            }
            None => Effect::None,
        }
    }

    fn up(&mut self, content: &Content<'_>, height: usize) {
        match self.focus {
            Focus::Runs => self.choose_by(-1),
            Focus::Detail => self.scroll_by(content, height, -1),
        }
    }

    fn down(&mut self, content: &Content<'_>, height: usize) {
        match self.focus {
            Focus::Runs => self.choose_by(1),
            Focus::Detail => self.scroll_by(content, height, 1),
        }
    }

    fn choose_by(&mut self, places: isize) {
        let visible: Vec<&ListedRun> = self.visible().collect();
        let at = visible.iter().position(|run| Some(&run.id) == self.chosen.as_ref());
        let last = visible.len().saturating_sub(1);
        let next = at.map_or(0, |at| at.saturating_add_signed(places).min(last));
        let id = visible.get(next).map(|run| run.id.clone());
        if id.is_some() {
            self.choose(id);
        }
    }

    fn set_scroll(&mut self, scroll: Scroll) {
        self.scrolls[self.tab as usize] = scroll;
    }

    fn scroll_by(&mut self, content: &Content<'_>, height: usize, rows: isize) {
        let last = content.end.saturating_sub(height).max(content.first);
        let at = self.top(content, height).saturating_add_signed(rows).max(content.first);
        // At the end of what grows, it follows again.
        let follows = at >= last && self.tab.follows();
        self.set_scroll(if follows { Scroll::End } else { Scroll::At(at.min(last)) });
    }

    fn earlier(&mut self) {
        let last = self.last_iteration();
        self.iteration = Some(self.iteration.unwrap_or(last).saturating_sub(1).max(1));
    }

    fn later(&mut self) {
        let last = self.last_iteration();
        self.iteration = self.iteration.map(|at| at + 1).filter(|at| *at < last);
    }

    fn last_iteration(&self) -> u32 {
        self.chosen().and_then(|run| run.view.as_ref()).map_or(1, |view| view.iteration)
    }

    /// Goes to the next row that has what is searched for, or to the next file of a diff, around the end.
    fn find(&mut self, content: &Content<'_>, height: usize, direction: Direction) {
        let wanted = match (self.tab, self.search.as_str()) {
            (Tab::Changes, "") => FILE,
            (_, search) => search,
        };
        if wanted.is_empty() || content.end <= content.first {
            return;
        }
        let (rows, top) = (content.end - content.first, self.top(content, height));
        // On the last page the row that was found is not the one at the top.
        let is_shown = |at: &usize| (top..top + height).contains(at) && *at < content.end;
        let from = self.found.filter(is_shown).unwrap_or(top) - content.first;
        let number = |step: usize| match direction {
            Direction::Here => content.first + (top - content.first + step) % rows,
            Direction::Down => content.first + (from + 1 + step) % rows,
            Direction::Up => content.first + (from + 2 * rows - 1 - step) % rows,
        };
        self.found = (0..rows).map(number).find(|at| content.row(*at).has(wanted));
        match self.found {
            Some(found) => self.set_scroll(Scroll::At(found)),
            None => self.note = Some(format!("not found: {wanted}")),
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Here,
    Down,
    Up,
}

fn at_first() -> [Scroll; Tab::ALL.len()] {
    Tab::ALL.map(|tab| if tab.follows() { Scroll::End } else { Scroll::At(0) })
}
