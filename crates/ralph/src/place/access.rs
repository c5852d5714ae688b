//! How ralph's own git gets at the tree of a run.

use crate::git::{NoRepository, Repository};
use crate::process::tool::Tool;
use crate::sandbox::{Role, Sandbox};
use ralph_loop::Run;
use ralph_loop::run::Tree;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Access {
    tree: Tree,
    /// For what an agent could have had a hand in.
    sandbox: Option<Arc<Sandbox>>,
}

impl Access {
    pub fn to(run: &Run) -> Access {
        Access { tree: run.tree(), sandbox: None }
    }

    /// For a process that was started in the place, and so has nothing more to go through.
    pub fn from_inside(tree: Tree) -> Access {
        Access { tree, sandbox: None }
    }

    /// With the sandbox of the run.
    pub fn with(self, sandbox: Option<&Arc<Sandbox>>) -> Access {
        Access { sandbox: sandbox.cloned(), ..self }
    }

    pub fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        self.sandbox.as_ref()
    }

    pub fn dir(&self) -> &Path {
        &self.tree.dir
    }

    /// The top of the repository that there was when the run began.
    pub fn top(&self) -> Option<&Path> {
        self.tree.top.as_deref()
    }

    /// The repository that a run works in. If its `.git` is gone there is none: another one around
    /// it is not the run's to touch.
    pub fn repository(&self) -> Option<Repository> {
        self.find_repository().ok()
    }

    /// The same, or why there is none.
    pub fn find_repository(&self) -> Result<Repository, NoRepository> {
        let found = Repository::find(&self.tree.dir)?;
        match &self.tree.top {
            Some(top) if found.top != *top => Err(NoRepository::None),
            Some(_) | None => Ok(found),
        }
    }

    /// A program that works in the tree, and runs what is there: hooks, filters.
    pub fn tool<'a>(&self, tool: Tool<'a>) -> Tool<'a> {
        tool.inside(self.sandbox.as_ref(), Role::Commit)
    }
}
