//! The home inside: empty but for the rows of the tables.
//!
//! What is shown is decided before the first agent of a process of ralph's, and stays the same.
//!
//! Deliberately absent: package caches and logins, which have files of their own here.

use super::programs;
use super::view::View;
use super::visible::Visible;
use super::{gitconfig, view::Leads};
use crate::fsx;
use crate::proof::mounts::Access;
use ralph_loop::sandbox::Places;
use ralph_loop::sandbox::network::variables;
use ralph_loop::sandbox::redact::{Syntax, redact};
use ralph_loop::sandbox::tools::{self, Show, Wanted};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Configuration is small. A file that is not is no configuration.
const MOST_READ: u64 = 4 << 20;

/// Which home to show, and to whom.
pub struct HomeRequest<'a> {
    pub view: &'a View,
    pub places: Places<'a>,
    /// As in `sandbox.tools`.
    pub tools: &'a [String],
    /// The programs of agents, as they are called.
    pub programs: &'a [String],
    pub workspace: &'a Path,
    /// Whether a variable is visible to programs inside.
    pub passes: &'a dyn Fn(&str) -> bool,
    /// Where files that are written for the sandbox go.
    pub files: &'a Path,
}

/// What is shown of the home.
#[derive(Clone, Debug, Default)]
pub struct Home {
    pub visible: Visible,
    /// Variables that programs inside get.
    pub env: Vec<(OsString, OsString)>,
}

impl Home {
    pub fn prepare(request: &HomeRequest<'_>) -> io::Result<Home> {
        fsx::private_dir(request.files)?;
        let mut home = Home::default();
        home.visible.show_home(request.view);
        for tool in tools::always() {
            home.show(request, tool)?;
        }
        for entry in request.tools {
            match tools::wanted(entry) {
                Ok(Wanted::Tool(tool)) => home.show(request, tool)?,
                Ok(Wanted::Path(path)) => match request.places.expand(path) {
                    Some(path) => home.visible.show_with_links(request.view, &path),
                    None => home.visible.skipped.push(format!("{path}: there is no such variable")),
                },
                // The login is another matter, and unknown ones were refused with the settings.
                Ok(Wanted::Agent(_)) | Err(_) => {}
            }
        }
        home.show_npm_prefix(request);
        for program in request.programs {
            for path in programs::files_of(program, request.workspace, request.view) {
                home.visible.show(request.view, &path);
            }
        }
        home.show_certificates(request);
        home.show_identity(request)?;
        Ok(home)
    }

    /// Files that the user's programs check servers by, wherever they are.
    fn show_certificates(&mut self, request: &HomeRequest<'_>) {
        let set = variables::CERTIFICATES.iter().filter_map(|name| (request.places.variable)(name));
        for path in set.map(PathBuf::from).filter(|path| path.is_absolute()) {
            self.visible.show(request.view, &path);
        }
    }

    fn show(&mut self, request: &HomeRequest<'_>, tool: &tools::Tool) -> io::Result<()> {
        for (row, show) in tool.shown {
            let Some(path) = request.places.expand(row) else { continue };
            match show {
                Show::Whole => self.visible.show(request.view, &path),
                Show::Links => self.visible.show_with_links(request.view, &path),
                Show::Beginning => self.visible.show_beginning(request.view, &request.view.inside(&path)),
                Show::Redacted(syntax) => self.show_redacted(request, &path, *syntax)?,
            }
        }
        Ok(())
    }

    /// A copy of a file without credentials. One outside of the home is visible as it is.
    fn show_redacted(&mut self, request: &HomeRequest<'_>, path: &Path, syntax: Syntax) -> io::Result<()> {
        let path = request.view.inside(path);
        if !request.view.is_hidden(&path) {
            return Ok(());
        }
        let Some(Leads::To(real)) = request.view.follow(&path) else { return Ok(()) };
        let text = fsx::read_at_most(&real, MOST_READ).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text.and_then(|text| redact(&text, syntax, request.passes)) else {
            self.visible.skipped.push(format!("{} cannot be read", path.display()));
            return Ok(());
        };
        let copy = request.files.join(file_name(&path, request.view.home()));
        fsx::write_whole(&copy, text.as_bytes())?;
        self.visible.bind(copy, path, Access::Read);
        Ok(())
    }

    /// Where npm installs programs for the user, if its configuration says so.
    fn show_npm_prefix(&mut self, request: &HomeRequest<'_>) {
        let text = fsx::read_at_most(&request.view.home().join(".npmrc"), MOST_READ).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let values =
            text.lines().filter_map(|line| line.trim().strip_prefix("prefix")?.trim().strip_prefix('='));
        for value in values {
            let value = value.trim().trim_matches(['"', '\'']).replace("${HOME}", "~");
            if let Some(prefix) = request.places.expand(&value) {
                self.visible.show_with_links(request.view, &prefix.join("bin"));
                self.visible.show(request.view, &prefix.join("lib/node_modules"));
            }
        }
    }

    /// Git's configuration, without anything that starts a program or has a credential.
    fn show_identity(&mut self, request: &HomeRequest<'_>) -> io::Result<()> {
        let config = gitconfig::of_user(request.workspace);
        for path in config.files.iter().filter_map(|path| request.places.expand(path)) {
            self.visible.show(request.view, &path);
        }
        let (file, to) = (request.files.join("gitconfig"), request.view.home().join(".gitconfig"));
        fsx::write_whole(&file, config.text.as_bytes())?;
        self.visible.bind(file, to.clone(), Access::Read);
        // It may say that it is elsewhere.
        const ELSEWHERE: &str = "GIT_CONFIG_GLOBAL";
        if (request.places.variable)(ELSEWHERE).is_some() {
            self.env.push((ELSEWHERE.into(), to.into()));
        }
        Ok(())
    }
}

/// A name for the copy of a file, which no other one has.
fn file_name(path: &Path, home: &Path) -> PathBuf {
    let below = path.strip_prefix(home).unwrap_or(path);
    let mut name = OsString::new();
    for part in below.components() {
        if let std::path::Component::Normal(part) = part {
            if !name.is_empty() {
                name.push("+");
            }
            name.push(part);
        }
    }
    PathBuf::from(name)
}
