//! `ralph config show` and `ralph schema settings`.

use super::Project;
use serde_json::{Value, json};

#[test]
fn every_setting_is_a_line_with_its_source() {
    let project = Project::empty();
    project.settings(
        r#"{"agent": {"flags": ["--api-key", "abc", "--url", "https://me:pw@host"]},
            "guardrails": [{"command": "API_TOKEN=abc make test", "failAction": "APPEND"}]}"#,
    );
    let answer = project.ralph(&["config", "show"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    insta::assert_snapshot!(answer.out, @r#"
    maximumIterations = 10                   default
    completionResponse = "DONE"              default
    outputTruncateChars = 5000               default
    streamAgentOutput = true                 default
    includeIterationCountInPrompt = false    default
    agent.command = "claude"                 default
    agent.flags = ["--api-key","***","--url","https://me:***@host"]  .ralph/settings.json
    agent.model = null                       default
    agent.autonomous = true                  default
    guardrails[0].command = "API_TOKEN=*** make test"  .ralph/settings.json
    guardrails[0].failAction = "APPEND"      .ralph/settings.json
    scm.command = "git"                      default
    scm.tasks = []                           default
    maxCost = null                           default
    prices = {}                              default
    maxTime = null                           default
    timeout = null                           default
    checkTimeout = 120                       default
    maxFailures = 5                          default
    stallAfter = 5                           default
    proof.mode = "auto"                      default
    proof.baseline = true                    default
    proof.carry = []                         default
    proof.setup = []                         default
    proof.pin = []                           default
    proof.junit = []                         default
    sandbox.kind = "auto"                    default
    sandbox.read = []                        default
    sandbox.write = []                       default
    sandbox.tools = []                       default
    sandbox.env = "most"                     default
    sandbox.variables = []                   default
    sandbox.network = "allowlist"            default
    sandbox.hosts = []                       default
    sandbox.forward = []                     default
    sandbox.processes = 4096                 default
    sandbox.memory = 0                       default
    sandbox.fileSize = 20480                 default
    sandbox.tmpSize = 4096                   default
    guard.allow = []                         default
    guard.deny = []                          default
    guard.ask = []                           default
    guard.writable = []                      default
    guard.categories.files = "block"         default
    guard.categories.disks = "block"         default
    guard.categories.denial = "block"        default
    guard.categories.exfiltration = "block"  default
    guard.categories.shells = "block"        default
    guard.categories.credentials = "block"   default
    guard.categories.privilege = "block"     default
    guard.categories.containers = "block"    default
    guard.categories.packages = "block"      default
    guard.categories.git = "block"           default
    guard.categories.system = "block"        default
    guard.categories.obfuscation = "block"   default
    guard.categories.environment = "block"   default
    guard.categories.processes = "block"     default
    guard.categories.persistence = "block"   default
    guard.categories.databases = "block"     default
    guard.categories.cloud = "block"         default
    guard.categories.paths = "block"         default
    backoff.base = 1                         default
    backoff.cap = 300                        default
    context = true                           default
    checkpoints = true                       default
    largestFile = 10                         default
    minFreeSpace = 500                       default
    keepRuns = 100                           default
    keepCheckpoints = 500                    default
    keepStreams = 200                        default
    stories.order = []                       default
    stories.rules = []                       default
    stories.verify = []                      default
    stories.maxRetries = 3                   default
    stories.commit = false                   default
    tasks.commitLeft = true                  default
    tasks.hooks = true                       default
    workers.interactive = false              default
    workers.readyTimeout = 30                default
    workers.permissions = "ask"              default
    agents.review = null                     default
    agents.fix = null                        default
    notify = null                            default
    mask = []                                default
    "#);
    let json = project.ralph(&["config", "show", "--format", "json"]).out;
    assert!(!json.contains("abc") && !json.contains("pw@"), "{json}");
    let lines = project.ralph(&["config", "show", "--format", "ndjson"]).out;
    assert_eq!(lines.lines().count(), answer.out.lines().count());
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"key": "maximumIterations", "value": 10, "from": "default"}));
}

#[test]
fn the_settings_of_another_directory_can_be_shown() {
    let project = Project::empty();
    project.write("sub/.ralph/settings.json", r#"{"maximumIterations": 4}"#);
    let answer = project.ralph(&["config", "show", "-C", "sub"]);
    assert!(answer.out.starts_with("maximumIterations = 4 "), "{}", answer.out);
    assert!(answer.out.lines().next().unwrap().ends_with("  .ralph/settings.json"), "{}", answer.out);
}

/// The parts of a schema that hold a value, followed down to every key.
fn described(schema: &Value, at: &str, keys: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}{name}");
        assert!(property["description"].is_string(), "{at}");
        described(property, &format!("{at}."), keys);
        described(&property["items"], &format!("{at}[0]."), keys);
        keys.push(at);
    }
}

#[test]
fn the_schema_knows_every_setting_and_its_default() {
    let project = Project::empty();
    project
        .settings(r#"{"guardrails": [{"command": "x", "failAction": "APPEND", "hint": "y", "timeout": 1}]}"#);
    let schema = project.ralph(&["schema", "settings"]).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let mut keys = Vec::new();
    described(&schema, "", &mut keys);
    let shown = project.ralph(&["config", "show", "--format", "json"]).json();
    for (key, from) in shown["from"].as_object().unwrap() {
        assert!(keys.contains(key), "{key}");
        if from == "default" {
            let pointer = format!("/properties/{}/default", key.replace('.', "/properties/"));
            let value = shown["settings"].pointer(&format!("/{}", key.replace('.', "/")));
            assert_eq!(schema.pointer(&pointer), value, "{key}");
        }
    }
}
