//! The reference in `docs/settings.md`: written from the table, and held to be current.
//!
//! `UPDATE_DOCS=1 cargo test -p ralph the_settings_reference_is_current` writes it anew.

use super::check::expected;
use super::table::{Fallback, KEYS, Key, Kind, MOST};
use std::path::Path;

const BEGIN: &str = "<!-- reference: begin; written by UPDATE_DOCS=1 cargo test -p ralph -->\n";
const END: &str = "<!-- reference: end -->";

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
            Fallback::Required => "must be given".to_string(),
            Fallback::Nothing => "none".to_string(),
            Fallback::Group => String::new(),
            Fallback::Switch(_) | Fallback::Count(_) | Fallback::Text(_) | Fallback::EmptyList => {
                format!("`{}`", key.default_value())
            }
        };
        table.push_str(&format!("| `{name}` | {value} | {default} | {} |\n", key.doc));
        let separator = if matches!(key.kind, Kind::Groups(_)) { "[]." } else { "." };
        rows(key.kind.keys(), &format!("{name}{separator}"), table);
    }
}

#[test]
fn the_settings_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the mark where the reference begins");
    let (written, after) = rest.split_once(END).expect("the page has the mark where the reference ends");
    let current = reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let page = format!("{before}{BEGIN}{current}{END}{after}");
        return crate::fsx::write_whole(&path, page.as_bytes()).unwrap();
    }
    assert_eq!(written, current, "docs/settings.md is not current: UPDATE_DOCS=1 cargo test -p ralph");
}
