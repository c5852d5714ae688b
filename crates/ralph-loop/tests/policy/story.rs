//! Runs described in words: `check("checks:1", "start done red", "judged 1 red 1, agent 2")`.
//!
//! The first text says what was asked for, the second what happens, the third what the
//! policy then does until it waits. A [`Story`] records facts as the engine does: each
//! action that `next` names becomes a fact, then the next word happens.
//!
//! | word                    | what happens                                             |
//! |-------------------------|----------------------------------------------------------|
//! | `start`                 | the run is opened; always the first                      |
//! | `done` `said:X` `talk`  | the agent ends with the tag DONE, the tag X, no tag      |
//! | `empty` `fail`          | the agent ends without a word or tool, with exit code 1  |
//! | `quiet`                 | a plain agent ends without a word                        |
//! | `json`                  | the agent ends, and all that it printed is JSON          |
//! | `green` `red`           | the check ends with exit code 0, 1                       |
//! | `green:/x` `red:a+b`    | the same outside the sandbox, which hides `/x`; the      |
//! |                         | tests a and b pass only there                            |
//! | `told:DONE-1.1`         | the agent ends with a story's signal; also `told:FAIL-…` |
//! | `tree:A` `tree:?`       | the snapshot ends with a tree, without one               |
//! | `tree:A+c` `tree:A%f`   | the same, and HEAD is at `c`, and `f` is not in the tree |
//! | `tree:A@main` `talk@x`  | the same, and HEAD is on that branch                     |
//! | `list:A=new+B=right2`   | the task list was read, or is that after a comparison    |
//! | `list:A=new!passes`     | the same, and what the agent did to `passes` was undone  |
//! | `left`                  | what an iteration left uncommitted is seen to            |
//! | `back` `back:R`         | the tree is put back; what was there is kept as R, and   |
//! |                         | R is what was changed                                    |
//! | `message` `did`         | a commit message was written; a task was done            |
//! | `clean` `undone`        | there is nothing to commit; no message, or a failed task |
//! | `ended`                 | whatever is in flight ends by SIGTERM                    |
//! | `lost` `impossible:why` | its machinery died; it cannot be carried out             |
//! | `silent` `silent:tool`  | the agent, or its tool, has been silent for too long     |
//! | `offline` `online`      | the agent waits for the network; it gets through again   |
//! | `badkey` `root`         | the agent tries a refused key; ends as it may not be root|
//! | `pause` `continue`      | the user asks by the worker's name; also `leave` `kill`  |
//! | `set:n=7` `set:done=X`  | the user changes a limit, the done pattern               |
//! | `say:X` `matched`       | a note for the next prompt; the agent's output matches      |
//! | `disk:100`              | so many bytes are free from now on; no event             |
//! | `stop` `resumed` `woke` | a signal; a new process takes the run up; a timer        |
//! | `due`                   | a timer, at the moment that the policy asked for         |
//! | `7s`                    | the run's clock shows 7 seconds; no event                |
//!
//! An agent's word may end in its cost: `talk$0.40`, or `talk~0.40` where that is an estimate.

use ralph_loop::ask::{Ask, Changes, Silence};
use ralph_loop::check::{CheckEnd, CheckSpec, Excerpt, FailAction, Origin};
use ralph_loop::dialect::{Answer, Blocker, Dialect, Exit, Refusal, StreamSummary};
use ralph_loop::event::{
    AgentEnd, Branch, End, Event, Fact, Head, How, MessageEnd, RestoreEnd, SnapshotEnd, Step, UncommittedEnd,
    VERSION, Why,
};
use ralph_loop::gates::{Change, GateChange, GateKind};
use ralph_loop::limits::{Backoff, DEFAULT_MAX_OUTAGE_MS, Limits, Patience};
use ralph_loop::low_disk::Shortage;
use ralph_loop::money::Usd;
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use ralph_loop::plan::stories::{StoriesPlan, Story as StorySpec};
use ralph_loop::plan::tasks::{Amend, Amendment, Known, TasksEnd, TasksPlan};
use ralph_loop::plan::{Item, Plan, PlanEnd, PlanStep};
use ralph_loop::proof::{OnlyOutside, Prepared, ProofMode, ProofSpec, Round, Site};
use ralph_loop::run::{AgentSpec, Place, PromptOptions, Roles, Run};
use ralph_loop::sandbox::needs::{Missing, Need};
use ralph_loop::sandbox::{Confinement, EnvRule, SandboxKind, SandboxLimits, SandboxSpec};
use ralph_loop::scm::{MessageOutcome, ScmSpec, TaskOutcome};
use ralph_loop::signal::FailSignal;
use ralph_loop::state::Illegal;
use ralph_loop::task_list::{ReviewStatus, Story as TaskStory, TaskList};
use ralph_loop::time::seconds;
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::{Action, State, next, space_wanted, wake_at};
use std::sync::Arc;

/// Everything that follows from the last word, until the policy waits or has stopped.
#[track_caller]
pub fn check(asked: &str, words: &str, expected: &str) {
    let (_, did) = play(asked, words);
    assert_eq!(did, expected, "asked `{asked}`, played `{words}`");
}

#[track_caller]
pub fn play(asked: &str, words: &str) -> (Story, String) {
    let mut words = words.split_whitespace();
    assert_eq!(words.next(), Some("start"), "every story begins there");
    let mut story = Story::open(run(asked));
    let mut did = story.settle();
    for word in words {
        story.word(word);
        did = story.settle();
    }
    let shown = story.show(&did);
    (story, shown)
}

/// `n:10 checks:0 check-timeout:120 stall:0 max-failures:5 backoff:1-300`, unless told
/// otherwise; also `goal:10`, `never`, `git`, `worktree`, `checks-only`, `timeout:S`, `max-time:S`, `max-cost:D`, `scm:commit+push`.
pub fn run(asked: &str) -> Run {
    let mut run = Run {
        id: "r".into(),
        plan: plan(Completion::Response("DONE".into())),
        roles: Roles::default(),
        agents: vec![AgentSpec {
            name: "fake".into(),
            dialect: Dialect::Plain,
            program: "fake".into(),
            args: vec![],
            model: None,
            autonomous: true,
            price: None,
        }],
        checks: vec![],
        limits: Limits {
            iterations: 10,
            iterations_are_the_goal: false,
            max_time_ms: None,
            max_cost: None,
            max_failures: 5,
            stall_after: 0,
            agent_timeout_ms: None,
            backoff: Backoff::default(),
            max_outage_ms: DEFAULT_MAX_OUTAGE_MS,
            patience: Patience::default(),
            min_free: 0,
        },
        workspace: "/w".into(),
        place: Place::Here,
        confinement: Confinement::default(),
        guard: None,
        git: false,
        top: None,
        checkpoints: true,
        largest_file: 10 << 20,
        keep_checkpoints: 0,
        keep_streams: 0,
        scm: None,
        prompt: PromptOptions { context: false, iteration_count: false, may_be_empty: false },
        interactive: None,
        log: None,
        notify: None,
        proof: None,
    };
    let mut check_timeout = 120;
    for word in asked.split_whitespace() {
        let (name, value) = word.split_once(':').unwrap_or((word, ""));
        let number = || value.parse::<u32>().expect(word);
        let ms = || u64::from(number()) * 1000;
        match name {
            "n" => run.limits.iterations = number(),
            "goal" => (run.limits.iterations, run.limits.iterations_are_the_goal) = (number(), true),
            "checks" => run.checks = (1..=number()).map(|n| check_spec(&format!("check {n}"))).collect(),
            "check-timeout" => check_timeout = number(),
            "proof" => {
                let mode = ProofMode::ALL.into_iter().find(|mode| mode.word() == value);
                let mode = mode.unwrap_or(ProofMode::Auto);
                run.proof = Some(ProofSpec { mode, baseline: true, ..ProofSpec::default() });
            }
            "setup" => {
                let setup = vec!["npm ci".into(), "make deps".into()];
                run.proof = Some(ProofSpec { setup, ..run.proof.clone().unwrap_or_default() });
            }
            "no-baseline" => {
                run.proof = Some(ProofSpec { baseline: false, ..run.proof.clone().unwrap_or_default() });
            }
            "confined" => run.confinement = confinement(value == "required"),
            "never" => {
                run.plan = plan(Completion::Never);
                run.limits.iterations_are_the_goal = true;
            }
            "pattern" => run.plan = plan(Completion::Pattern(value.into())),
            "checks-only" => run.plan = plan(Completion::ChecksOnly),
            "git" => run.git = true,
            "stories" => run.plan = stories(value),
            "tasks" => run.plan = tasks(value),
            "reviewer" => {
                run.agents.push(run.agents[0].clone());
                run.roles.review = Some(run.agents.len() - 1);
            }
            "worktree" => {
                let (path, branch, origin) = ("/w".into(), "ralph/r".into(), "/o".into());
                run.place = Place::Worktree { path, branch, origin };
            }
            "scm" => {
                let tasks = value.split('+').map(String::from).collect();
                run.scm = Some(ScmSpec { command: "git".into(), tasks });
            }
            "stall" => run.limits.stall_after = number(),
            "max-failures" => run.limits.max_failures = number(),
            "max-time" => run.limits.max_time_ms = Some(ms()),
            "max-cost" => run.limits.max_cost = Some(Usd::from_dollars(value.parse().expect(word))),
            "agents" => run.agents = vec![run.agents[0].clone(); number() as usize],
            "min-free" => run.limits.min_free = u64::from(number()),
            "max-outage" => run.limits.max_outage_ms = ms(),
            "timeout" => run.limits.agent_timeout_ms = Some(ms()),
            "backoff" => {
                let (base, cap) = value.split_once('-').expect(word);
                let ms = |text: &str| text.parse::<u64>().expect(word) * 1000;
                run.limits.backoff = Backoff { base_ms: ms(base), cap_ms: ms(cap) };
            }
            "commit" => match &mut run.plan {
                Plan::Stories(plan) => plan.commit = true,
                Plan::Prompt(_) | Plan::Tasks(_) => panic!("`commit` after `stories`"),
            },
            _ => panic!("`{word}` does not describe a run"),
        }
    }
    for check in &mut run.checks {
        check.timeout_ms = u64::from(check_timeout) * 1000;
    }
    run
}

fn plan(completion: Completion) -> Plan {
    Plan::Prompt(PromptPlan { source: PromptSource::Text { hash: "h".into() }, completion })
}

/// `1.1+1.2<1.1`: two stories, and the second waits for the first.
fn stories(words: &str) -> Plan {
    let id = |text: &str| text.parse().expect(words);
    let story = |word: &str| {
        let mut ids = word.split('<').map(id);
        let id = ids.next().expect(words);
        StorySpec { id, title: id.to_string(), spec: "s.md".into(), depends_on: ids.collect() }
    };
    let todo = words.split('+').map(story).collect();
    let (done, carried, rules, template) = (vec![], None, vec![], None);
    Plan::Stories(StoriesPlan { todo, done, carried, max_retries: 3, rules, template, commit: false })
}

/// `tasks:` and how often a story is reviewed; 0 is never.
fn tasks(cap: &str) -> Plan {
    let review_cap = cap.parse().expect(cap);
    let dir = "ralph".into();
    Plan::Tasks(TasksPlan { dir, skip_review: review_cap == 0, review_cap, commit_left: true, hooks: true })
}

/// `A=new`, `A=waiting` for a review, `A=back` with feedback, `A=right` after a review; joined
/// by `+`. A number behind it counts the reviews.
fn task_list(words: &str) -> TaskList {
    let story = |word: &str| {
        let (id, standing) = word.split_once('=').expect(word);
        let reviews = standing.trim_start_matches(char::is_alphabetic);
        let standing = standing.trim_end_matches(reviews);
        let mut story = TaskStory::new(id, id, &["x"], 1);
        story.set_review_status(match standing {
            "new" => ReviewStatus::Unreviewed,
            "waiting" => ReviewStatus::NeedsReview,
            "back" => ReviewStatus::ChangesRequested,
            "right" => ReviewStatus::Approved,
            _ => panic!("no story is `{standing}`"),
        });
        story.set_passes(standing == "right");
        story.set_review_count(reviews.parse().unwrap_or(0));
        story
    };
    TaskList::of(words.split('+').map(story).collect())
}

fn check_spec(command: &str) -> CheckSpec {
    CheckSpec {
        command: command.into(),
        timeout_ms: 0,
        fail_action: FailAction::Append,
        hint: None,
        excerpt: Excerpt::Tail { chars: 2_000 },
        origin: Origin::Flag,
    }
}

/// A run and its record.
#[derive(Clone)]
pub struct Story {
    pub run: Run,
    pub state: State,
    pub events: Vec<Event>,
    /// The run's clock.
    pub now_ms: u64,
    /// Bytes on its disk.
    pub free: u64,
}

impl Story {
    /// Opened; what follows from that is not yet recorded.
    pub fn open(run: Run) -> Story {
        let event = event(1, 1, 0, Fact::Opened(Box::new(run.clone())));
        let state = State::open(&event).expect("an opened run is legal");
        Story { run, state, events: vec![event], now_ms: 0, free: u64::MAX }
    }

    /// Whether it has stopped with what was asked for.
    pub fn succeeded(&self) -> bool {
        self.state.is_success(self.state.stopped.as_ref().expect("it has stopped").reason)
    }

    /// Records and folds a fact as the engine's `take` does, and holds that a refused fact
    /// changes nothing.
    pub fn take(&mut self, fact: Fact) -> Result<(), Illegal> {
        let epoch = self.state.position.epoch + u32::from(matches!(fact, Fact::Resumed { .. }));
        let event = event(self.state.position.seq + 1, epoch, self.now_ms, fact);
        self.admit(event)
    }

    pub fn admit(&mut self, event: Event) -> Result<(), Illegal> {
        let before = self.state.clone();
        let result = self.state.apply(&event);
        match &result {
            Ok(()) => self.events.push(event),
            Err(why) => assert_eq!(self.state, before, "refused ({why}), and yet it left a trace"),
        }
        result
    }

    /// Records what `next` names until it names nothing, as the engine's `drive` does.
    pub fn settle(&mut self) -> Vec<Action> {
        let mut done = Vec::new();
        loop {
            let actions = next(&self.run, &self.state);
            assert_eq!(actions, next(&self.run, &self.state), "asked twice, answered twice alike");
            assert!(actions.len() <= 1, "one lane, one action: {actions:?}");
            let Some(action) = actions.first() else { break };
            if let Some(fact) = self.low_disk(action) {
                self.take(fact).unwrap_or_else(|why| panic!("a low disk contradicts the state: {why}"));
                continue;
            }
            let fact = intent(&self.state, action);
            self.take(fact).unwrap_or_else(|why| panic!("{action:?} contradicts the state: {why}"));
            assert!(self.state.flights.len() <= 1, "one lane, one flight: {:?}", self.state.flights);
            done.extend(actions);
            assert!(done.len() < 20, "the loop talks to itself: {done:?}");
        }
        done
    }

    fn low_disk(&self, action: &Action) -> Option<Fact> {
        let least = space_wanted(&self.run, &self.state, action)?;
        let shortage = Shortage { free: self.free, least, at: "/w".into() };
        (self.free < least).then_some(Fact::LowDisk(shortage))
    }

    pub fn word(&mut self, word: &str) {
        if let Some(free) = word.strip_prefix("disk:") {
            self.free = free.parse().expect(word);
            return;
        }
        let fact = match word {
            "pause" => Fact::Asked(Ask::Pause),
            "continue" => Fact::Asked(Ask::Continue),
            "leave" => Fact::Asked(Ask::Leave),
            "kill" => Fact::Asked(Ask::Kill),
            "silent" => self.silent(false),
            "silent:tool" => self.silent(true),
            "offline" => self.blocked(Some(Blocker::Network)),
            "badkey" => self.blocked(Some(Blocker::Login)),
            "person" => self.blocked(Some(Blocker::Person)),
            "online" => self.blocked(None),
            "stop" => Fact::StopAsked,
            "resumed" => Fact::Resumed { pid: 1 },
            "woke" => Fact::Woke,
            "answered" => Fact::Answered { id: self.state.position.steps_begun },
            "due" => {
                let due = wake_at(&self.run, &self.state).expect("the policy waits for a moment");
                self.now_ms = due.max(self.now_ms);
                Fact::Woke
            }
            _ => {
                if let Some(seconds) = word.strip_suffix('s').and_then(|n| n.parse::<u64>().ok()) {
                    self.now_ms = seconds * 1000;
                    return;
                }
                if let Some(ask) = ask(word) {
                    let fact = Fact::Asked(ask);
                    return self.take(fact).unwrap_or_else(|why| panic!("`{word}` is illegal here: {why}"));
                }
                let flight = self.state.first_flight().unwrap_or_else(|| panic!("`{word}`: of what?"));
                Fact::Ended { id: flight.id, end: end(word, &flight.step) }
            }
        };
        self.take(fact).unwrap_or_else(|why| panic!("`{word}` is illegal here: {why}"));
    }

    fn silent(&self, tool: bool) -> Fact {
        Fact::Silent { id: self.state.position.steps_begun, silence: Silence { after_ms: 60_000, tool } }
    }

    fn blocked(&self, by: Option<Blocker>) -> Fact {
        Fact::Blocked { id: self.state.position.steps_begun, by, text: None, why: None }
    }

    /// Actions as text; if there are none, what the policy waits for.
    pub fn show(&self, actions: &[Action]) -> String {
        if !actions.is_empty() {
            return actions.iter().map(show).collect::<Vec<_>>().join(", ");
        }
        match (&self.state.stopped, wake_at(&self.run, &self.state)) {
            (Some(_), _) => "over".into(),
            (None, Some(ms)) => format!("wait until {}", seconds(ms)),
            (None, None) => "wait".into(),
        }
    }
}

/// `set:n=7`, `set:cost=2`, `set:time=60`, `set:done=X`, `set:min-free=9`, `set:file=F`, `say:X`.
fn ask(word: &str) -> Option<Ask> {
    if let Some(text) = word.strip_prefix("say:") {
        return Some(Ask::Say { text: text.into() });
    }
    let (name, value) = word.strip_prefix("set:")?.split_once('=')?;
    let mut changes = Changes::default();
    match name {
        "n" => changes.totals.max_iterations = value.parse().ok(),
        "cost" => changes.totals.max_cost = Some(Usd::from_dollars(value.parse().expect(word))),
        "time" => changes.totals.max_time_ms = Some(1000 * value.parse::<u64>().expect(word)),
        "done" => changes.done_pattern = Some(value.into()),
        "min-free" => changes.min_free = value.parse().ok(),
        _ => changes.prompt_file = Some(value.into()),
    }
    Some(Ask::Set(changes))
}

/// The wall clock runs backwards here: nothing may be decided by it.
fn event(seq: u64, epoch: u32, up_ms: u64, fact: Fact) -> Event {
    let at = 1_800_000_000_000 - seq.cast_signed() * 1000;
    Event { v: VERSION, seq, epoch, at, up_ms, fact }
}

/// The fact that an action is, before it is carried out.
pub fn intent(state: &State, action: &Action) -> Fact {
    match action.clone() {
        Action::Start(step) => Fact::Began { id: state.position.steps_begun + 1, step },
        Action::Cancel(id, how, why) => Fact::Cancelled { id, how, why },
        Action::Judge(judgement) => Fact::Judged(judgement),
        Action::Stop(reason, note) => Fact::Stopped { reason, note },
    }
}

pub fn end(word: &str, step: &Step) -> End {
    let amount = |dollars: &str| Some(Usd::from_dollars(dollars.parse().expect(word)));
    let (word, cost, estimate) = match (word.split_once('$'), word.split_once('~')) {
        (Some((word, dollars)), _) => (word, amount(dollars), None),
        (None, Some((word, dollars))) => (word, None, amount(dollars)),
        (None, None) => (word, None, None),
    };
    let (word, branch) = match word.split_once('@') {
        Some((word, branch)) => (word, Some(branch)),
        None => (word, None),
    };
    let (name, rest) = word.split_once(':').unwrap_or((word, ""));
    let retry = rest.parse::<u64>().ok().map(|seconds| seconds * 1000);
    let agent = |answer: Answer, tag: Option<&str>| {
        let exit = if matches!(answer, Answer::Failed { .. }) { Exit::Code(1) } else { Exit::Code(0) };
        let tag = tag.map(String::from);
        let matched = name == "matched";
        let (text, json) = (answer == Answer::Said, name == "json");
        let result = name == "empty";
        let mut seen =
            StreamSummary { matched, text, json, tag, result, steps: 1, cost, ..StreamSummary::default() };
        if let ("told", Some((signal, id))) = (name, rest.split_once('-')) {
            match signal {
                "DONE" => seen.signals.done = Some(id.into()),
                "FAIL" => seen.signals.failed = Some(FailSignal { id: id.into(), why: "too hard".into() }),
                "BOTH" => {
                    seen.signals.done = Some(id.into());
                    seen.signals.failed = Some(FailSignal { id: id.into(), why: "too hard".into() });
                    seen.signals.contradictory = true;
                }
                other => panic!("what is {other}"),
            }
        }
        let retry_in_ms = retry;
        End::Agent(Box::new(AgentEnd {
            exit,
            answer,
            seen,
            duration_ms: 1,
            prompt: "p".into(),
            swept: 0,
            retry_in_ms,
            branch: branch.map(|name| Branch::Named(name.into())),
            estimate,
            gone: None,
            guard: None,
        }))
    };
    let failed = |why: &str| agent(Answer::Failed { why: why.into() }, None);
    let message = |outcome| End::Message(MessageEnd { outcome, cost, estimate });
    match (name, step) {
        ("lost", _) => End::Lost { why: "its keeper died".into(), cost, estimate },
        ("impossible", _) => End::Impossible { why: rest.into() },
        ("tree", Step::Snapshot { .. }) => snapshot((rest != "?").then_some(rest), branch),
        ("ended", Step::Snapshot { .. }) => snapshot(None, None),
        ("list", Step::Plan { .. }) => {
            let (rest, undone) = rest.split_once('!').unwrap_or((rest, ""));
            let known = Known { text: rest.into(), list: Arc::new(task_list(rest)) };
            let violations = undone.split('!').filter(|what| !what.is_empty()).map(String::from).collect();
            let end = TasksEnd { violations, ..TasksEnd::of(known) };
            End::Plan(Box::new(PlanEnd::Tasks(end)))
        }
        ("left", Step::Uncommitted { .. }) => End::Uncommitted(UncommittedEnd::default()),
        ("back", Step::Restore { .. }) => {
            let kept = Some(rest.to_string()).filter(|kept| !kept.is_empty());
            End::Restore(RestoreEnd { change: kept.clone(), kept, ..RestoreEnd::default() })
        }
        ("told", Step::Agent { .. }) => agent(Answer::Said, None),
        ("done", Step::Agent { .. }) => agent(Answer::Said, Some("DONE")),
        ("said", Step::Agent { .. }) => agent(Answer::Said, Some(rest)),
        ("talk" | "matched" | "json", Step::Agent { .. }) => agent(Answer::Said, None),
        ("empty" | "quiet", Step::Agent { .. }) => agent(Answer::Empty, None),
        ("fail", Step::Agent { .. }) => failed("exit code 1"),
        ("limited", Step::Agent { .. }) => agent(Answer::Limited { why: "429".into(), until: None }, None),
        ("down", Step::Agent { .. }) => agent(Answer::Unavailable { why: "529".into() }, None),
        ("nokey", Step::Agent { .. }) => {
            agent(Answer::Refused { why: "401".into(), about: Refusal::Login }, None)
        }
        ("root", Step::Agent { .. }) => {
            agent(Answer::Refused { why: "no root".into(), about: Refusal::Root }, None)
        }
        ("ended", Step::Agent { .. }) => failed("killed by signal 15"),
        ("copy" | "ended", Step::Prepare { .. }) => prepared(rest),
        ("green" | "red" | "ended", Step::Setup { .. }) => {
            let code = if name == "green" { 0 } else { 1 };
            match check_end(Exit::Code(code)) {
                End::Check(end) => End::Setup(end),
                other => other,
            }
        }
        ("green" | "red", Step::Check { .. }) => {
            let only_outside = (!rest.is_empty()).then(|| Box::new(only_outside(rest)));
            match check_end(Exit::Code(i32::from(name == "red"))) {
                End::Check(end) => End::Check(CheckEnd { only_outside, ..end }),
                other => other,
            }
        }
        ("ended", Step::Check { .. }) => check_end(Exit::Signal(15)),
        ("message", Step::Message { .. }) => message(MessageOutcome::Text("fix it".into())),
        ("clean", Step::Message { .. }) => message(MessageOutcome::NothingToCommit),
        ("undone" | "ended", Step::Message { .. }) => message(MessageOutcome::Failed { why: word.into() }),
        ("did", Step::CommitWorktree) => End::CommitWorktree(TaskOutcome::Done),
        ("undone" | "ended", Step::CommitWorktree) => {
            End::CommitWorktree(TaskOutcome::Failed { why: word.into() })
        }
        ("did", Step::Scm { .. }) => End::Scm(TaskOutcome::Done),
        ("clean", Step::Scm { .. }) => End::Scm(TaskOutcome::NothingToCommit),
        ("undone" | "ended", Step::Scm { .. }) => End::Scm(TaskOutcome::Failed { why: word.into() }),
        _ => panic!("`{word}` is no end of {step:?}"),
    }
}

fn snapshot(tree: Option<&str>, branch: Option<&str>) -> End {
    let head = branch.map(|name| Head { branch: Branch::Named(name.into()), ..Head::default() });
    let split = |text: Option<&str>, sign: char| match text.and_then(|text| text.split_once(sign)) {
        Some((text, rest)) => (Some(text.to_owned()), Some(rest.to_owned())),
        None => (text.map(String::from), None),
    };
    let (tree, left_out_hash) = split(tree, '%');
    let (tree, commit) = split(tree.as_deref(), '+');
    End::Snapshot(SnapshotEnd { tree, head, commit, left_out_hash, ..SnapshotEnd::default() })
}

fn check_end(exit: Exit) -> End {
    let log = ".ralph/guardrail.log".into();
    End::Check(CheckEnd {
        exit,
        duration_ms: 1,
        log,
        excerpt: None,
        summary: None,
        swept: 0,
        tests: None,
        changed: vec![],
        touched: vec![],
        only_outside: None,
    })
}

/// `/x` is missing inside, or the tests `a+b` pass only outside.
fn only_outside(words: &str) -> OnlyOutside {
    if words.starts_with('/') {
        let need = Need { what: Missing::Read(words.into()), line: String::new() };
        return OnlyOutside { needs: vec![need], ..OnlyOutside::default() };
    }
    let named: Vec<String> = words.split('+').map(String::from).collect();
    OnlyOutside { tests: named.len() as u64, named, needs: vec![] }
}

fn confinement(required: bool) -> Confinement {
    Confinement::Sandbox(SandboxSpec {
        kind: SandboxKind::Bwrap,
        required,
        read: vec![],
        write: vec![],
        tools: vec![],
        env: EnvRule::Most,
        variables: vec![],
        limits: SandboxLimits::default(),
        network: ralph_loop::sandbox::network::NetworkSpec::default(),
    })
}

fn round_name(round: Round) -> &'static str {
    match round {
        Round::Workspace => "workspace",
        Round::Baseline => "baseline",
        Round::BaselineInPlace => "baseline in place",
        Round::BaselineOutside => "baseline outside",
        Round::Delivered => "delivered",
        Round::StartGates => "start gates",
        Round::OldSource => "old source",
    }
}

/// `copy` as it should be, or with some of `same`, `gates`, `new`, `place`: nothing has changed,
/// gates have, there are new tests, there can be no copy.
fn prepared(words: &str) -> End {
    let has = |word: &str| words.split('+').any(|given| given == word);
    let gates = [("gates", "test.sh", Change::Changed), ("new", "tests/new.py", Change::NewTest)];
    let gates = gates.into_iter().filter(|(word, ..)| has(word));
    let gate = |(_, path, change): (&str, &str, Change)| GateChange {
        path: path.into(),
        kind: GateKind::Test,
        change,
        details: Vec::new(),
    };
    End::Prepare(Box::new(Prepared {
        site: if has("place") { Site::Workspace { why: Some("no bwrap".into()) } } else { Site::Copy },
        tree: Some(if has("same") { "A".into() } else { "Z".into() }),
        changed: Some(!has("same")),
        gates: gates.map(gate).collect(),
        new_tests: has("new"),
        setup: has("setup"),
        ..Prepared::default()
    }))
}

/// `agent 2`, `agent 2.3` (its third attempt), `check 2.1` (the first check), `judged 2 red 1+3`.
pub fn show(action: &Action) -> String {
    match action {
        Action::Start(Step::Snapshot { iteration }) => format!("snapshot {iteration}"),
        Action::Start(Step::Agent { iteration, agent, item: Item::Task { id, mode }, .. }) => {
            let by = if *agent > 0 { format!(" by {agent}") } else { String::new() };
            format!("{mode} {id} in {iteration}{by}")
        }
        Action::Start(Step::Agent { iteration, agent, .. }) if *agent > 0 => {
            format!("agent {iteration} by {agent}")
        }
        Action::Start(Step::Agent { iteration, attempt: 1, .. }) => format!("agent {iteration}"),
        Action::Start(Step::Agent { iteration, attempt, .. }) => format!("agent {iteration}.{attempt}"),
        Action::Start(Step::Check { iteration, index, round: Round::Workspace }) => {
            format!("check {iteration}.{}", index + 1)
        }
        Action::Start(Step::Check { iteration, index, round }) => {
            format!("check {iteration}.{} {}", index + 1, round_name(*round))
        }
        Action::Start(Step::Setup { iteration, round, index }) => {
            format!("setup {iteration}.{} {}", index + 1, round_name(*round))
        }
        Action::Start(Step::Prepare { iteration, round }) => {
            format!("prepare {iteration} {}", round_name(*round))
        }
        Action::Start(Step::Message { iteration, .. }) => format!("message {iteration}"),
        Action::Start(Step::Scm { iteration, task }) => format!("scm {iteration}.{}", task + 1),
        Action::Start(Step::CommitWorktree) => "commit rest".into(),
        Action::Start(Step::Restore { iteration, .. }) => format!("restore {iteration}"),
        Action::Start(Step::Uncommitted { iteration, .. }) => format!("left {iteration}"),
        Action::Start(Step::Plan { what, .. }) => match what {
            PlanStep::ReadTasks => "read".into(),
            PlanStep::CompareTasks => "compare".into(),
            PlanStep::PutBackTasks => "put back".into(),
            PlanStep::AmendTasks(Amendment { stories, how }) => {
                let how = match how {
                    Amend::RequestChanges => "request changes",
                    Amend::Unsay => "unsay",
                };
                format!("{how} {}", stories.join("+"))
            }
        },
        Action::Cancel(_, how, why) => {
            let how = match how {
                How::Ask => "ask",
                How::Kill => "kill",
                How::KillKeeper => "kill-keeper",
            };
            let why = match why {
                Why::Timeout { after_ms } => format!("timeout {}", seconds(*after_ms)),
                Why::MaxTime => "max-time".into(),
                Why::StopAsked => "stop asked".into(),
                Why::Answered => "answered".into(),
                Why::Silent(Silence { tool: false, .. }) => "silent".into(),
                Why::Silent(Silence { tool: true, .. }) => "silent tool".into(),
                Why::Killed => "killed".into(),
                Why::Blocked(Blocker::Network) => "no network".into(),
                Why::Blocked(Blocker::Login) => "refused key".into(),
                Why::Blocked(Blocker::Person) => "person".into(),
            };
            format!("{how} ({why})")
        }
        Action::Judge(Judgement { iteration, settlement: Settlement::Settled, proof, .. }) => {
            let word = proof.as_ref().map(|proof| format!(" {}", proof.word.name()));
            format!("judged {iteration} done{}", word.unwrap_or_default())
        }
        Action::Judge(Judgement { iteration, settlement: Settlement::Retry { why }, .. }) => {
            format!("judged {iteration} retry ({why})")
        }
        Action::Judge(Judgement { iteration, verdict, .. }) => match verdict {
            Verdict::Green { .. } => format!("judged {iteration} green"),
            Verdict::Red { failed } => {
                let failed: Vec<String> = failed.iter().map(|index| (index + 1).to_string()).collect();
                format!("judged {iteration} red {}", failed.join("+"))
            }
            Verdict::AgentFailed { why } => format!("judged {iteration} failed ({why})"),
            Verdict::Refused { word } => format!("judged {iteration} refused ({})", word.name()),
        },
        Action::Stop(reason, None) => format!("stop {}", reason.word()),
        Action::Stop(reason, Some(note)) => format!("stop {} ({note})", reason.word()),
    }
}
