//! Which keys of a manifest decide over a verdict.
//!
//! The tables list what does not: what names and describes a package, where its sources are, and its
//! dependencies. A key that is not listed decides, since every tool can have a section of its own in
//! a manifest and no list has them all. The first row that fits a key, or one inside of it, counts.

use super::manifest::Format;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Says nothing about tests.
    Free,
    Decides,
    /// Rows for keys inside of it exist.
    Within,
    /// A script: decides if a check runs it.
    Script,
    /// Decides if it is replaced by something from elsewhere.
    Dependency,
    /// A list of packages: decides if one is taken out.
    Removal,
    /// Targets of Cargo: decide by what they say about their tests.
    Targets,
}

use Rule::{Decides, Dependency, Free, Removal, Script, Targets};

/// Keys, what they do, and why.
type Row = (&'static [&'static str], Rule, &'static str);

const PACKAGE_JSON: &[Row] = &[
    (
        &["name version description keywords homepage bugs license author contributors maintainers funding"],
        Free,
        "They describe the package.",
    ),
    (
        &["repository private publishConfig files man directories bin icon displayName publisher categories"],
        Free,
        "They say how it is published.",
    ),
    (
        &["main module browser types typings typesVersions exports imports sideEffects unpkg jsdelivr"],
        Free,
        "They say where its sources are.",
    ),
    (
        &["type"],
        Free,
        "How sources are loaded; a change of it without the sources that go with it can only break.",
    ),
    (&["engines packageManager devEngines"], Free, "Versions, like those of dependencies."),
    (&["contributes activationEvents"], Free, "What an extension of an editor offers: that is the product."),
    (
        &["dependencies", "*"],
        Dependency,
        "A version decides nothing; a package of the same name from elsewhere can.",
    ),
    (&["devDependencies", "*"], Dependency, "Test runners are among them."),
    (&["optionalDependencies", "*"], Dependency, "As the others."),
    (
        &["peerDependencies peerDependenciesMeta bundleDependencies bundledDependencies"],
        Free,
        "They install nothing else.",
    ),
    (&["scripts", "*"], Script, "npm test is one of them, and what it calls are others."),
    (&["workspaces"], Removal, "Tests of a package that is taken out do not run."),
    // Not listed, so they decide: jest, mocha, ava, eslintConfig, nyc, c8, babel, lint-staged, config;
    // overrides, resolutions and pnpm, which replace any package by any other, the test runner too.
];

const DENO_JSON: &[Row] = &[
    (&["name version license exports publish"], Free, "They describe the package."),
    (&["imports", "*"], Dependency, "Its dependencies."),
    (&["workspace"], Removal, "Tests of a package that is taken out do not run."),
];

const COMPOSER_JSON: &[Row] = &[
    (
        &["name version description keywords homepage license authors support funding type time readme"],
        Free,
        "They describe the package.",
    ),
    (&["require", "*"], Dependency, "A version decides nothing."),
    (&["require-dev", "*"], Dependency, "A version decides nothing."),
    (
        &["autoload suggest conflict provide minimum-stability prefer-stable bin archive"],
        Free,
        "They say where its sources are.",
    ),
];

const CARGO_TOML: &[Row] = &[
    (
        &[
            "package",
            "name version authors edition rust-version description documentation readme homepage repository license",
        ],
        Free,
        "They describe the package.",
    ),
    (
        &[
            "package",
            "license-file keywords categories links exclude include publish metadata default-run resolver",
        ],
        Free,
        "They describe the package.",
    ),
    (&["package", "*"], Decides, "autotests, autobins and build decide which tests exist."),
    (
        &["dependencies dev-dependencies build-dependencies dev_dependencies build_dependencies", "*"],
        Dependency,
        "A version decides nothing.",
    ),
    (
        &["target", "*", "dependencies dev-dependencies build-dependencies", "*"],
        Dependency,
        "A version decides nothing.",
    ),
    (&["workspace", "dependencies", "*"], Dependency, "A version decides nothing."),
    (&["workspace", "members"], Removal, "Tests of a package that is taken out do not run."),
    (&["workspace", "package metadata resolver"], Free, "They describe packages."),
    (
        &["lib", "name path crate-type crate_type proc-macro edition required-features"],
        Free,
        "They say where its sources are.",
    ),
    (&["lib", "*"], Decides, "test, doctest and harness decide which tests run."),
    (&["bin example"], Targets, "test and harness decide which tests run."),
    (&["bench features badges"], Free, "They are no tests, or tests are held by name."),
    // Not listed, so they decide: lints, profile (overflow checks, assertions), patch, replace, test.
];

const PYPROJECT_TOML: &[Row] = &[
    (&["project", "entry-points", "pytest11"], Decides, "pytest loads the plugins that it names."),
    (&["project", "entry-points", "*"], Free, "Other plugins are part of the product."),
    (&["project", "*"], Free, "It describes the package and has its dependencies."),
    (&["dependency-groups"], Free, "Dependencies."),
    (&["build-system", "requires"], Free, "Dependencies of the build."),
    (&["build-system", "*"], Decides, "A backend inside of the project runs code when it is installed."),
    (
        &[
            "tool",
            "poetry",
            "name version description authors maintainers license readme homepage repository documentation keywords classifiers packages include exclude scripts extras urls package-mode",
        ],
        Free,
        "They describe the package.",
    ),
    (&["tool", "poetry", "dependencies dev-dependencies", "*"], Dependency, "A version decides nothing."),
    (&["tool", "poetry", "group", "*", "dependencies", "*"], Dependency, "A version decides nothing."),
    (&["tool", "uv", "dev-dependencies workspace package"], Free, "Dependencies."),
    (&["tool", "uv", "sources", "*"], Dependency, "Where dependencies come from."),
    (&["tool", "pdm", "dev-dependencies version build distribution"], Free, "Dependencies and the build."),
    (&["tool", "hatch", "version build metadata"], Free, "The build."),
    (
        &[
            "tool",
            "setuptools setuptools_scm setuptools-scm flit maturin scikit-build towncrier bumpversion commitizen semantic_release bumpver",
        ],
        Free,
        "Builds and releases.",
    ),
    // Not listed, so they decide: tool.pytest, tool.coverage, tool.ruff, tool.mypy, tool.tox, tool.poe,
    // tool.hatch.envs, tool.pdm.scripts, tool.uv.override-dependencies and all the others.
];

const GO_MOD: &[Row] = &[
    (&["module go require retract tool"], Free, "The module, its language version and dependencies."),
    // Not listed, so they decide: replace, exclude, toolchain, godebug, ignore.
];

fn rows(format: Format) -> &'static [Row] {
    match format {
        Format::PackageJson => PACKAGE_JSON,
        Format::DenoJson => DENO_JSON,
        Format::ComposerJson => COMPOSER_JSON,
        Format::CargoToml => CARGO_TOML,
        Format::PyprojectToml => PYPROJECT_TOML,
        Format::GoMod => GO_MOD,
    }
}

/// What applies to a key, by the names on the way to it.
pub(super) fn rule(format: Format, keys: &[String]) -> Rule {
    if keys.is_empty() {
        return Rule::Within;
    }
    let fits = |row: &Row| {
        row.0.iter().zip(keys).all(|(names, key)| *names == "*" || names.split(' ').any(|name| name == key))
    };
    rows(format)
        .iter()
        .find(|row| row.0.len() >= keys.len() && fits(row))
        .map_or(Decides, |row| if row.0.len() > keys.len() { Rule::Within } else { row.1 })
}

/// Packages that run tests or judge the code.
pub(super) fn is_test_tool(name: &str) -> bool {
    const BEGINS: &[&str] = &[
        "jest",
        "@jest/",
        "vitest",
        "@vitest/",
        "mocha",
        "chai",
        "ava",
        "jasmine",
        "cypress",
        "playwright",
        "@playwright/",
        "eslint",
        "@eslint/",
        "prettier",
        "typescript",
        "nyc",
        "c8",
        "sinon",
        "tap",
        "ts-jest",
        "@testing-library/",
        "pytest",
        "coverage",
        "hypothesis",
        "tox",
        "nox",
        "mypy",
        "pyright",
        "ruff",
        "flake8",
        "pylint",
        "proptest",
        "quickcheck",
        "rstest",
        "insta",
        "trybuild",
        "assert_cmd",
        "pretty_assertions",
        "phpunit/",
        "pestphp/",
        "@std/assert",
        "@std/testing",
    ];
    BEGINS.iter().any(|begin| match begin.ends_with('/') {
        true => name.starts_with(begin),
        false => name == *begin || name.strip_prefix(begin).is_some_and(|rest| rest.starts_with(['-', '_'])),
    })
}
