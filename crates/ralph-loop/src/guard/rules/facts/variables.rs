//! Variables that a command sets, and what they change.

use super::repo::may_run_program;
use crate::guard::arg::Arg;
use crate::guard::hosts::{host_of, is_local};
use crate::guard::paths::{Zone, locate};
use crate::guard::{Invocation, World};

/// Programs and builtins that can set variables; any program can have some set before it.
pub const SETTERS: &[&str] = &["*"];

/// Names and values of the variables that are set here.
fn set_variables(invocation: &Invocation) -> Vec<(String, Arg)> {
    let mut set: Vec<(String, Arg)> = match invocation.name() {
        // Their variables were assigned before them, and are looked at there.
        "<assign>" => match invocation.args.as_slice() {
            [name, value, ..] => vec![(name.text().to_owned(), value.clone())],
            _ => Vec::new(),
        },
        _ => invocation.variables.clone(),
    };
    if matches!(invocation.name(), "export" | "declare" | "typeset" | "env" | "local" | "readonly" | "setenv")
    {
        let given = invocation.args.iter().filter_map(|arg| arg.text().split_once('='));
        set.extend(given.map(|(name, value)| (name.to_owned(), Arg::new(value))));
    }
    set
}

fn any(invocation: &Invocation, is_meant: impl Fn(&str, &Arg) -> bool) -> bool {
    set_variables(invocation).iter().any(|(name, value)| is_meant(name, value))
}

pub fn preloads_library(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| {
        matches!(name, "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES") && !value.text().is_empty()
    })
}

/// Libraries from a place that anyone can write to.
pub fn loads_strange_libraries(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, |name, value| {
        matches!(name, "LD_LIBRARY_PATH" | "DYLD_LIBRARY_PATH" | "DYLD_FRAMEWORK_PATH")
            && value.text().split(':').any(|dir| {
                let zone = locate(&Arg::new(dir), invocation, world).zone;
                dir == "." || (!dir.is_empty() && matches!(zone, Zone::Temp | Zone::Outside))
            })
    })
}

/// Programs from a place that anyone can write to, or no place for the usual ones.
pub fn replaces_programs(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, |name, value| {
        if name != "PATH" {
            return false;
        }
        let dirs: Vec<&str> = value.text().split(':').collect();
        let is_strange = |dir: &&str| {
            let arg = Arg::new(*dir);
            let zone = locate(&arg, invocation, world).zone;
            let is_temp = zone == Zone::Temp || matches!(*dir, "/tmp" | "/var/tmp" | "/dev/shm");
            matches!(*dir, "" | ".")
                || is_temp
                    && !world.writable.iter().any(|open| arg.text().starts_with(&*open.to_string_lossy()))
        };
        let has_usual = dirs.iter().any(|dir| matches!(dir.trim_end_matches('/'), "/usr/bin" | "/bin"))
            || value.has_unknown();
        dirs.iter().any(is_strange) || !has_usual
    })
}

/// Variables whose value some program runs as code or takes its configuration from.
pub fn plants_code(invocation: &Invocation, _: &World<'_>) -> bool {
    const CODE: [&str; 15] = [
        "BASH_ENV",
        "ENV",
        "PROMPT_COMMAND",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "PERL5DB",
        "RUBYOPT",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "GIT_PROXY_COMMAND",
        "GIT_SSH",
        "GIT_TEMPLATE_DIR",
        "GIT_EXEC_PATH",
    ];
    any(invocation, |name, value| {
        let text = value.text();
        if text.is_empty() {
            return false;
        }
        let is_quiet = matches!(text, "true" | "/bin/true" | "echo" | "/bin/echo" | "/bin/false" | "false");
        let is_config = match name {
            "GIT_CONFIG_NOSYSTEM" | "GIT_CONFIG_COUNT" => false,
            // What a value does depends on its key.
            name if name.starts_with("GIT_CONFIG_VALUE_") => false,
            name if name.starts_with("GIT_CONFIG_KEY_") => value.has_unknown() || may_run_program(text),
            name => name.starts_with("GIT_CONFIG") && !matches!(text, "/dev/null" | "1" | "0" | "true"),
        };
        let is_env = name == "ENV" && !text.contains(['/', '$', '(']);
        (CODE.contains(&name) && !is_quiet && !is_env) || is_config
    })
}

/// Compilers, shells and helpers that builds start by the value of a variable.
pub fn names_strange_tool(invocation: &Invocation, world: &World<'_>) -> bool {
    const TOOLS: [&str; 18] = [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC",
        "RUSTDOC",
        "CC",
        "CXX",
        "LD",
        "AR",
        "SHELL",
        "CARGO",
        "MANPAGER",
        "BROWSER",
        "LESSOPEN",
        "NPM_CONFIG_SCRIPT_SHELL",
        "npm_config_script_shell",
        "npm_config_node_gyp",
        "GOFLAGS",
        "CMAKE_CXX_COMPILER_LAUNCHER",
    ];
    any(invocation, |name, value| {
        let text = value.text().trim_start_matches("-toolexec=");
        let program = Arg::new(text.split_whitespace().next().unwrap_or_default());
        let is_tool =
            TOOLS.contains(&name) || (name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER"));
        let zone = locate(&program, invocation, world).zone;
        is_tool
            && program.text().contains('/')
            && matches!(zone, Zone::Temp | Zone::Home | Zone::Outside)
            && !program.text().contains("/.cargo/bin/")
    })
}

pub fn replaces_ssh(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let text = value.text();
        let is_ssh = text == "ssh" || text.starts_with("ssh ") || text.is_empty();
        name == "GIT_SSH_COMMAND"
            && (!is_ssh || text.contains("ProxyCommand") || text.contains([';', '|', '&', '`']))
    })
}

/// An editor or pager that is a command line of its own.
pub fn runs_editor(invocation: &Invocation, world: &World<'_>) -> bool {
    const HARMLESS: [&str; 16] = [
        "true", ":", "cat", "less", "more", "vim", "vi", "nvim", "nano", "ed", "emacs", "code", "sed",
        "subl", "hx", "micro",
    ];
    any(invocation, |name, value| {
        if !matches!(name, "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" | "EDITOR" | "VISUAL" | "GIT_PAGER" | "PAGER")
        {
            return false;
        }
        let text = value.text();
        let program = Arg::new(text.split_whitespace().next().unwrap_or_default());
        let is_known = text.is_empty() || HARMLESS.contains(&program.base_name());
        let is_code = text.contains([';', '|', '&', '`']) || text.contains("$(");
        let is_ours = matches!(locate(&program, invocation, world).zone, Zone::Workspace | Zone::Temp);
        is_code && program.text() != "sed" || (!is_known && program.text().contains('/') && !is_ours)
    })
}

/// Git pointed at another repository.
pub fn moves_repository(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let is_place = matches!(
            name,
            "GIT_DIR"
                | "GIT_WORK_TREE"
                | "GIT_OBJECT_DIRECTORY"
                | "GIT_INDEX_FILE"
                | "GIT_ALTERNATE_OBJECT_DIRECTORIES"
        );
        let zone = locate(value, invocation, world).zone;
        is_place && matches!(zone, Zone::Home | Zone::Outside | Zone::System | Zone::Device)
    })
}

/// Docker pointed at another machine.
pub fn moves_docker(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let text = value.text();
        let is_far = text.starts_with("ssh://") || text.starts_with("tcp://") && !is_local(host_of(text));
        name == "DOCKER_HOST" && is_far
    })
}

pub fn trusts_any_certificate(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| match name {
        "GIT_SSL_NO_VERIFY" => !matches!(value.text(), "" | "0" | "false"),
        "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" => value.text() == "0",
        "npm_config_strict_ssl" | "NPM_CONFIG_STRICT_SSL" => value.text() == "false",
        _ => false,
    })
}

/// Options of interpreters that load code from elsewhere, or open a debugger to the network.
pub fn injects_options(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let words: Vec<&str> = value.text().split_whitespace().collect();
        match name {
            "NODE_OPTIONS" => words.iter().enumerate().any(|(at, word)| {
                let (flag, given) = word.split_once('=').unwrap_or((word, ""));
                let file =
                    if given.is_empty() { words.get(at + 1).copied().unwrap_or_default() } else { given };
                let is_load =
                    matches!(flag, "--require" | "-r" | "--import" | "--loader" | "--experimental-loader");
                let is_strange = file.starts_with(['/', '.', '~'])
                    && locate(&Arg::new(file), invocation, world).zone != Zone::Workspace;
                (is_load && (is_strange || file.starts_with("data:")))
                    || (flag.starts_with("--inspect") && file.contains("0.0.0.0"))
            }),
            "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS" | "JDK_JAVA_OPTIONS" | "MAVEN_OPTS" => {
                words.iter().any(|word| word.starts_with("-javaagent") || word.starts_with("-agentpath"))
            }
            _ => false,
        }
    })
}

pub fn reroutes_network(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let upper = name.to_uppercase();
        matches!(&*upper, "HTTP_PROXY" | "HTTPS_PROXY" | "ALL_PROXY" | "DOCKER_HOST")
            && value.is_known()
            && !value.text().is_empty()
            && !value.text().starts_with("unix:")
            && !is_local(host_of(value.text()))
    })
}

/// Commands that people trust with their rights and their keys.
const TRUSTED: [&str; 10] = ["sudo", "su", "doas", "git", "ssh", "gpg", "passwd", "login", "docker", "scp"];

/// `alias sudo='sh steal.sh'`, `export -f git`: another program under a trusted name.
pub fn shadows_command(invocation: &Invocation, _: &World<'_>) -> bool {
    let is_alias = invocation.name() == "alias";
    invocation.words().iter().any(|word| match word.text().split_once('=') {
        Some((name, code)) if is_alias => {
            let first = code.split_whitespace().next().unwrap_or_default();
            TRUSTED.contains(&name) && first.rsplit('/').next() != Some(name) && first != "hub"
        }
        _ => !is_alias && TRUSTED.contains(&word.text()),
    })
}

/// A registry that packages would come from.
pub fn reroutes_packages(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let is_registry = matches!(
            &*name.to_lowercase(),
            "npm_config_registry"
                | "pip_index_url"
                | "pip_extra_index_url"
                | "uv_index_url"
                | "uv_default_index"
                | "goproxy"
                | "pip_trusted_host"
                | "cargo_registries_crates_io_index"
        );
        is_registry
            && !value.text().is_empty()
            && value.text().split([',', ' ', '|']).any(is_strange_registry)
    })
}

/// Not one of the usual registries, nor one of this machine.
pub fn is_strange_registry(url: &str) -> bool {
    const USUAL: [&str; 13] = [
        "pypi.org",
        "files.pythonhosted.org",
        "test.pypi.org",
        "registry.npmjs.org",
        "registry.yarnpkg.com",
        "npm.pkg.github.com",
        "proxy.golang.org",
        "download.pytorch.org",
        "rubygems.org",
        "crates.io",
        "index.crates.io",
        "direct",
        "off",
    ];
    let host = host_of(url);
    !host.is_empty() && !USUAL.contains(&host) && !is_local(host)
}

/// `HOME` of another user or of the system.
pub fn moves_home(invocation: &Invocation, world: &World<'_>) -> bool {
    any(invocation, |name, value| {
        let place = locate(value, invocation, world);
        name == "HOME"
            && !value.text().is_empty()
            && place.path != world.home
            && matches!(place.zone, Zone::Home | Zone::Outside | Zone::System)
            && !matches!(value.text(), "/tmp" | "/var/tmp")
    })
}

/// Variables of ralph and of agents, which decide what guards them and which model they ask.
fn is_of_agents(name: &str) -> bool {
    name.starts_with("RALPH_")
        || name.starts_with("CLAUDE_")
        || name == "CLAUDECODE"
        || name.starts_with("CODEX_")
        || matches!(name, "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" | "ANTHROPIC_MODEL")
}

pub fn changes_agents(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, _| is_of_agents(name))
        || (invocation.name() == "unset" && invocation.args.iter().any(|arg| is_of_agents(arg.text())))
        || (invocation.name() == "env"
            && invocation.flag_values("-u").iter().any(|arg| is_of_agents(arg.text())))
}

/// No record of commands from here on.
pub fn drops_history(invocation: &Invocation, _: &World<'_>) -> bool {
    any(invocation, |name, value| match name {
        "HISTFILE" => matches!(value.text(), "" | "/dev/null"),
        "HISTSIZE" | "HISTFILESIZE" => value.text() == "0",
        _ => false,
    })
}
