//! Zones of paths and the files that are known by their names, as tables.

use super::*;
use crate::guard::GitQuestion;

/// Asks in a world with a project in a user's home. In the text `⟂` is a part that is not known, `*` a glob.
fn in_world<T>(ask: impl FnOnce(&World<'_>) -> T) -> T {
    let variable = |_: &str| None;
    let script = |_: &Path| None;
    // One link leads out of the workspace.
    let resolve = |path: &Path| match path.strip_prefix("/home/dev/project/link") {
        Ok(rest) => Path::new("/home/dev/other").join(rest),
        Err(_) => path.to_owned(),
    };
    let git = |_: &Path, _: GitQuestion<'_>| None;
    ask(&World {
        workspace: PathBuf::from("/home/dev/project"),
        home: PathBuf::from("/home/dev"),
        cwd: PathBuf::from("/home/dev/project"),
        writable: vec![PathBuf::from("/data/shared")],
        protected: vec![PathBuf::from("/srv/ralph/state")],
        variable: &variable,
        script: &script,
        resolve: &resolve,
        names: &|_| None,
        git: &git,
    })
}

fn zone(text: &str, site: Site, cwd: Option<&str>) -> Zone {
    let text = text.replace('⟂', &UNKNOWN.to_string()).replace('*', &STAR.to_string());
    let invocation = Invocation { cwd: cwd.map(PathBuf::from), site, ..Invocation::default() };
    in_world(|world| locate(&Arg::new(text), &invocation, world).zone)
}

#[test]
fn what_is_removed_is_the_link_and_not_what_it_leads_to() {
    let zones = |text: &str| {
        let text = Arg::new(text.replace('*', &STAR.to_string()));
        let cwd = Some(PathBuf::from("/home/dev/project"));
        let invocation = Invocation { cwd, ..Invocation::default() };
        in_world(|world| {
            (locate_entry(&text, &invocation, world).zone, locate(&text, &invocation, world).zone)
        })
    };
    assert_eq!(zones("link"), (Zone::Workspace, Zone::Home));
    assert_eq!(zones("./link"), (Zone::Workspace, Zone::Home));
    for through in ["link/", "link/.", "link/*", "link/file"] {
        assert_eq!(zones(through), (Zone::Home, Zone::Home), "{through}");
    }
}

#[test]
fn in_a_home_that_is_the_workspace_the_persons_own_files_stay_protected() {
    use Removed::*;
    for (path, removed, expected) in [
        ("Documents", WithAllBelow, true),
        ("Documents/taxes", WithAllBelow, true),
        ("Documents/code/app/target", WithAllBelow, false),
        ("Downloads/old.zip", Alone, false),
        (".ssh", WithAllBelow, true),
        (".ssh/known_hosts", Alone, true),
        (".config", Alone, true),
        (".config/nvim", WithAllBelow, true),
        (".local/share/app", WithAllBelow, true),
        (".cache", WithAllBelow, false),
        ("other-repository", WithAllBelow, true),
        ("other-repository/build", WithAllBelow, false),
        ("scratch", WithAllBelow, false),
        ("notes.txt", Alone, false),
    ] {
        let home = Path::new("/home/dev");
        let names = |dir: &Path| {
            Some(if dir.ends_with("other-repository") { vec![".git".to_owned()] } else { Vec::new() })
        };
        let in_home = in_world(|world| {
            let world = World {
                workspace: home.to_owned(),
                home: home.to_owned(),
                cwd: home.to_owned(),
                writable: Vec::new(),
                protected: Vec::new(),
                names: &names,
                ..*world
            };
            is_persons_own(&home.join(path), removed, &world)
        });
        assert_eq!(in_home, expected, "{path} {removed:?}");
        // In a project there are other rules for what is outside of it.
        assert!(!in_world(|world| is_persons_own(&home.join(path), removed, world)), "{path}");
    }
}

#[test]
fn paths_on_this_machine_lead_to_zones() {
    for (path, expected) in [
        ("src/main.rs", Zone::Workspace),
        ("./build/../src", Zone::Workspace),
        ("src/*", Zone::Workspace),
        ("*.log", Zone::Workspace),
        ("build-⟂", Zone::Workspace),
        (".", Zone::WholeWorkspace),
        ("*", Zone::WholeWorkspace),
        ("./.*", Zone::WholeWorkspace),
        ("/home/dev/project", Zone::WholeWorkspace),
        ("src/..", Zone::WholeWorkspace),
        ("link/file", Zone::Home),
        ("..", Zone::Home),
        ("../other", Zone::Home),
        ("/home/dev/notes", Zone::Home),
        ("/home/dev/⟂", Zone::Home),
        ("/home/dev/.cache/pip", Zone::Cache),
        ("/home/dev/.claude/plans/x.md", Zone::Cache),
        ("/home/dev/.claude/projects/p/memory/x.md", Zone::Cache),
        ("/home/dev/.claude/projects/p/x.jsonl", Zone::Home),
        ("/home/other", Zone::Outside),
        ("/home", Zone::System),
        ("/", Zone::System),
        ("/*", Zone::System),
        ("/etc/hosts", Zone::System),
        ("/tmp/x", Zone::Temp),
        ("/tmp/⟂", Zone::Temp),
        ("/tmp", Zone::Outside),
        ("/tmp/../etc", Zone::System),
        ("/data/shared/x", Zone::Temp),
        ("/data/other", Zone::Outside),
        ("/dev/null", Zone::Sink),
        ("/dev/fd/63", Zone::Sink),
        ("/dev/sda", Zone::Device),
        ("/dev/shm/x", Zone::Temp),
        ("⟂", Zone::Unknown),
        ("⟂/x", Zone::Unknown),
    ] {
        assert_eq!(zone(path, Site::Here, Some("/home/dev/project")), expected, "{path}");
    }
}

#[test]
fn without_a_known_directory_only_absolute_paths_are_known() {
    assert_eq!(zone("src", Site::Here, None), Zone::Unknown);
    assert_eq!(zone("/tmp/x", Site::Here, None), Zone::Temp);
}

#[test]
fn other_machines_and_containers_have_zones_of_their_own() {
    for (path, site, expected) in [
        ("/tmp/x", Site::Remote, Zone::Temp),
        ("/srv/app", Site::Remote, Zone::System),
        ("/home/dev/project/src", Site::Remote, Zone::Outside),
        ("/app/node_modules", Site::Container, Zone::Workspace),
        ("/var/lib/apt/lists", Site::Container, Zone::Temp),
        ("/var/lib/postgresql", Site::Container, Zone::System),
        ("/", Site::Container, Zone::System),
        ("/dev/sda", Site::Container, Zone::Device),
    ] {
        assert_eq!(zone(path, site, Some("/app")), expected, "{path}");
    }
}

#[track_caller]
fn check(ask: fn(&Path, &World<'_>) -> bool, path: &str, expected: bool) {
    assert_eq!(in_world(|world| ask(Path::new(path), world)), expected, "{path}");
}

#[test]
fn secrets_are_known_by_their_names() {
    for path in [
        "/home/dev/.ssh/id_rsa",
        "/home/dev/.ssh/work_key",
        "/home/dev/.aws/credentials",
        "/home/dev/.kube/config",
        "/home/dev/.mozilla/firefox/x/logins.json",
        "/home/dev/project/.env",
        "/home/dev/project/.env.production",
        "/home/dev/project/config/master.key",
        "/home/dev/project/secrets.yaml",
        "/etc/shadow",
        "/proc/1/environ",
    ] {
        check(is_secret, path, true);
    }
    for path in [
        "/home/dev/.ssh/id_rsa.pub",
        "/home/dev/.ssh/config",
        "/home/dev/.ssh/known_hosts",
        "/home/dev/project/.env.example",
        "/home/dev/project/.envrc",
        "/home/dev/project/src/credentials.rs",
        "/home/dev/project/tests/fixtures/server.key",
        "/home/dev/project/cert.pem",
        "/etc/passwd",
    ] {
        check(is_secret, path, false);
    }
    for (path, expected) in [
        ("/home/dev", true),
        ("/home/dev/.aws", true),
        ("/home/dev/.config", true),
        ("/home/dev/docs", false),
    ] {
        check(has_secrets, path, expected);
    }
}

#[test]
fn startup_files_are_known_by_their_names() {
    for (path, expected) in [
        ("/home/dev/.bashrc", true),
        ("/home/dev/.ssh/authorized_keys", true),
        ("/home/dev/.config/systemd/user/x.service", true),
        ("/etc/cron.d/x", true),
        ("/home/dev/.config/app.yml", false),
        ("/home/dev/project/.bashrc", false),
    ] {
        check(is_startup, path, expected);
    }
}

#[test]
fn what_decides_over_agents_is_protected() {
    for (path, expected) in [
        ("/home/dev/project/.git", true),
        ("/home/dev/project/.git/hooks/pre-commit", true),
        ("/home/dev/project/vendor/lib/.git/config", true),
        ("/home/dev/project/.git/index.lock", false),
        ("/home/dev/project/.gitignore", false),
        ("/home/dev/project/.claude/settings.json", true),
        ("/home/dev/project/.claude/commands/x.md", false),
        ("/home/dev/project/.mcp.json", true),
        ("/home/dev/project/.ralph/progress.md", true),
        ("/home/dev/project/ralph/allowed-commands.txt", true),
        ("/home/dev/.claude/settings.json", true),
        ("/home/dev/.codex/config.toml", true),
        ("/srv/ralph/state/x", true),
        ("/home/dev/project/src/main.rs", false),
    ] {
        check(is_protected, path, expected);
    }
}

#[test]
fn a_directory_around_the_workspace_is_no_temporary_one() {
    let zone_of = |path: &str| {
        in_world(|world| {
            let world = World {
                workspace: PathBuf::from("/tmp/work/project/app"),
                writable: vec![PathBuf::from("/tmp/work/project")],
                home: world.home.clone(),
                cwd: world.cwd.clone(),
                protected: Vec::new(),
                ..*world
            };
            let text = path.replace('*', &STAR.to_string());
            locate(&Arg::new(text), &Invocation::default(), &world).zone
        })
    };
    for (path, expected) in [
        ("/tmp/work", Zone::System),
        ("/tmp/work/*", Zone::System),
        ("/tmp/work/project", Zone::System),
        ("/tmp/work/project/app", Zone::WholeWorkspace),
        ("/tmp/work/project/lib", Zone::Temp),
        ("/tmp/work/project/app/src", Zone::Workspace),
        ("/tmp/work/x*", Zone::Temp),
        ("/tmp/other", Zone::Temp),
    ] {
        assert_eq!(zone_of(path), expected, "{path}");
    }
}

#[test]
fn a_session_at_the_top_of_a_machine_does_not_own_it() {
    let zone_of = |workspace: &str, path: &str| {
        in_world(|world| {
            let world = World {
                workspace: PathBuf::from(workspace),
                home: world.home.clone(),
                cwd: PathBuf::from(workspace),
                writable: Vec::new(),
                protected: Vec::new(),
                ..*world
            };
            let invocation = Invocation { cwd: Some(PathBuf::from(workspace)), ..Invocation::default() };
            locate(&Arg::new(path), &invocation, &world).zone
        })
    };
    for (workspace, path, expected) in [
        ("/", "usr", Zone::System),
        ("/", "data/x", Zone::Outside),
        ("/", "tmp/x", Zone::Temp),
        ("/home", "dev/notes", Zone::Home),
        ("/etc", "nginx", Zone::System),
        ("/srv/app", "build", Zone::Workspace),
        ("/home/dev", "build", Zone::Workspace),
    ] {
        assert_eq!(zone_of(workspace, path), expected, "{workspace}: {path}");
    }
}
