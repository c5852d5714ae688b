//! Planning without a conversation: an agent, the check, and a few repairs.

use super::prepare::Prepared;
use super::questions;
use super::summary::{self, Planned};
use crate::cli::ask::{Asker, Stopped};
use crate::cli::format::Format;
use crate::planner::drafts::{self, Draft};
use crate::planner::headless::{Audience, Round, RoundEnd};
use crate::planner::instructions::Talk;
use crate::planner::{Form, PlannerError, check, install};
use crate::report::{AgentsTerminals, Display, Human, HumanOptions, Ndjson, Reporter, Silent, Style, say};
use ralph_loop::planner::prd::QuestionAnswered;
use ralph_loop::planner::{Proposal, Spent};
use ralph_loop::strict::{Finding, Rule};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// So many agents get to work on a plan: the first, and those that repair it.
const ROUNDS: u32 = 4;

pub fn plan(prepared: &Prepared, format: Format) -> Result<ExitCode, PlannerError> {
    let options = HumanOptions {
        display: Display::Compact,
        stream: true,
        timestamps: false,
        agents_terminals: AgentsTerminals::Nowhere,
    };
    // One for all questions: it reads the terminal from the first one on.
    let mut asker = None;
    let mut planned = match format {
        Format::Human => {
            say(&format!("ralph: planning with {}", prepared.agent.name));
            draft(prepared, &mut asker, &mut Human::new(Style::of_stdout(), options))
        }
        Format::Json => draft(prepared, &mut asker, &mut Silent),
        Format::Ndjson => draft(prepared, &mut asker, &mut Ndjson::stdout()),
    }?;
    if let Some(proposal) = &planned.proposal {
        summary::print(prepared, &planned, format);
        return decide(prepared, &planned, proposal, format, &mut asker);
    }
    planned.files = install(prepared, &planned)?;
    summary::print(prepared, &planned, format);
    Ok(ExitCode::SUCCESS)
}

fn install(prepared: &Prepared, planned: &Planned) -> Result<Vec<PathBuf>, PlannerError> {
    install::install(&prepared.spec, &prepared.record, &prepared.home, &planned.summary.answers)
}

/// A change to a story is the user's decision.
fn decide(
    prepared: &Prepared,
    planned: &Planned,
    proposal: &Proposal,
    format: Format,
    asker: &mut Option<Asker>,
) -> Result<ExitCode, PlannerError> {
    let story = &proposal.story;
    if proposal.changes.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if prepared.talk == Talk::Asks {
        return match questions::yes(asker, &format!("\nChange {story} like this? [y/N]: ")) {
            Ok(true) => {
                say(&format!("ralph: written: {}", summary::shown(&install(prepared, planned)?)));
                Ok(ExitCode::SUCCESS)
            }
            Ok(false) => {
                prepared.say_unplanned("left as it is");
                Ok(ExitCode::SUCCESS)
            }
            Err(Stopped) => Err(PlannerError::Interrupted { drafts: prepared.record.drafts() }),
        };
    }
    if format == Format::Human {
        say(&format!(
            "ralph: {story} was not changed. To change it, run `ralph plan --why {story}` in a terminal, where \
             ralph asks you, or edit {}",
            prepared.list_shown()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Agents at work until there is a valid plan.
fn draft(
    prepared: &Prepared,
    asker: &mut Option<Asker>,
    reporter: &mut dyn Reporter,
) -> Result<Planned, PlannerError> {
    let mut answers: Vec<QuestionAnswered> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut checks_told = false;
    let mut spent = Spent::default();
    for number in 1..=ROUNDS {
        let RoundEnd { last_words, answers: more, spent: also } =
            round(prepared, number, &findings, &answers, asker, reporter)?;
        answers.extend(more);
        spent += also;
        let Some(draft) = drafts::read(&prepared.spec, &prepared.record, &answers)? else {
            let record = prepared.record.dir().to_path_buf();
            return Err(PlannerError::NothingDrafted { last_words, record });
        };
        if !draft.is_valid() {
            findings = draft.findings().to_vec();
            reporter.warn(&format!("the draft is not valid yet, attempt {number} of {ROUNDS}"));
            as_merged(prepared, &draft)?;
            continue;
        }
        let planned = Planned { spent, ..summary::of(prepared, &draft, &answers)? };
        let unusable = match prepared.spec.form {
            Form::Tasks { .. } => unusable_checks(&planned),
            // Those of stories are in the settings, which are the user's.
            Form::Stories => Vec::new(),
        };
        // Told once: a check may also be something that the first story makes.
        if unusable.is_empty() || checks_told || number == ROUNDS {
            return Ok(planned);
        }
        checks_told = true;
        reporter.warn("some checks of the plan do not work");
        findings = unusable;
        as_merged(prepared, &draft)?;
    }
    Err(PlannerError::StillInvalid { rounds: ROUNDS, findings, drafts: prepared.record.drafts() })
}

fn round(
    prepared: &Prepared,
    number: u32,
    findings: &[Finding],
    answers: &[QuestionAnswered],
    asker: &mut Option<Asker>,
    reporter: &mut dyn Reporter,
) -> Result<RoundEnd, PlannerError> {
    let prompt = prepared.tell(findings, answers)?;
    let round = Round {
        spec: &prepared.spec,
        record: &prepared.record,
        agent: &prepared.agent,
        asks: prepared.talk == Talk::Asks,
        number,
        prompt: &prompt,
        limit: prepared.settings.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    };
    let mut answer = |asked: &_| questions::ask(asker, asked);
    round.play(&mut Audience { reporter, answer: &mut answer })
}

/// The next agent finds the list as it would be put in place, so that the lines of the findings are right.
fn as_merged(prepared: &Prepared, draft: &Draft) -> Result<(), PlannerError> {
    let (Draft::Tasks(draft), Form::Tasks { .. }) = (draft, &prepared.spec.form) else { return Ok(()) };
    // One that cannot be read is left for the agent to see.
    if draft.merged.list.stories.is_empty() {
        return Ok(());
    }
    let file = prepared.record.drafted_tasks().list();
    crate::fsx::write_private(&file, draft.merged.list.to_text().as_bytes())
        .map_err(|cause| PlannerError::Record { dir: prepared.record.drafts(), cause })
}

fn unusable_checks(planned: &Planned) -> Vec<Finding> {
    let tried = planned.summary.checks.iter().filter(|check| !check.outcome.works());
    let finding = |check: &ralph_loop::planner::TriedCheck| {
        let what = format!("verifyCommands: `{}` was run once: {}", check.command, check.outcome.words());
        let fix = "use a command that works here, or have the first story set it up";
        check::fault(Rule::VerifyCommands, what, fix)
    };
    tried.map(finding).collect()
}
