//! What a check lacks in the sandbox of a run.

use super::{Sandbox, environment};
use ralph_loop::sandbox::needs::{self, Kind, Need, Outside};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

impl Sandbox {
    /// By what the check printed inside, and what there is outside.
    pub fn lacks(&self, output: &str) -> Vec<Need> {
        let home = self.around.home.as_ref().map(|home| home.to_string_lossy());
        let withheld = environment::withheld_from_checks(&self.spec);
        let program = |name: &str| which::which(name).ok().map(|path| path.to_string_lossy().into_owned());
        needs::find(
            output,
            &Outside {
                home: home.as_deref(),
                tree: &self.tree.to_string_lossy(),
                records: &self.around.ralph_home.to_string_lossy(),
                withheld: &withheld,
                look: &look,
                program: &program,
            },
        )
    }
}

fn look(path: &str) -> Option<Kind> {
    let kind = Path::new(path).metadata().ok()?.file_type();
    Some(match () {
        () if kind.is_dir() => Kind::Dir,
        () if kind.is_socket() => Kind::Socket,
        () => Kind::File,
    })
}
