use super::*;

/// What exists outside. The home is `/home/u`, the project `/home/u/src/app`.
const FILES: &[&str] = &[
    "/home/u/.foo",
    "/home/u/.config/app/key file.json",
    "/home/u/.local/share/app",
    "/home/u/go/bin/lint",
    "/home/u/src/app/build/gen.py",
    "/home/u/.ralph/runs",
    "/tmp/data.csv",
    "/opt/data",
    "/usr/bin/git",
];
const SOCKETS: &[&str] =
    &["/run/docker.sock", "/run/postgresql/.s.PGSQL.5432", "/tmp/app.sock", "/run/user/1000/bus"];

fn found(output: &str) -> Vec<Need> {
    let look = |path: &str| {
        let below = |file: &&str| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        match () {
            () if SOCKETS.contains(&path) => Some(Kind::Socket),
            () if FILES.contains(&path) => Some(Kind::File),
            () if FILES.iter().chain(SOCKETS).any(below) => Some(Kind::Dir),
            () => None,
        }
    };
    let program = |name: &str| match name {
        "lint" => Some("/home/u/go/bin/lint".to_string()),
        "git" => Some("/usr/bin/git".to_string()),
        _ => None,
    };
    let withheld = ["API_TOKEN", "KEY", "DATABASE_URL"].map(String::from);
    let outside = Outside {
        home: Some("/home/u"),
        tree: "/home/u/src/app",
        records: "/home/u/.ralph",
        withheld: &withheld,
        look: &look,
        program: &program,
    };
    find(output, &outside)
}

#[track_caller]
fn check(output: &str, expected: &[Missing]) {
    let found: Vec<Missing> = found(output).into_iter().map(|need| need.what).collect();
    assert_eq!(found, expected, "{output}");
}

fn read(path: &str) -> Missing {
    Missing::Read(path.to_string())
}

fn write(path: &str) -> Missing {
    Missing::Write(path.to_string())
}

fn socket(path: &str) -> Missing {
    Missing::Socket(path.to_string())
}

fn variable(name: &str) -> Missing {
    Missing::Variable(name.to_string())
}

#[test]
fn a_path_that_is_missing_inside_and_exists_outside_is_to_be_read() {
    let foo = [read("~/.foo")];
    for line in [
        "cat: /home/u/.foo: No such file or directory",
        "cat: ~/.foo: No such file or directory",
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.foo'",
        "Error: ENOENT: no such file or directory, open '/home/u/.foo'",
        "open /home/u/.foo: no such file or directory",
        "java.io.FileNotFoundException: /home/u/.foo (No such file or directory)",
        "error: failed to read `/home/u/.foo`\n\nCaused by:\n    No such file or directory (os error 2)",
        "cat: /home/u/.foo: Permission denied",
        "cannot load /home//u/./.foo.",
        "\u{1b}[31mmissing: /home/u/.foo\u{1b}[0m",
    ] {
        check(line, &foo);
    }
    check("can't open \"/home/u/.config/app/key file.json\"", &[read("~/.config/app/key file.json")]);
    check("grep: /tmp/data.csv: No such file or directory", &[read("/tmp/data.csv")]);
}

#[test]
fn what_is_missing_everywhere_or_visible_inside_is_not_the_reason() {
    for line in [
        "cat: /home/u/.bar: No such file or directory",
        "cat: /home/u/src/app/build/gen.py: No such file or directory",
        "cat: /usr/bin/git: No such file or directory",
        "cat: /home/u/.ralph/runs: No such file or directory",
        "cat: /home/u: No such file or directory",
        "ls: /tmp: No such file or directory",
        "see http://localhost/home/u/.foo",
        "test a ... ok\ntest b ... FAILED\n/ / ~/ ~ //",
        "",
    ] {
        check(line, &[]);
    }
}

#[test]
fn a_path_that_cannot_be_changed_is_to_be_written() {
    check("touch: cannot touch '/home/u/.foo': Read-only file system", &[write("~/.foo")]);
    check("mkdir /home/u/.local/share/app/new/dir: EROFS", &[write("~/.local/share/app")]);
    check("OSError: [Errno 30] Read-only file system: '/opt/data/x'", &[write("/opt/data")]);
    check("failed to write /home/u/.foo\nCaused by: Read-only file system (os error 30)", &[write("~/.foo")]);
    check("cannot create /home/u/.local/share/app/log: Permission denied", &[write("~/.local/share/app")]);
    check("sh: 1: cannot create .vscode/settings.json: Read-only file system", &[write(".vscode")]);
    check("EROFS: open '/home/u/src/app/.envrc'", &[write(".envrc")]);
    // To allow it would allow everything.
    check("mkdir /home/u/new: Read-only file system", &[]);
    check("write /srv/x: Read-only file system", &[]);
}

#[test]
fn a_variable_that_is_not_passed_on_and_is_named_is_to_be_let_in() {
    check("sh: 1: API_TOKEN: parameter not set", &[variable("API_TOKEN")]);
    check("KeyError: 'DATABASE_URL'", &[variable("DATABASE_URL")]);
    check("panicked at: DATABASE_URL must be set: NotPresent", &[variable("DATABASE_URL")]);
    check("using ${API_TOKEN}", &[variable("API_TOKEN")]);
    check("KEY is not set", &[variable("KEY")]);
    check("KEY FINDINGS", &[]);
    check("MY_API_TOKEN is not set", &[]);
}

#[test]
fn services_of_the_user_are_told_apart() {
    let docker = [socket("/run/docker.sock")];
    check("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?", &docker);
    check("Could not find a valid Docker environment", &docker);
    check(
        "psql: connection to server on socket \"/var/run/postgresql/.s.PGSQL.5432\" failed: No such file",
        &[socket("/run/postgresql")],
    );
    check("dial unix /tmp/app.sock: connect: no such file or directory", &[socket("/tmp/app.sock")]);
    check("dial unix /run/user/1000/bus: connect: no such file or directory", &[Missing::SessionBus]);
    check("Failed to connect to bus: No medium found", &[Missing::SessionBus]);
    check("error: XDG_RUNTIME_DIR is invalid or not set", &[Missing::Session]);
    check("Error: Can't open display: :0", &[Missing::Display]);
    check("Could not open a connection to your authentication agent.", &[Missing::KeyAgent]);
    check("sudo: The \"no new privileges\" flag is set", &[Missing::Privileges]);
}

#[test]
fn a_host_that_was_refused_is_named_as_settings_spell_it() {
    for (line, entry) in [
        ("OSError('Tunnel connection failed: 403 network: example.org is not allowed')", "example.org"),
        ("ralph: network: example.org:22 is not allowed", "example.org:22"),
        ("error: 403 network: registry.npmjs.org is not allowed", "npm"),
    ] {
        check(line, &[Missing::Host(entry.into())]);
        assert_eq!(Missing::Host(entry.into()).setting(), Some(("hosts", entry)));
    }
    check("network: 127.0.0.1:5432 is not allowed", &[Missing::Port("localhost:5432".into())]);
    check("network: timeout, which is not allowed", &[]);
    assert_eq!(Missing::Port("localhost:5432".into()).setting(), Some(("forward", "5432")));
    assert_eq!(Missing::Port("localhost:80".into()).setting(), None);
}

#[test]
fn a_port_of_this_machine_is_named() {
    let port = [Missing::Port("localhost:5432".into())];
    for line in [
        "Error: connect ECONNREFUSED 127.0.0.1:5432",
        "dial tcp [::1]:5432: connect: connection refused",
        "connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
    ] {
        check(line, &port);
    }
    check("connect to example.org port 443: Connection refused", &[]);
}

#[test]
fn a_program_of_the_home_is_found_by_its_name() {
    let dir = [read("~/go/bin")];
    check("sh: 1: lint: not found", &dir);
    check("bash: line 3: lint: command not found", &dir);
    check("zsh: command not found: lint", &dir);
    check("make: lint: No such file or directory", &dir);
    check("sh: 1: git: not found", &[]);
    check("sh: 1: nosuch: not found", &[]);
}

#[test]
fn limits_are_named() {
    check("fork: Resource temporarily unavailable", &[Missing::Processes]);
    check("write: No space left on device", &[Missing::TemporarySpace]);
}

#[test]
fn each_is_named_once_with_its_line_and_what_a_setting_allows_comes_first() {
    let output = "Error: Can't open display: :0\nAPI_TOKEN is not set\ncat: ~/.foo: No such file\n\
                  cat: ~/.foo: No such file\n";
    let needs = found(output);
    let lines: Vec<&str> = needs.iter().map(|need| need.line.as_str()).collect();
    assert_eq!(lines, ["API_TOKEN is not set", "cat: ~/.foo: No such file", "Error: Can't open display: :0"]);
    assert_eq!(
        settings(&needs).as_deref(),
        Some(r#"{"sandbox": {"read": ["~/.foo"], "variables": ["API_TOKEN"]}}"#)
    );
    assert_eq!(settings(&needs[2..]), None);
    assert!(needs[2].what.advice().is_some_and(|advice| advice.contains("xvfb-run")));
}

#[test]
fn any_output_is_read_in_bounded_time_and_space() {
    let long = "/".repeat(100_000)
        + &"\n~/".repeat(5_000)
        + &"/home/u/.foo: No such file or directory\n".repeat(3_000);
    assert_eq!(found(&long).len(), 1);
    let many: String =
        (0..100).map(|n| format!("Error: connect ECONNREFUSED 127.0.0.1:{}\n", 5000 + n)).collect();
    assert_eq!(found(&many).len(), MOST);
}

proptest::proptest! {
    #[test]
    fn whatever_is_printed_can_be_read(output in ".*", words in proptest::sample::select(vec!["not found", "ENOENT", "erofs"])) {
        found(&format!("{output}: {words}: {output}"));
        found(&format!("İ{output} command not found: {output} ~/{output} localhost{output}"));
    }
}
