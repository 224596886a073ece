//! A browser that tests drive: Chromium through chromedriver.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A session of a browser.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    /// The path of the session.
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// Starts one; none where it is not asked for.
    pub(crate) fn start() -> Option<Browser> {
        if std::env::var_os("PTX_ISA_BROWSER").is_none() {
            println!("skipped: PTX_ISA_BROWSER=1 asks for it");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed");
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{port}"));
        let mut browser = Browser { driver, port, session: String::new(), profile };
        let switches = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
            --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars";
        let mut arguments: Vec<String> = switches.split_whitespace().map(str::to_owned).collect();
        arguments.push(format!("--user-data-dir={}", browser.profile.display()));
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let deadline = Instant::now() + Duration::from_secs(60);
        let session = loop {
            match browser.request("/session", &capabilities) {
                Ok(answer) => break answer,
                Err(error) => assert!(Instant::now() < deadline, "no session: {error}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        browser.session = format!("/session/{}", session["sessionId"].as_str().expect("an id"));
        Some(browser)
    }

    fn request(&self, path: &str, body: &Value) -> Result<Value, String> {
        let answer = self.send("POST", path, &body.to_string()).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        match answer["value"].get("error") {
            Some(_) => Err(answer["value"]["message"].to_string()),
            None => Ok(answer["value"].clone()),
        }
    }

    /// A request and the body of its answer: the driver sits on this machine and answers one at a time.
    fn send(&self, method: &str, path: &str, body: &str) -> io::Result<String> {
        let address = format!("127.0.0.1:{}", self.port);
        let mut stream = TcpStream::connect(&address)?;
        let length = body.len();
        let session = &self.session;
        write!(
            stream,
            "{method} {session}{path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        // The driver keeps the line open: the head says how long the body is.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(io::Error::other)?;
                }
                Some(_) => {}
                None if line.trim_end().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        String::from_utf8(body).map_err(io::Error::other)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.request(path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn open(&self, site: &Path, page: &str) {
        // Another fragment of the same page would not load it anew.
        self.post("/url", &json!({"url": "about:blank"}));
        self.post("/url", &json!({"url": format!("file://{}/{page}", site.display())}));
    }

    pub(crate) fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({selector:?})?.innerText ?? ''");
        self.script(&script).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn wait(&self, condition: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.script(&format!("return !!({condition})")) != json!(true) {
            assert!(Instant::now() < deadline, "{condition} never holds; errors: {:?}", self.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types keys into an element, as a person does.
    pub(crate) fn keys(&self, selector: &str, text: &str) {
        let found = self.post("/element", &json!({"using": "css selector", "value": selector}));
        let id =
            found.as_object().and_then(|object| object.values().next()).and_then(Value::as_str).expect("an element");
        self.post(&format!("/element/{id}/value"), &json!({"text": text}));
    }

    pub(crate) fn replace(&self, selector: &str, text: &str) {
        self.script(&format!("const field = document.querySelector({selector:?}); field.focus(); field.select()"));
        self.keys(selector, text);
    }

    pub(crate) fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }

    pub(crate) fn width(&self, width: u32) {
        let screen = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.command("Emulation.setDeviceMetricsOverride", &screen);
    }

    pub(crate) fn colours(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", &features);
    }

    pub(crate) fn shot(&self, name: &str) {
        let Some(folder) = std::env::var_os("PTX_ISA_SHOTS") else { return };
        let shot = self.command("Page.captureScreenshot", &json!({"captureBeyondViewport": true, "format": "png"}));
        let decoded = base64(shot["data"].as_str().expect("an image"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(Path::new(&folder).join(name), decoded).expect("a file");
    }

    /// Returns the browser's log entries since the last call.
    pub(crate) fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        log.as_array().into_iter().flatten().map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.send("DELETE", "", "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

pub(crate) fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let groups = digits.chunks(4).flat_map(|group| {
        let word = group.iter().enumerate().fold(0_u32, |word, (i, digit)| word | u32::from(*digit) << (18 - 6 * i));
        word.to_be_bytes()[1..group.len()].to_vec()
    });
    groups.collect()
}

pub(crate) const TITLE: &str = ".verdict h2";
const WORD: &str = ".verdict .word";

impl Browser {
    /// Opens the explorer, and waits for its reader.
    pub(crate) fn explore(&self, site: &Path, address: &str) {
        self.open(site, &format!("explorer.html{address}"));
        self.shown();
    }

    /// Waits until the explorer shows all that it has to say.
    pub(crate) fn shown(&self) {
        let data = "document.documentElement.dataset";
        self.wait(&format!("{data}.ready && {data}.shown && document.querySelector('.verdict')"));
    }

    /// The verdict in a word.
    pub(crate) fn word(&self) -> String {
        self.text(WORD).to_lowercase()
    }

    pub(crate) fn hash(&self) -> String {
        self.script("return decodeURIComponent(location.hash)").as_str().unwrap_or_default().to_owned()
    }

    /// Picks a modifier with the mouse.
    pub(crate) fn pick(&self, group: &str, member: &str) {
        let script = format!(
            "[...document.querySelectorAll('[role=radiogroup][aria-label={group:?}] .chip')] \
             .find((chip) => chip.querySelector('span').firstChild.data === {member:?}).querySelector('input').click()"
        );
        self.script(&script);
    }

    pub(crate) fn outs(&self) -> String {
        self.text("#outs")
    }

    pub(crate) fn assert_holds(&self, condition: &str) {
        assert_eq!(self.script(&format!("return !!({condition})")), json!(true), "{condition}");
    }
}

/// Texts whose contrast with what is behind them is below 4.5.
pub(crate) const CONTRAST: &str = r"
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const luminance = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        return [0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b), a];
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const [value, alpha] = luminance(getComputedStyle(at).backgroundColor);
            if (alpha > 250) return value;
        }
        return 1;
    };
    const faint = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = new Map();
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || element.closest('svg, script, style, noscript, .hidden, .skip')) continue;
        if (!element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const key = element.tagName + element.className + style.color + (element.parentElement?.className ?? '');
        if (seen.has(key)) continue;
        seen.set(key, true);
        const [a, b] = [luminance(style.color)[0], behind(element)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) faint.add(`${texts.currentNode.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return [...faint];
";
