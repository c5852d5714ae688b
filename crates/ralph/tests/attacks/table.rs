//! The table in docs/sandbox.md.
//!
//! `UPDATE_DOCS=1 cargo test -p ralph --test attacks the_table` updates it.

use crate::case::{Attack, Place};
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- attacks: begin; written by UPDATE_DOCS=1 cargo test -p ralph --test attacks -->\n";
const END: &str = "<!-- attacks: end -->";

pub fn check(attacks: &[Attack]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let current = format!("{before}{BEGIN}{}{END}{after}", table(attacks));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&path, current).unwrap();
    }
    assert_eq!(
        page, current,
        "docs/sandbox.md is not current: UPDATE_DOCS=1 cargo test -p ralph --test attacks"
    );
}

fn table(attacks: &[Attack]) -> String {
    let names = Place::ALL.map(Place::name).join(" | ");
    let mut table = format!("| attack | {names} |\n|---|---|---|---|\n");
    let mut kind = "";
    for attack in attacks {
        if attack.kind != kind {
            kind = &attack.kind;
            table.push_str(&format!(
                "| **{}** | | | |\n",
                kind.split_once('-').map_or(kind, |(_, name)| name).replace('-', " ")
            ));
        }
        let cells = Place::ALL.map(|place| attack.outcome(place).name());
        let note = match attack.note.as_str() {
            "" => String::new(),
            note => format!(" ({note})"),
        };
        table.push_str(&format!("| {}{note} | {} |\n", attack.title, cells.join(" | ")));
    }
    table
}
