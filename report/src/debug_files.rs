//! Where a module's debug information lies, if not in the module: what distributions ship, what `objcopy --only-keep-debug` takes out,
//! and what dwz moves into a file that several share (GDB manual, Separate Debug Files).

use addr2line::Loader;
use object::{Object, ReadCache};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

type Debug<'a> = object::File<'a, &'a ReadCache<File>>;

/// Folders like [`DebugFolders::USUAL`], which come before it; separated by colons.
const VARIABLE: &str = "FPGRIND_DEBUG_DIRS";

/// The folders below which debug information is kept, best first.
pub struct DebugFolders(Vec<PathBuf>);

impl DebugFolders {
    const USUAL: &str = "/usr/lib/debug";

    pub fn new(first: impl IntoIterator<Item = PathBuf>) -> DebugFolders {
        let named = first.into_iter().filter(|folder| !folder.as_os_str().is_empty());
        DebugFolders(named.chain([DebugFolders::USUAL.into()]).collect())
    }

    pub fn of_environment() -> DebugFolders {
        let named = std::env::var_os(VARIABLE).unwrap_or_default();
        DebugFolders::new(std::env::split_paths(&named))
    }

    /// The readers of a module: of its separate debug information, if there is such, and of its own.
    pub fn load(&self, module: &Path) -> Vec<Loader> {
        let files = self.separate(module).into_iter().chain([module.to_path_buf()]);
        files.filter_map(|file| Loader::new_with_sup(&file, self.shared(&file)).ok()).collect()
    }

    /// Modules that have debug information of their own need none.
    fn separate(&self, path: &Path) -> Option<PathBuf> {
        let content = ReadCache::new(File::open(path).ok()?);
        let module = object::File::parse(&content).ok()?;
        if module.has_debug_symbols() {
            return None;
        }
        let id = module.build_id().ok().flatten();
        let by_id = self.by_id(id).find(|file| read(file, |debug| is_of_build(debug, id)));
        by_id.or_else(|| {
            let (name, checksum) = module.gnu_debuglink().ok().flatten()?;
            self.by_name(path, name).into_iter().find(|file| read(file, |debug| fits(file, debug, id, checksum)))
        })
    }

    /// The file that others share parts of their debug information in, if this one does.
    fn shared(&self, path: &Path) -> Option<PathBuf> {
        let content = ReadCache::new(File::open(path).ok()?);
        let (name, id) = object::File::parse(&content).ok()?.gnu_debugaltlink().ok().flatten()?;
        // Relative to where the file is, not to a link to it.
        let path = path.canonicalize().ok()?;
        let named = path.parent()?.join(OsStr::from_bytes(name));
        let id = Some(id);
        [named].into_iter().chain(self.by_id(id)).find(|file| read(file, |shared| is_of_build(shared, id)))
    }

    fn by_id(&self, id: Option<&[u8]>) -> impl Iterator<Item = PathBuf> {
        let hex: Vec<String> = id.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        let name = (hex.len() > 1).then(|| format!(".build-id/{}/{}.debug", hex[0], hex[1..].concat()));
        name.into_iter().flat_map(|name| self.0.iter().map(move |folder| folder.join(&name)))
    }

    /// Beside the module, in .debug there, and where the module's folder is mirrored.
    fn by_name(&self, module: &Path, name: &[u8]) -> Vec<PathBuf> {
        let Some(folder) = module.parent() else { return Vec::new() };
        let mirrored = |root: &PathBuf| root.join(folder.strip_prefix("/").unwrap_or(folder));
        let folders = [folder.to_path_buf(), folder.join(".debug")].into_iter().chain(self.0.iter().map(mirrored));
        folders.map(|folder| folder.join(OsStr::from_bytes(name))).collect()
    }
}

/// Is it a file of which that is true?
fn read(path: &Path, is_right: impl for<'a> FnOnce(&Debug<'a>) -> bool) -> bool {
    let Ok(content) = File::open(path).map(ReadCache::new) else { return false };
    object::File::parse(&content).is_ok_and(|debug| is_right(&debug))
}

/// Debug information of another build would name wrong lines. Where a build has no id, the file has a checksum.
fn fits<'a>(path: &Path, debug: &Debug<'a>, id: Option<&[u8]>, checksum: u32) -> bool {
    match debug.build_id().ok().flatten() {
        // The program itself may have the name that it asks for.
        _ if !debug.has_debug_symbols() => false,
        Some(_) if id.is_some() => is_of_build(debug, id),
        _ => checksum_of(path).is_ok_and(|found| found == checksum),
    }
}

fn is_of_build<'a>(debug: &Debug<'a>, id: Option<&[u8]>) -> bool {
    debug.build_id().is_ok_and(|own| own == id)
}

/// Piece by piece: these files are large.
fn checksum_of(path: &Path) -> io::Result<u32> {
    let (mut file, mut piece, mut hasher) = (File::open(path)?, vec![0; 1 << 16], crc32fast::Hasher::new());
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finalize()),
            length => hasher.update(&piece[..length]),
        }
    }
}
