//! What programs in a sandbox see of the user's home, with homes as people have them.

use crate::support::*;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// What a script prints inside.
#[track_caller]
fn inside(sandbox: &Sandbox, home: &Path, script: &str) -> String {
    let mut command = sandbox.command(RALPH);
    command.env("HOME", home).args(["sandbox", "shell", "--sandbox", "bwrap", "--", "sh", "-c", script]);
    sandbox.spawn(command).end().exits(0).stdout
}

fn program(path: &Path, body: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn only_what_a_row_names_is_in_the_home_and_it_cannot_be_changed() {
    let sandbox = Sandbox::git().confined();
    let user = sandbox.root().join("user");
    for secret in
        [".ssh/id", ".aws/credentials", ".netrc", ".bashrc", "Documents/diary", ".cargo/credentials.toml"]
    {
        file(&user.join(secret), "SECRET\n");
    }
    program(&user.join(".local/bin/own-tool"), "echo own-tool works");
    file(&user.join(".npmrc"), "//r.example/:_authToken=SECRET\nregistry=https://me:SECRET@r.example/\n");
    let config = "[registries.own]\nindex='sparse+https://r.example/'\ntoken='SECRET'\n";
    file(&user.join(".cargo/config.toml"), config);
    let git = "[user]\n\tname = Me\n\temail = me@localhost\n[alias]\n\tco = SECRET\n[credential]\n\thelper = SECRET\n";
    file(&user.join(".gitconfig"), git);
    let seen = inside(
        &sandbox,
        &user,
        "cd; cat $(find . -type f -size -9k) 2>&1; ls -a; ~/.local/bin/own-tool
         echo x > .local/bin/x; echo x >> .gitconfig; echo x > x && echo wrote to the home
         cd - > /dev/null; git commit -q --allow-empty -m inside && git log -1 --format='%an <%ae>'",
    );
    assert!(!seen.contains("SECRET"), "{seen}");
    for line in [
        "registry=https://r.example/",
        "own-tool works",
        "wrote to the home",
        "index = \"sparse+https://r.example/\"",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    for hidden in [".ssh", ".aws", ".netrc", ".bashrc", "Documents", "credentials.toml"] {
        assert!(!seen.lines().any(|line| line == hidden), "{hidden}: {seen}");
    }
    assert!(!user.join(".local/bin/x").exists() && !user.join("x").exists());
    assert!(seen.contains("Someone <someone@localhost>"), "the repository's own name counts: {seen}");
}

#[test]
fn a_home_behind_a_link_and_full_of_links_works_as_outside() {
    let sandbox = Sandbox::git().confined();
    let (user, dot) = (sandbox.root().join("user"), sandbox.root().join("user/dotfiles"));
    let home = sandbox.root().join("linked-home");
    symlink("user", &home).unwrap();
    // As stow does it: directories and files are links into one that has all of them.
    fs::create_dir_all(dot.join("local/bin")).unwrap();
    fs::create_dir_all(user.join(".local")).unwrap();
    symlink("../dotfiles/local/bin", user.join(".local/bin")).unwrap();
    // A program that is installed elsewhere in the home, by way of a link that says which version counts.
    program(&user.join("opt/tool-2/tool"), "echo tool 2");
    symlink("tool-2", user.join("opt/tool")).unwrap();
    symlink("../../../opt/tool/tool", dot.join("local/bin/versioned")).unwrap();
    symlink(home.join("opt/tool/tool"), dot.join("local/bin/absolute")).unwrap();
    // What leads nowhere, in circles, to the home itself, and to the root.
    symlink("nowhere", dot.join("local/bin/dangling")).unwrap();
    symlink("circle", dot.join("local/bin/circle")).unwrap();
    symlink(&home, dot.join("local/bin/home")).unwrap();
    symlink("/", dot.join("local/bin/root")).unwrap();
    symlink("..", user.join("bin")).unwrap();
    file(&dot.join("gitconfig"), "[user]\n\tname = Linked\n[core]\n\texcludesFile = ~/.ignored\n");
    symlink("dotfiles/gitconfig", user.join(".gitconfig")).unwrap();
    file(&user.join(".ignored"), "*.log\n");
    // A name that is no text.
    let odd = user.join("dotfiles/local/bin").join(OsStr::from_bytes(b"odd-\xff tool"));
    program(&odd, "echo odd works");
    file(&user.join("secret"), "SECRET\n");
    file(&dot.join("secret"), "SECRET\n");
    sandbox.write("x.log", "");
    let seen = inside(
        &sandbox,
        &home,
        "cd ~/.local/bin && ./versioned && ./absolute && for odd in odd-*; do \"./$odd\"; done
         cat ~/secret ~/dotfiles/secret ~/.local/bin/home/secret 2>&1; ls ~ ~/opt
         git config --global user.name; cd - > /dev/null && git status --short",
    );
    for line in ["tool 2", "odd works", "Linked"] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert_eq!(seen.matches("tool 2\n").count(), 2, "{seen}");
    assert!(!seen.contains("SECRET") && !seen.contains("x.log"), "{seen}");
}

#[test]
fn a_link_in_the_project_leads_to_nothing_that_is_hidden() {
    let sandbox = Sandbox::git().confined();
    let user = sandbox.root().join("user");
    file(&user.join(".ssh/id"), "SECRET\n");
    // The user keeps programs in the project, and an agent has replaced them.
    symlink(sandbox.project().join("bin"), user.join("bin")).unwrap();
    sandbox.sh("mkdir bin");
    symlink(user.join(".ssh"), sandbox.project().join("bin/ssh")).unwrap();
    let seen = inside(&sandbox, &user, "ls ~/bin/; cat ~/bin/ssh/id ~/.ssh/id 2>&1; ls -a ~");
    assert!(seen.contains("ssh\n") && !seen.contains("SECRET") && !seen.contains(".ssh\n"), "{seen}");
    // The same once the directory itself is a link.
    sandbox.sh("rm -r bin");
    symlink(user.join(".ssh"), sandbox.project().join("bin")).unwrap();
    let seen = inside(&sandbox, &user, "cat ~/bin/id ~/.ssh/id 2>&1; ls -a ~");
    assert!(!seen.contains("SECRET") && !seen.contains(".ssh\n"), "{seen}");
}

#[test]
fn the_settings_show_more_by_name_or_by_path() {
    let sandbox = Sandbox::git().confined();
    let user = sandbox.root().join("user");
    file(&user.join(".config/gh/hosts.yml"), "of gh\n");
    file(&user.join("models/a"), "of models\n");
    let look = "cat ~/.config/gh/hosts.yml ~/models/a 2>/dev/null; true";
    assert_eq!(inside(&sandbox, &user, look), "");
    sandbox.settings(&json!({"sandbox": {"tools": ["gh", "~/models"]}}));
    assert_eq!(inside(&sandbox, &user, look), "of gh\nof models\n");
    sandbox.settings(&json!({"sandbox": {"tools": ["gclod"]}}));
    sandbox.ralph(&["sandbox", "shell", "--", "true"]).exits(2).says("gclod").says("did you mean gcloud?");
}
