//! How pages load over a slow network: when the largest text is there, and how far what is read moves.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::browser::Browser;

/// The most that a page may move while it loads (cumulative layout shift).
const MOST_SHIFT: f64 = 0.05;

/// Time between the parts of a file.
const PAUSE: Duration = Duration::from_millis(60);

/// Serves a folder, compressed as hosts of pages do; gives the address.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            thread::spawn(move || answer(stream, &folder));
        }
    });
    format!("http://127.0.0.1:{port}/")
}

/// Answers the requests of a connection.
fn answer(stream: TcpStream, folder: &Path) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut header = String::new();
        while reader.read_line(&mut header).is_ok_and(|length| length > 2) {
            header.clear();
        }
        let path = line.split(' ').nth(1).unwrap_or("/");
        let name = path.trim_start_matches('/').split('?').next().unwrap_or_default();
        let kind = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript",
            Some("css") => "text/css",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        };
        let (status, body) = match fs::read(folder.join(name)) {
            Ok(body) => ("200 OK", body),
            Err(_) => ("404 Not Found", Vec::new()),
        };
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(&body).and_then(|()| encoder.finish()).expect("memory is written");
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            packed.len()
        );
        let stream = reader.get_mut();
        let mut send = |bytes: &[u8]| stream.write_all(bytes).and_then(|()| stream.flush()).is_ok();
        let mut fine = send(head.as_bytes());
        // Pages come in parts, and are shown before they are whole.
        for part in packed.chunks(packed.len().div_ceil(4).max(1)) {
            fine = fine && send(part);
            thread::sleep(PAUSE);
        }
        if !fine {
            return;
        }
    }
}

/// On a phone with slow 4G and a slow processor, pages do not move while they load. When their largest text is there is
/// printed.
pub(crate) fn pages_do_not_move(browser: &Browser, site: &Path) {
    let address = serve(site.to_owned());
    let watch = "window.largest = 0; window.moved = 0; window.movers = []; \
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.largest = entry.startTime))).observe({ type: 'largest-contentful-paint', buffered: true }); \
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => entry.hadRecentInput || (window.moved += entry.value, window.movers.push(...entry.sources.map((source) => source.node?.nodeName + '.' + (source.node?.className ?? '')))))).observe({ type: 'layout-shift', buffered: true })";
    let watching = browser.command("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": watch }));
    browser.command("Network.enable", &json!({}));
    let slow = json!({ "offline": false, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750 });
    browser.command("Network.emulateNetworkConditions", &slow);
    browser.command("Network.setCacheDisabled", &json!({ "cacheDisabled": true }));
    browser.command("Emulation.setCPUThrottlingRate", &json!({ "rate": 4 }));
    let mut moved = Vec::new();
    for width in [412, 1280] {
        browser.width(width);
        for page in [
            "index.html",
            "i-cvt.html",
            "i-wgmma.mma_async.html",
            "types.html",
            "explorer.html#setp.lt.f32",
            "explorer.html#shfl.sync.bfly.b32",
            "playground.html",
        ] {
            browser.post("/url", &json!({ "url": "about:blank" }));
            browser.post("/url", &json!({ "url": format!("{address}{page}") }));
            let reads = page.starts_with("explorer") || page.starts_with("playground");
            if reads && std::env::var_os("PTX_ISA_WASM").is_some() {
                for _ in 0..600 {
                    if browser.script("return document.documentElement.dataset.ready ?? ''") == json!("1") {
                        break;
                    }
                    thread::sleep(Duration::from_millis(50));
                }
            }
            thread::sleep(Duration::from_millis(500));
            let number = |name: &str| browser.script(&format!("return {name}")).as_f64().expect("a number");
            let (largest, shift) = (number("largest"), number("moved"));
            println!("{page} at {width}: the largest text after {largest:.0} ms, moved by {shift:.3}");
            if shift > MOST_SHIFT {
                moved.push((page, width, shift, browser.script("return movers.join(' ')")));
            }
        }
    }
    browser.command("Emulation.setCPUThrottlingRate", &json!({ "rate": 1 }));
    let fast = json!({ "offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
    browser.command("Network.emulateNetworkConditions", &fast);
    browser.command("Network.setCacheDisabled", &json!({ "cacheDisabled": false }));
    browser.command("Page.removeScriptToEvaluateOnNewDocument", &watching);
    browser.width(1280);
    assert!(moved.is_empty(), "{moved:?}");
}
