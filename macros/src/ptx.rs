//! `ptx!`: converts tokens to the text of a statement, the text to a form, and the form to an expression.
//!
//! The library's parser reads the text, so that errors have the messages of `check`; a map from text ranges to tokens
//! is built along with it.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, Ident, Punct, Span, TokenStream, TokenTree};
use ptx_isa::diagnostic::{Code, Diagnostic};
use ptx_isa::table::{FormInfo, Operand};
use ptx_isa::text::{Statement, mnemonic};
use quote::{quote, quote_spanned};

use crate::tables::Tables;

/// Expands an invocation to an expression or its errors.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    expand_on(&Tables::ours(), input)
}

/// As [`expand`], for a table that extends ours: `(path) (bodies) ("name" "spec" …); …`, where the path is the table's
/// module.
pub(crate) fn expand_of(input: TokenStream) -> TokenStream {
    let mut tokens = input.into_iter();
    let mut group = || match tokens.next() {
        Some(TokenTree::Group(group)) => group.stream(),
        _ => TokenStream::new(),
    };
    let (path, bodies, files) = (group(), group(), group());
    let files: Vec<String> = files.into_iter().map(|file| string(&file)).collect();
    // Skip the semicolon.
    tokens.next();
    match Tables::joined(path, bodies, &files) {
        Ok(tables) => expand_on(&tables, tokens.collect()),
        Err(report) => quote!(::core::compile_error! { #report }),
    }
}

/// Value of a string literal.
fn string(token: &TokenTree) -> String {
    let text: Result<syn::LitStr, _> = syn::parse2(token.clone().into());
    text.map(|text| text.value()).unwrap_or_default()
}

fn expand_on(tables: &Tables, input: TokenStream) -> TokenStream {
    let mut reader = Reader { tables, text: Text::default(), names: 0 };
    match reader.invocation(input) {
        Ok(expression) => expression,
        Err(diagnostic) => reader.text.error(&diagnostic),
    }
}

/// Text of a statement, with the tokens of its parts.
#[derive(Default)]
struct Text {
    text: String,
    pieces: Vec<(Range<usize>, Span, Span)>,
}

impl Text {
    fn push(&mut self, text: &str, first: Span, last: Span) {
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push((start..self.text.len(), first, last));
    }

    /// First and last token of a text range; if something is missing, the token before it.
    fn tokens(&self, place: &Range<usize>) -> (Span, Span) {
        let touched = |(piece, ..): &&(Range<usize>, Span, Span)| piece.start < place.end && place.start < piece.end;
        let mut touched = self.pieces.iter().filter(touched);
        let before = || self.pieces.iter().rfind(|(piece, ..)| piece.start < place.start).or(self.pieces.last());
        let Some(first) = touched.next().or_else(before) else { return (Span::call_site(), Span::call_site()) };
        (first.1, touched.next_back().unwrap_or(first).2)
    }

    /// `compile_error!` at the tokens that a diagnostic refers to.
    fn error(&self, diagnostic: &Diagnostic) -> TokenStream {
        let mut message = diagnostic.message.clone();
        for (title, text) in [("note", &diagnostic.note), ("help", &diagnostic.help)] {
            if let Some(text) = text {
                message += &format!("\n{title}: {text}");
            }
        }
        let (first, last) = self.tokens(&diagnostic.span);
        let path = quote_spanned!(first=> ::core::compile_error);
        let mut argument = Group::new(Delimiter::Brace, quote!(#message));
        argument.set_span(last);
        quote!(#path!#argument)
    }
}

/// An operand as written.
pub(crate) struct Written {
    /// Rust expression, of the first destination if there are two; `None` for a sink.
    pub value: Option<TokenStream>,
    /// Second destination after a bar, if there is one.
    pub second: Option<Option<TokenStream>>,
}

struct Reader<'t> {
    tables: &'t Tables,
    text: Text,
    /// Number of expressions named so far.
    names: usize,
}

type Tokens = std::iter::Peekable<proc_macro2::token_stream::IntoIter>;

impl Reader<'_> {
    fn invocation(&mut self, input: TokenStream) -> Result<TokenStream, Diagnostic> {
        let mut tokens = input.into_iter().peekable();
        let guard = self.guard(&mut tokens);
        let start = self.text.text.len();
        self.mnemonic(&mut tokens);
        let spelt = &self.text.text[start..];
        let resolved = mnemonic::resolve(self.tables.table, spelt)
            .map_err(|refusal| refusal.into_diagnostic())
            .map_err(|diagnostic| diagnostic.shifted(start))?;
        let form = resolved.form;
        if tokens.peek().is_none() && guard.is_none() {
            if resolved.reordered {
                // With placeholder operands the parser reports the order of modifiers.
                self.text.push(&format!(" {}", sample(form)), Span::call_site(), Span::call_site());
            } else {
                return Ok(self.tables.named(form));
            }
        }
        // An operand would be misunderstood before it is told that none helps.
        if !form.has_evaluator() {
            let spelt = &self.text.text[start..];
            let message = format!("`ptx!` computes on registers, and `{spelt}` works on more than these");
            let help = format!("without operands, `ptx!({spelt})` is the form; `ptx_isa::run` runs kernels with it");
            let place = start..self.text.text.len();
            return Err(Diagnostic::error(Code::OperandType, place, message).with_help(help));
        }
        let written = self.operands(form, tokens);
        let mut notes = Vec::new();
        let statement = Statement::parse_with(self.tables.table, &self.text.text, &mut notes)?;
        // Deviations accepted only by the assembler are refused.
        if let Some(mut note) = notes.into_iter().next() {
            note.help.get_or_insert_with(|| format!("write `{}`", form.mnemonic()));
            return Err(note);
        }
        Ok(self.tables.build(&statement, guard, &written))
    }

    /// Parses a guard, `@p` or `@!p`.
    fn guard(&mut self, tokens: &mut Tokens) -> Option<TokenStream> {
        let at = next_punct(tokens, '@')?;
        self.text.push("@", at.span(), at.span());
        let bang = next_punct(tokens, '!');
        if let Some(bang) = &bang {
            self.text.push("!", bang.span(), bang.span());
        }
        let predicate = tokens.next()?;
        let span = predicate.span();
        self.named_expression(&TokenStream::from(predicate.clone()));
        self.text.text.push(' ');
        Some(match bang {
            Some(bang) => quote_spanned!(span=> ::core::convert::Into::into(#bang #predicate)),
            None => quote_spanned!(span=> ::core::convert::Into::into(#predicate)),
        })
    }

    /// Parses the opcode and its modifiers.
    fn mnemonic(&mut self, tokens: &mut Tokens) {
        let Some(opcode) = tokens.next_if(|token| matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_))) else {
            return;
        };
        self.text.push(&opcode.to_string(), opcode.span(), opcode.span());
        while let Some(dot) = next_punct(tokens, '.') {
            self.text.push(".", dot.span(), dot.span());
            let word = tokens.next_if(|token| matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_)));
            if let Some(word) = word {
                self.text.push(&word.to_string(), word.span(), word.span());
            }
        }
    }

    fn operands(&mut self, form: FormInfo, tokens: Tokens) -> Vec<Written> {
        let tokens: Vec<TokenTree> = tokens.collect();
        if tokens.is_empty() {
            return Vec::new();
        }
        self.text.text.push(' ');
        let mut written = Vec::new();
        for (index, operand) in tokens.split(|token| is_punct(token, ',')).enumerate() {
            if index > 0 {
                self.text.text.push_str(", ");
            }
            match operand {
                [TokenTree::Group(vector)] if vector.delimiter() == Delimiter::Brace => {
                    self.text.push("{", vector.span_open(), vector.span_open());
                    let elements: Vec<TokenTree> = vector.stream().into_iter().collect();
                    for (element, tokens) in elements.split(|token| is_punct(token, ',')).enumerate() {
                        self.text.text.push_str(if element > 0 { ", " } else { "" });
                        written.push(Written { value: self.value(None, tokens), second: None });
                    }
                    self.text.push("}", vector.span_close(), vector.span_close());
                }
                _ => written.push(self.operand(form.operands().get(index), index == 0, operand)),
            }
        }
        written
    }

    fn operand(&mut self, info: Option<&Operand>, first: bool, tokens: &[TokenTree]) -> Written {
        let bar = tokens.iter().position(|token| first && is_punct(token, '|'));
        if let Some(bar) = bar {
            let value = self.value(info, &tokens[..bar]);
            let span = tokens[bar].span();
            self.text.push("|", span, span);
            let second = self.value(info, &tokens[bar + 1..]);
            return Written { value, second: Some(second) };
        }
        Written { value: self.value(info, tokens), second: None }
    }

    /// Parses one register, constant or sink: its text and its expression.
    fn value(&mut self, info: Option<&Operand>, tokens: &[TokenTree]) -> Option<TokenStream> {
        match tokens {
            [] => None,
            [TokenTree::Ident(sink)] if *sink == "_" => {
                self.text.push("_", sink.span(), sink.span());
                None
            }
            [bang, rest @ ..] if is_punct(bang, '!') => {
                self.text.push("!", bang.span(), bang.span());
                self.value(info, rest)
            }
            [rest @ .., dot, TokenTree::Ident(selector)]
                if !rest.is_empty()
                    && is_punct(dot, '.')
                    && info.is_some_and(|info| info.selector.is_some())
                    && is_selector(selector) =>
            {
                let value = self.value(info, rest);
                self.text.push(".", dot.span(), dot.span());
                self.text.push(&selector.to_string(), selector.span(), selector.span());
                value
            }
            _ => {
                let expression: TokenStream = tokens.iter().cloned().collect();
                match constant(tokens) {
                    Some(text) => self.text.push(&text, tokens[0].span(), tokens[tokens.len() - 1].span()),
                    None => self.named_expression(&expression),
                }
                Some(expression)
            }
        }
    }

    /// Adds an expression to the text, under the name of a register.
    fn named_expression(&mut self, expression: &TokenStream) {
        let mut spans = expression.clone().into_iter().map(|token| token.span());
        let first = spans.next().unwrap_or_else(Span::call_site);
        let name = format!("x{}", self.names);
        self.names += 1;
        self.text.push(&name, first, spans.last().unwrap_or(first));
    }
}

fn is_punct(token: &TokenTree, symbol: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == symbol)
}

fn next_punct(tokens: &mut Tokens, symbol: char) -> Option<Punct> {
    match tokens.next_if(|token| is_punct(token, symbol))? {
        TokenTree::Punct(punct) => Some(punct),
        TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => None,
    }
}

/// Returns true if a word after a dot has the form of a selector rather than a field: a letter and digits.
fn is_selector(word: &Ident) -> bool {
    let word = word.to_string();
    let digits = word.strip_prefix(|letter: char| letter.is_ascii_lowercase()).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number without a suffix in PTX notation; other constants are expressions.
fn constant(tokens: &[TokenTree]) -> Option<String> {
    let (sign, literal) = match tokens {
        [TokenTree::Literal(literal)] => ("", literal),
        [minus, TokenTree::Literal(literal)] if is_punct(minus, '-') => ("-", literal),
        _ => return None,
    };
    let text = literal.to_string().replace('_', "");
    let hex = text.starts_with("0x");
    let number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().skip(if hex { 2 } else { 0 }).all(|byte| match byte {
            b'0'..=b'9' | b'.' | b'+' | b'-' => true,
            b'b' if text.starts_with("0b") => true,
            b'e' | b'E' => true,
            letter => hex && letter.is_ascii_hexdigit(),
        });
    // Octal notation differs between Rust and PTX, and leading zeros are insignificant in Rust only.
    let plain =
        !text.starts_with("0o") && (text.len() == 1 || !text.starts_with('0') || !text.as_bytes()[1].is_ascii_digit());
    (number && plain).then(|| format!("{sign}{text}"))
}

/// Placeholder operands of a form, by their names in the manual.
fn sample(form: FormInfo) -> String {
    let operands = form.operands().iter().filter(|operand| !operand.optional).map(|operand| match &operand.second {
        Some(second) => format!("{}|{}", operand.name, second.name),
        None => operand.with_around(operand.name),
    });
    operands.collect::<Vec<_>>().join(", ")
}
