//! `ptx-isa lsp`: a language server. It reads a message, answers it, and reads the next one: checking a module anew
//! takes less time than a keystroke.
//!
//! This module implements the protocol's framing and lifecycle; each capability has its own module.

mod actions;
mod completion;
mod definition;
mod diagnostics;
mod documents;
mod folding;
mod format;
mod highlight;
mod hints;
mod hover;
mod lens;
mod numbers;
mod positions;
mod references;
mod rename;
mod signature;
mod symbols;
mod tokens;

use std::collections::HashMap;
use std::io::{self, Write};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, LogMessage, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, CodeLensRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest,
    FoldingRangeRequest, Formatting, GotoDefinition, HoverRequest, Initialize, InlayHintRequest, PrepareRenameRequest,
    References, Rename, Request as _, SemanticTokensFullRequest, Shutdown, SignatureHelpRequest,
    WorkspaceSymbolRequest,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability, CodeLensOptions, CodeLensParams,
    CompletionOptions, CompletionParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentFormattingParams, DocumentHighlightParams, DocumentSymbolParams,
    FoldingRangeParams, FoldingRangeProviderCapability, GotoDefinitionParams, HoverParams, HoverProviderCapability,
    InitializeParams, InitializeResult, InlayHintParams, LogMessageParams, MessageType, OneOf,
    PublishDiagnosticsParams, ReferenceParams, RenameOptions, RenameParams, SemanticTokensFullOptions,
    SemanticTokensOptions, SemanticTokensParams, ServerCapabilities, ServerInfo, SignatureHelpOptions,
    SignatureHelpParams, TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
    WorkspaceEdit, WorkspaceSymbolParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::documents::Document;
use self::positions::Encoding;
use super::Outcome;

pub(super) fn run() -> io::Result<Outcome> {
    let mut input = io::stdin().lock();
    let mut server = Server::new(io::stdout().lock());
    loop {
        match Message::read(&mut input) {
            Ok(Some(Message::Request(request))) => server.request(request)?,
            Ok(Some(Message::Notification(exit))) if exit.method == "exit" => {
                return Ok(if server.stage == Stage::Over { Outcome::Fine } else { Outcome::InputErrors });
            }
            Ok(Some(Message::Notification(notification))) => server.notification(notification)?,
            // The server asks for nothing.
            Ok(Some(Message::Response(_))) => {}
            Ok(None) => return Ok(Outcome::InputErrors),
            // The next message may be whole.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => server.complain(&error)?,
            Err(error) => return Err(error),
        }
    }
}

/// How far the client has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begun,
    Initialized,
    Over,
}

/// Capabilities of the client.
#[derive(Default)]
struct Client {
    encoding: Encoding,
    /// True if hovers and documentation may be Markdown.
    markdown: bool,
}

struct Server<W: Write> {
    out: W,
    stage: Stage,
    client: Client,
    documents: HashMap<String, Document>,
}

/// Error response to a request.
struct Refusal(ErrorCode, String);

impl<W: Write> Server<W> {
    fn new(out: W) -> Server<W> {
        Server { out, stage: Stage::Begun, client: Client::default(), documents: HashMap::new() }
    }

    fn request(&mut self, Request { id, method, params }: Request) -> io::Result<()> {
        let answer = match (self.stage, method.as_str()) {
            (Stage::Begun, Initialize::METHOD) => parse(params).and_then(|params| self.initialize(&params)),
            (Stage::Begun, _) => Err(Refusal(ErrorCode::ServerNotInitialized, format!("`{method}` before all else"))),
            (Stage::Over, _) => Err(Refusal(ErrorCode::InvalidRequest, format!("`{method}` behind `shutdown`"))),
            (Stage::Initialized, Shutdown::METHOD) => {
                self.stage = Stage::Over;
                Ok(serde_json::Value::Null)
            }
            (Stage::Initialized, method) => self.answer(method, params),
        };
        self.send(Message::Response(response(id, answer)))
    }

    fn initialize(&mut self, params: &InitializeParams) -> Result<serde_json::Value, Refusal> {
        self.stage = Stage::Initialized;
        let capabilities = &params.capabilities;
        self.client = Client {
            encoding: Encoding::of(capabilities.general.as_ref().and_then(|it| it.position_encodings.as_deref())),
            markdown: hover::takes_markdown(capabilities),
        };
        let capabilities = ServerCapabilities {
            position_encoding: Some(self.client.encoding.kind()),
            text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some([".", "%", "@"].map(str::to_owned).into()),
                ..CompletionOptions::default()
            }),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            document_symbol_provider: Some(OneOf::Left(true)),
            workspace_symbol_provider: Some(OneOf::Left(true)),
            document_highlight_provider: Some(OneOf::Left(true)),
            document_formatting_provider: Some(OneOf::Left(true)),
            folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
            inlay_hint_provider: Some(OneOf::Left(true)),
            code_lens_provider: Some(CodeLensOptions { resolve_provider: None }),
            rename_provider: Some(OneOf::Right(RenameOptions {
                prepare_provider: Some(true),
                work_done_progress_options: Default::default(),
            })),
            signature_help_provider: Some(SignatureHelpOptions {
                trigger_characters: Some([" ", ","].map(str::to_owned).into()),
                ..SignatureHelpOptions::default()
            }),
            semantic_tokens_provider: Some(
                SemanticTokensOptions {
                    legend: tokens::legend(),
                    full: Some(SemanticTokensFullOptions::Bool(true)),
                    ..SemanticTokensOptions::default()
                }
                .into(),
            ),
            code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
                ..CodeActionOptions::default()
            })),
            ..ServerCapabilities::default()
        };
        let server_info =
            ServerInfo { name: "ptx-isa".to_owned(), version: Some(env!("CARGO_PKG_VERSION").to_owned()) };
        json(InitializeResult { capabilities, server_info: Some(server_info) })
    }

    /// Answers a request about a document; the answer is null if the document is not open.
    fn answer(&self, method: &str, params: serde_json::Value) -> Result<serde_json::Value, Refusal> {
        match method {
            HoverRequest::METHOD => {
                let HoverParams { text_document_position_params: at, .. } = parse(params)?;
                json(self.place(&at).and_then(|(document, offset)| hover::hover(document, offset, &self.client)))
            }
            Completion::METHOD => {
                let CompletionParams { text_document_position: at, .. } = parse(params)?;
                json(self.place(&at).map(|(document, offset)| completion::completion(document, offset)))
            }
            GotoDefinition::METHOD => {
                let GotoDefinitionParams { text_document_position_params: at, .. } = parse(params)?;
                let found = self.place(&at).and_then(|(document, offset)| definition::definition(document, offset));
                json(found.map(|range| location(&at.text_document.uri, range)))
            }
            References::METHOD => {
                let ReferenceParams { text_document_position: at, context, .. } = parse(params)?;
                let found = self
                    .place(&at)
                    .map(|(document, offset)| references::references(document, offset, context.include_declaration));
                let locations = |ranges: Vec<_>| -> Vec<_> {
                    ranges.into_iter().map(|range| location(&at.text_document.uri, range)).collect()
                };
                json(found.map(locations))
            }
            DocumentSymbolRequest::METHOD => {
                let DocumentSymbolParams { text_document, .. } = parse(params)?;
                json(self.document(&text_document.uri).map(symbols::symbols))
            }
            WorkspaceSymbolRequest::METHOD => {
                let WorkspaceSymbolParams { query, .. } = parse(params)?;
                let documents = self.documents.iter();
                let found = documents.flat_map(|(uri, document)| symbols::matching(document, uri, &query));
                json(found.collect::<Vec<_>>())
            }
            DocumentHighlightRequest::METHOD => {
                let DocumentHighlightParams { text_document_position_params: at, .. } = parse(params)?;
                json(self.place(&at).map(|(document, offset)| highlight::highlight(document, offset)))
            }
            PrepareRenameRequest::METHOD => {
                let at: TextDocumentPositionParams = parse(params)?;
                json(self.place(&at).and_then(|(document, offset)| rename::prepare(document, offset)))
            }
            Rename::METHOD => {
                let RenameParams { text_document_position: at, new_name, .. } = parse(params)?;
                let Some((document, offset)) = self.place(&at) else { return Ok(serde_json::Value::Null) };
                let edits = rename::rename(document, offset, &new_name)
                    .map_err(|reason| Refusal(ErrorCode::RequestFailed, reason))?;
                json(WorkspaceEdit::new(HashMap::from([(at.text_document.uri, edits)])))
            }
            Formatting::METHOD => {
                let DocumentFormattingParams { text_document, options, .. } = parse(params)?;
                json(self.document(&text_document.uri).map(|document| format::edits(document, &options)))
            }
            FoldingRangeRequest::METHOD => {
                let FoldingRangeParams { text_document, .. } = parse(params)?;
                json(self.document(&text_document.uri).map(folding::ranges))
            }
            SemanticTokensFullRequest::METHOD => {
                let SemanticTokensParams { text_document, .. } = parse(params)?;
                json(self.document(&text_document.uri).map(tokens::tokens))
            }
            SignatureHelpRequest::METHOD => {
                let SignatureHelpParams { text_document_position_params: at, .. } = parse(params)?;
                json(self.place(&at).and_then(|(document, offset)| signature::signature(document, offset)))
            }
            InlayHintRequest::METHOD => {
                let InlayHintParams { text_document, range, .. } = parse(params)?;
                json(self.document(&text_document.uri).map(|document| hints::hints(document, range)))
            }
            CodeLensRequest::METHOD => {
                let CodeLensParams { text_document, .. } = parse(params)?;
                json(self.document(&text_document.uri).map(lens::lenses))
            }
            CodeActionRequest::METHOD => {
                let CodeActionParams { text_document, range, context, .. } = parse(params)?;
                let uri = &text_document.uri;
                json(self.document(uri).map(|document| actions::actions(document, uri, range, &context)))
            }
            _ => Err(Refusal(ErrorCode::MethodNotFound, format!("there is no method `{method}`"))),
        }
    }

    fn document(&self, uri: &Uri) -> Option<&Document> {
        self.documents.get(uri.as_str())
    }

    fn place(&self, at: &TextDocumentPositionParams) -> Option<(&Document, usize)> {
        let document = self.document(&at.text_document.uri)?;
        Some((document, document.offset(at.position)))
    }

    /// Takes a notification; those that mean nothing here are passed by, as the protocol wants it.
    fn notification(&mut self, Notification { method, params }: Notification) -> io::Result<()> {
        if self.stage != Stage::Initialized {
            return Ok(());
        }
        let taken = match method.as_str() {
            DidOpenTextDocument::METHOD => parse(params).map(|params| self.open(params)),
            DidChangeTextDocument::METHOD => parse(params).map(|params| self.change(params)),
            DidCloseTextDocument::METHOD => parse(params).map(|params| self.close(params)),
            _ => return Ok(()),
        };
        match taken {
            Ok(published) => published,
            Err(Refusal(_, reason)) => self.complain(&reason),
        }
    }

    fn open(
        &mut self,
        DidOpenTextDocumentParams { text_document: opened }: DidOpenTextDocumentParams,
    ) -> io::Result<()> {
        let document = Document::new(opened.text, opened.version, self.client.encoding);
        self.documents.insert(opened.uri.as_str().to_owned(), document);
        self.publish(opened.uri)
    }

    fn change(
        &mut self,
        DidChangeTextDocumentParams { text_document, content_changes }: DidChangeTextDocumentParams,
    ) -> io::Result<()> {
        match self.documents.get_mut(text_document.uri.as_str()) {
            Some(document) => document.change(content_changes, text_document.version),
            None => return self.complain(&format!("{} is not open", text_document.uri.as_str())),
        }
        self.publish(text_document.uri)
    }

    fn close(&mut self, DidCloseTextDocumentParams { text_document }: DidCloseTextDocumentParams) -> io::Result<()> {
        self.documents.remove(text_document.uri.as_str());
        self.publish(text_document.uri)
    }

    /// Publishes the diagnostics of a document; an empty list if it is not open.
    fn publish(&mut self, uri: Uri) -> io::Result<()> {
        let document = self.document(&uri);
        let diagnostics = document.map(|document| diagnostics::diagnostics(document, &uri)).unwrap_or_default();
        let version = document.map(|document| document.version);
        self.notify::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version })
    }

    fn complain(&mut self, what: &impl ToString) -> io::Result<()> {
        self.notify::<LogMessage>(LogMessageParams { typ: MessageType::ERROR, message: what.to_string() })
    }

    fn notify<N: lsp_types::notification::Notification>(&mut self, params: N::Params) -> io::Result<()> {
        self.send(Message::Notification(Notification::new(N::METHOD.to_owned(), params)))
    }

    fn send(&mut self, message: Message) -> io::Result<()> {
        message.write(&mut self.out)
    }
}

fn location(uri: &Uri, range: lsp_types::Range) -> lsp_types::Location {
    lsp_types::Location { uri: uri.clone(), range }
}

fn parse<P: DeserializeOwned>(params: serde_json::Value) -> Result<P, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal(ErrorCode::InvalidParams, error.to_string()))
}

fn json(answer: impl Serialize) -> Result<serde_json::Value, Refusal> {
    serde_json::to_value(answer).map_err(|error| Refusal(ErrorCode::InternalError, error.to_string()))
}

fn response(id: RequestId, answer: Result<serde_json::Value, Refusal>) -> Response {
    match answer {
        Ok(result) => Response::new_ok(id, result),
        Err(Refusal(code, message)) => Response::new_err(id, code as i32, message),
    }
}
