//! Writes the spec of a new story, from the built-in template or the user's own.

use crate::fsx;
use crate::layout::{Project, spec_file};
use crate::template;
use minijinja::value::ValueKind;
use minijinja::{ErrorKind, Value, context};
use ralph_loop::story_id::StoryId;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The name of the user's own template.
pub const TEMPLATE: &str = "spec";

/// A story that is to be written.
#[derive(Clone, Debug)]
pub struct NewStory {
    pub id: StoryId,
    pub title: String,
    pub depends_on: Vec<StoryId>,
}

#[derive(Debug, Error)]
pub enum NewStoryError {
    #[error("invalid template: {}", template.display())]
    Template {
        template: PathBuf,
        #[source]
        cause: Box<minijinja::Error>,
    },
    #[error("cannot read the template: {}", template.display())]
    TemplateUnread {
        template: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot write the spec: {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl NewStory {
    /// Writes the spec where nothing stands yet; its path, relative to the project.
    pub fn write(&self, project: &Project) -> Result<PathBuf, NewStoryError> {
        let content = self.render(project)?;
        let dir = project.epic(self.id.epic);
        let path = project.dir().join(self.path());
        let written =
            fsx::dir_inside(project.dir(), &dir).and_then(|()| fsx::write_new(&path, content.as_bytes()));
        written.map_err(|cause| NewStoryError::Write { path: project.shown(&path), cause })?;
        Ok(project.shown(&path))
    }

    /// Where its spec is, relative to the project.
    pub fn path(&self) -> PathBuf {
        let here = Project::at(PathBuf::new());
        here.epic(self.id.epic).join(spec_file(self.id, &slug(&self.title)))
    }

    fn render(&self, project: &Project) -> Result<String, NewStoryError> {
        let own = project.template(TEMPLATE);
        let template = project.shown(&own);
        let source = match fsx::read_regular(&own) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(NewStoryError::TemplateUnread { template, cause }),
        };
        self.fill_in(source.as_deref().unwrap_or(template::SPEC))
            .map_err(|cause| NewStoryError::Template { template, cause: Box::new(cause) })
    }

    fn fill_in(&self, template: &str) -> Result<String, minijinja::Error> {
        let mut environment = template::environment()?;
        environment.add_filter("yaml", yaml);
        let NewStory { id, title, depends_on } = self;
        let depends_on: Vec<String> = depends_on.iter().map(StoryId::to_string).collect();
        let mut text = environment.render_str(
            template,
            context! {
                id => id.to_string(),
                epic => id.epic,
                story => id.story,
                title => title,
                slug => slug(title),
                depends_on => depends_on,
            },
        )?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }
}

/// A value as YAML takes it on one line, whatever is in it: as JSON, lists with some air.
fn yaml(value: &Value) -> Result<String, minijinja::Error> {
    if value.kind() == ValueKind::Seq {
        let items = value.try_iter()?.map(|item| yaml(&item)).collect::<Result<Vec<_>, _>>()?;
        return Ok(format!("[{}]", items.join(", ")));
    }
    match value.as_str() {
        Some(text) => serde_json::to_string(text)
            .map_err(|cause| minijinja::Error::new(ErrorKind::InvalidOperation, cause.to_string())),
        None => Ok(value.to_string()),
    }
}

/// A title as part of a file's name: `Log in, please!` is `log-in-please`.
pub fn slug(title: &str) -> String {
    const CHARS: usize = 50;
    let title = title.to_lowercase();
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug: String = words.collect::<Vec<_>>().join("-").chars().take(CHARS).collect();
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "story".to_string() } else { slug.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stories::frontmatter;

    fn story(title: &str) -> NewStory {
        let id = |text: &str| text.parse().unwrap();
        NewStory { id: id("8.10"), title: title.to_string(), depends_on: vec![id("8.1"), id("7.10")] }
    }

    #[test]
    fn whatever_the_title_its_spec_has_nothing_wrong() {
        for title in
            ["Log in", "a: b", "\"quoted\" 'twice' \\n", "# no comment", "yes", "{{ title }}", "日本 é"]
        {
            let spec = story(title).fill_in(template::SPEC).unwrap();
            let read = frontmatter::read(spec.as_bytes());
            assert_eq!(read.problems, [], "{spec}");
            assert_eq!(read.title.as_deref(), Some(title));
            assert_eq!(read.status.as_deref(), Some("pending"));
            let ids: Vec<String> = read.depends_on.iter().map(|(id, _)| id.to_string()).collect();
            assert_eq!(ids, ["8.1", "7.10"]);
        }
    }

    #[test]
    fn a_template_of_the_users_own_gets_all_there_is() {
        let template = "{{ id }} {{ epic }} {{ story }} {{ title }} {{ slug }}{% for d in depends_on %} {{ d }}{% endfor %}";
        let text = story("Log in & <out>").fill_in(template).unwrap();
        assert_eq!(text, "8.10 8 10 Log in & <out> log-in-out 8.1 7.10\n");
        for wrong in ["{{ titel }}", "{{ title", "{% for %}"] {
            assert!(story("x").fill_in(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_slug_is_words_and_can_be_a_file_name() {
        for (title, expected) in [
            ("Log in, please!", "log-in-please"),
            ("  ../../etc/passwd ", "etc-passwd"),
            ("Über uns", "über-uns"),
            ("!?", "story"),
            (&"word ".repeat(20), "word-word-word-word-word-word-word-word-word-word"),
        ] {
            assert_eq!(slug(title), expected);
        }
    }
}
