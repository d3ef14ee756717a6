//! Source in context, as far as it can be read: the lines around a place, with what the report knows of each.

use super::markup::{Html, classed, element};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// Lines shown before and after those that matter.
const AROUND: u32 = 4;
/// Lines that matter are shown together if no more lie between them, and so many at most.
const APART: u32 = 10;
const TOGETHER: u32 = 40;
/// No source is longer; who claims so has given the debug information another file's name.
const MAX_BYTES: u64 = 16 << 20;
/// A line is cut here: generated code may have them of any length.
const MAX_LINE: usize = 300;

/// What the report says of a line.
#[derive(Clone)]
pub struct Remark {
    pub column: Option<u32>,
    pub text: String,
    /// Where in the page more is said.
    pub link: String,
}

/// Lines of a file that belong together, each with the column of an operation in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub file: PathBuf,
    pub marks: Vec<(u32, Option<u32>)>,
}

impl Place {
    /// The first operation's place comes first, and has with it what is near.
    pub fn together(operations: impl IntoIterator<Item = (PathBuf, u32, Option<u32>)>) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (file, line, column) in operations {
            let near = places.iter_mut().find(|place| place.file == file && place.is_near(line));
            match near {
                Some(place) => place.marks.push((line, column)),
                None => places.push(Place { file, marks: vec![(line, column)] }),
            }
        }
        places
    }

    fn is_near(&self, line: u32) -> bool {
        let lines = self.marks.iter().map(|mark| mark.0);
        let first = lines.clone().chain([line]).min().unwrap_or(line);
        let last = lines.clone().chain([line]).max().unwrap_or(line);
        last - first < TOGETHER && lines.into_iter().any(|known| known.abs_diff(line) <= APART)
    }
}

/// The files that the report speaks of.
#[derive(Default)]
pub struct Sources {
    files: FxHashMap<PathBuf, Option<Vec<String>>>,
    remarks: FxHashMap<(PathBuf, u32), Vec<Remark>>,
}

impl Sources {
    pub fn remark(&mut self, file: &Path, line: u32, remark: Remark) {
        let remarks = self.remarks.entry((file.to_path_buf(), line)).or_default();
        if remarks.iter().all(|known| known.text != remark.text) {
            remarks.push(remark);
        }
    }

    /// The lines around some operations, which are marked. The first line is the one that it is about, if it is in this place.
    pub fn excerpt(&mut self, place: &Place, it: Option<u32>, own_link: &str) -> Option<Html> {
        let Place { file, marks } = place;
        let lines = read(&mut self.files, file)?;
        let (first, last) = (marks.iter().map(|mark| mark.0).min()?, marks.iter().map(|mark| mark.0).max()?);
        // Lines that the file does not have are those of another version of it.
        lines.get(first.checked_sub(1)? as usize)?;
        lines.get(last as usize - 1)?;
        let first = first.saturating_sub(AROUND).max(1);
        let last = (last + AROUND).min(lines.len() as u32);
        let rows = (first..=last).map(|number| {
            let remarks = self.remarks.get(&(file.to_path_buf(), number)).map_or(&[][..], Vec::as_slice);
            let own = marks.iter().filter(|(line, _)| *line == number);
            let has_own = own.clone().next().is_some();
            let columns =
                remarks.iter().filter_map(|remark| remark.column).chain(own.filter_map(|(_, column)| *column));
            let class = match (it == Some(number), has_own || !remarks.is_empty()) {
                (true, _) => "line it",
                (false, true) => "line known",
                _ => "line",
            };
            let others = remarks
                .iter()
                .filter(|remark| remark.link != own_link)
                .map(|remark| classed("a", "remark").with("href", format!("#{}", remark.link)).say(&remark.text));
            element("span")
                .with("class", class)
                .put(classed("span", "number").with("aria-hidden", "true").say(number.to_string()))
                .put(classed("span", "code").put(marked(&lines[number as usize - 1], columns.collect())))
                .all(others)
                .say("\n")
        });
        let label = format!("source, lines {first} to {last}");
        let code = element("code").all(rows.collect::<Vec<_>>());
        Some(classed("pre", "source scroll").with("tabindex", 0).with("aria-label", label).put(code).into())
    }

    /// One line, without the blanks before it.
    pub fn line(&mut self, file: &Path, line: u32) -> Option<String> {
        let text = read(&mut self.files, file)?.get(line.checked_sub(1)? as usize)?.trim();
        (!text.is_empty()).then(|| cut(text).to_string())
    }
}

/// The name came out of the program: it may be anything that can be opened, but only files are read.
fn read<'a>(files: &'a mut FxHashMap<PathBuf, Option<Vec<String>>>, file: &Path) -> Option<&'a Vec<String>> {
    let load = || {
        let metadata = std::fs::metadata(file).ok()?;
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return None;
        }
        let bytes = std::fs::read(file).ok()?;
        Some(String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect())
    };
    files.entry(file.to_path_buf()).or_insert_with(load).as_ref()
}

fn cut(line: &str) -> &str {
    line.char_indices().nth(MAX_LINE).map_or(line, |(at, _)| &line[..at])
}

/// A line with the words or signs at these columns marked. Columns count bytes from 1.
fn marked(line: &str, mut columns: Vec<u32>) -> Html {
    let line = cut(line);
    columns.sort_unstable();
    columns.dedup();
    let mut parts = Vec::new();
    let mut done = 0;
    for column in columns {
        let Some(start) = (column as usize).checked_sub(1) else { continue };
        if start < done || !line.is_char_boundary(start) {
            continue;
        }
        let length = word(&line[start..]);
        if length > 0 {
            parts.push(Html::text(&line[done..start]));
            parts.push(element("mark").say(&line[start..start + length]).into());
            done = start + length;
        }
    }
    parts.push(Html::text(&line[done..]));
    parts.into_iter().collect()
}

/// How long the name, the number or the sign at the start of a text is.
fn word(text: &str) -> usize {
    let is_named = |c: char| c.is_alphanumeric() || c == '_';
    let name = text.find(|c| !is_named(c)).unwrap_or(text.len());
    if name > 0 {
        return name;
    }
    // Compound assignments and powers: +=, -=, *=, /=, **.
    let signs = text.find(|c| !"+-*/=<>".contains(c)).unwrap_or(text.len());
    match text.chars().next() {
        Some(c) if c.is_whitespace() => 0,
        Some(c) => signs.min(2).max(c.len_utf8()),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, columns: &[u32]) -> String {
        marked(line, columns.to_vec()).into_string()
    }

    #[test]
    fn the_operation_at_a_column_is_marked() {
        assert_eq!(shown("x = a - b;", &[7]), "x = a <mark>-</mark> b;");
        assert_eq!(shown("x = sqrt(a);", &[5]), "x = <mark>sqrt</mark>(a);");
        assert_eq!(shown("x += a<b", &[3, 6, 6]), "x <mark>+=</mark> <mark>a</mark>&lt;b");
        for beyond in [20, 2, 0, u32::MAX] {
            assert_eq!(shown("a  ", &[beyond]), "a  ");
        }
        assert_eq!(shown("é - b", &[2]), "é - b", "in the middle of a letter");
    }

    #[test]
    fn lines_around_are_shown_with_what_is_known_of_them() {
        let folder = std::env::temp_dir().join(format!("fpgrind-source-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a writable folder");
        let file = folder.join("a.c");
        let text: String = (1..=20).map(|number| format!("line {number} <b>\n")).collect();
        std::fs::write(&file, text).expect("a writable folder");
        let mut sources = Sources::default();
        let remark = |text: &str, link: &str| Remark { column: None, text: text.into(), link: link.into() };
        sources.remark(&file, 12, remark("cause 2", "c2"));
        sources.remark(&file, 12, remark("cause 2", "c2"));
        sources.remark(&file, 10, remark("cause 1", "c1"));
        let at = |file: &Path, marks: &[(u32, Option<u32>)]| Place { file: file.into(), marks: marks.to_vec() };
        let place = at(&file, &[(10, Some(6)), (8, Some(1))]);
        let html = sources.excerpt(&place, Some(10), "c1").expect("can be read").into_string();
        assert_eq!(
            (html.matches("class=\"line").count(), html.matches("class=\"line it\"").count()),
            (11, 1),
            "{html}"
        );
        assert!(html.contains("line <mark>10</mark> &lt;b&gt;") && !html.contains("cause 1"), "{html}");
        assert!(html.contains("<mark>line</mark> 8 &lt;b&gt;"), "{html}");
        assert_eq!(html.matches("href=\"#c2\">cause 2</a>").count(), 1, "{html}");
        assert_eq!(sources.line(&file, 3).as_deref(), Some("line 3 <b>"));
        for line in [0, 21, u32::MAX] {
            assert!(sources.excerpt(&at(&file, &[(line, None)]), None, "").is_none(), "{line}");
        }
        assert!(sources.excerpt(&at(&folder, &[(1, None)]), None, "").is_none(), "a folder is no source");
        assert!(sources.excerpt(&at(Path::new("/dev/zero"), &[(1, None)]), None, "").is_none(), "nor is a device");
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn operations_near_each_other_are_shown_together() {
        let operation = |file: &str, line| (PathBuf::from(file), line, None);
        let places = Place::together([operation("a", 25), operation("b", 24), operation("a", 23), operation("a", 99)]);
        let lines: Vec<Vec<u32>> = places.iter().map(|place| place.marks.iter().map(|mark| mark.0).collect()).collect();
        assert_eq!(lines, [vec![25, 23], vec![24], vec![99]]);
        let long = Place::together((1..100).step_by(5).map(|line| operation("a", line)));
        assert!(long.iter().all(|place| place.marks.len() <= 8) && long.len() == 3, "{long:?}");
    }
}
