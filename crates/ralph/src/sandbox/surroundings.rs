//! The user's system, as far as a sandbox has to know it.

use crate::layout::Home;
use std::env;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The user's, without links; none if it is not there.
    pub home: Option<PathBuf>,
    /// ralph's own, without links.
    pub ralph_home: PathBuf,
    /// The program that is running.
    pub ralph: PathBuf,
}

impl Surroundings {
    pub fn of(home: &Home) -> Surroundings {
        let root = home.root();
        Surroundings {
            home: env::home_dir().and_then(|home| home.canonicalize().ok()),
            ralph_home: root.canonicalize().unwrap_or_else(|_| root.to_path_buf()),
            ralph: env::current_exe().unwrap_or_else(|_| PathBuf::from("ralph")),
        }
    }
}
