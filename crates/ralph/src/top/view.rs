//! How it looks. Without color everything is still said in words and signs.

use super::chosen::Detail;
use super::model::{Focus, Model};
use super::runs::ListedRun;
use super::tabs::{Content, Tab};
use super::text::Row;
use crate::report::{Style, Tone, describe, fit, fit_end, short, up_now};
use jiff::Zoned;
use ralph_loop::text::{counted, printable};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Where things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Areas {
    pub list: Option<Rect>,
    /// The tabs and the status of the chosen run.
    pub head: Option<Rect>,
    /// The rows of the tab. Also where a narrow screen shows the list instead, as what they are made for.
    pub rows: Rect,
    pub foot: Rect,
}

/// A narrower screen shows the list or the run.
const BOTH: u16 = 70;
const WIDEST_LIST: u16 = 44;
const NARROWEST_NAME: usize = 8;
/// Rows of the head, and with what was asked of the run and where it works.
const HEAD: u16 = 2;
const TALL_HEAD: u16 = 4;
const TALL: u16 = 16;

pub fn areas(size: Rect, focus: Focus) -> Areas {
    let foot_height = u16::from(size.height > 1);
    let body = Rect { height: size.height - foot_height, ..size };
    let foot = Rect { y: size.y + body.height, height: foot_height, ..size };
    let head_height = match body.height {
        0..4 => 1.min(body.height),
        4..TALL => HEAD,
        TALL.. => TALL_HEAD,
    };
    let list_width = if size.width >= BOTH { (size.width / 3).min(WIDEST_LIST) } else { 0 };
    // A column between the two is left for the line.
    let left = if list_width > 0 { list_width + 1 } else { 0 };
    let right = Rect { x: body.x + left, width: body.width - left, ..body };
    let head = Rect { height: head_height, ..right };
    let rows = Rect { y: right.y + head_height, height: right.height - head_height, ..right };
    match (list_width, focus) {
        (0, Focus::Runs) => Areas { list: Some(body), head: None, rows, foot },
        (0, Focus::Detail) => Areas { list: None, head: Some(head), rows, foot },
        (width, _) => Areas { list: Some(Rect { width, ..body }), head: Some(head), rows, foot },
    }
}

/// What is drawn.
pub struct Scene<'a> {
    pub model: &'a Model,
    pub detail: &'a Detail,
    pub content: Content<'a>,
    pub style: Style,
    pub now: Zoned,
}

pub fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>) {
    let size = frame.area();
    let areas = areas(size, scene.model.focus);
    if let Some(first) = scene.model.help {
        // The last line stays on the screen.
        let first = first.min(help_lines().saturating_sub(size.height.into()));
        return lines(frame, size, HELP.lines().skip(first).map(Line::raw).collect());
    }
    if let Some(area) = areas.list {
        list(frame, scene, area);
        if areas.head.is_some() {
            let line = if scene.style.emoji { "│" } else { "|" };
            let column = Rect { x: area.x + area.width, width: 1, ..area };
            let rows = vec![Line::styled(line, look(scene.style, Some(Tone::Quiet))); area.height.into()];
            lines(frame, column, rows);
        }
    }
    if let Some(area) = areas.head {
        head(frame, scene, area, areas.rows.height.into());
        rows(frame, scene, areas.rows);
    }
    foot(frame, scene, areas.foot);
}

fn lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    for (line, y) in lines.into_iter().zip(area.y..area.y + area.height) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

fn look(style: Style, tone: Option<Tone>) -> Look {
    let look = Look::new();
    match tone {
        Some(Tone::Strong) => look.add_modifier(Modifier::BOLD),
        _ if !style.color => look,
        Some(Tone::Good) => look.fg(Color::Green),
        Some(Tone::Bad) => look.fg(Color::Red),
        Some(Tone::Warn) => look.fg(Color::Yellow),
        Some(Tone::Quiet) => look.add_modifier(Modifier::DIM),
        None => look,
    }
}

fn line_of(row: &Row, style: Style) -> Line<'static> {
    let spans = row.0.iter().map(|(tone, text)| Span::styled(text.clone(), look(style, *tone)));
    Line::from(spans.collect::<Vec<_>>())
}

fn list(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let model = scene.model;
    let visible: Vec<&ListedRun> = model.visible().collect();
    let width = usize::from(area.width);
    let filter = if model.filter.is_empty() { String::new() } else { format!(" /{}", model.filter) };
    let title =
        format!("{} live, {}{}", model.live(), counted(visible.len() as u64, "run"), printable(&filter));
    let mut shown = vec![Line::styled(fit(&title, width), look(scene.style, Some(Tone::Strong)))];
    if visible.is_empty() {
        let text = match (model.is_read, model.filter.is_empty()) {
            (false, _) => "reading …",
            (true, true) => "no runs yet: ralph run --help",
            (true, false) => "no match (Esc clears the filter)",
        };
        shown.push(Line::raw(fit(text, width)));
    }
    let height = usize::from(area.height).saturating_sub(1);
    let chosen = model.chosen().map(|run| run.id.as_str());
    let at = visible.iter().position(|run| Some(run.id.as_str()) == chosen).unwrap_or(0);
    // The chosen one stays visible.
    let first = (at + 1).saturating_sub(height);
    for run in visible.iter().skip(first).take(height) {
        let is_chosen = Some(run.id.as_str()) == chosen;
        let line = list_line(run, scene, is_chosen, width);
        let look = match is_chosen && model.focus == Focus::Runs {
            true => Look::new().add_modifier(Modifier::REVERSED),
            false => Look::new(),
        };
        shown.push(line.patch_style(look));
    }
    lines(frame, area, shown);
}

fn list_line(run: &ListedRun, scene: &Scene<'_>, is_chosen: bool, width: usize) -> Line<'static> {
    let sign = if is_chosen { "> " } else { "  " };
    let state = run.state();
    let tone = match state {
        "running" | "starting" => Some(Tone::Strong),
        "pausing" | "paused" | "waiting" => Some(Tone::Warn),
        _ if run.view.as_ref().is_some_and(|view| view.success) => Some(Tone::Good),
        _ => Some(Tone::Quiet),
    };
    let progress = run.view.as_ref().map(|view| match view.progress {
        Some(progress) => format!("{}/{}", progress.done, progress.of),
        None => format!("{}/{}", view.iteration, view.max_iterations),
    });
    let time = run.view.as_ref().map(|view| {
        let up = if run.is_live() { up_now(view, &scene.now) } else { view.up_ms };
        short(up)
    });
    let mut tail = vec![progress.unwrap_or_default(), state.to_string()];
    tail.extend(time);
    // What is worth the least goes first.
    let room = |tail: &[String]| width.saturating_sub(sign.len() + tail.join(" ").width() + 1);
    while tail.len() > 1 && room(&tail) < NARROWEST_NAME {
        tail.pop();
    }
    let mut name = printable(&run.name).into_owned();
    let project = printable(&run.project()).into_owned();
    if !project.is_empty() && name.width() + project.width() < room(&tail) {
        name = format!("{name} {project}");
    }
    let name = if run.is_worker { fit(&name, room(&tail)) } else { fit_end(&name, room(&tail)) };
    let padding = " ".repeat(room(&tail).saturating_sub(name.width()) + 1);
    let tail = tail.join(" ");
    Line::from(vec![Span::raw(format!("{sign}{name}{padding}")), Span::styled(tail, look(scene.style, tone))])
}

fn head(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect, height: usize) {
    let (model, width) = (scene.model, usize::from(area.width));
    let mut shown = vec![tabs(scene, width, height)];
    if let Some(run) = model.chosen() {
        shown.push(Line::raw(fit(&status(scene, run, width), width)));
        shown.push(Line::raw(fit(&scene.detail.asked, width)));
        let view = scene.detail.view.as_ref().or(run.view.as_ref());
        let place = view.map(|view| printable(&view.workspace.display().to_string()).into_owned());
        let about = format!("{} · {}", printable(&run.name), place.unwrap_or_default());
        shown.push(Line::styled(fit_end(&about, width), look(scene.style, Some(Tone::Quiet))));
    }
    lines(frame, area, shown);
}

/// The chosen tab is in brackets.
fn tabs(scene: &Scene<'_>, width: usize, height: usize) -> Line<'static> {
    let model = scene.model;
    let position = position(scene, height);
    let all: usize = Tab::ALL.iter().map(|tab| tab.name().len() + 2).sum();
    let strong = look(scene.style, Some(Tone::Strong));
    let mut spans = Vec::new();
    if all + position.len() < width {
        for tab in Tab::ALL {
            let is_chosen = tab == model.tab;
            let text = if is_chosen { format!("[{}]", tab.name()) } else { format!(" {} ", tab.name()) };
            spans.push(Span::styled(text, if is_chosen { strong } else { Look::new() }));
        }
        spans.push(Span::raw(" ".repeat(width - all - position.len())));
    } else {
        let number = model.tab as usize + 1;
        let tab = format!("[{}] {number}/{} ", model.tab.name(), Tab::ALL.len());
        if tab.len() + position.len() > width {
            return Line::styled(tab, strong);
        }
        spans.push(Span::styled(tab, strong));
    }
    spans.push(Span::styled(position, look(scene.style, Some(Tone::Quiet))));
    Line::from(spans)
}

fn position(scene: &Scene<'_>, height: usize) -> String {
    let Scene { model, content, .. } = scene;
    let iteration = model.iteration.map(|iteration| format!("iteration {iteration} ")).unwrap_or_default();
    let top = model.top(content, height);
    let last = (top + height).min(content.end);
    match last {
        0 => iteration,
        _ => format!("{iteration}{}-{last}/{}", (top + 1).min(last), content.end),
    }
}

fn status(scene: &Scene<'_>, run: &ListedRun, width: usize) -> String {
    let problem = scene.detail.problem.as_ref().or(run.problem.as_ref());
    let Some(view) = scene.detail.view.as_ref().or(run.view.as_ref()) else {
        return problem.map_or_else(|| "reading …".to_string(), |problem| printable(problem).into_owned());
    };
    if let Some(problem) = problem {
        return printable(problem).into_owned();
    }
    if run.is_live() {
        return describe(view, up_now(view, &scene.now), &scene.now, width);
    }
    let note = view.note.as_ref().map(|note| format!(": {}", printable(note))).unwrap_or_default();
    let iterations = format!("iteration {}/{}", view.iteration, view.max_iterations);
    format!("{} · {iterations} · {} · {}{note}", run.state(), view.cost().rounded(), short(view.up_ms))
}

fn rows(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let Scene { model, content, style, .. } = scene;
    let height = usize::from(area.height);
    let top = model.top(content, height);
    let shown = (top..content.end.min(top + height)).map(|number| {
        let row = content.row(number);
        let is_found = !model.search.is_empty() && row.has(&model.search);
        let line = line_of(&row, *style);
        if is_found { line.patch_style(Look::new().add_modifier(Modifier::REVERSED)) } else { line }
    });
    lines(frame, area, shown.collect());
}

fn foot(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let width = usize::from(area.width);
    let model = scene.model;
    if area.height == 0 {
        return;
    }
    if let Some(input) = &model.input {
        let text = format!("{}{}", printable(&input.prompt()), printable(&input.text));
        let shown = fit_end(&text, width.saturating_sub(1));
        frame.set_cursor_position(Position { x: area.x + shown.width() as u16, y: area.y });
        return lines(frame, area, vec![Line::raw(shown)]);
    }
    let line = match &model.note {
        Some(note) => Line::styled(fit(&printable(note), width), look(scene.style, Some(Tone::Warn))),
        None => {
            Line::styled(keys(model.focus, width, scene.style.emoji), look(scene.style, Some(Tone::Quiet)))
        }
    };
    lines(frame, area, vec![line]);
}

/// The keys that fit.
fn keys(focus: Focus, width: usize, has_signs: bool) -> String {
    let (arrows, slash) = match (focus, has_signs) {
        (Focus::Runs, true) => ("↑↓ choose", "/ filter"),
        (Focus::Detail, true) => ("↑↓ scroll", "/ search"),
        (Focus::Runs, false) => ("j k choose", "/ filter"),
        (Focus::Detail, false) => ("j k scroll", "/ search"),
    };
    let all = [
        "? help",
        "q quit",
        "Tab tab",
        arrows,
        slash,
        "p pause",
        "r resume",
        "s say",
        "x kill",
        "l limit",
        "a attach",
        "f follow",
        "[ ] iteration",
    ];
    let mut line = String::new();
    for key in all {
        let more = if line.is_empty() { key.to_string() } else { format!("  {key}") };
        if line.width() + more.width() > width {
            break;
        }
        line += &more;
    }
    line
}

pub fn help_lines() -> usize {
    HELP.lines().count()
}

const HELP: &str = "\
Tab, Shift+Tab, 1-6   next, previous, that tab
Left, Right, Enter    to the list, to the run
Up, Down, j, k        choose a run, or scroll
PageUp, PageDown      scroll a page (also b, Space)
Home, End             to the beginning, to the end
f                     follow: the end of the last iteration
[ ]                   the iteration before, after
/                     filter the list, search in the run
n N                   next, previous match; file in changes
p r                   pause, resume
s                     add a note to the next prompt
l                     set a limit: 20, $5 or 2h
x                     kill (asks first)
a                     attach to a worker
Esc                   clear the search or the filter
q, Ctrl+C             quit";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_cover_the_screen_and_never_leave_it() {
        for width in 0..250 {
            for height in 0..70 {
                let size = Rect { x: 0, y: 0, width, height };
                for focus in [Focus::Runs, Focus::Detail] {
                    let Areas { list, head, rows, foot } = areas(size, focus);
                    for area in [list, head, Some(rows), Some(foot)].into_iter().flatten() {
                        assert_eq!(area.intersection(size), area, "{width}x{height}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_narrow_screen_shows_the_list_or_the_run() {
        let narrow = Rect { x: 0, y: 0, width: 20, height: 5 };
        assert!(areas(narrow, Focus::Runs).head.is_none());
        let run = areas(narrow, Focus::Detail);
        assert!(run.list.is_none());
        assert_eq!((run.rows.width, run.rows.height), (20, 2));
    }

    #[test]
    fn the_help_line_has_whole_keys_only() {
        assert_eq!(keys(Focus::Runs, 20, true), "? help  q quit");
        assert_eq!(keys(Focus::Runs, 5, true), "");
    }
}
