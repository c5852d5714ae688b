//! The secrets that this process knows, and everything that is recorded or shown without them.
//!
//! Known from the start are those of the environment; those of the settings, and of the logins and the configuration
//! that agents are handed, come when they are read. What a secret is and how it is found is in [`ralph_loop::secrets`].
//!
//! What passes here: the bytes that steps print, the facts of a run, the run as reports and notifications show
//! it, texts beside the journal, and every line that is printed. What does not: the user's files, trees, the
//! task list, and whatever an agent is handed.

use crate::settings::Loaded;
use ralph_loop::Run;
use ralph_loop::event::Fact;
use ralph_loop::secrets::known::{self, Harmless};
use ralph_loop::secrets::{Masker, SealedMark, Secret};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

struct Known {
    secrets: Vec<Secret>,
    masker: Arc<Masker>,
}

static KNOWN: RwLock<Option<Known>> = RwLock::new(None);

/// The masker of everything that is known by now.
pub fn masker() -> Arc<Masker> {
    if let Some(known) = &*KNOWN.read().unwrap_or_else(PoisonError::into_inner) {
        return Arc::clone(&known.masker);
    }
    learn(|_, _| {})
}

/// The same, where the thread that asks may itself be building it: nothing then.
pub fn masker_in_panic() -> Option<Arc<Masker>> {
    let known = KNOWN.try_read().ok()?;
    match &*known {
        Some(known) => Some(Arc::clone(&known.masker)),
        None => {
            drop(known);
            Some(masker())
        }
    }
}

/// A text without secrets.
pub fn mask(text: &str) -> Cow<'_, str> {
    masker().mask(text)
}

/// Adds the secrets of settings: values whose names say so, and variables that `mask` names.
pub fn learn_settings(loaded: &Loaded) {
    let named = &loaded.settings.mask;
    let values = loaded.effective.secrets();
    if named.is_empty() && values.is_empty() {
        return;
    }
    learn(|harmless, found| {
        add_environment(named, harmless, found);
        for (name, value) in values {
            known::add(&name, &value, harmless, found);
        }
    });
}

/// Adds the tokens of a login that agents are handed.
pub fn learn_login(agent: &str, login: &[u8]) {
    if let Ok(json) = serde_json::from_slice::<Value>(login) {
        learn(|harmless, found| known::add_named(&format!("{agent}-login"), &json, harmless, found));
    }
}

/// Adds the secrets in the configuration that an agent is handed, such as the keys of its MCP servers.
pub fn learn_config(agent: &str, config: &Value) {
    learn(|harmless, found| known::add_named(&format!("{agent}-config"), config, harmless, found));
}

/// Adds a part of a variable that an agent is handed by itself.
pub fn learn_part(variable: &str, part: &str) {
    learn(|harmless, found| known::add(variable, part, harmless, found));
}

/// Builds the masker again if there is something new.
fn learn(add: impl FnOnce(Harmless<'_>, &mut Vec<Secret>)) -> Arc<Masker> {
    let words = harmless_words();
    let harmless = Harmless { words: &words, is_path: &is_path };
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = known.take();
    let mut secrets = before.as_ref().map_or_else(Vec::new, |before| before.secrets.clone());
    if before.is_none() {
        add_environment(&[], harmless, &mut secrets);
    }
    add(harmless, &mut secrets);
    let masker = match before {
        Some(before) if before.secrets == secrets => before.masker,
        Some(_) | None => Arc::new(Masker::new(&secrets)),
    };
    *known = Some(Known { secrets, masker: Arc::clone(&masker) });
    masker
}

fn add_environment(named: &[String], harmless: Harmless<'_>, found: &mut Vec<Secret>) {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    known::add_variables(variables.iter().map(|(name, value)| (&**name, &**value)), named, harmless, found);
}

/// Names that are in every log.
fn harmless_words() -> Vec<String> {
    let project = std::env::current_dir().ok();
    let project = project.and_then(|dir| Some(dir.file_name()?.to_str()?.to_owned()));
    let names = ["USER", "LOGNAME", "HOSTNAME"].map(|name| std::env::var(name).ok());
    names.into_iter().chain([project]).flatten().collect()
}

/// A secret may begin with `/` as well; then nothing is there.
fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    let parent = path.parent().filter(|parent| parent.components().count() > 1);
    path.is_absolute() && (path.exists() || parent.is_some_and(Path::exists))
}

/// A fact as it is recorded and shown.
pub fn masked_fact(fact: Fact) -> Fact {
    changed(&fact, Masker::mask_value).unwrap_or(fact)
}

/// The run as reports show it; nothing if that is the run itself.
pub fn shown_run(run: &Run) -> Option<Run> {
    changed(run, Masker::mask_value)
}

/// The run as it is recorded; nothing if that is the run itself.
pub fn sealed_run(run: &Run) -> Option<Run> {
    changed(run, |masker, value| masker.seal_value(value, &run.id))
}

/// A recorded run as it can go on.
pub fn unsealed_run(run: Run) -> Result<Run, SealedMark> {
    let Ok(mut value) = serde_json::to_value(&run) else { return Ok(run) };
    masker().unseal_value(&mut value, &run.id)?;
    Ok(serde_json::from_value(value).unwrap_or(run))
}

/// A value with other texts, or nothing if none is different. A secret that is a word of ralph's own records,
/// such as the name of a fact, tells nothing there and is left.
fn changed<T: Serialize + DeserializeOwned>(
    value: &T,
    change: impl FnOnce(&Masker, &mut Value) -> bool,
) -> Option<T> {
    let masker = masker();
    if masker.is_idle() {
        return None;
    }
    // Mostly there is none, and text is made faster than a tree.
    let text = serde_json::to_string(value).ok().filter(|text| masker.finds(text))?;
    let mut value = serde_json::from_str(&text).ok()?;
    change(&masker, &mut value).then(|| serde_json::from_value(value).ok()).flatten()
}
