//! The tables in `docs/settings.md`: written from the program's own, and held to be current.
//!
//! `UPDATE_DOCS=1 cargo test -p ralph the_tables_of_the_settings_are_current` updates them.

use super::check::expected;
use super::table::{Fallback, KEYS, Key, Kind, MOST};
use ralph_loop::money::Usd;
use ralph_loop::price;
use std::path::Path;

fn reference() -> String {
    let mut table = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    rows(KEYS, "", &mut table);
    table.push_str(&format!("\nNumbers are at most {MOST}.\n"));
    table
}

fn rows(keys: &[Key], above: &str, table: &mut String) {
    for key in keys {
        let name = format!("{above}{}", key.name);
        let value = match key.kind {
            Kind::Choice(choices) => {
                choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
            }
            kind => expected(kind).replace("[\"…\"] ", "").replace("[{…}] ", "").replace(" {…}", ""),
        };
        let default = match key.default {
            Fallback::Required => "required".to_string(),
            Fallback::Nothing => "none".to_string(),
            Fallback::Group => String::new(),
            Fallback::Switch(_)
            | Fallback::Count(_)
            | Fallback::Text(_)
            | Fallback::EmptyList
            | Fallback::EmptyObject => {
                format!("`{}`", key.default_value())
            }
        };
        table.push_str(&format!("| `{name}` | {value} | {default} | {} |\n", key.doc));
        rows(key.kind.keys(), &format!("{name}{}", key.kind.way_in()), table);
    }
}

fn built_in_prices() -> String {
    let mut table = String::from(
        "| model starts with | input | cached input | cache write | output |\n|---|---|---|---|---|\n",
    );
    for (prefix, price) in price::built_in() {
        let [input, cached, write, output] =
            [price.input, price.cached_input, price.cache_write, price.output].map(Usd::dollars);
        table.push_str(&format!("| `{prefix}` | {input} | {cached} | {write} | {output} |\n"));
    }
    table
}

/// The page with what stands between the marks of a name replaced.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let begin = format!("<!-- {name}: begin; written by UPDATE_DOCS=1 cargo test -p ralph -->\n");
    let end = format!("<!-- {name}: end -->");
    let (before, rest) = page.split_once(&begin).expect("the page has the mark where the table begins");
    let (_, after) = rest.split_once(&end).expect("the page has the mark where the table ends");
    format!("{before}{begin}{table}{end}{after}")
}

#[test]
fn the_tables_of_the_settings_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let current = with_table(&page, "reference", &reference());
    let current = with_table(&current, "prices", &built_in_prices());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return crate::fsx::write_whole(&path, current.as_bytes()).unwrap();
    }
    assert_eq!(page, current, "docs/settings.md is not current: UPDATE_DOCS=1 cargo test -p ralph");
}
