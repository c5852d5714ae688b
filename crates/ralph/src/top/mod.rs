//! `ralph top`: all runs and one of them on a screen.
//!
//! Everything shown comes from the fold of all reports ([`ralph_loop::view`]), read by threads
//! ([`runs`], [`chosen`], [`changes`]); [`model`] says what a key does and [`view`] how it looks. The terminal
//! itself belongs to `cli/top.rs`.
//!
//! Invariant: the thread that draws never waits for a disk, for git or for a run.

mod changes;
mod chosen;
mod model;
#[cfg(test)]
mod model_tests;
mod runs;
mod tabs;
mod text;
mod view;

pub use model::{Effect, Steering};

use crate::layout::Home;
use crate::report::Style;
use changes::{Asked, Changes};
use chosen::{Detail, Shared, Wanted, lock};
use jiff::Zoned;
use model::Model;
use ratatui::Frame;
use ratatui::crossterm::event::{Event, KeyEventKind};
use ratatui::layout::Rect;
use runs::ListedRun;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tabs::{Content, Tab, content};
use view::Scene;

/// Asks something of a run, by its id; what to tell the user.
pub type Steer = fn(&Home, &str, &Steering) -> String;

pub struct App {
    home: Home,
    style: Style,
    size: Rect,
    model: Model,
    runs: Receiver<Vec<ListedRun>>,
    chosen: Option<(Wanted, Shared)>,
    changes: Changes,
    steer: Steer,
    answers: (Sender<String>, Receiver<String>),
    /// Answers that are awaited.
    awaited: usize,
    /// What was drawn last.
    drawn_version: u64,
    drawn_at: Instant,
}

/// How long input is awaited while something else is about to come, and else.
const SOON: Duration = Duration::from_millis(25);
/// Times on the screen are in seconds.
const SECOND: Duration = Duration::from_secs(1);

impl App {
    /// `run`: the id of the one to begin with.
    pub fn start(home: &Home, run: Option<String>, style: Style, steer: Steer) -> io::Result<App> {
        let (send, runs) = mpsc::channel();
        runs::watch(home.clone(), send)?;
        Ok(App {
            home: home.clone(),
            style,
            size: Rect::default(),
            model: Model::new(run),
            runs,
            chosen: None,
            changes: Changes::default(),
            steer,
            answers: mpsc::channel(),
            awaited: 0,
            drawn_version: 0,
            drawn_at: Instant::now(),
        })
    }

    /// Waits a moment for the list, so that the first screen is not an empty one.
    pub fn await_list(&mut self, at_most: Duration) {
        if let Ok(runs) = self.runs.recv_timeout(at_most) {
            self.model.set_runs(runs);
        }
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = Rect { x: 0, y: 0, width, height };
    }

    /// How long to wait for input before [`App::refresh`] is called.
    pub fn patience(&self) -> Duration {
        let read = |(_, detail): &(Wanted, Shared)| lock(detail).is_read;
        let is_read = self.model.is_read && self.chosen.as_ref().is_none_or(read);
        let is_settled = self.wanted().as_ref() == self.chosen.as_ref().map(|(wanted, _)| wanted);
        let is_quiet = is_read && is_settled && self.awaited == 0 && !self.changes.is_loading();
        if is_quiet { runs::LOOK_EVERY } else { SOON }
    }

    /// Takes what the threads have read; whether it has to be drawn. `idle`: no key was pressed a moment
    /// ago, so that one who runs through the list does not read every run.
    pub fn refresh(&mut self, idle: bool) -> io::Result<bool> {
        let mut is_news = false;
        while let Ok(runs) = self.runs.try_recv() {
            self.model.set_runs(runs);
            is_news = true;
        }
        while let Ok(answer) = self.answers.1.try_recv() {
            self.awaited = self.awaited.saturating_sub(1);
            self.model.note = Some(answer);
            is_news = true;
        }
        is_news |= self.changes.receive();
        let wanted = self.wanted();
        let is_other = wanted.as_ref() != self.chosen.as_ref().map(|(wanted, _)| wanted);
        if is_other && (idle || self.chosen.is_none()) {
            self.chosen = match wanted {
                Some(wanted) => {
                    let detail = chosen::follow(self.home.run(&wanted.run), wanted.clone(), self.style)?;
                    Some((wanted, detail))
                }
                None => None,
            };
            (self.drawn_version, is_news) = (0, true);
        }
        if let Some(asked) = self.changes_asked().filter(|_| self.model.tab == Tab::Changes) {
            self.changes.want(&self.home, asked)?;
        }
        let version = self.chosen.as_ref().map_or(0, |(_, detail)| lock(detail).version);
        is_news |= version != self.drawn_version;
        Ok(is_news || (self.model.live() > 0 && self.drawn_at.elapsed() >= SECOND))
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        self.resize(frame.area().width, frame.area().height);
        let none = Shared::default();
        let detail = lock(self.shown().unwrap_or(&none));
        let (version, content) = (detail.version, self.content(&detail));
        let scene =
            Scene { model: &self.model, detail: &detail, content, style: self.style, now: Zoned::now() };
        view::draw(frame, &scene);
        drop(scene);
        drop(detail);
        (self.drawn_version, self.drawn_at) = (version, Instant::now());
    }

    pub fn handle(&mut self, event: &Event) -> io::Result<Effect> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let shared = self.shown().cloned().unwrap_or_default();
                let detail = lock(&shared);
                let content = content(self.model.tab, &detail, &self.changes, self.style, self.width());
                let height = view::areas(self.size, self.model.focus).rows.height;
                match self.model.key(*key, &content, height.into()) {
                    Effect::Steer { run, what } => {
                        drop(content);
                        self.ask(run, what)?;
                        Ok(Effect::None)
                    }
                    effect @ (Effect::None | Effect::Quit | Effect::Attach(_)) => Ok(effect),
                }
            }
            Event::Paste(text) => {
                self.model.paste(text);
                Ok(Effect::None)
            }
            _ => Ok(Effect::None),
        }
    }

    pub fn note(&mut self, note: String) {
        self.model.note = Some(note);
    }

    /// On a thread: a run may take its time to answer.
    fn ask(&mut self, run: String, what: Steering) -> io::Result<()> {
        let (home, steer, send) = (self.home.clone(), self.steer, self.answers.0.clone());
        let asked = move || send.send(steer(&home, &run, &what));
        thread::Builder::new().name("steer".into()).spawn(asked)?;
        self.awaited += 1;
        Ok(())
    }

    /// What is read is what is chosen.
    fn shown(&self) -> Option<&Shared> {
        let (wanted, detail) = self.chosen.as_ref()?;
        let is_chosen = self.model.chosen().is_some_and(|run| run.id == wanted.run);
        is_chosen.then_some(detail)
    }

    fn content<'a>(&'a self, detail: &'a Detail) -> Content<'a> {
        content(self.model.tab, detail, &self.changes, self.style, self.width())
    }

    fn width(&self) -> usize {
        view::areas(self.size, self.model.focus).rows.width.into()
    }

    fn wanted(&self) -> Option<Wanted> {
        self.model.wanted(self.width())
    }

    fn changes_asked(&self) -> Option<Asked> {
        let Wanted { run, iteration, width } = self.wanted()?;
        let judged = self.model.chosen()?.view.as_ref().map_or(0, |view| view.judged);
        Some(Asked { run, iteration, judged, width })
    }
}
