//! Any bytes, judged as a shell command of an agent.
//!
//! Nothing may panic, overflow the stack or take long, and the same command has the same verdict twice. Scripts that the
//! command runs have the second half of the input for their text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_loop::guard::{GitQuestion, Judgement, Policy, ToolCall, World, judge};
use serde_json::json;
use std::path::PathBuf;
use std::thread;

/// As in `ralph hook guard`.
const STACK: usize = 64 << 20;

fn judged(command: &str, script: &str) -> Judgement {
    let world = World {
        workspace: PathBuf::from("/home/dev/app"),
        home: PathBuf::from("/home/dev"),
        cwd: PathBuf::from("/home/dev/app"),
        writable: Vec::new(),
        protected: Vec::new(),
        variable: &|name| (name == "HOME").then(|| "/home/dev".to_owned()),
        script: &|_| Some(script.to_owned()),
        resolve: &|path| path.to_path_buf(),
        names: &|_| Some(vec!["a.sh".to_owned(), "b.py".to_owned(), "node_modules".to_owned()]),
        git: &|_, question| match question {
            GitQuestion::IsPublished(_) | GitQuestion::AnyPublished { .. } => Some(true),
            GitQuestion::HasRemoteBranch(_) | GitQuestion::HasRef(_) => Some(false),
            GitQuestion::LosesWork { branch, .. } => Some(branch.len() > 4),
            GitQuestion::PushesOver(_) | GitQuestion::IsRemote(_) | GitQuestion::IsUsersWorktree => None,
        },
    };
    judge(ToolCall { name: "Bash", input: &json!({"command": command}) }, &world, &Policy::default())
}

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input).into_owned();
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let (first, again) = (judged(&text, &text[half..]), judged(&text, &text[half..]));
        assert_eq!((first.verdict, first.findings), (again.verdict, again.findings));
    });
    // A panic in the thread is one of the target.
    thread.unwrap().join().unwrap();
});
