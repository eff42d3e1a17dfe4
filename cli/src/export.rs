//! `wiretape export`: a cassette in the format of another tool.

use std::{fs, path::Path};

use anyhow::Context;
use cassettes::export;

use crate::{
    args::ExportArgs,
    cassette_file::{self, Today},
    config::Config,
    exit::{Exit, Failure},
    style::{Paint, To, shown},
    summary::count,
};

pub(crate) fn export(args: &ExportArgs, config: &Config) -> Result<Exit, Failure> {
    let cassette = cassette_file::look(&args.cassette, &Today::of(config))?;
    let text = export::export(&cassette, args.to);
    let Some(output) = &args.output else {
        print!("{text}");
        return Ok(Exit::Fine);
    };
    if is_same(&args.cassette, output) {
        return Err(Failure::with_help(
            format!("{} is the cassette itself", output.display()),
            "name another file with -o",
        ));
    }
    write(output, &text)?;
    eprintln!(
        "{} exported {} to {} as {}",
        To::Stderr.paint(Paint::Green, "wiretape"),
        count(cassette.exchanges.len(), "exchange"),
        shown(output),
        args.to
    );
    Ok(Exit::Fine)
}

/// All of the new file, or all of the old one.
fn write(output: &Path, text: &str) -> Result<(), Failure> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot write {}", output.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    let new = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    fs::write(new.path(), text).with_context(cannot)?;
    // As open to others as any file of theirs, and no longer only to us.
    let mode = fs::metadata(output).map(|old| old.permissions()).ok();
    let file = new.persist(output).map_err(|error| error.error).with_context(cannot)?;
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.set_permissions(mode.unwrap_or(open)).with_context(cannot)?;
    Ok(())
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
