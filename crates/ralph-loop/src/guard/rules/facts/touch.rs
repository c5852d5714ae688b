//! Which paths an invocation deletes, writes, or gives other permissions to.

use crate::guard::Invocation;
use crate::guard::arg::{Arg, UNKNOWN};

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Deletes,
    /// With everything below it, or beyond recovery.
    DeletesAll,
    MovesAway,
    /// Creates or overwrites.
    Writes,
    /// Creates something, and leaves what exists.
    Creates,
    Permits,
    /// With everything below it.
    PermitsAll,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub deed: Deed,
    pub path: Arg,
}

/// The programs that [`touches`] knows.
pub const TOUCHERS: &[&str] = &[
    "<write>",
    "rm|rmdir|unlink|shred|srm|rimraf|wipe|find|mv|gmv",
    "cp|gcp|install|ln|rsync|scp|dd|truncate|tee|sponge",
    "sed|gsed|perl|ruby|yq|ddrescue|tar|bsdtar|gtar|unzip|7z|curl",
    "wget|openssl|sort|ed|ex|touch|mkdir|ssh-keygen|zip|patch",
    "chmod|chown|chgrp|chattr|chflags|setfacl|xattr",
];

/// Everything that an invocation does to the paths that it names.
pub fn touches(invocation: &Invocation) -> Vec<Touch> {
    match invocation.name() {
        "<write>" => all(Deed::Writes, invocation.args.iter()),
        "rm" => removed(invocation),
        "rimraf" | "shred" | "srm" | "wipe" => all(Deed::DeletesAll, invocation.operands()),
        "rmdir" | "unlink" => all(Deed::Deletes, invocation.operands()),
        "find" => found(invocation),
        "mv" | "gmv" | "cp" | "gcp" | "install" | "ln" | "rsync" | "scp" => copied(invocation),
        "truncate" | "tee" | "sponge" | "ed" | "ex" => all(Deed::Writes, invocation.operands()),
        "dd" => prefixed(invocation, "of=", Deed::Writes),
        "ddrescue" => all(Deed::Writes, invocation.operands().get(1).copied()),
        "sed" | "gsed" | "perl" | "ruby" | "yq" => edited(invocation),
        "tar" | "bsdtar" | "gtar" => archived(invocation),
        "unzip" => inside(&invocation.flag_values("-d")),
        "7z" => prefixed(invocation, "-o", Deed::Writes),
        "zip" => all(Deed::Creates, invocation.operands().first().copied()),
        "patch" => inside(&values(invocation, &["-d", "--directory"])),
        "curl" => all(Deed::Writes, &values(invocation, &["-o", "--output"])),
        "wget" => {
            let mut touched = all(Deed::Writes, &values(invocation, &["-O", "--output-document"]));
            touched.extend(inside(&values(invocation, &["-P", "--directory-prefix"])));
            touched.retain(|touch| touch.path.text() != "-");
            touched
        }
        "openssl" => all(Deed::Writes, &values(invocation, &["-out", "-keyout"])),
        "sort" => all(Deed::Writes, &values(invocation, &["-o", "--output"])),
        "ssh-keygen" => match invocation.has_any_flag(&["-l", "-y", "-R", "-F", "-B"]) {
            true => Vec::new(),
            false => all(Deed::Creates, &invocation.flag_values("-f")),
        },
        "touch" | "mkdir" => all(Deed::Creates, invocation.operands()),
        "chmod" | "chown" | "chgrp" | "chattr" | "chflags" | "setfacl" | "xattr" => permitted(invocation),
        _ => Vec::new(),
    }
}

fn all<'a>(deed: Deed, paths: impl IntoIterator<Item = &'a Arg>) -> Vec<Touch> {
    paths.into_iter().map(|path| Touch { deed, path: path.clone() }).collect()
}

/// Something inside these directories, or the files themselves.
fn inside(dirs: &[Arg]) -> Vec<Touch> {
    dirs.iter().map(|dir| Touch { deed: Deed::Writes, path: something_in(dir) }).collect()
}

/// A path in a directory, whose name is not known.
pub fn something_in(dir: &Arg) -> Arg {
    Arg::new(format!("{}/{UNKNOWN}", dir.text()))
}

fn values(invocation: &Invocation, flags: &[&str]) -> Vec<Arg> {
    flags.iter().flat_map(|flag| invocation.flag_values(flag)).collect()
}

fn prefixed(invocation: &Invocation, prefix: &str, deed: Deed) -> Vec<Touch> {
    let paths = invocation.args.iter().filter_map(|arg| arg.text().strip_prefix(prefix));
    paths.map(|path| Touch { deed, path: Arg::new(path) }).collect()
}

fn removed(invocation: &Invocation) -> Vec<Touch> {
    let is_recursive = invocation.has_any_flag(&["-r", "-R", "--recursive"]);
    let deed = |path: &Arg| match is_recursive || (path.has_unknown() && path.has_glob()) {
        true => Deed::DeletesAll,
        false => Deed::Deletes,
    };
    invocation.operands().into_iter().map(|path| Touch { deed: deed(path), path: path.clone() }).collect()
}

/// What `find` deletes itself. What it runs is an invocation of its own.
fn found(invocation: &Invocation) -> Vec<Touch> {
    let written = values(invocation, &["-fprint", "-fprintf", "-fls"]);
    let mut touched = all(Deed::Writes, &written);
    if !invocation.args.iter().any(|arg| arg.text() == "-delete") {
        return touched;
    }
    let is_start = |arg: &&Arg| !arg.text().starts_with(['-', '(', '!']);
    let mut roots: Vec<Arg> = invocation
        .args
        .iter()
        .skip_while(|arg| matches!(arg.text(), "-H" | "-L" | "-P"))
        .take_while(is_start)
        .cloned()
        .collect();
    if roots.is_empty() {
        roots.push(Arg::from("."));
    }
    let is_filtered = is_filtered(invocation);
    touched.extend(roots.iter().map(|root| Touch {
        deed: Deed::DeletesAll,
        path: if is_filtered { something_in(root) } else { root.clone() },
    }));
    touched
}

/// Whether `find` names what it looks for, rather than what it leaves out.
fn is_filtered(invocation: &Invocation) -> bool {
    const FILTERS: [&str; 20] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-empty",
        "-size",
        "-newer",
        "-newermt",
        "-user",
        "-perm",
        "-xtype",
    ];
    let args: Vec<&str> = invocation.args.iter().map(Arg::text).collect();
    args.iter().enumerate().any(|(at, arg)| {
        let is_negated = at > 0 && matches!(args[at - 1], "!" | "-not");
        FILTERS.contains(arg) && !is_negated && args.get(at + 1) != Some(&"*")
    })
}

/// Sources and target of `cp` and its relatives. A target that is a directory gets files of the sources' names.
fn copied(invocation: &Invocation) -> Vec<Touch> {
    let name = invocation.name();
    if name == "install" && invocation.has_any_flag(&["-d", "--directory"]) {
        return all(Deed::Creates, invocation.operands());
    }
    let mut sources = invocation.operands();
    let target = match values(invocation, &["-t", "--target-directory"]).into_iter().next() {
        Some(target) if matches!(name, "cp" | "gcp" | "mv" | "gmv" | "ln" | "install") => Some(target),
        _ if sources.len() > 1 => sources.pop().cloned(),
        _ => None,
    };
    let mut touched = match name {
        "mv" | "gmv" => all(Deed::MovesAway, sources.iter().copied()),
        "rsync" if invocation.has_flag("--remove-source-files") => {
            all(Deed::MovesAway, sources.iter().copied())
        }
        _ => Vec::new(),
    };
    let Some(target) = target.filter(|target| !(is_remote_name(target) && matches!(name, "rsync" | "scp")))
    else {
        return touched;
    };
    if name == "rsync" && invocation.args.iter().any(|arg| arg.text().starts_with("--del")) {
        touched.push(Touch { deed: Deed::DeletesAll, path: target.clone() });
    }
    touched.push(Touch { deed: Deed::Writes, path: something_in(&target) });
    let into = sources.iter().filter(|source| !source.base_name().is_empty()).map(|source| Touch {
        deed: Deed::Writes,
        path: Arg::new(format!("{}/{}", target.text(), source.base_name())),
    });
    touched.extend(into);
    touched
}

/// `host:path`, as scp and rsync read it.
pub fn is_remote_name(arg: &Arg) -> bool {
    let text = arg.text();
    match text.find(':') {
        Some(at) => at > 0 && !text[..at].contains('/'),
        None => false,
    }
}

/// Files that are edited in place.
fn edited(invocation: &Invocation) -> Vec<Touch> {
    let name = invocation.name();
    let is_in_place = match name {
        "sed" | "gsed" => invocation.has_any_flag(&["-i", "--in-place"]) || clustered(invocation, 'i'),
        _ => invocation.args.iter().any(|arg| {
            let text = arg.text();
            text.starts_with("-i") || (text.starts_with("-p") && text.contains('i') && !text.contains('='))
        }),
    };
    if !is_in_place {
        return Vec::new();
    }
    let has_script = !values(invocation, &["-e", "-f", "--expression", "--file"]).is_empty();
    let mut words: Vec<&Arg> = invocation.operands();
    if matches!(name, "perl" | "ruby") {
        // The word behind `-e`, `-pe` and the like is code.
        words.retain(|word| {
            let at = invocation.args.iter().position(|arg| std::ptr::eq(arg, *word)).unwrap_or(0);
            let before = at.checked_sub(1).map_or("", |before| invocation.args[before].text());
            !(before.starts_with('-') && before.ends_with(['e', 'E']))
        });
        return all(Deed::Writes, words);
    }
    // BSD: `sed -i '' script file`.
    words.retain(|word| !word.text().is_empty());
    all(Deed::Writes, words.into_iter().skip(usize::from(!has_script)))
}

/// `-ni`, `-Ei.bak`
fn clustered(invocation: &Invocation, letter: char) -> bool {
    invocation.args.iter().any(|arg| {
        let text = arg.text();
        let mut letters = text.chars().skip(1).take_while(char::is_ascii_alphabetic);
        text.starts_with('-') && !text.starts_with("--") && letters.any(|c| c == letter)
    })
}

fn archived(invocation: &Invocation) -> Vec<Touch> {
    let letters = mode_letters(invocation);
    if invocation.has_flag("--remove-files") {
        let archive = archive_name(invocation);
        let packed = invocation.operands().into_iter().filter(|path| Some(*path) != archive.as_ref());
        return all(Deed::DeletesAll, packed);
    }
    let extracts = letters.contains('x') || invocation.has_any_flag(&["--extract", "--get"]);
    if extracts {
        return inside(&values(invocation, &["-C", "--directory"]));
    }
    let creates = letters.contains('c') || invocation.has_flag("--create");
    if creates { all(Deed::Creates, &archive_name(invocation)) } else { Vec::new() }
}

/// The letters of `tar xzf` or `tar -xzf`.
fn mode_letters(invocation: &Invocation) -> String {
    let mut letters = String::new();
    for (at, arg) in invocation.args.iter().enumerate() {
        let text = arg.text();
        if text.starts_with('-') && !text.starts_with("--") {
            letters.push_str(&text[1..]);
        } else if at == 0 {
            letters.push_str(text);
        }
    }
    letters
}

/// The file that `tar` writes to or reads from.
pub fn archive_name(invocation: &Invocation) -> Option<Arg> {
    let old_style = invocation.args.first().filter(|first| !first.is_flag() && first.text().contains('f'));
    let name = match old_style {
        Some(_) => invocation.args.get(1).cloned(),
        None => invocation.flag_value("-f").or_else(|| invocation.flag_value("--file")),
    };
    name.filter(|name| name.text() != "-")
}

fn permitted(invocation: &Invocation) -> Vec<Touch> {
    let name = invocation.name();
    let is_recursive = invocation.has_any_flag(&["-R", "--recursive"]);
    let deed = if is_recursive { Deed::PermitsAll } else { Deed::Permits };
    let mut words = invocation.operands();
    let has_subject = match name {
        "chmod" => chmod_mode(invocation).is_some_and(|mode| !mode.starts_with('-')),
        "setfacl" => false,
        "chattr" => words.first().is_some_and(|word| word.text().starts_with(['+', '='])),
        _ => true,
    } && invocation.flag_value("--reference").is_none();
    if has_subject && !words.is_empty() {
        words.remove(0);
    }
    all(deed, words)
}

/// The mode that `chmod` is given: `755`, `u+s`, `-x`.
pub fn chmod_mode(invocation: &Invocation) -> Option<&str> {
    let mut texts = invocation.args.iter().map(Arg::text);
    texts.find(|text| match text.strip_prefix('-') {
        Some(rest) => !rest.is_empty() && rest.chars().all(|c| "rwxXst".contains(c)),
        None => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[(Deed, &str)]) {
        let mut words = line.split_whitespace().map(Arg::from);
        let program = words.next().unwrap_or_default();
        let invocation = Invocation { program, args: words.collect(), ..Invocation::default() };
        let touched: Vec<(Deed, String)> = touches(&invocation)
            .into_iter()
            .map(|touch| (touch.deed, touch.path.text().replace(UNKNOWN, "_")))
            .collect();
        let expected: Vec<(Deed, String)> =
            expected.iter().map(|(deed, path)| (*deed, (*path).to_owned())).collect();
        assert_eq!(touched, expected, "{line}");
    }

    #[test]
    fn programs_touch_the_paths_that_they_name() {
        use Deed::*;
        check("rm -rf a b", &[(DeletesAll, "a"), (DeletesAll, "b")]);
        check("rm a", &[(Deletes, "a")]);
        check("find . -name x -delete", &[(DeletesAll, "./_")]);
        check("find a b -type f -delete", &[(DeletesAll, "a"), (DeletesAll, "b")]);
        check("find . ! -name x -delete", &[(DeletesAll, ".")]);
        check("find . -name x", &[]);
        check("mv a b", &[(MovesAway, "a"), (Writes, "b/_"), (Writes, "b/a")]);
        check("cp -t d a", &[(Writes, "d/_"), (Writes, "d/a")]);
        check("rsync -a --delete a/ host:b", &[]);
        check("rsync -a --delete a/ b", &[(DeletesAll, "b"), (Writes, "b/_")]);
        check("sed -i s/a/b/ f", &[(Writes, "f")]);
        check("sed -i -e s/a/b/ f", &[(Writes, "f")]);
        check("sed -n s/a/b/ f", &[]);
        check("perl -pi -e s/a/b/ f", &[(Writes, "f")]);
        check("dd if=a of=b", &[(Writes, "b")]);
        check("tar xzf a -C d", &[(Writes, "d/_")]);
        check("tar -czf a d", &[(Creates, "a")]);
        check("truncate -s 0 f", &[(Writes, "f")]);
        check("chmod -x f", &[(Permits, "f")]);
        check("chmod -R 755 d", &[(PermitsAll, "d")]);
        check("chown -R a:b d", &[(PermitsAll, "d")]);
        check("curl -sSLo f https://example.com", &[(Writes, "f")]);
        check("install -m 755 a d", &[(Writes, "d/_"), (Writes, "d/a")]);
    }
}
