//! An agent's stream, drawn for a person: words, tools and their results, todo lists.
//!
//! Whatever the agent sends, no control sequence of it reaches the terminal, and no more of
//! it is looked at than can be shown.

use super::not_whole;
use super::screen::Screen;
use super::style::{Style, Tone, fit, fold};
use ralph_loop::dialect::{AgentEvent, TodoItem, TodoStatus};
use ralph_loop::text::{counted, first_bytes, printable};
use ralph_loop::time::span;
use std::collections::HashMap;

/// Lines and characters of a tool's output that are shown.
const TOOL_LINES: usize = 5;
const TOOL_CHARS: usize = 400;
/// So much of a line is cleaned to find those characters.
const TOOL_LINE_BYTES: usize = 4 << 10;

/// Tools whose end is still awaited and remembered by name; more are shown unnamed.
const OPEN_TOOLS: usize = 256;

pub(super) struct StreamView {
    style: Style,
    detail: Detail,
    open_tools: HashMap<String, OpenTool>,
}

/// How much is shown of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// What they are asked, and the beginning of what they say.
    Full,
    /// One line each, and one more if they fail.
    Lines,
}

struct OpenTool {
    name: String,
    /// 0 for the agent's own, 1 for those of its sub-agents, and so on.
    depth: usize,
}

/// Deeper ones are not indented further.
const DEEPEST: usize = 4;

impl StreamView {
    pub(super) fn new(style: Style, detail: Detail) -> StreamView {
        StreamView { style, detail, open_tools: HashMap::new() }
    }

    /// The agent is gone; tools that it left open will never end.
    pub(super) fn reset(&mut self) {
        self.open_tools.clear();
    }

    pub(super) fn show(&mut self, screen: &mut Screen, event: &AgentEvent<'_>) {
        let style = self.style;
        match event {
            AgentEvent::Text { text, parent: None } => screen.line(&fold(&printable(text), style.edge())),
            AgentEvent::ToolStart { id, name, input, parent } => {
                let name = printable(name).into_owned();
                let above = parent.as_ref().map(|parent| self.open_tools.get(&**parent));
                let depth = above.map_or(0, |above| above.map_or(1, |above| (above.depth + 1).min(DEEPEST)));
                let indent = "  ".repeat(depth);
                let line = format!("{indent}{} {name}({})", style.tool(), input.summary());
                screen.line(&fit(&line, style.width));
                if self.open_tools.len() < OPEN_TOOLS {
                    self.open_tools.insert(id.to_string(), OpenTool { name, depth });
                }
            }
            AgentEvent::ToolEnd { id, output, is_error } => {
                let unknown = || OpenTool { name: "tool".into(), depth: 0 };
                let tool = self.open_tools.remove(&**id).unwrap_or_else(unknown);
                self.tool_ended(screen, &tool, output, *is_error);
            }
            AgentEvent::Todo(items) => self.todo(screen, items),
            AgentEvent::Retry { attempt, of, delay_ms, why } => {
                let wait = if *delay_ms > 0 { format!(" in {}", span(*delay_ms)) } else { String::new() };
                let count = if *of == 0 { String::new() } else { format!(" {attempt}/{of}") };
                let line = format!("retry{count}{wait}: {}", printable(why));
                screen.line(&style.paint(Tone::Warn, &line));
            }
            AgentEvent::RateLimit { status, kind, .. } if status != "allowed" => {
                let line = format!("rate limit ({}): {}", printable(kind), printable(status));
                screen.line(&style.paint(Tone::Warn, &line));
            }
            AgentEvent::Denied { tool, why } => {
                let line = format!("permission denied: {} {}", printable(tool), printable(why));
                screen.line(&style.paint(Tone::Warn, &line));
            }
            AgentEvent::Notice { text } => screen.line(&style.paint(Tone::Quiet, &printable(text))),
            AgentEvent::Waiting { why, text } => {
                let line = format!("waiting for a person ({}): {}", why.phrase(), printable(text));
                screen.line(&style.paint(Tone::Warn, &line));
            }
            AgentEvent::Working => screen.line(&style.paint(Tone::Quiet, "working again")),
            AgentEvent::Typed { text } => screen.line(&format!("typed by a person: {}", printable(text))),
            AgentEvent::Received { bytes, whole: false } => {
                screen.line(&style.paint(Tone::Warn, &not_whole(*bytes)));
            }
            AgentEvent::Unparsed { bytes, sample } => {
                let line = format!("unknown output ({bytes} bytes): {}", printable(sample));
                screen.line(&style.paint(Tone::Quiet, &fit(&line, style.width)));
            }
            AgentEvent::Text { parent: Some(_), .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Cost(_)
            | AgentEvent::Received { whole: true, .. }
            | AgentEvent::Result(_) => {}
        }
    }

    fn tool_ended(&self, screen: &mut Screen, tool: &OpenTool, output: &str, is_error: bool) {
        let (style, name, indent) = (self.style, &tool.name, "  ".repeat(tool.depth));
        let shown = match (self.detail, is_error) {
            (Detail::Full, _) => TOOL_LINES,
            (Detail::Lines, true) => 1,
            (Detail::Lines, false) => return,
        };
        let mark = if is_error { style.bad() } else { style.ok() };
        let (lines, chars) = (counted(line_count(output) as u64, "line"), output.chars().count());
        let arrow = if style.emoji { "←" } else { "<-" };
        screen.line(&format!("{indent}{mark} Result {arrow} {name} ({lines}, {chars} chars)"));
        let mut left = TOOL_CHARS;
        for line in output.trim_end().lines().take(shown) {
            // A control sequence ends with its line at the latest, so a line can be cleaned alone.
            let clean = printable(first_bytes(line, TOOL_LINE_BYTES));
            let text = fit(&clean, style.width.saturating_sub(4 + indent.len()).min(left));
            left = left.saturating_sub(text.chars().count());
            screen.line(&style.paint(Tone::Quiet, &format!("{indent}{}{text}", style.under())));
            if left == 0 {
                break;
            }
        }
    }

    fn todo(&self, screen: &mut Screen, items: &[TodoItem<'_>]) {
        let style = self.style;
        let done = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
        screen.line(if style.emoji { "📋 Todo List" } else { "Todo List" });
        for item in items {
            let (mark, tail) = match (item.status, style.emoji) {
                (TodoStatus::Completed, true) => ("✅", ""),
                (TodoStatus::Completed, false) => ("[x]", ""),
                (TodoStatus::InProgress, true) => ("🔄", " ← ACTIVE"),
                (TodoStatus::InProgress, false) => ("[>]", " <- ACTIVE"),
                (TodoStatus::Pending, true) => ("⏸️", ""),
                (TodoStatus::Pending, false) => ("[ ]", ""),
            };
            screen.line(&fit(&format!("  {mark} {}{tail}", printable(&item.text)), style.width));
        }
        let percent = (done * 100).checked_div(items.len()).unwrap_or(0);
        let chart = if style.emoji { "📊 " } else { "" };
        screen.line(&format!("  {chart}Progress: {done}/{} ({percent}%)", items.len()));
    }
}

/// As `str::lines` counts. Sums of a byte, in blocks that cannot overflow one, become vector
/// code; tool results are most of what an agent prints.
fn line_count(text: &str) -> usize {
    let in_block = |block: &[u8]| block.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    let newlines: usize = text.as_bytes().chunks(192).map(|block| usize::from(in_block(block))).sum();
    newlines + usize::from(!text.is_empty() && !text.ends_with('\n'))
}
