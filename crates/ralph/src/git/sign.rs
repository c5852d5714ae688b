//! Signatures of commits that were made in a sandbox, where the user's key is not.
//!
//! Invariant: a signed commit is the same as the unsigned one but for its signature; if it would not
//! be, nothing is changed.

use super::{GitError, Repository, checked};
use std::time::Duration;

/// The key may be on a card, and its owner elsewhere.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A commit as git stores it.
struct Commit {
    tree: String,
    parents: Vec<String>,
    /// `Name <email> seconds zone`.
    author: Person,
    committer: Person,
    encoding: Option<String>,
    /// With all headers but signatures.
    unsigned: Vec<u8>,
    is_signed: bool,
    message: Vec<u8>,
}

struct Person {
    name: String,
    email: String,
    date: String,
}

impl Repository {
    /// Whether the user signs commits.
    pub fn signs_commits(&self) -> bool {
        let asked = self.answer(&["config", "--type=bool", "--get", "commit.gpgSign"]);
        asked.is_some_and(|answer| answer == "true")
    }

    /// Signs the last commit, if it has this line and no signature yet. Returns whether it had.
    pub fn sign_last_commit(&self, line: &str) -> Result<bool, GitError> {
        let Some(id) = self.commit() else { return Ok(false) };
        let raw = checked("cat-file", self.git().args(["cat-file", "commit", &id]))?;
        let unusual = || GitError::Refused { what: "commit-tree".into(), message: "unusual commit".into() };
        let commit = Commit::parse(&raw).ok_or_else(unusual)?;
        let is_asked = String::from_utf8_lossy(&commit.message).lines().any(|said| said == line);
        if commit.is_signed || !is_asked {
            return Ok(false);
        }
        let mut sign = self.quiet().timeout(TIMEOUT).env("GIT_TERMINAL_PROMPT", "0");
        for (who, person) in [("AUTHOR", &commit.author), ("COMMITTER", &commit.committer)] {
            for (what, value) in [("NAME", &person.name), ("EMAIL", &person.email), ("DATE", &person.date)] {
                sign = sign.env(format!("GIT_{who}_{what}"), value);
            }
        }
        if let Some(encoding) = &commit.encoding {
            sign = sign.args(["-c", &format!("i18n.commitEncoding={encoding}")]);
        }
        let parents = commit.parents.iter().flat_map(|parent| ["-p", parent.as_str()]);
        let sign = sign.args(["commit-tree", "-S", &commit.tree]).args(parents).stdin(&commit.message);
        let signed = String::from_utf8_lossy(&checked("commit-tree", sign)?).trim().to_string();
        let raw = checked("cat-file", self.git().args(["cat-file", "commit", &signed]))?;
        let is_same = Commit::parse(&raw).is_some_and(|new| new.is_signed && new.unsigned == commit.unsigned);
        if !is_same {
            let message = "it would not be the same commit with a signature".to_string();
            return Err(GitError::Refused { what: "commit-tree".into(), message });
        }
        let why = "ralph: signed";
        checked("update-ref", self.quiet().args(["update-ref", "-m", why, "HEAD", &signed, &id]))
            .map(|_| true)
    }
}

impl Commit {
    fn parse(raw: &[u8]) -> Option<Commit> {
        let end = raw.windows(2).position(|pair| pair == b"\n\n")?;
        let (head, message) = (&raw[..=end], &raw[end + 2..]);
        let (mut tree, mut parents, mut author, mut committer, mut encoding) =
            (None, Vec::new(), None, None, None);
        let (mut unsigned, mut is_signed, mut in_signature) = (Vec::new(), false, false);
        for line in head.split_inclusive(|byte| *byte == b'\n') {
            // Further lines of a header begin with a space.
            let is_further = line.starts_with(b" ");
            in_signature = line.starts_with(b"gpgsig") || (is_further && in_signature);
            if in_signature {
                is_signed = true;
                continue;
            }
            unsigned.extend_from_slice(line);
            let text = str::from_utf8(line).ok()?.trim_end_matches('\n');
            let Some((key, value)) = text.split_once(' ').filter(|_| !is_further) else { continue };
            match key {
                "tree" => tree = Some(value.to_string()),
                "parent" => parents.push(value.to_string()),
                "author" => author = Some(Person::parse(value)?),
                "committer" => committer = Some(Person::parse(value)?),
                "encoding" => encoding = Some(value.to_string()),
                _ => {}
            }
        }
        unsigned.push(b'\n');
        unsigned.extend_from_slice(message);
        let (tree, author, committer, message) = (tree?, author?, committer?, message.to_vec());
        Some(Commit { tree, parents, author, committer, encoding, unsigned, is_signed, message })
    }
}

impl Person {
    fn parse(text: &str) -> Option<Person> {
        let (name, rest) = text.split_once(" <")?;
        let (email, date) = rest.rsplit_once("> ")?;
        // With this sign, seconds are not taken for a year.
        Some(Person { name: name.to_string(), email: email.to_string(), date: format!("@{date}") })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::git::git;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    struct Bench {
        dir: TempDir,
        repository: Repository,
    }

    impl Bench {
        fn new() -> Bench {
            let dir = tempfile::tempdir().unwrap();
            let bench = Bench { repository: Repository::at(dir.path().canonicalize().unwrap()), dir };
            bench.git(&["init", "-q", "-b", "main"]);
            bench.git(&["config", "user.name", "A Ü. Thor"]);
            bench.git(&["config", "user.email", "a@localhost"]);
            bench
        }

        fn git(&self, args: &[&str]) -> String {
            let ran = git(&self.repository.top).args(args).run().unwrap();
            assert!(ran.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8_lossy(&ran.stdout).trim_end().to_string()
        }

        /// In the place of gpg, which has no key.
        fn signs_with(&self, script: &str) {
            let program = self.dir.path().join(".git/gpg");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            self.git(&["config", "gpg.program", program.to_str().unwrap()]);
            self.git(&["config", "commit.gpgSign", "true"]);
        }

        fn commit(&self, args: &[&str]) {
            let base = ["-c", "commit.gpgSign=false", "commit", "-q", "--allow-empty"];
            self.git(&[&base, args].concat());
        }
    }

    const SIGNS: &str = "cat >/dev/null; echo '[GNUPG:] SIG_CREATED D 1 8 00 0 0' >&2
        echo '-----BEGIN PGP SIGNATURE-----'; echo; echo signed; echo '-----END PGP SIGNATURE-----'";

    #[test]
    fn a_commit_gets_a_signature_and_is_otherwise_the_same() {
        let bench = Bench::new();
        assert!(!bench.repository.signs_commits());
        bench.signs_with(SIGNS);
        assert!(bench.repository.signs_commits());
        let date = "--date=@1700000000 +0130";
        bench.commit(&["-m", "one", "-m", "line"]);
        bench.commit(&[
            "-m",
            "zwei\n\n  über  \n\nline",
            date,
            "--author=Ot Her <o@x>",
            "--cleanup=verbatim",
        ]);
        let show = ["show", "-s", "--format=%T %P %an %ae %ad %cn %ce %cd%n%B"];
        let before = bench.git(&show);
        assert!(bench.repository.sign_last_commit("line").unwrap());
        assert_eq!(bench.git(&show), before);
        let raw = bench.git(&["cat-file", "commit", "HEAD"]);
        assert!(raw.contains("gpgsig -----BEGIN PGP SIGNATURE-----\n \n signed\n"), "{raw}");
        assert_eq!(bench.git(&["reflog", "-1", "--format=%gs"]), "ralph: signed");
        assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert!(!bench.repository.sign_last_commit("line").unwrap(), "once is enough");
    }

    #[test]
    fn another_commit_is_not_signed_and_none_is_lost_where_signing_fails() {
        let bench = Bench::new();
        assert!(!bench.repository.sign_last_commit("line").unwrap());
        bench.commit(&["-m", "the user's"]);
        bench.signs_with("cat >/dev/null; echo 'no key' >&2; exit 2");
        assert!(!bench.repository.sign_last_commit("line").unwrap());
        bench.commit(&["-m", "one", "-m", "line"]);
        let before = bench.git(&["rev-parse", "HEAD"]);
        let why = bench.repository.sign_last_commit("line").unwrap_err().to_string();
        assert!(why.contains("no key"), "{why}");
        assert_eq!(bench.git(&["rev-parse", "HEAD"]), before);
    }

    #[test]
    fn a_commit_that_signing_would_change_stays_as_it_is() {
        let bench = Bench::new();
        bench.signs_with(SIGNS);
        bench.commit(&["-m", "one", "-m", "line"]);
        let raw = bench.git(&["cat-file", "commit", "HEAD"]);
        let odd = raw.replacen("\n\n", "\nother header\n\n", 1) + "\n";
        let hash = git(&bench.repository.top).args(["hash-object", "-t", "commit", "-w", "--stdin"]);
        let id = hash.stdin(odd.as_bytes()).run().unwrap();
        let id = String::from_utf8_lossy(&id.stdout).trim().to_string();
        bench.git(&["update-ref", "HEAD", &id]);
        let why = bench.repository.sign_last_commit("line").unwrap_err().to_string();
        assert!(why.contains("would not be the same"), "{why}");
        assert_eq!(bench.git(&["rev-parse", "HEAD"]), id);
    }
}
