//! Shell as a tree.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands one after another.
#[derive(Clone, Debug, Default)]
pub struct List(pub Vec<Item>);

/// Pipelines joined by `&&` and `||`. Each may run; how they are joined says which directory they run in.
#[derive(Clone, Debug)]
pub struct Item {
    pub pipelines: Vec<Pipeline>,
    /// What is between the pipelines: one less.
    pub joints: Vec<Joint>,
    /// Ends with `&`.
    pub in_background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    And,
    Or,
}

#[derive(Clone, Debug)]
pub struct Pipeline(pub Vec<Command>);

#[derive(Clone, Debug)]
pub enum Command {
    Simple(Simple),
    Compound(Compound, Vec<Redirect>),
    Function { name: String, body: Rc<Command> },
}

#[derive(Clone, Debug)]
pub enum Compound {
    Braces(List),
    Subshell(List),
    If {
        arms: Vec<Arm>,
        otherwise: Option<List>,
    },
    /// `while` and `until`.
    While {
        condition: List,
        body: List,
    },
    /// Without words: over the arguments.
    For {
        variable: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    /// `for ((…))`
    Counted {
        header: Word,
        body: List,
    },
    Case {
        word: Word,
        arms: Vec<List>,
    },
    /// `[[ … ]]` and `(( … ))`: only what is substituted in them matters.
    Test(Vec<Word>),
}

/// One branch of an `if`.
#[derive(Clone, Debug)]
pub struct Arm {
    pub condition: List,
    pub body: List,
}

#[derive(Clone, Debug, Default)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

#[derive(Clone, Debug)]
pub struct Assignment {
    pub name: String,
    /// `+=`
    pub appends: bool,
    /// Several of an array.
    pub values: Vec<Word>,
}

#[derive(Clone, Debug)]
pub struct Redirect {
    /// The number before the operator.
    pub fd: Option<u32>,
    pub kind: RedirectKind,
    pub target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    Read,
    Write,
    Append,
    /// `<>`
    Both,
    /// `2>&1`, `<&3`: no file, unless the target is a name (`>& file`).
    Duplicate,
    /// `<<` and `<<<`
    Text,
}

#[derive(Clone, Debug)]
pub enum Target {
    Word(Word),
    /// Read at the end of the line.
    Heredoc(Rc<OnceCell<Word>>),
}

#[derive(Clone, Debug, Default)]
pub struct Word(pub Vec<Part>);

#[derive(Clone, Debug)]
pub enum Part {
    /// Not quoted: globs, braces and a tilde count.
    Plain(String),
    Quoted(String),
    /// In double quotes: expanded and not split.
    Double(Vec<Part>),
    Parameter(Parameter),
    /// `$(…)` and backticks.
    Output(List),
    /// `<(…)` and `>(…)`
    Process(List),
    /// `$((…))`
    Number(Vec<Part>),
}

/// `$name`, `${name…}`
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    /// `${name[2]}`; nothing for all of an array.
    pub index: Option<usize>,
    pub change: Change,
}

/// What `${name…}` does with the value.
#[derive(Clone, Debug)]
pub enum Change {
    None,
    /// `${#name}`
    Length,
    /// `${!name}`
    Indirect,
    /// `:-` and `:=`: the word if there is no value.
    Default(Word),
    /// `:+`
    Instead(Word),
    /// `:?`
    Demand,
    /// `#`, `##`, `%`, `%%`
    Strip {
        from_end: bool,
        longest: bool,
        pattern: Word,
    },
    /// `/old/new`, `//old/new`
    Replace {
        all: bool,
        old: Word,
        new: Word,
    },
    /// `:offset:length`
    Slice {
        from: String,
        length: Option<String>,
    },
    /// `^^`, `,,`
    Upper,
    Lower,
    /// Anything else.
    Other,
}
