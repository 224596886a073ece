//! A client of the language server, as editors are.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The document that is open.
pub(crate) const URI: &str = "file:///k.ptx";

/// A server and the client's side of it.
pub(crate) struct Client {
    pub(crate) server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i64,
}

impl Client {
    pub(crate) fn start() -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-isa"));
        let mut server =
            command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let (input, output) = (server.stdin.take(), server.stdout.take().expect("a pipe"));
        Client { server, input, output: BufReader::new(output), last: 0 }
    }

    /// A server that is initialized; `encodings` are what the client offers.
    pub(crate) fn initialized(encodings: &[&str]) -> Client {
        let mut client = Client::start();
        let capabilities = json!({
            "general": { "positionEncodings": encodings },
            "textDocument": { "hover": { "contentFormat": ["markdown", "plaintext"] } },
        });
        client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": capabilities }));
        client.notify("initialized", json!({}));
        client
    }

    /// One that has a document open, and what it says of it.
    pub(crate) fn with(text: &str) -> (Client, Vec<Value>) {
        let mut client = Client::initialized(&[]);
        let diagnostics = client.open(text);
        (client, diagnostics)
    }

    pub(crate) fn send(&mut self, body: &[u8]) {
        let input = self.input.as_mut().expect("it is open");
        write!(input, "Content-Length: {}\r\n\r\n", body.len()).expect("the server reads");
        input.write_all(body).and_then(|()| input.flush()).expect("the server reads");
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().as_bytes());
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("the server writes") > 0, "the server has ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", size)) => length = size.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a whole message");
        serde_json::from_slice(&body).expect("JSON")
    }

    /// The answer to a request, with its error if it has one.
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(request.to_string().as_bytes());
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) fn published(&mut self) -> Vec<Value> {
        let message = self.receive();
        assert_eq!(message["method"], "textDocument/publishDiagnostics", "{message}");
        message["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    pub(crate) fn open(&mut self, text: &str) -> Vec<Value> {
        let document = json!({ "uri": URI, "languageId": "ptx", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.published()
    }

    pub(crate) fn change(&mut self, changes: Value) -> Vec<Value> {
        let document = json!({ "uri": URI, "version": 2 });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
        self.published()
    }

    /// Asks what there is at a place of the document.
    pub(crate) fn at(&mut self, method: &str, position: &Value) -> Value {
        let context = json!({ "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false });
        let params = json!({ "textDocument": { "uri": URI }, "position": position, "context": context });
        self.ask(method, params)
    }

    pub(crate) fn hover(&mut self, position: &Value) -> String {
        self.at("textDocument/hover", position)["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the labels of the completions at a position, in the order in which a client shows them.
    pub(crate) fn completions(&mut self, position: &Value) -> Vec<String> {
        let list = self.at("textDocument/completion", position);
        let mut items = list["items"].as_array().expect("a list").clone();
        items.sort_by_key(|item| item["sortText"].as_str().expect("an order").to_owned());
        items.iter().map(|item| item["label"].as_str().expect("a label").to_owned()).collect()
    }

    /// Ends the server as a client does; tells its exit status.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.ask("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.server.wait().expect("it ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
