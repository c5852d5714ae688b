//! Whatever the texts are, there is an answer.

use proptest::prelude::*;

use super::*;

/// Text made of what the readers look for, in any order.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "\"",
        "'",
        "`",
        "$",
        "$(",
        "${",
        ")",
        "}",
        "{",
        "(",
        "\\",
        "\n",
        " ",
        "\t",
        "#",
        "//",
        "/*",
        "*/",
        "r#\"",
        "\"\"\"",
        "#[cfg(test)]",
        "#[test]",
        "mod tests",
        ";",
        "|",
        "&&",
        "<<EOF",
        "EOF",
        "<(",
        ">",
        "cd ",
        "sh ",
        "make ",
        "npm run ",
        "a.sh",
        "test:",
        "x = $(x)$(x)",
        "=",
        "[",
        "]",
        "[lib]",
        "test = false",
        "///",
        "```",
        ">>> ",
        "ü",
        "€",
        "\u{1F600}",
        "é",
        "*",
        "**",
        "?",
        "/",
        "..",
        "replace (",
        "\0",
        "'ü",
        "'\\",
    ];
    prop_oneof![
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60)
            .prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "package.json",
            "Cargo.toml",
            "pyproject.toml",
            "go.mod",
            "tests/a.py",
            "a.rs",
            "a.test.ts",
            "Makefile",
            "a_test.go",
            "a.sh",
            "spec/a.rb",
            "a.bats",
            "deno.json",
            "ATest.java",
        ])
        .prop_map(str::to_string),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        command in text(),
        pin in text(),
        path in path(),
        before in prop::option::of(text()),
        after in prop::option::of(text()),
    ) {
        let start = before.clone();
        let gates = Gates::new(&[&command, "make a", "npm test", "sh a.sh"], &[pin], &|_| start.clone());
        let read = |side: Side, _: &str| match side {
            Side::Start => before.clone(),
            Side::Delivered => after.clone(),
        };
        for status in [Status::Added, Status::Changed, Status::Deleted] {
            let differences = [Difference { path: path.clone(), status }];
            let changes = gates.changes(&differences, &read);
            let _ = gates.restored_tree_plan(&changes, &read);
            let _ = gates.inline_changes(&differences, &read);
            let _ = gates.new_tests_on_old_source(&differences);
            let _ = in_one_line(&changes, 3);
        }
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let _ = newly_skipped(&path, &before, &after);
        let _ = reaches_beyond(&path, &after);
        let _ = with_tests_of_start(&path, &before, &after);
    }

    #[test]
    fn blanked_text_keeps_its_length_and_lines(text in text(), end in "rs|py|js|go|c|rb|sh") {
        let language = code::Language::of(&format!("a.{end}")).unwrap();
        let blanked = code::blanked(&text, language);
        prop_assert_eq!(blanked.len(), text.len());
        prop_assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
    }

    /// Whatever was delivered as JSON, the restored manifest has no deciding key that differs.
    #[test]
    fn a_restored_manifest_decides_as_the_start_did(
        start in manifest_text(),
        delivered in manifest_text(),
    ) {
        let read = |side: Side, _: &str| Some(match side {
            Side::Start => start.clone(),
            Side::Delivered => delivered.clone(),
        });
        let gates = Gates::new(&["npm test"], &[], &|_| None);
        let differences = [Difference { path: "package.json".to_string(), status: Status::Changed }];
        let changes = gates.changes(&differences, &read);
        for (_, restore) in gates.restored_tree_plan(&changes, &read) {
            let Restore::Replace(text) = restore else { continue };
            let after = |side: Side, path: &str| match side {
                Side::Start => read(Side::Start, path),
                Side::Delivered => Some(text.clone()),
            };
            prop_assert_eq!(in_one_line(&gates.changes(&differences, &after), 9), "");
        }
    }
}

/// Each of these took a time that grew with the square of its length.
#[test]
fn long_texts_with_many_marks_are_read_once() {
    let before = "#[test]\nfn a() {}\n".repeat(10_000);
    for (path, after) in [
        ("a.rs", "#[test]\nfn b() {}\n".repeat(10_000)),
        ("a.rs", "#[test] ".repeat(20_000)),
        ("a.js", "if (import.meta.vitest) {".repeat(10_000)),
        ("a.sh", "$(".repeat(20_000)),
        ("a.py", "\"\"\"'".repeat(20_000)),
        ("a.rs", "r#\"".repeat(20_000)),
        ("a.rs", "/*".repeat(40_000)),
    ] {
        let _ = inline_tests(path, Some(&before), Some(&after));
        let _ = newly_skipped(path, &before, &after);
        let _ = Gates::new(&[&after, "make", "./a"], &[], &|_| Some(after.clone()));
    }
}

fn manifest_text() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "scripts",
        "jest",
        "dependencies",
        "name",
        "workspaces",
        "test",
        "pretest",
        "x",
    ]);
    let inner = prop::collection::vec(
        (key.clone(), prop::sample::select(vec!["\"a\"", "\"file:b\"", "1", "[\"p\"]"])),
        0..4,
    );
    let object = inner.prop_map(|entries| {
        let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", entries.join(","))
    });
    prop::collection::vec((key, object), 0..5).prop_map(|entries| {
        let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        format!("{{{}}}", entries.join(", "))
    })
}
