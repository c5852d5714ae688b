//! Files that decide over a verdict by their well-known names, each with the reason.
//!
//! A row without a slash is the name of a file at any depth; one with a slash is a path whose
//! beginning can be at any depth, since packages of a workspace are nested, unless it starts with the
//! slash. A row in small letters ignores case. The first row that fits counts.
//!
//! A row too many costs one more run of the checks: they run again with the files as they were at
//! the start, and if they are green both ways nothing is lowered. A row too few lets a changed gate
//! pass. So when in doubt there is a row.
//!
//! Deliberately absent: lockfiles (they follow the dependencies, which do not decide), `.gitignore`
//! and documentation.

use super::GateKind;
use super::glob::{Glob, Path};
use super::shadowing;

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub pattern: &'static str,
    pub kind: GateKind,
    pub reason: &'static str,
}

const fn config(pattern: &'static str, reason: &'static str) -> Row {
    Row { pattern, kind: GateKind::Config, reason }
}

const fn manifest(pattern: &'static str, reason: &'static str) -> Row {
    Row { pattern, kind: GateKind::Manifest, reason }
}

const fn test(pattern: &'static str, reason: &'static str) -> Row {
    Row { pattern, kind: GateKind::Test, reason }
}

/// Directories whose files are data of tests, whatever their names: a `Makefile` in there is an
/// example, not configuration.
const DATA: &[Row] = &[
    test("tests/**/fixtures/**", "Tests read their input from fixtures."),
    test("test/**/fixtures/**", "Tests read their input from fixtures."),
    test("__tests__/**/fixtures/**", "Tests read their input from fixtures."),
    test("__fixtures__/**", "Jest's directory for the data of tests."),
    test("testdata/**", "Go's directory for the data of tests; other ecosystems have taken it over."),
    test("__snapshots__/**", "Snapshots are what tests compare with."),
];

const BUILD: &[Row] = &[
    config("gnumakefile", "GNU make reads it instead of any other makefile."),
    config("makefile", "make runs the recipes in it."),
    config("bsdmakefile", "BSD make reads it instead of Makefile."),
    config("makefile.*", "Makefiles include parts under such names."),
    config("*.mk", "Makefiles include such files."),
    config("*.mak", "Makefiles include such files."),
    config("justfile", "just runs the recipes in it."),
    config(".justfile", "just reads it like justfile."),
    config("*.just", "Justfiles import such files."),
    config("taskfile.y*ml", "task runs the commands in it."),
    config("taskfile.dist.y*ml", "task reads it like Taskfile.yml."),
    config("mise.toml", "mise runs tasks from it and sets the versions of tools and the environment."),
    config(".mise.toml", "mise reads it like mise.toml."),
    config(".tool-versions", "asdf and mise choose the versions of tools by it."),
    config("cmakelists.txt", "CMake's build and its list of tests."),
    config("*.cmake", "CMake files include such files, and ctest reads CTestTestfile.cmake."),
    config("cmakepresets.json", "Presets choose what cmake and ctest build and run."),
    config("cmakeuserpresets.json", "Presets of a user, read with the others."),
    config("meson.build", "Meson's build and its list of tests."),
    config("meson_options.txt", "Options of Meson's build."),
    config("meson.options", "Options of Meson's build."),
    config("configure", "Scripts like ./configure decide what is built."),
    config("configure.ac", "Autoconf writes ./configure from it."),
    config("sconstruct", "SCons runs it."),
    config("wscript", "waf runs it."),
    config("build.ninja", "ninja runs the commands in it."),
    config("dodo.py", "doit runs the tasks in it."),
    config("magefile.go", "mage runs the targets in it."),
    config("build.zig", "zig build test runs the steps in it."),
    config("build", "Bazel and Buck read targets and tests from it."),
    config("build.bazel", "Bazel reads targets and tests from it."),
    config(".bazelrc", "Options of every bazel command, filters of tests among them."),
    config("module.bazel", "Bazel's rules come from it."),
    config("workspace", "Bazel's rules come from it."),
    config("earthfile", "earthly runs the targets in it."),
    config("dagger.json", "dagger runs modules from it."),
    config("dockerfile", "Checks that run in a container are built from it."),
    config("*.dockerfile", "Checks that run in a container are built from it."),
    config("dockerfile.*", "Checks that run in a container are built from it."),
    config("docker-compose*.y*ml", "Checks start services and tests from it."),
    config("compose*.y*ml", "docker compose reads it first."),
];

const RUST: &[Row] = &[
    manifest("cargo.toml", "Lints, profiles, patches and the list of test targets."),
    config(".cargo/**", "Aliases, runners, flags and replaced sources of every cargo command."),
    config("rust-toolchain.toml", "The compiler that every cargo command uses."),
    config("rust-toolchain", "The compiler that every cargo command uses."),
    config("build.rs", "Runs before each build and decides what is compiled."),
    config("clippy.toml", "What clippy refuses."),
    config(".clippy.toml", "What clippy refuses."),
    config("rustfmt.toml", "What cargo fmt --check compares with."),
    config(".rustfmt.toml", "What cargo fmt --check compares with."),
    config("deny.toml", "What cargo deny refuses."),
    config("nextest.toml", "nextest's profiles: retries, filters, and which failures count."),
    config("tarpaulin.toml", "What cargo tarpaulin measures and demands."),
    config(".tarpaulin.toml", "What cargo tarpaulin measures and demands."),
    config("insta.yaml", "Whether a snapshot that differs is a failure."),
    config(".config/insta.yaml", "Whether a snapshot that differs is a failure."),
    config("trybuild.toml", "How tests of compile errors are compared."),
];

const PYTHON: &[Row] = &[
    manifest("pyproject.toml", "Sections of pytest, coverage, linters and type checkers."),
    config("conftest.py", "pytest runs it before any test; it can skip and rewrite all of them."),
    config("pytest.ini", "Options of every pytest run; it wins over pyproject.toml."),
    config(".pytest.ini", "pytest reads it like pytest.ini."),
    config("pytest.toml", "pytest reads it before pytest.ini."),
    config(".pytest.toml", "pytest reads it before pytest.ini."),
    config("tox.ini", "tox's environments, and options of pytest and flake8."),
    config("tox.toml", "tox's environments."),
    config("setup.cfg", "Options of pytest, flake8, mypy and coverage."),
    config("setup.py", "Runs when the package is installed; it can register pytest plugins."),
    config("noxfile.py", "nox runs the sessions in it."),
    config("/tasks.py", "invoke runs the tasks in it."),
    config("/fabfile.py", "fab runs the tasks in it."),
    config("manage.py", "Django's tests are started by it."),
    config("pytest.py", "Python imports it instead of pytest."),
    config("_pytest/**", "Python imports it instead of pytest's own package."),
    config("unittest.py", "Python imports it instead of its own module."),
    config("sitecustomize.py", "Python runs it at every start."),
    config("usercustomize.py", "Python runs it at every start."),
    config("*.dist-info/**", "Names plugins that pytest loads, as if the project was an installed package."),
    config("*.egg-info/**", "Names plugins that pytest loads, as if the project was an installed package."),
    config("*.pth", "Python runs the import lines in it at every start."),
    config("pyvenv.cfg", "Makes a directory a Python environment with packages of its own."),
    config(".python-version", "The Python that pyenv and uv choose."),
    config(".coveragerc", "What coverage measures and demands."),
    config("mypy.ini", "What mypy reports."),
    config(".mypy.ini", "What mypy reports."),
    config("pyrightconfig.json", "What pyright reports."),
    config("basedpyright.toml", "What basedpyright reports."),
    config("ty.toml", "What ty reports."),
    config("ruff.toml", "What ruff reports; it wins over pyproject.toml."),
    config(".ruff.toml", "What ruff reports; it wins over ruff.toml."),
    config(".flake8", "What flake8 reports."),
    config(".pylintrc", "What pylint reports."),
    config("pylintrc", "What pylint reports."),
    config(".isort.cfg", "What isort demands."),
    config(".style.yapf", "What yapf demands."),
    config(".bandit", "What bandit reports."),
    config("behave.ini", "Options of every behave run."),
    config("uv.toml", "Sources and overrides of packages for uv; it wins over pyproject.toml."),
];

const SHADOWING: Row = config("/json.py", "Python imports it instead of its own module of that name.");

const JAVASCRIPT: &[Row] = &[
    manifest("package.json", "Scripts, and sections of test runners and linters."),
    config("package.yaml", "pnpm reads it like package.json."),
    config("package.json5", "pnpm reads it like package.json."),
    manifest("deno.json", "Tasks, and what deno test and deno lint cover."),
    config("deno.jsonc", "Tasks, and what deno test and deno lint cover."),
    config("bunfig.toml", "What bun test preloads and covers."),
    config("node_modules/.bin/**", "Programs that scripts of package.json run; mostly git ignores it."),
    config(".npmrc", "Options of npm: the shell of scripts, ignored scripts, the registry."),
    config(".yarnrc*", "Options of yarn, among them the program that runs instead of yarn."),
    config(".yarn/**", "Plugins, patches and releases that yarn runs."),
    config(".pnpmfile.*", "Rewrites packages while pnpm installs them."),
    config("pnpm-workspace.yaml", "The packages of a workspace, overrides and options of pnpm."),
    config("lerna.json", "The packages that lerna runs scripts in."),
    config("nx.json", "The targets that nx runs, and what it takes from its cache."),
    config("apps/*/project.json", "The targets that nx runs in a project."),
    config("libs/*/project.json", "The targets that nx runs in a project."),
    config("packages/*/project.json", "The targets that nx runs in a project."),
    config("turbo.json*", "The tasks that turbo runs, and what it takes from its cache."),
    config(".nvmrc", "The version of Node."),
    config(".node-version", "The version of Node."),
    config("patches/**", "patch-package and pnpm change installed packages by these."),
    config("jest.*", "Options, setup files and replaced modules of jest."),
    config("jest-*.js*", "Presets and setup files of jest."),
    config("vitest.*", "Options, setup files and aliases of vitest."),
    config("vite.config.*", "vitest reads its options from it too."),
    config(".mocharc*", "Options of every mocha run, among them files to require."),
    config("mocha.opts", "Options of every mocha run before version 8."),
    config("ava.config.*", "Options of every ava run."),
    config(".taprc", "Options of every tap run."),
    config(".jasmine.json", "Options of every jasmine run."),
    config("jasmine.json", "Options of every jasmine run."),
    config("karma.conf.*", "What karma runs."),
    config("playwright.config.*", "What playwright runs, and how often it retries."),
    config("playwright-ct.config.*", "What playwright runs, and how often it retries."),
    config("cypress.config.*", "What cypress runs, and how often it retries."),
    config("cypress.json", "What cypress runs, and how often it retries."),
    config("wdio.conf.*", "What WebdriverIO runs."),
    config("web-test-runner.config.*", "What the web test runner runs."),
    config("setuptests.*", "Runs before every test of Create React App."),
    config("tsconfig*.json", "What tsc checks, and how strictly."),
    config("jsconfig*.json", "What tsc checks, and how strictly."),
    config(".eslintrc*", "What eslint reports."),
    config("eslint.config.*", "What eslint reports; it wins over .eslintrc."),
    config(".eslintignore", "What eslint does not look at."),
    config("biome.json*", "What biome reports."),
    config(".biome.json*", "What biome reports."),
    config(".oxlintrc.json", "What oxlint reports."),
    config("oxlint.config.*", "What oxlint reports."),
    config("tslint.json", "What tslint reports."),
    config(".prettierrc*", "What prettier --check demands."),
    config("prettier.config.*", "What prettier --check demands."),
    config(".prettierignore", "What prettier does not look at."),
    config(".stylelintrc*", "What stylelint reports."),
    config("stylelint.config.*", "What stylelint reports."),
    config(".stylelintignore", "What stylelint does not look at."),
    config("babel.config.*", "Transforms tests and sources before they run."),
    config(".babelrc*", "Transforms tests and sources before they run."),
    config(".swcrc", "Transforms tests and sources before they run."),
    config(".nycrc*", "What nyc measures and demands."),
    config(".c8rc*", "What c8 measures and demands."),
    config("gulpfile.*", "gulp runs the tasks in it."),
    config("gruntfile.*", "grunt runs the tasks in it."),
    config("jakefile*", "jake runs the tasks in it."),
    config("webpack.config.*", "Aliases and transforms of what is tested."),
    config("rollup.config.*", "Aliases and transforms of what is tested."),
    config("angular.json", "The targets that ng test and ng lint run."),
    config("stryker.conf*", "What stryker mutates and demands."),
];

const GO: &[Row] = &[
    manifest("go.mod", "Replaced modules and the toolchain."),
    config("go.work", "Modules that replace those of go.mod."),
    config("go.env", "Flags of every go command."),
    config(".golangci.*", "What golangci-lint reports."),
    config("staticcheck.conf", "What staticcheck reports."),
    config("revive.toml", "What revive reports."),
    config("vendor/modules.txt", "Which packages go takes from vendor/."),
];

const JVM: &[Row] = &[
    config("pom.xml", "Maven's plugins: which tests run, and whether their failures count."),
    config(".mvn/**", "Options and extensions of every Maven run."),
    config("mvnw*", "Runs instead of Maven."),
    config("build.gradle*", "Gradle's tasks: which tests run, and whether their failures count."),
    config("settings.gradle*", "The projects that Gradle builds."),
    config("gradle.properties", "Options of every Gradle run."),
    config("init.gradle*", "Gradle runs it before any build."),
    config("gradlew*", "Runs instead of Gradle."),
    config("gradle-wrapper.jar", "The program that gradlew runs."),
    config("gradle-wrapper.properties", "The Gradle that gradlew downloads and runs."),
    config("gradle/**/*.gradle*", "Builds apply such scripts."),
    config("buildSrc/**", "Gradle builds it first and uses it as plugins."),
    config("build.xml", "ant runs the targets in it."),
    config("build.sbt", "sbt's tasks and options of tests."),
    config("project/*.sbt", "sbt's plugins."),
    config("project/build.properties", "The version of sbt."),
    config("build.sc", "mill's tasks."),
    config("build.mill", "mill's tasks."),
    config("testng*.xml", "The tests that TestNG runs."),
    config("junit-platform.properties", "Conditions under which JUnit runs tests."),
    config("checkstyle*.xml", "What checkstyle reports."),
    config("detekt*.yml", "What detekt reports."),
    config("project.clj", "Leiningen's tasks and selectors of tests."),
    config("deps.edn", "Aliases that run tests."),
    config("tests.edn", "What kaocha runs."),
];

const OTHERS: &[Row] = &[
    config("rakefile*", "rake runs the tasks in it."),
    config("*.rake", "Rakefiles import such files."),
    config(".rspec*", "Options of every rspec run."),
    config("spec_helper.rb", "Specs require it; it can filter all of them."),
    config("rails_helper.rb", "Specs require it; it can filter all of them."),
    config("test_helper.*", "Tests load it first; it can skip all of them."),
    config(".rubocop*.yml", "What rubocop reports."),
    config(".simplecov", "What coverage is demanded."),
    config("cucumber.y*ml", "Options of every cucumber run."),
    config("gemfile", "Which gems are loaded, and from where."),
    config("mix.exs", "Mix's aliases (test can be one) and options."),
    config(".formatter.exs", "What mix format --check-formatted demands."),
    config(".credo.exs", "What credo reports."),
    config("rebar.config*", "rebar3's options of tests."),
    config("phpunit*.xml*", "What PHPUnit runs, and its bootstrap."),
    config("phpunit.dist.xml", "What PHPUnit runs, and its bootstrap."),
    config("pest.php", "Pest loads it before any test."),
    config("phpstan*.neon*", "What phpstan reports."),
    config("psalm*.xml*", "What psalm reports."),
    config(".php-cs-fixer*", "What php-cs-fixer demands."),
    config("phpcs.xml*", "What phpcs demands."),
    config("codeception*.yml", "What codeception runs."),
    manifest("composer.json", "Scripts that composer runs."),
    config("directory.build.*", "MSBuild reads it for every project below."),
    config("*.runsettings", "Filters and options of dotnet test."),
    config("/global.json", "The .NET SDK that runs."),
    config("nuget.config", "Where packages come from."),
    config("*.csproj", "Packages, warnings and test settings of a .NET project."),
    config("*.fsproj", "Packages, warnings and test settings of a .NET project."),
    config("*.sln", "The projects that dotnet test runs."),
    config("xunit.runner.json", "Options of xUnit."),
    config("*.xctestplan", "The tests that Xcode runs."),
    config(".swiftlint.yml", "What swiftlint reports."),
    config("package.swift", "The targets that swift test runs."),
    config("analysis_options.yaml", "What dart analyze reports."),
    config("dart_test.yaml", "What dart test runs."),
    config("pubspec_overrides.yaml", "Replaced packages."),
    config("build_test.dart", "Runs as a step of the build."),
    config("dune-project", "dune's build."),
    config("dune", "dune's rules and tests."),
    config("stack.yaml", "The compiler and flags of stack test."),
    config("cabal.project*", "The packages and flags of cabal test."),
    config("*.cabal", "The test suites that cabal runs."),
    config(".hlint.yaml", "What hlint reports."),
    config("alire.toml", "Actions of alr test."),
    config("shard.override.yml", "Replaced packages."),
    config(".busted", "Options of every busted run."),
    config(".luacheckrc", "What luacheck reports."),
    config(".luacov", "What luacov measures."),
    config("*.rockspec", "What luarocks test runs."),
    config("makefile.pl", "Writes the makefile that runs the tests."),
    config("build.pl", "Writes the script that runs the tests."),
    config(".proverc", "Options of every prove run."),
    config(".perlcriticrc", "What perlcritic reports."),
    config(".testthat*", "Options of R's tests."),
    config("testthat.r", "Starts R's tests."),
    config(".rprofile", "R runs it at every start."),
    config("foundry.toml", "Options and profiles of forge test."),
    config("hardhat.config.*", "Options of hardhat test."),
    config("truffle-config.js", "Options of truffle test."),
];

const COMMON: &[Row] = &[
    config(".env*", "Runners take variables from it, and those can choose options and skip tests."),
    config(".envrc", "direnv takes variables from it."),
    config(".editorconfig", "What formatters demand."),
    config(".gitattributes", "Filters change files as git writes them; drivers run programs."),
    config(".pre-commit-config.yaml", "The hooks that pre-commit run checks."),
    config(".pre-commit-hooks.yaml", "Hooks that pre-commit can run."),
    config("lefthook*.y*ml", "The commands that lefthook runs."),
    config(".lefthook*.y*ml", "The commands that lefthook runs."),
    config(".husky/**", "Hooks that git runs."),
    config(".githooks/**", "Hooks that git runs."),
    config(".lintstagedrc*", "What lint-staged runs."),
    config("lint-staged.config.*", "What lint-staged runs."),
    config(".trunk/**", "What trunk check runs."),
    config(".shellcheckrc", "What shellcheck reports."),
    config(".hadolint.yaml", "What hadolint reports."),
    config(".yamllint*", "What yamllint reports."),
    config(".markdownlint*", "What markdownlint reports."),
    config(".vale.ini", "What vale reports."),
    config(".codespellrc", "What codespell reports."),
    config("typos.toml", "What typos reports."),
    config("_typos.toml", "What typos reports."),
    config(".typos.toml", "What typos reports."),
    config(".semgrep*", "What semgrep reports."),
    config(".clang-tidy", "What clang-tidy reports."),
    config(".clang-format", "What clang-format demands."),
    config(".github/**", "Hosted checks are defined in it, and `act` runs them here."),
    config(".gitlab-ci.yml", "Hosted checks are defined in it."),
    config(".circleci/**", "Hosted checks are defined in it."),
    config(".buildkite/**", "Hosted checks are defined in it."),
    config(".ci/**", "A common directory for the scripts of checks."),
    config(".travis.yml", "Hosted checks are defined in it."),
    config("azure-pipelines*.yml", "Hosted checks are defined in it."),
    config("jenkinsfile", "Hosted checks are defined in it."),
    config(".codecov.yml", "What coverage is demanded."),
    config("codecov.yml", "What coverage is demanded."),
    config(".bats/**", "Options of bats."),
];

const TESTS: &[Row] = &[
    test("tests/**", "A directory of tests, their data and helpers."),
    test("test/**", "A directory of tests, their data and helpers."),
    test("__tests__/**", "Jest's directory of tests."),
    test("__mocks__/**", "Jest uses these modules instead of the real ones."),
    test("e2e/**", "A directory of tests of the whole program."),
    test("cypress/**", "Tests of cypress and their support files."),
    test("features/**/*.feature", "Scenarios of cucumber and behave."),
    test("features/**/steps/**", "Steps of behave."),
    test("features/step_definitions/**", "Steps of cucumber."),
    test("features/support/**", "Hooks of cucumber."),
    test("spec/**/*.rb", "RSpec's directory."),
    test("spec/**/*.js", "Jasmine's directory."),
    test("spec/**/*.ts", "Jasmine's directory."),
    test("spec/fixtures/**", "Specs read their input from fixtures."),
    test("spec/support/**", "Helpers of specs."),
    test("integration_tests/**", "A directory of tests."),
    test("integration-tests/**", "A directory of tests."),
    test("androidTest/**", "Android's tests on a device."),
    test("t/**/*.t", "Perl's directory of tests."),
    test("t/lib/**", "Helpers of Perl's tests."),
    test("t/data/**", "Data of Perl's tests."),
    test("test_*.py", "pytest and unittest collect it."),
    test("*_test.py", "pytest collects it."),
    test("tests.py", "Django's tests of an application."),
    test("test.py", "A test by its name."),
    test("*_test.go", "Go's tests of a package."),
    test("*.test.*", "JavaScript's runners collect it."),
    test("*.tests.*", "A test by its name."),
    test("*.spec.*", "JavaScript's runners collect it."),
    test("*.cy.*", "Cypress collects it."),
    test("*.e2e.*", "Tests of the whole program by their name."),
    test("*.e2e-spec.*", "Tests of the whole program by their name."),
    test("*.test-d.ts", "Tests of types."),
    test("test.js", "node --test and others collect it."),
    test("test.mjs", "node --test and others collect it."),
    test("test.cjs", "node --test and others collect it."),
    test("test.ts", "node --test and others collect it."),
    test("test-*.js", "node --test collects it."),
    test("test-*.mjs", "node --test collects it."),
    test("*_test.js", "deno test and others collect it."),
    test("*_test.ts", "deno test and others collect it."),
    test("*_test.tsx", "deno test and others collect it."),
    test("*-test.js", "node --test and others collect it."),
    test("*_spec.rb", "RSpec collects it."),
    test("*_test.rb", "Minitest collects it."),
    test("test_*.rb", "Minitest collects it."),
    test("*_test.exs", "ExUnit collects it."),
    test("*_SUITE.erl", "Common Test collects it."),
    test("*_tests.erl", "EUnit collects it."),
    test("*Test.java", "Maven and Gradle collect it."),
    test("*Tests.java", "Maven and Gradle collect it."),
    test("*TestCase.java", "Maven collects it."),
    test("*IT.java", "Maven's integration tests."),
    test("Test*.java", "Maven collects it."),
    test("*Test.kt", "Gradle collects it."),
    test("*Tests.kt", "Gradle collects it."),
    test("*Spec.groovy", "Spock's tests."),
    test("*Spec.scala", "ScalaTest's tests."),
    test("*Test.scala", "Tests of Scala."),
    test("*Suite.scala", "Tests of Scala."),
    test("*Test.php", "PHPUnit collects it."),
    test("*.phpt", "PHP's own tests."),
    test("*Tests.cs", "Tests of .NET by their name."),
    test("*Test.cs", "Tests of .NET by their name."),
    test("*Tests.swift", "XCTest's files."),
    test("*Test.swift", "XCTest's files."),
    test("*_test.dart", "dart test collects it."),
    test("*_test.c", "Tests of C by their name."),
    test("test_*.c", "Tests of C by their name."),
    test("*_test.cc", "Tests of C++ by their name."),
    test("*_test.cpp", "Tests of C++ by their name."),
    test("test_*.cpp", "Tests of C++ by their name."),
    test("*_unittest.cc", "Tests of C++ by their name."),
    test("*_test.zig", "Tests of Zig by their name."),
    test("*Spec.hs", "hspec-discover collects it."),
    test("test-*.R", "testthat collects it."),
    test("*_test.lua", "Tests of Lua by their name."),
    test("*_spec.lua", "busted collects it."),
    test("*.bats", "bats runs it."),
    test("*.t.sol", "forge collects it."),
    test("tests.rs", "Rust's modules of tests in a file of their own."),
    test("test.rs", "Rust's modules of tests in a file of their own."),
    test("*_test.rs", "Rust's modules of tests in a file of their own."),
    test("*_tests.rs", "Rust's modules of tests in a file of their own."),
    test("*.snap", "A snapshot is what a test compares with."),
    test("*.golden", "A golden file is what a test compares with."),
    test("*.approved.*", "An approved file is what a test compares with."),
    test("golden/**", "Golden files are what tests compare with."),
    test("goldens/**", "Golden files are what tests compare with."),
];

/// Files that follow the dependencies: they are never gates.
const LOCKFILES: &[&str] = &[
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pipfile.lock",
    "gemfile.lock",
    "composer.lock",
    "go.sum",
    "go.work.sum",
    "mix.lock",
    "pubspec.lock",
    "package.resolved",
    "gradle.lockfile",
    "flake.lock",
];

/// Files that have such a name by chance.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("src/**/build.rs", "Among the sources it is a module, not the script beside Cargo.toml."),
    ("models/**/*.pth", "Weights of a model."),
    ("checkpoints/**/*.pth", "Weights of a model."),
    ("weights/**/*.pth", "Weights of a model."),
];

/// All rows, in the order in which they count.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [DATA, BUILD, RUST, PYTHON, JAVASCRIPT, GO, JVM, OTHERS, COMMON, TESTS].into_iter().flatten()
}

/// The rows, compiled.
#[derive(Clone, Debug)]
pub(super) struct Table {
    rows: Vec<(Glob, &'static Row)>,
    exceptions: Vec<Glob>,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            rows: rows().map(|row| (Glob::of_row(row.pattern), row)).collect(),
            exceptions: EXCEPTIONS.iter().map(|(pattern, _)| Glob::of_row(pattern)).collect(),
        }
    }

    pub(super) fn row(&self, path: &str) -> Option<&'static Row> {
        let names = Path::new(path);
        if is_lockfile(path) || self.exceptions.iter().any(|glob| glob.fits(&names)) {
            return None;
        }
        let row = self.rows.iter().find(|(glob, _)| glob.fits(&names)).map(|(_, row)| *row);
        row.or_else(|| shadowing::is_shadowing(path).then_some(&SHADOWING))
    }
}

pub fn is_lockfile(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCKFILES.iter().any(|lockfile| name.eq_ignore_ascii_case(lockfile))
}
