//! A headless Chromium for tests, driven over the WebDriver protocol (<https://www.w3.org/TR/webdriver2>).

#![allow(dead_code, reason = "not every test uses all of it")]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A browser with one page; it ends when this is dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    /// Temporary files of the driver and the browser, which leave some behind.
    _folder: TempDir,
    /// The path of the session: `/session/…`.
    session: String,
}

impl Browser {
    /// Starts a browser; without one, prints that the test is skipped.
    pub fn start() -> Option<Browser> {
        // Another process may take the port that the driver has chosen.
        match start_driver().or_else(|_| start_driver()) {
            Ok((driver, port, _folder)) => Browser { driver, port, _folder, session: String::new() }.with_session(),
            Err(why) => skip(&why),
        }
    }

    fn with_session(mut self) -> Option<Browser> {
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": ["--headless", "--no-sandbox", "--disable-dev-shm-usage"] },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        // On a busy machine Chromium may end while it starts.
        let start = |_| self.request("POST", "/session", &capabilities);
        let mut answers = (0..3).map(start).skip_while(|answer| answer["message"].to_string().contains("exited"));
        let answer = answers.next().unwrap_or_else(|| json!({ "message": "Chromium has ended three times" }));
        match answer["sessionId"].as_str() {
            Some(id) => self.session = format!("/session/{id}"),
            None if answer["message"].to_string().contains("cannot find") => return skip("there is no Chromium"),
            None => panic!("no session: {answer}"),
        }
        Some(self)
    }

    /// Opens a file.
    pub fn open(&self, path: &Path) {
        self.visit(&format!("file://{}", path.display()));
    }

    /// Opens an address, and waits until the page is drawn: Chromium drops keys that come before.
    pub fn visit(&self, address: &str) {
        self.command("POST", "/url", &json!({ "url": address }));
        self.wait_until_drawn();
    }

    /// Waits until the page is drawn, as it is now.
    pub fn wait_until_drawn(&self) {
        self.run_until_done("requestAnimationFrame(() => requestAnimationFrame(() => done(true)))");
    }

    /// Types a text into the focused element.
    pub fn type_text(&self, text: &str) {
        let strokes =
            text.chars().flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })));
        self.act(json!({ "type": "key", "id": "keys", "actions": strokes.collect::<Vec<_>>() }));
    }

    /// Runs the body of a function in the page, and gives what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script that hands its result to the function `done`.
    pub fn run_until_done(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.command("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a script returns true.
    ///
    /// # Panics
    /// If it does not within half a minute.
    #[track_caller]
    pub fn wait(&self, script: &str) {
        let started = Instant::now();
        while self.run(script) != Value::Bool(true) {
            assert!(started.elapsed() < Duration::from_secs(30), "never true: {script}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys one after the other, and holds them until all are pressed.
    pub fn press(&self, keys: &[char]) {
        let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key }));
        let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key }));
        self.act(json!({ "type": "key", "id": "keys", "actions": down.chain(up).collect::<Vec<_>>() }));
    }

    /// Drags from a point by some pixels, with a `mouse` or with a finger (`touch`).
    pub fn drag(&self, pointer: &str, from: (i64, i64), by: (i64, i64)) {
        let moves = |x: i64, y: i64| json!({ "type": "pointerMove", "duration": 30, "x": x, "y": y });
        let actions = json!([
            moves(from.0, from.1),
            { "type": "pointerDown", "button": 0 },
            moves(from.0 + by.0 / 2, from.1 + by.1 / 2),
            moves(from.0 + by.0, from.1 + by.1),
            { "type": "pointerUp", "button": 0 },
        ]);
        self.act(
            json!({ "type": "pointer", "id": pointer, "parameters": { "pointerType": pointer }, "actions": actions }),
        );
    }

    fn act(&self, source: Value) {
        self.command("POST", "/actions", &json!({ "actions": [source] }));
    }

    /// Sets the size of the window, in CSS pixels.
    pub fn resize(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Sets a preference of the reader: `prefers-color-scheme`, or `prefers-reduced-motion`.
    pub fn prefer(&self, name: &str, value: &str) {
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": [{ "name": name, "value": value }] }));
    }

    fn devtools(&self, command: &str, parameters: &Value) {
        self.command("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// Console output since the last call, such as errors.
    pub fn console(&self) -> Vec<String> {
        self.log("browser").into_iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// The addresses of all requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        let events = self.log("performance").into_iter().filter_map(|entry| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let sent = event["message"]["method"] == "Network.requestWillBeSent";
            let address = event["message"]["params"]["request"]["url"].as_str()?;
            sent.then(|| address.to_owned())
        });
        events.collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.command("POST", "/se/log", &json!({ "type": kind })).as_array().cloned().unwrap_or_default()
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.request(method, &format!("{}{path}", self.session), body);
        assert!(value.get("error").is_none(), "{method} {path} {body}: {value}");
        value
    }

    /// One HTTP request to the driver; the answer's `value`.
    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .expect("the driver reads");
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).expect("the driver answers");
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text).expect("the whole answer");
        let mut answer: Value = serde_json::from_slice(&text).expect("JSON");
        answer["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !thread::panicking() {
            self.request("DELETE", &self.session, &json!({}));
        } else if !self.session.is_empty() {
            // A second panic would abort: the result of this request is ignored.
            let _ = TcpStream::connect(("127.0.0.1", self.port)).and_then(|mut stream| {
                write!(stream, "DELETE {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.session)?;
                stream.set_read_timeout(Some(Duration::from_secs(10)))?;
                stream.read(&mut [0])
            });
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The driver, the port that it listens on, and its folder for temporary files.
fn start_driver() -> Result<(Child, u16, TempDir), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("chromedriver cannot be started: {error}"))?;
    let output = BufReader::new(driver.stdout.take().expect("it was piped"));
    let mut lines = output.lines().map_while(Result::ok);
    let port =
        lines.find_map(|line| line.split_once("on port ")?.1.trim_end_matches('.').parse().ok().filter(|&p| p > 0));
    thread::spawn(move || lines.for_each(drop));
    port.map(|port| (driver, port, folder)).ok_or_else(|| "chromedriver does not listen".to_owned())
}

/// Says that a test is skipped; not by `eprintln!`, which the test harness keeps to itself.
///
/// # Panics
/// If the environment variable `COSTAR_REQUIRE_BROWSER` is 1: then a missing browser is a failure.
fn skip(why: &str) -> Option<Browser> {
    let required = std::env::var("COSTAR_REQUIRE_BROWSER").is_ok_and(|value| value == "1");
    assert!(!required, "{why}, and COSTAR_REQUIRE_BROWSER=1 asks for a browser");
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "\nSKIPPED: {name}: {why} (scripts/setup-browser installs what is missing)\n");
    None
}
