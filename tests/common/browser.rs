//! A browser to look at pages with: Debian's Chromium, driven through its WebDriver (<https://www.w3.org/TR/webdriver2/>).

use super::PATIENCE;
use super::guests::installed;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Nothing, with a note, if there is no browser on this machine.
    pub fn start() -> Option<Browser> {
        if !installed("chromium") || !installed("chromedriver") {
            return None;
        }
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = driver.spawn().expect("chromedriver is installed");
        let said = BufReader::new(driver.stdout.take().expect("stdout is a pipe"));
        let port = said
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.split("successfully on port ").nth(1)?.trim_end_matches('.').parse().ok());
        let mut browser = Browser { driver, port: port.expect("chromedriver names its port"), session: String::new() };
        // As root Chromium does not run in its sandbox; what it shows here is our own.
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
        let options = json!({ "args": arguments });
        let wanted = json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let session = browser.ask("POST", "/session", json!({ "capabilities": { "alwaysMatch": wanted } }));
        browser.session = session["sessionId"].as_str().expect("a session has a name").to_string();
        Some(browser)
    }

    pub fn open(&self, page: &Path, hash: &str) {
        // The same address with another hash would not load the page again.
        self.post("url", json!({ "url": "about:blank" }));
        self.post("url", json!({ "url": format!("file://{}{hash}", page.display()) }));
        // A long page may still be read when the driver takes it for loaded.
        let began = Instant::now();
        while self.run("return location.protocol === 'file:' && document.readyState === 'complete';") != true {
            assert!(began.elapsed() < PATIENCE, "{} is not loaded", page.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a function's body returns.
    pub fn run(&self, script: &str) -> Value {
        self.post("execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Types into the element that a selector names.
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.post("element", json!({ "using": "css selector", "value": selector }));
        let element = element.as_object().and_then(|element| element.values().next()).and_then(Value::as_str);
        let element = element.unwrap_or_else(|| panic!("there is no {selector}"));
        self.post(&format!("element/{element}/value"), json!({ "text": text }));
    }

    pub fn resize(&self, width: u32, height: u32) {
        // A window cannot be as narrow as a telephone.
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tool("Emulation.setDeviceMetricsOverride", size);
    }

    /// `dark` or `light`.
    pub fn prefer(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.tool("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// The page on paper, as a PDF in base 64.
    pub fn print(&self) -> String {
        self.post("print", json!({})).as_str().unwrap_or_default().to_string()
    }

    /// What pages have complained of since the last time.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.post("se/log", json!({ "type": "browser" }));
        log.as_array().into_iter().flatten().map(|entry| entry["message"].to_string()).collect()
    }

    fn tool(&self, command: &str, parameters: Value) -> Value {
        self.post("goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    fn post(&self, command: &str, body: Value) -> Value {
        self.ask("POST", &format!("/session/{}/{command}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, value) = self.request(method, path, &body.to_string()).expect("chromedriver answers");
        assert_eq!(status, 200, "{path} {body}: {value:#}");
        value
    }

    fn request(&self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}")?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let header = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok();
        let mut body = vec![0; head.lines().find_map(header).unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let mut answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        Ok((status, answer["value"].take()))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.request("DELETE", &format!("/session/{}", self.session), "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
