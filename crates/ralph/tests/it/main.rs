//! The program from outside: what a user types, sees, and finds afterwards.
//!
//! Every test has a [`support::Sandbox`] of its own with a project, a home and a scripted
//! agent, so they run side by side. Nothing waits without an end, and what a test starts
//! is ended by its process id when the sandbox goes.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests drive the program from outside")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in tests, but not in helpers"
)]

mod added;
mod agents;
mod agents_list;
mod bad_input;
mod checkpoints;
mod checks;
mod clean;
mod completion;
mod confined;
mod confined_ends;
mod confined_home;
mod confined_login;
mod confined_network;
mod confined_paths;
mod confined_projects;
mod confined_refused;
mod confined_scm;
mod copy_trouble;
mod demo;
mod disk;
mod doctor;
mod empty_answers;
mod escapes;
mod first_night;
mod flags;
mod floods;
mod formats;
mod growth;
mod guard;
mod guard_command;
mod guard_git;
mod history;
mod hooks;
mod hooks_stop;
mod in_the_way;
mod interactive;
mod interactive_seed;
mod interactive_view;
mod journal;
mod limits;
mod links;
mod lists;
mod locks;
mod lost_git;
mod lost_ground;
mod low_disk;
mod map;
mod plan;
mod plan_disk;
mod plan_killed;
mod plan_talk;
mod plugin;
mod prices;
mod prints;
mod prompts;
mod proof;
mod prove;
#[path = "../settings/terminal.rs"]
mod pty;
mod resume;
mod scm;
mod screen;
mod secrets;
mod seed_checks_loop;
mod seed_harness;
mod seed_stop_hook;
mod services;
mod settings_outside;
mod signals;
mod stories_files;
mod stories_run;
mod streams;
mod strict;
mod support;
mod surroundings;
mod tasks_cheats;
mod tasks_command;
mod tasks_files;
mod tasks_lifecycle;
mod tasks_other_loops;
mod tasks_people;
mod tasks_support;
mod terminal;
mod terminal_runs;
mod top;
mod undo_checked;
mod waiting;
mod workers;
mod worktree;
mod worktree_killed;
