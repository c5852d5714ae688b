//! Stories on disk: specs, the state of a project, and the record of what was done.
//!
//! Nothing here decides what runs next. What a user wrote is read as it is, what is wrong with
//! it is data ([`problem::Problem`]), and of a spec only the one word is ever changed that says whether it
//! is done.

mod backlog;
mod cycle;
mod find;
mod frontmatter;
mod mark;
mod node;
mod problem;
mod progress_txt;
mod spec;
mod state_file;
