//! The `maskwright` command: one file per subcommand.
