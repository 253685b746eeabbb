//! The verbs, one per module.

mod arch;
mod bench;
mod blob;
mod completions;
mod demo;
mod hls;
mod hmvp;
mod info;
mod paillier;
mod program;
mod scrub;
mod serve;
mod store;
mod tfhe;

use ciphermill_client::{files, process};
use ciphermill_math::Isa;
use clap::{Parser, Subcommand};

use crate::error::CliError;

/// Compute on data that stays encrypted.
#[derive(Debug, Parser)]
#[command(name = "ciphermill", version, max_term_width = 110)]
#[command(after_help = "\
Example:
  $ ciphermill demo --params MESSAGE_4_2M64

Exit codes: 0 success, 1 failure, 2 an invalid command line or environment.

CIPHERMILL_ISA=portable|avx2|avx512 forces an instruction set; by default the best one of the CPU is used.")]
pub(crate) struct Cli {
    /// Accept files of secret keys that others than their owner may read
    #[arg(long, global = true, hide = true)]
    accept_readable_keys: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Tfhe(tfhe::Args),
    #[command(hide = true)]
    Keygen(tfhe::keygen::Args),
    #[command(hide = true)]
    Encrypt(tfhe::encrypt::Args),
    #[command(hide = true)]
    Decrypt(tfhe::decrypt::Args),
    #[command(hide = true)]
    TestVector(tfhe::test_vector::Args),
    Blob(blob::Args),
    Program(program::Args),
    Serve(serve::Args),
    Scrub(scrub::Args),
    Store(store::Args),
    Hmvp(hmvp::Args),
    Paillier(paillier::Args),
    Info(info::Args),
    Bench(bench::Args),
    Arch(arch::Args),
    Hls(hls::Args),
    Completions(completions::Args),
}

impl Command {
    /// Whether the process may read or make secret keys that outlive it.
    fn holds_secret_keys(&self) -> bool {
        matches!(
            self,
            Self::Tfhe(_)
                | Self::Keygen(_)
                | Self::Encrypt(_)
                | Self::Decrypt(_)
                | Self::TestVector(_)
                | Self::Hmvp(_)
                | Self::Paillier(_)
        )
    }
}

/// Runs the verb of the command line.
pub(crate) fn run(cli: Cli) -> Result<(), CliError> {
    // Later uses fall back to the best path, so this is the one place to refuse a bad value.
    Isa::from_environment()?;
    if cli.accept_readable_keys {
        files::accept_readable_secrets();
    }
    if cli.command.holds_secret_keys() {
        process::protect();
    }
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Tfhe(args) => tfhe::run(&args),
        Command::Keygen(args) => tfhe::keygen::run(&args),
        Command::Encrypt(args) => tfhe::encrypt::run(&args),
        Command::Decrypt(args) => tfhe::decrypt::run(&args),
        Command::TestVector(args) => tfhe::test_vector::run(&args),
        Command::Blob(args) => blob::run(&args),
        Command::Program(args) => program::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Scrub(args) => scrub::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Hmvp(args) => hmvp::run(&args),
        Command::Paillier(args) => paillier::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Arch(args) => arch::run(&args),
        Command::Hls(args) => hls::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, Parser};

    /// A command line of every verb with an option for a secret key.
    const SECRET_KEYS: [&str; 14] = [
        "tfhe keygen --params P --secret-key s --server-key k",
        "tfhe encrypt --secret-key s --message 1 --bits 3 --out c",
        "tfhe decrypt --secret-key s c",
        "tfhe test-vector --function identity --bits 3 --secret-key s --out t",
        "keygen --params P --secret-key s --server-key k",
        "encrypt --secret-key s --message 1 --bits 3 --out c",
        "decrypt --secret-key s c",
        "test-vector --function identity --bits 3 --secret-key s --out t",
        "hmvp keygen --plan p --secret-key s --galois-keys g",
        "hmvp encrypt --plan p --secret-key s --vector v --out c",
        "hmvp decrypt --plan p --secret-key s --product c",
        "paillier keygen --secret-key s --public-key p",
        "paillier encrypt --secret-key s --value 1 --out c",
        "paillier decrypt --secret-key s c",
    ];

    /// The verbs below a command that have an option for a secret key.
    fn verbs_of_secret_keys(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
        if command.get_arguments().any(|argument| argument.get_long() == Some("secret-key")) {
            found.insert(path.trim().to_owned());
        }
        for sub in command.get_subcommands() {
            verbs_of_secret_keys(sub, &format!("{path} {}", sub.get_name()), found);
        }
    }

    /// [`run`](super::run) protects the process for these verbs.
    #[test]
    fn every_verb_with_a_secret_key_protects_its_process() {
        let mut found = BTreeSet::new();
        verbs_of_secret_keys(&super::Cli::command(), "", &mut found);
        let listed = SECRET_KEYS.map(|line| line.split(" --").next().expect("a verb").to_owned());
        assert_eq!(found, BTreeSet::from(listed), "list every verb with a secret key");
        let holds = |line: &str| {
            let cli = super::Cli::try_parse_from(["ciphermill"].into_iter().chain(line.split(' '))).expect(line);
            cli.command.holds_secret_keys()
        };
        SECRET_KEYS.iter().for_each(|line| assert!(holds(line), "{line}"));
        // The files of these verbs have no secrets, and a lock would hold all of a server's memory.
        for line in ["serve --store s", "blob ls --store s", "info"] {
            assert!(!holds(line), "{line}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }

    /// Every verb that does something shows an example of it.
    #[test]
    fn every_help_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            if command.has_subcommands() {
                command
                    .get_subcommands()
                    .filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
                    .for_each(|sub| check(sub, &path));
            } else {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&format!("$ {}", path.trim())), "{path}: {help}");
                // A longer line would be wrapped, and could not be pasted.
                for line in help.lines().skip_while(|line| !line.starts_with("  $")).take_while(|line| !line.is_empty())
                {
                    assert!(line.chars().count() <= 100, "{path}: an example is too long: {line}");
                }
            }
        }
        check(&super::Cli::command(), "");
    }

    /// Calls `visit` with every command that the help lists.
    fn for_each(command: &mut clap::Command, path: &str, visit: &mut dyn FnMut(&str, &mut clap::Command)) {
        let path = format!("{path} {}", command.get_name());
        visit(&path, command);
        for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
            for_each(sub, &path, visit);
        }
    }

    /// A paragraph that is wrapped in the source and again by clap has short lines in its middle.
    #[test]
    fn no_help_page_is_wrapped_twice() {
        for width in [80, 110] {
            let mut cli = super::Cli::command().term_width(width);
            cli.build();
            for_each(&mut cli, "", &mut |path, command| {
                let help = command.clone().term_width(width).render_long_help().to_string();
                let lines: Vec<&str> = help.lines().collect();
                for pair in lines.windows(2) {
                    if let Some(word) = continues(pair[0], pair[1]) {
                        let needed = pair[0].chars().count() + 1 + word.chars().count();
                        assert!(needed > width, "{path} at {width} columns is ragged:\n{}\n{}", pair[0], pair[1]);
                    }
                }
            });
        }
    }

    /// The first word of `second`, if it continues the paragraph of `first`.
    fn continues<'a>(first: &str, second: &'a str) -> Option<&'a str> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let starts_an_item =
            |line: &str| ["- ", "$ ", "-", "[", "<"].iter().any(|start| line.trim_start().starts_with(start));
        let is_table = |line: &str| line.trim().contains("  ");
        let is_heading = first.ends_with(':');
        let apart = first.trim().is_empty() || second.trim().is_empty() || indent(first) != indent(second);
        if apart || is_heading || starts_an_item(first) || starts_an_item(second) || is_table(first) || is_table(second)
        {
            return None;
        }
        second.split_whitespace().next()
    }

    /// The same option has the same metavariable everywhere. The listed ones have several meanings.
    #[test]
    fn metavariables_have_one_spelling() {
        // --key: the order of bootstrap and key switch, a Key ID; --out: a file, a directory of programs; --table: a function's
        // values, a table of energies; --core: a program for a core; --n: one size, several sizes.
        let several = ["key", "out", "table"];
        let mut known = std::collections::BTreeMap::new();
        let mut cli = super::Cli::command();
        cli.build();
        for_each(&mut cli, "", &mut |path, command| {
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                let (Some(long), Some(names)) = (option.get_long(), option.get_value_names()) else { continue };
                if !option.get_action().takes_values() || several.contains(&long) {
                    continue;
                }
                let name = names.join(" ").trim_end_matches(",…").to_owned();
                let (first, where_first) =
                    known.entry(long.to_owned()).or_insert_with(|| (name.clone(), path.to_owned()));
                assert_eq!(*first, name, "--{long} of{path} and of{where_first}");
            }
        });
    }
}
