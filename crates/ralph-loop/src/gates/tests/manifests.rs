//! Manifests count by the keys that decide, and are put together again.

use super::{GONE, Trees, check};

#[test]
fn package_json_counts_by_the_keys_that_decide() {
    let start = r#"{"name":"a","version":"1.0.0","scripts":{"test":"npm run unit","unit":"node run.js","dev":"vite"},"dependencies":{"x":"1"},"devDependencies":{"jest":"29"},"jest":{"bail":true},"workspaces":["a","b"]}"#;
    let files = &[("package.json", start), ("run.js", "")];
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(start.contains(from), "{from}");
        check("npm test", files, &[("package.json", &start.replace(from, to))], expected);
    };
    for (from, to) in [
        (r#""x":"1""#, r#""x":"2","y":"^3""#),
        (r#""version":"1.0.0""#, r#""version":"1.1.0","description":"d""#),
        (r#""jest":"29""#, r#""jest":"30""#),
        (r#""dev":"vite""#, r#""dev":"vite --host","extra":"echo""#),
        (r#""dev":"vite""#, r#""dev":"vite","prelint":"x""#),
        (r#"["a","b"]"#, r#"["a","b","c"]"#),
        (r#""name":"a""#, r#""name":"a","type":"module","exports":{"import":"./a.mjs","default":"./a.cjs"}"#),
        (r#""x":"1""#, r#""x":"1","local":"file:../local""#),
        (r#"{"name":"a""#, "{\n  \"name\": \"a\""),
    ] {
        edit(from, to, "");
    }
    for (from, to, keys) in [
        (r#""test":"npm run unit""#, r#""test":"true""#, "scripts.test"),
        (r#""unit":"node run.js""#, r#""unit":"true""#, "scripts.unit"),
        (r#""dev":"vite""#, r#""dev":"vite","pretest":"x""#, "scripts.pretest"),
        (r#""dev":"vite""#, r#""dev":"vite","posttest":"x""#, "scripts.posttest"),
        (r#""dev":"vite""#, r#""dev":"vite","preunit":"x""#, "scripts.preunit"),
        (r#""dev":"vite""#, r#""dev":"vite","postinstall":"x""#, "scripts.postinstall"),
        (r#""test":"npm run unit","#, "", "scripts.test"),
        (r#"{"bail":true}"#, r#"{"bail":true,"testPathIgnorePatterns":["."]}"#, "jest"),
        (r#""jest":{"bail":true}"#, r#""jest":{"bail":true},"mocha":{"require":"x"}"#, "mocha"),
        (r#""name":"a""#, r#""name":"a","eslintConfig":{}"#, "eslintConfig"),
        (r#""name":"a""#, r#""name":"a","overrides":{"jest":"npm:fake@1"}"#, "overrides"),
        (r#""name":"a""#, r#""name":"a","config":{"x":1}"#, "config"),
        (r#"["a","b"]"#, r#"["a"]"#, "workspaces"),
        (r#"["a","b"]"#, r#"["a","b","!b"]"#, "workspaces"),
        (r#""jest":"29""#, r#""jest":"file:./fake""#, "devDependencies.jest"),
        (r#""x":"1""#, r#""x":"npm:other@1""#, "dependencies.x"),
        (r#""x":"1""#, r#""x":"1","mocha":"file:./m""#, "dependencies.mocha"),
        (
            r#""scripts":{"test":"npm run unit","unit":"node run.js","dev":"vite"}"#,
            r#""scripts":"x""#,
            "scripts",
        ),
    ] {
        edit(from, to, &format!("package.json (changed: {keys})"));
    }
    check("npm test", files, &[("package.json", "{")], "package.json (changed)");
    check("npm test", files, &[("package.json", GONE)], "package.json (deleted)");
    check("npm test", files, &[("run.js", "x")], "run.js (changed)");
    check(
        "npm test",
        &[],
        &[("package.json", start)],
        "package.json (new configuration: jest, scripts.test)",
    );
    check("npm test", files, &[("packages/new/package.json", r#"{"name":"n","scripts":{"test":"x"}}"#)], "");
    check(
        "pnpm -r test",
        &[("p/package.json", start)],
        &[("p/package.json", &start.replace("npm run unit", "true"))],
        "p/package.json (changed: scripts.test)",
    );
    check(
        "npm --prefix p run unit",
        &[("p/package.json", start), ("p/run.js", "")],
        &[("p/run.js", "x")],
        "p/run.js (changed)",
    );
    check(
        "yarn unit",
        &[("package.json", start)],
        &[("package.json", &start.replace("node run.js", "true"))],
        "package.json (changed: scripts.unit)",
    );
    check(
        "run-s lint:*",
        &[("package.json", r#"{"scripts":{"lint:a":"x"}}"#)],
        &[("package.json", r#"{"scripts":{"lint:a":"y"}}"#)],
        "package.json (changed: scripts.lint:a)",
    );
}

#[test]
fn cargo_toml_counts_by_the_keys_that_decide() {
    let start = "[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\n\n\
                 [features]\ndefault = []\n\n[lints.clippy]\nunwrap_used = \"deny\"\n\n[workspace]\nmembers = [\"x\", \"y\"]\n";
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(start.contains(from), "{from}");
        check("cargo test", &[("Cargo.toml", start)], &[("Cargo.toml", &start.replace(from, to))], expected);
    };
    for (from, to) in [
        ("serde = \"1\"", "serde = { version = \"1.1\", features = [\"derive\"] }\ntoml = \"1\""),
        ("version = \"1.0.0\"", "version = \"1.1.0\"\ndescription = \"d\""),
        ("default = []", "default = [\"x\"]\nx = []"),
        ("[workspace]", "[dev-dependencies]\ninsta = \"1\"\n[workspace]"),
        ("[workspace]", "[[bin]]\nname = \"b\"\npath = \"src/b.rs\"\n[workspace]"),
        ("[workspace]", "[lib]\nname = \"l\"\npath = \"src/l.rs\"\n[workspace]"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\", \"z\"]"),
        ("[workspace]", "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[workspace]"),
        ("serde = \"1\"", "serde = \"1\" # a comment\nnew = { path = \"new\" }"),
    ] {
        edit(from, to, "");
    }
    for (from, to, keys) in [
        ("\"deny\"", "\"allow\"", "lints"),
        ("edition = \"2024\"", "edition = \"2024\"\nautotests = false", "package.autotests"),
        ("edition = \"2024\"", "edition = \"2024\"\nbuild = \"b.rs\"", "package.build"),
        ("[workspace]", "[lib]\ntest = false\n[workspace]", "lib.test"),
        ("[workspace]", "[lib]\ndoctest = false\n[workspace]", "lib.doctest"),
        ("[workspace]", "[ \"lib\" ]\n\"test\" = false\n[workspace]", "lib.test"),
        ("[package]", "lib.test = false\n[package]", "lib.test"),
        ("[package]", "lib = { test = false }\n[package]", "lib.test"),
        ("[workspace]", "[[test]]\nname = \"a\"\nharness = false\n[workspace]", "test"),
        ("[workspace]", "[[bin]]\nname = \"a\"\ntest = false\n[workspace]", "bin"),
        ("[workspace]", "[profile.test]\noverflow-checks = false\n[workspace]", "profile"),
        ("[workspace]", "[patch.crates-io]\nserde = { path = \"s\" }\n[workspace]", "patch"),
        ("serde = \"1\"", "serde = { path = \"fake\" }", "dependencies.serde"),
        ("[\"x\", \"y\"]", "[\"x\"]", "workspace.members"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\"]\nexclude = [\"x\"]", "workspace.exclude"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\"]\ndefault-members = [\"x\"]", "workspace.default-members"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\"]\n[workspace.lints.rust]\nx = \"allow\"", "workspace.lints"),
    ] {
        edit(from, to, &format!("Cargo.toml (changed: {keys})"));
    }
    edit("[workspace]", "[workspace", "Cargo.toml (changed)");
    check(
        "cargo test",
        &[],
        &[("crates/n/Cargo.toml", "[package]\nname = \"n\"\n[dependencies]\nx = \"1\"\n")],
        "",
    );
    check(
        "cargo test",
        &[],
        &[("n/Cargo.toml", "[lib]\ntest = false\n")],
        "n/Cargo.toml (new configuration: lib.test)",
    );
}

#[test]
fn pyproject_go_mod_and_others_count_by_the_keys_that_decide() {
    let start = "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"x\"]\n[tool.pytest.ini_options]\naddopts = \"-q\"\n[tool.poetry.dependencies]\ny = \"1\"\n";
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(start.contains(from), "{from}");
        check(
            "pytest",
            &[("pyproject.toml", start)],
            &[("pyproject.toml", &start.replace(from, to))],
            expected,
        );
    };
    edit("[\"x\"]", "[\"x\", \"z>=2\"]", "");
    edit("version = \"1\"", "version = \"2\"\ndescription = \"d\"", "");
    edit("y = \"1\"", "y = \"2\"\nz = \"1\"", "");
    edit(
        "[tool.poetry.dependencies]",
        "[dependency-groups]\ndev = [\"pytest\"]\n[tool.poetry.dependencies]",
        "",
    );
    edit("\"-q\"", "\"-q --ignore=tests\"", "pyproject.toml (changed: tool.pytest)");
    edit(
        "[tool.poetry.dependencies]",
        "[tool.ruff]\nexclude = [\"src\"]\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: tool.ruff)",
    );
    edit(
        "[tool.poetry.dependencies]",
        "[tool.coverage.report]\nfail_under = 0\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: tool.coverage)",
    );
    edit(
        "[tool.pytest.ini_options]",
        "[project.entry-points.pytest11]\nx = \"p\"\n[tool.pytest.ini_options]",
        "pyproject.toml (changed: project.entry-points.pytest11)",
    );
    edit(
        "[tool.poetry.dependencies]",
        "[build-system]\nrequires = []\nbackend-path = [\".\"]\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: build-system.backend-path)",
    );
    edit(
        "[tool.poetry.dependencies]",
        "[tool.uv.sources]\npytest = { path = \"fake\" }\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: tool.uv.sources.pytest)",
    );
    check(
        "pytest",
        &[],
        &[("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--co\"\n")],
        "pyproject.toml (new configuration: tool.pytest)",
    );
    check("pytest", &[], &[("pyproject.toml", "[project]\nname = \"a\"\n")], "");

    let go = "module a\n\ngo 1.24\n\nrequire (\n\tx v1.0.0\n\ty v1.0.0 // indirect\n)\n";
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &go.replace("x v1.0.0", "x v1.1.0\n\tz v1.0.0"))],
        "",
    );
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &format!("{go}replace x => ./fake\n"))],
        "go.mod (changed: replace)",
    );
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &format!("{go}replace(\n\tx => ./fake\n)\n"))],
        "go.mod (changed: replace)",
    );
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &format!("{go}toolchain go1.1\n"))],
        "go.mod (changed: toolchain)",
    );
    let deno = r#"{"tasks":{"test":"deno test"},"imports":{"a":"jsr:a@1"}}"#;
    check(
        "deno task test",
        &[("deno.json", deno)],
        &[("deno.json", &deno.replace("deno test", "true"))],
        "deno.json (changed: tasks)",
    );
    check("deno task test", &[("deno.json", deno)], &[("deno.json", &deno.replace("a@1", "a@2"))], "");
    check(
        "deno test",
        &[("deno.json", deno)],
        &[("deno.json", &deno.replace("jsr:a@1", "./fake.ts"))],
        "deno.json (changed: imports.a)",
    );
    let composer = r#"{"require":{"a/b":"^1"},"scripts":{"test":"phpunit"}}"#;
    check(
        "composer test",
        &[("composer.json", composer)],
        &[("composer.json", &composer.replace("^1", "^2"))],
        "",
    );
    check(
        "composer test",
        &[("composer.json", composer)],
        &[("composer.json", &composer.replace("phpunit", "true"))],
        "composer.json (changed: scripts)",
    );
}

#[test]
fn a_restored_manifest_keeps_what_was_honestly_added() {
    let start = r#"{"name":"a","scripts":{"test":"jest","dev":"x"},"dependencies":{"x":"1"}}"#;
    let delivered = r#"{"name":"a","exports":{"import":"./a.mjs","default":"./a.js"},"scripts":{"dev":"y","test":"true","new":"z"},"dependencies":{"x":"1","y":"2"}}"#;
    let trees = Trees::new(&[("package.json", start)], &[("package.json", delivered)]);
    let restored = &trees.restored(&trees.gates(&["npm test"], &[]))["package.json"];
    let text: String = restored.split_whitespace().collect();
    assert_eq!(text, delivered.replace("\"true\"", "\"jest\""), "with the order of keys");

    let start = "[package]\nname = \"a\"\n[lints.rust]\nx = \"deny\"\n[dependencies]\nx = \"1\"\n";
    let delivered = "[package]\nname = \"a\"\nautotests = false\n[dependencies]\nx = \"1\"\ny = { version = \"2\", features = [\"f\"] }\n";
    let trees = Trees::new(&[("Cargo.toml", start)], &[("Cargo.toml", delivered)]);
    let restored = &trees.restored(&trees.gates(&["cargo test"], &[]))["Cargo.toml"];
    let restored: toml::Table = toml::from_str(restored).unwrap();
    let expected = "[package]\nname = \"a\"\n[lints.rust]\nx = \"deny\"\n[dependencies]\nx = \"1\"\ny = { version = \"2\", features = [\"f\"] }\n";
    assert_eq!(restored, toml::from_str::<toml::Table>(expected).unwrap());

    let start = "module a\nreplace z => ../z\n";
    let delivered = "module a\nrequire (\n\ty v2.0.0\n)\nreplace x => ./fake\n";
    let trees = Trees::new(&[("go.mod", start)], &[("go.mod", delivered)]);
    let restored = &trees.restored(&trees.gates(&["go test"], &[]))["go.mod"];
    assert_eq!(restored, "module a\nrequire y v2.0.0\nreplace z => ../z\n");
}
