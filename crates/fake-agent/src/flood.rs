//! Much output, fast: the load for benchmarks and for readers that must not stall.
//!
//! A block of one MiB is built once and written again and again, so the pipe is the only
//! limit. The amount is exact, and every block ends with a line: a reader can check both.

use crate::events::Event;
use crate::failure::Failure;
use crate::script::{PrintMb, Shape};
use crate::voice::Voice;
use serde_json::{Map, Value};
use std::io;

const MIB: usize = 1024 * 1024;
const TEXT_LINE: usize = 80;
/// How much one write hands over. Writes as large as the pipe make writer and reader take
/// turns, and across two processors every turn costs a wake-up: 0.5 to 0.8 GB/s were
/// measured, against 1 to 3 GB/s with pieces of this size. A larger pipe would help too,
/// but its size belongs to the reader that is being measured.
const PIECE: usize = 8 * 1024;

pub(crate) fn print(order: PrintMb, voice: &mut Voice) -> Result<(), Failure> {
    match order.shape {
        Shape::Events => {
            let block = events_block(voice.session()).map_err(Failure::output)?;
            repeat(voice, &block, order.mb)
        }
        Shape::Text => repeat(voice, &text_block(), order.mb),
        Shape::ShortLines => repeat(voice, &short_lines(), order.mb),
        Shape::OneLine => one_line(voice, order.mb),
    }
}

fn repeat(voice: &mut Voice, block: &[u8], times: u64) -> Result<(), Failure> {
    for _ in 0..times {
        block.chunks(PIECE).try_for_each(|piece| voice.raw(piece))?;
    }
    Ok(())
}

/// A text event around a text of plain words, cut where the text stands.
fn one_line(voice: &mut Voice, mb: u64) -> Result<(), Failure> {
    let Some(full_blocks) = mb.checked_sub(1) else { return Ok(()) };
    const CUT: &str = "CUT-HERE";
    let frame = Event::text(voice.session(), 1, CUT).line().map_err(Failure::output)?;
    let at = frame.windows(CUT.len()).position(|window| window == CUT.as_bytes()).unwrap_or(0);
    let (head, tail) = (frame[..at].to_vec(), frame[at + CUT.len()..].to_vec());
    let filler = prose(MIB);
    voice.raw(&head)?;
    repeat(voice, filler.as_bytes(), full_blocks)?;
    repeat(voice, &filler.as_bytes()[..MIB - head.len() - tail.len()], 1)?;
    voice.raw(&tail)
}

/// One MiB of lines of 80 characters; the last one is as short as it must be.
fn text_block() -> Vec<u8> {
    let line = prose(TEXT_LINE - 1) + "\n";
    let mut block: Vec<u8> = line.bytes().cycle().take(MIB - 1).collect();
    block.push(b'\n');
    block
}

/// One MiB of the shortest lines that say something.
fn short_lines() -> Vec<u8> {
    let mut block: Vec<u8> = b"never\n".iter().copied().cycle().take(MIB - 1).collect();
    block.push(b'\n');
    block
}

/// One MiB of what an agent at work prints: a text, a tool call, its answer, over and
/// over. A text of the length that is missing fills the rest.
fn events_block(session: &str) -> io::Result<Vec<u8>> {
    let shortest = Event::text(session, 0, "").line()?.len();
    let mut block = Vec::with_capacity(MIB);
    let mut number = 0;
    loop {
        for line in exchange(session, number)? {
            if block.len() + line.len() + shortest > MIB {
                let missing = prose(MIB - block.len() - shortest);
                block.extend(Event::text(session, number, &missing).line()?);
                return Ok(block);
            }
            block.extend(line);
        }
        number += 1;
    }
}

fn exchange(session: &str, number: u64) -> io::Result<[Vec<u8>; 3]> {
    let text = prose(400);
    let command = format!("cargo test --package demo step_{number} 2>&1 | tail -n 40");
    let mut input = Map::new();
    input.insert("command".to_owned(), Value::from(command));
    input.insert("description".to_owned(), Value::from("Run the tests of the step"));
    // From 1 to 8 KB, in an order without a pattern that a cache could learn.
    let lines = 20 + (number * 37) % 125;
    let answer: String = (0..lines)
        .map(|line| format!("{line:>4}\ttest demo::step_{number} ... ok \"done\" in 0.0{line}s\n"))
        .collect();
    Ok([
        Event::text(session, number, &text).line()?,
        Event::tool_use(session, number, number, "Bash", &input).line()?,
        Event::tool_result(session, number, &answer, false).line()?,
    ])
}

/// Words of exactly this length that JSON takes as they are.
fn prose(length: usize) -> String {
    "The tests pass now, so the next thing is to read the error paths once more. "
        .chars()
        .cycle()
        .take(length)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MIB, events_block, exchange, text_block};
    use serde_json::Value;

    #[test]
    fn a_block_of_events_is_one_mib_of_whole_events() {
        let block = String::from_utf8(events_block("session").unwrap()).unwrap();
        assert_eq!(block.len(), MIB);
        assert!(block.ends_with('\n'));
        for line in block.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            assert!(event["type"] == "assistant" || event["type"] == "user");
        }
    }

    #[test]
    fn tool_results_are_of_one_to_eight_kilobytes() {
        for number in 0..200 {
            let length = exchange("session", number).unwrap()[2].len();
            assert!((1000..8800).contains(&length), "{length}");
        }
    }

    #[test]
    fn a_block_of_text_is_one_mib_of_whole_lines() {
        let block = text_block();
        assert_eq!(block.len(), MIB);
        assert_eq!(block.last(), Some(&b'\n'));
        assert!(block.split(|b| *b == b'\n').all(|line| line.len() < 80));
    }
}
