//! report.html, looked at with a browser: it tells what report.json tells, can be used by everybody, and is nobody else's.

mod common;

use common::browser::Browser;
use common::report::{analyse, number, text};
use common::{FPGRIND, fpgrind, run, scratch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the page shows of its causes.
const CAUSES: &str = "
    const texts = (of, selector) => [...of.querySelectorAll(selector)].map((element) => element.textContent);
    return [...document.querySelectorAll('.cause')].filter((cause) => !cause.hidden).map((cause) => ({
        id: cause.id,
        rank: texts(cause, '.rank')[0],
        expression: (cause.querySelector('h2 math') ?? cause.querySelector('.body math')).getAttribute('alttext'),
        place: texts(cause, '.place')[0],
        badge: texts(cause, '.badge')[0],
        damage: texts(cause, '.damage')[0],
        variables: [...cause.querySelectorAll('.variable')].map((row) => texts(row, 'th, td')),
        numbers: texts(cause, '.numbers dd'),
        points: [...cause.querySelectorAll('svg.plot')].map((plot) =>
            [...plot.querySelectorAll('.hurt, .fine')].map((path) => (path.getAttribute('d').match(/h0/g) ?? []).length)),
        steps: [...cause.querySelectorAll('.step')].map((row) => texts(row, 'th, td')),
        boxes: texts(cause, '.node .bits'),
        reached: texts(cause, '.reached strong'),
        core: texts(cause, '.core')[0],
        marked: texts(cause, '.line.it mark'),
        also: texts(cause, '.line.known mark'),
    }));";

/// A report.json as a page of its own.
fn page(name: &str, json: &Value) -> PathBuf {
    let folder = scratch(&format!("page-{name}"));
    std::fs::write(folder.join("report.json"), json.to_string()).expect("a scratch folder is writable");
    let mut made = Command::new(FPGRIND);
    made.args(["report", "--format", "html"]).arg(&folder);
    let made = run(made, b"");
    assert_eq!((made.status, made.stderr.as_str()), (0, ""));
    let page = folder.join("report.html");
    std::fs::write(&page, made.stdout).expect("a scratch folder is writable");
    page
}

fn thousands(number: &Value) -> String {
    let digits = number.as_u64().expect("a count").to_string();
    let first = digits.len() % 3;
    let mut groups = vec![&digits[..first]];
    groups.extend((first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
    groups.into_iter().filter(|group| !group.is_empty()).collect::<Vec<_>>().join(",")
}

/// The numbers in a text, as doubles.
fn numbers_in(text: &str) -> Vec<f64> {
    text.split(|c: char| "[], ".contains(c)).filter_map(|word| word.parse().ok()).collect()
}

/// The ends of ranges, from the least to the greatest.
fn ends(ranges: &Value) -> (f64, f64) {
    let ends = ["negative", "positive"].iter().filter_map(|sign| ranges[sign].as_array()).flatten().map(number);
    let zero = (ranges["zero"] == true).then_some(0.0);
    ends.chain(zero).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)))
}

/// Equal as far as the digits go that texts show.
fn alike(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-4 * a.abs().max(b.abs())
}

fn assert_causes_are_told(shown: &Value, report: &Value) {
    let (shown, causes) = (shown.as_array().expect("causes"), report["causes"].as_array().expect("causes"));
    assert_eq!(shown.len(), causes.len());
    for (place, (shown, cause)) in shown.iter().zip(causes).enumerate() {
        assert_eq!(shown["id"], format!("cause-{}", text(&cause["id"])));
        assert_eq!(
            (text(&shown["rank"]), &shown["expression"]),
            ((place + 1).to_string().as_str(), &cause["expression"])
        );
        assert_eq!(shown["place"], cause["site"]["text"]);
        let most = number(&cause["max_bits"]);
        assert_eq!(shown["badge"], format!("{most:.1} bits"));
        let (erroneous, executions) = (thousands(&cause["erroneous"]), thousands(&cause["executions"]));
        let average = number(&cause["average_bits"]);
        assert_eq!(
            shown["damage"],
            format!("Loses up to {most:.1} bits, {average:.1} on average, in {erroneous} of {executions} executions")
        );
        let variables = cause["variables"].as_array().expect("variables");
        assert_eq!(shown["variables"].as_array().map(Vec::len), Some(variables.len()));
        for (row, variable) in shown["variables"].as_array().into_iter().flatten().zip(variables) {
            assert_eq!(row[0], variable["name"]);
            for (column, which) in [(1, "erroneous"), (2, "seen")] {
                let told = numbers_in(text(&row[column]));
                let (low, high) = ends(&variable[which]);
                assert!(alike(told[0], low) && alike(told[told.len() - 1], high), "{which}: {row} is not {variable:#}");
            }
            // To the last bit: it can be tried.
            assert_eq!(text(&row[3]).parse::<f64>().ok(), variable["worst"].as_f64(), "{row}");
        }
        for (told, field) in [(0, "computed"), (1, "correct")] {
            assert!(alike(text(&shown["numbers"][told]).parse().expect("a number"), number(&cause[field])), "{field}");
        }
        let samples = cause["samples"].as_array().expect("samples");
        let hurt = samples.iter().filter(|sample| number(&sample["bits"]) > number(&report["threshold_bits"])).count();
        let plots = vec![json!([samples.len() - hurt, hurt]); variables.len()];
        assert!(!samples.is_empty() && shown["points"] == Value::Array(plots), "{} {samples:?}", shown["points"]);

        let words: Vec<&str> = text(&cause["postfix"]).split(' ').collect();
        let steps = cause["steps"].as_array().expect("steps");
        assert_eq!((words.len(), shown["boxes"].as_array().map(Vec::len)), (steps.len(), Some(steps.len())));
        let told: Vec<&Value> =
            words.iter().zip(steps).filter(|(word, _)| !word.contains(":0x")).map(|(_, s)| s).collect();
        assert_eq!(shown["steps"].as_array().map(Vec::len), Some(told.len()));
        for (row, step) in shown["steps"].as_array().into_iter().flatten().zip(told) {
            assert_eq!(text(&row[1]).parse::<f64>().ok(), step["computed"].as_f64(), "{row}");
            assert_eq!(text(&row[2]).parse::<f64>().ok(), step["correct"].as_f64(), "{row}");
            assert_eq!(row[3], format!("{:.1} bits", number(&step["bits"])));
            assert_eq!(row[4], format!("{:.1} bits", number(&step["local_bits"])));
        }
        // The last step is the whole, and shows what the cause is told for.
        assert!((number(&steps[steps.len() - 1]["bits"]) - most).abs() < 1.0, "{cause:#}");
        assert!(!shown["reached"].as_array().expect("reached").is_empty());
        assert!(text(&shown["core"]).contains(&format!(":fpgrind-max-error {most:.1}")), "{}", shown["core"]);
    }
}

/// What must hold of every page.
const FLAWS: &str = "
    const flaws = [];
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    if (new Set(ids).size !== ids.length) flaws.push('an id occurs twice');
    for (const link of document.querySelectorAll('a[href]')) {
        if (!document.getElementById(link.getAttribute('href').slice(1))) flaws.push('a link leads nowhere: ' + link.outerHTML);
    }
    for (const picture of document.querySelectorAll('svg')) {
        if (!picture.getAttribute('aria-label')) flaws.push('a picture without a label');
    }
    for (const control of document.querySelectorAll('input, select')) {
        if (control.labels.length !== 1) flaws.push('a control without a label: ' + control.id);
    }
    if (document.documentElement.scrollWidth > innerWidth) {
        flaws.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
    }
    if (document.querySelectorAll('script').length !== 1) flaws.push('a script that is not ours');
    // Contrast (WCAG 2.2, 1.4.3): 4.5 for text, of what is seen.
    const channels = (colour) => (colour.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const luminance = (colour) => {
        const [r, g, b] = channels(colour).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (channels(colour)[3] !== 0) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    for (const element of document.querySelectorAll('body *:not(script)')) {
        const has_text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!has_text || !element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const is_in_box = element.closest('.node');
        const front = element.closest('svg') ? style.fill : style.color;
        const back = is_in_box ? getComputedStyle(is_in_box.querySelector('rect')).fill : behind(element);
        const [light, dark] = [luminance(front), luminance(back)].sort((a, b) => b - a);
        const contrast = (light + 0.05) / (dark + 0.05);
        if (contrast < 4.5) flaws.push(`contrast ${contrast.toFixed(2)}: ${element.outerHTML.slice(0, 90)}`);
    }
    return flaws;";

fn assert_flawless(browser: &Browser, what: &str) {
    assert_eq!(browser.run(FLAWS), json!([]), "{what}");
    assert_eq!(browser.complaints(), Vec::<String>::new(), "{what}");
}

#[test]
fn the_page_tells_what_the_json_tells_and_everybody_can_read_it() {
    let Some(browser) = Browser::start() else { return };
    let report = analyse("examples/plotter.c", &["-O2"]);
    let page = report.folder.join("report.html");
    for (scheme, width) in [("light", 1200), ("dark", 1200), ("light", 360), ("dark", 360)] {
        browser.resize(width, 900);
        browser.prefer(scheme);
        browser.open(&page, "");
        // What is closed must be readable as well.
        browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; });");
        assert_flawless(&browser, &format!("{scheme}, {width} wide"));
    }
    let shown = browser.run(CAUSES);
    assert_causes_are_told(&shown, &report.json);
    // The operation is marked in the source, which lies where it was compiled.
    assert_eq!(shown[0]["marked"], json!(["-"]), "{shown:#}");
    assert!(shown[0]["also"].as_array().is_some_and(|also| also.contains(&json!("sqrt"))), "{shown:#}");
    let rows = browser.run("return [...document.querySelectorAll('.result')].map((row) => row.cells[2].textContent);");
    let wrong = report.wrong_spots();
    let expected: Vec<String> =
        wrong.iter().map(|spot| format!("{} of {}", thousands(&spot["wrong"]), thousands(&spot["count"]))).collect();
    assert_eq!(rows, json!(expected));
}

#[test]
fn an_error_without_a_cause_is_drawn_as_what_it_is_made_of() {
    let Some(browser) = Browser::start() else { return };
    let report = analyse("tests/guests/accumulated/interest.c", &["-O1"]);
    for (scheme, width) in [("light", 1200), ("dark", 360)] {
        browser.resize(width, 900);
        browser.prefer(scheme);
        browser.open(&report.folder.join("report.html"), "");
        assert_flawless(&browser, &format!("{scheme}, {width} wide"));
    }
    let shown = browser.run(
        "return [...document.querySelectorAll('.parts')].map((parts) => [...parts.querySelectorAll('.part')].map((part) => [
            part.cells[0].textContent, part.querySelector('rect').getBoundingClientRect().width, part.cells[2].textContent]));",
    );
    let wrong: Vec<&Value> = report.wrong_spots().into_iter().filter(|spot| spot["causes"] == json!([])).collect();
    assert_eq!((shown.as_array().map(Vec::len), wrong.is_empty()), (Some(wrong.len()), false), "{shown:#}");
    for (parts, spot) in shown.as_array().into_iter().flatten().zip(wrong) {
        let parts: Vec<(f64, f64)> = parts
            .as_array()
            .into_iter()
            .flatten()
            .map(|part| {
                let share = text(&part[0]).trim_end_matches(" %").parse().expect("a number");
                (share, number(&part[1]))
            })
            .collect();
        assert!(!parts.is_empty() && parts.is_sorted_by(|a, b| a.0 >= b.0), "{parts:?}");
        // All of the error, and bars as long as their shares.
        assert!((parts.iter().map(|(share, _)| share).sum::<f64>() - 100.0).abs() < 1.0, "{parts:?}");
        for (share, width) in &parts {
            assert!((width / parts[0].1 - share.abs() / parts[0].0).abs() < 0.01, "{parts:?}");
        }
        let told = spot["accumulated"]["contributions"].as_array().map_or(0, Vec::len);
        assert!(parts.len() <= told + 1, "{parts:?} {spot:#}");
    }
}

/// A report of so many causes: one of a real run, in other places and with other numbers.
fn many(count: usize) -> Value {
    let report = analyse("tests/guests/sqrt_difference.c", &["-O2"]);
    let mut json = report.json.clone();
    let cause = json["causes"][0].clone();
    let causes = (0..count).map(|i| {
        let mut cause = cause.clone();
        let function = format!("function_{i}");
        cause["site"]["text"] = json!(format!("{function} (file_{}.c:{i})", i % 7));
        cause["site"]["function"] = json!(function);
        cause["site"]["line"] = json!(i + 1);
        cause["site"]["pc"] = json!(format!("{:#x}", 0x1000 + i));
        cause["site"]["address"] = json!(format!("{:#x}", 0x1000 + i));
        cause["max_bits"] = json!((i * 37 % 500) as f64 / 10.0);
        cause
    });
    json["causes"] = causes.collect();
    json
}

#[test]
fn five_hundred_causes_are_filtered_sorted_and_walked_through_by_keyboard() {
    let Some(browser) = Browser::start() else { return };
    let json = many(500);
    let page = page("many", &json);
    browser.resize(1200, 900);
    browser.open(&page, "");
    let places = |browser: &Browser| -> Vec<String> {
        let shown = browser.run(
            "return [...document.querySelectorAll('.cause')].filter((cause) => !cause.hidden)
                .map((cause) => cause.querySelector('.place').textContent.split(' ')[0]);",
        );
        shown.as_array().into_iter().flatten().map(|place| text(place).to_string()).collect()
    };
    let status = |browser: &Browser| browser.run("return document.getElementById('shown').value;");
    assert_eq!((places(&browser).len(), status(&browser)), (500, json!("500 causes")));
    assert_eq!(places(&browser)[..2], ["function_0", "function_1"], "in the order of damage");

    browser.type_into("#filter", "FUNCTION_49 sqrt");
    let mut found = places(&browser);
    assert_eq!((found.len(), status(&browser)), (11, json!("11 of 500 causes")), "{found:?}");
    browser.run(
        "const sort = document.getElementById('sort'); sort.value = 'bits'; sort.dispatchEvent(new Event('input'));",
    );
    found.sort_by_key(|place| {
        let number: usize = place["function_".len()..].parse().expect("a number");
        std::cmp::Reverse(number * 37 % 500)
    });
    assert_eq!(places(&browser), found);
    assert_eq!(browser.run("return location.hash;"), "#filter=FUNCTION_49+sqrt&sort=bits");
    browser.type_into("#least", "\u{e017}\u{e017}45");
    assert!(places(&browser).len() < found.len());

    // What was chosen can be linked to, and so can a cause.
    browser.open(&page, "#filter=function_123&sort=place");
    assert_eq!(places(&browser), ["function_123"]);
    let last = browser
        .run("return [...document.querySelectorAll('.cause')].find((cause) => cause.dataset.rank === '499').id;");
    browser.open(&page, &format!("#{}", text(&last)));
    let is_in_view =
        "const cause = document.getElementById(location.hash.slice(1)), box = cause.getBoundingClientRect();
        return cause.querySelector('details').open && box.top < innerHeight && box.bottom > 0;";
    assert_eq!(browser.run(is_in_view), true);

    // From the filter on by keyboard: tabs lead to the second cause's head, Enter opens it.
    browser.open(&page, "");
    let walk = "const tabs = [...document.querySelectorAll('input, select, button, summary, a, [tabindex]')];
        return tabs.filter((element) => element.checkVisibility()).every((element) => element.tabIndex >= 0);";
    assert_eq!(browser.run(walk), true);
    browser.type_into(".cause:nth-child(2) > details > summary", "\u{e007}");
    assert_eq!(browser.run("return document.querySelector('.cause:nth-child(2) > details').open;"), true);

    // Sorting and filtering 500 causes, laid out, takes no longer than one notices; this allows for a busy machine.
    for (control, value) in
        [("sort", "bits"), ("filter", "function_4"), ("filter", ""), ("sort", "place"), ("filter", "sqrt")]
    {
        let milliseconds = browser.run(&format!(
            "const control = document.getElementById('{control}'), began = performance.now();
            control.value = '{value}';
            control.dispatchEvent(new Event('input'));
            document.body.getBoundingClientRect();
            return performance.now() - began;"
        ));
        assert!(number(&milliseconds) < 1000.0, "{control} {value}: {milliseconds} ms");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn on_paper_everything_is_open() {
    let Some(browser) = Browser::start() else { return };
    let page = page("paper", &many(3));
    browser.open(&page, "");
    browser.run("window.opened = 0; addEventListener('beforeprint', () => { window.opened = document.querySelectorAll('.cause details[open]').length; });");
    assert!(browser.print().len() > 10_000);
    // Each cause, and the table of steps in each.
    assert_eq!(browser.run("return window.opened;"), 6);
    assert_eq!(browser.run("return document.querySelectorAll('.cause details[open]').length;"), 1);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn names_from_the_program_stay_text() {
    let Some(browser) = Browser::start() else { return };
    // A file's name cannot have a slash; everything else can be in it.
    let folder = scratch("page-names");
    let name = "<img src=x onerror=window.evil=1>\"'&.c";
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/report/cancel.c"));
    let source = source.expect("a file of ours") + "/* </code><script>window.evil=2</script> */\n";
    std::fs::write(folder.join(name), source).expect("a scratch folder is writable");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-std=gnu99", "-x", "c", name, "-o", "<script>window.evil=3<script>", "-lm"])
        .current_dir(&folder);
    assert!(gcc.status().expect("gcc is installed").success());
    let command = ["./<script>window.evil=3<script>", "1e16", "<svg onload=window.evil=4>"];
    let mut analysed = fpgrind(&["--out", "out", "--quiet"], &command);
    analysed.current_dir(&folder);
    assert_eq!(run(analysed, b"").status, 0);
    let real = folder.join("out/report.html");

    let mut json: Value =
        serde_json::from_slice(&std::fs::read(folder.join("out/report.json")).expect("is written")).expect("is JSON");
    let evil = "</title></style></script><script>window.evil=5</script>\"><img src=x onerror=window.evil=6>";
    json["program"] = json!(evil);
    json["notes"] = json!([evil]);
    json["causes"][0]["site"]["function"] = json!(evil);
    json["causes"][0]["site"]["text"] = json!(evil);
    json["causes"][0]["variables"][0]["stands_for"] = json!(evil);
    json["spots"][0]["function"] = json!(evil);
    json["spots"][0]["conversion"] = json!(evil);
    for page in [real, page("evil", &json)] {
        browser.open(&page, "");
        browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; });");
        assert_flawless(&browser, &page.display().to_string());
        assert_eq!(browser.run("return window.evil ?? null;"), Value::Null, "{}", page.display());
        assert_eq!(browser.run("return document.querySelectorAll('img, [onerror], [onload]').length;"), 0);
        let shown = text(&browser.run("return document.body.innerText;")).to_string();
        assert!(shown.contains(name), "{shown}");
    }
}
