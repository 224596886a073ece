// Tests of the extension that Visual Studio Code runs itself: each asks through the editor's own commands, so that the
// server, the protocol's client and the editor have to agree. `.ci/vscode` starts them.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { commands, languages, window, workspace } = vscode;

const folder = workspace.workspaceFolders[0].uri;
let document;

// The position of a piece of the module, optionally a number of characters after its start.
function at(piece, behind = 0) {
  const offset = document.getText().indexOf(piece);
  assert(offset >= 0, `${piece} is missing from the module`);
  return document.positionAt(offset + behind);
}

const ask = (command, ...rest) => commands.executeCommand(`vscode.${command}`, document.uri, ...rest);
const lines = (ranges) => ranges.map((range) => range.start.line + 1);
const whole = () => new vscode.Range(0, 0, document.lineCount, 0);

// The module with some edits applied.
function edited(edits) {
  let text = document.getText();
  for (const edit of [...edits].sort((a, b) => b.range.start.compareTo(a.range.start))) {
    const [start, end] = [edit.range.start, edit.range.end].map((position) => document.offsetAt(position));
    text = text.slice(0, start) + edit.newText + text.slice(end);
  }
  return text;
}

async function replace(range, text) {
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, range, text);
  assert(await workspace.applyEdit(edit));
}

// Waits until the module has a number of findings.
async function diagnostics(count) {
  let found;
  for (let tries = 0; tries < 1000; tries++) {
    found = languages.getDiagnostics(document.uri);
    if (found.length === count) {
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`${count} diagnostics, not ${JSON.stringify(found)}`);
}

const tests = {
  async diagnostics() {
    assert.equal(document.languageId, "ptx");
    const found = await diagnostics(3);
    assert.deepEqual(
      found.map((finding) => [finding.source, finding.code, finding.severity, document.getText(finding.range)]),
      [
        ["ptx-isa", "illegal-modifier", vscode.DiagnosticSeverity.Error, "lo"],
        ["ptx-isa", "operand-type", vscode.DiagnosticSeverity.Error, "%rd4"],
        ["ptx-isa", "modifier-order", vscode.DiagnosticSeverity.Warning, "setp.lt.f32.ftz"],
      ],
    );
    assert.match(found[0].message, /^`\.lo` is not a valid `\.CmpOp`/);
  },

  async hover() {
    const [opcode] = await ask("executeHoverProvider", at("mad.lo.s32"));
    assert.match(opcode.contents[0].value, /mad\.lo\.s32 {2}d, a, b, c;[^]*PTX 7\.0, sm_80/);
    assert.equal(document.getText(opcode.range), "mad.lo.s32");
    const [register] = await ask("executeHoverProvider", at("%rd9,"));
    assert.match(register.contents[0].value, /\.reg \.b64 %rd<13>/);
  },

  async completion() {
    const { items } = await ask("executeCompletionItemProvider", at("setp.lo.f16", 5));
    const labels = items.map((item) => item.label);
    assert.deepEqual(labels.slice(0, 4), ["eq", "ne", "lt", "le"]);
    assert(!labels.includes("lo"), "no completion is illegal");
    assert.equal(items[0].kind, vscode.CompletionItemKind.EnumMember);
  },

  async "definition and references"() {
    const label = at("$L__BB0_7;");
    const [definition] = await ask("executeDefinitionProvider", label);
    assert.equal(document.lineAt(definition.range.start).text, "$L__BB0_7:");
    const references = await ask("executeReferenceProvider", label);
    assert.deepEqual(lines(references.map((location) => location.range)), [44, 47, 56, 59]);
    const highlights = await ask("executeDocumentHighlights", label);
    assert.deepEqual(lines(highlights.map((highlight) => highlight.range)), [44, 47, 56, 59]);
  },

  async symbols() {
    const [kernel] = await ask("executeDocumentSymbolProvider");
    assert.deepEqual([kernel.name, kernel.kind], ["k_f16", vscode.SymbolKind.Function]);
    const parts = kernel.children.map((child) => child.name);
    assert.deepEqual([parts.length, parts[0], parts[4], parts[8]], [12, "k_f16_param_0", "%p", "$L__BB0_5"]);
    const found = await commands.executeCommand("vscode.executeWorkspaceSymbolProvider", "k_f");
    assert.deepEqual(found.map((symbol) => symbol.name), ["k_f16", "k_f32", "k_f64"]);
  },

  async rename() {
    const text = document.getText();
    const [[uri, edits]] = (await ask("executeDocumentRenameProvider", at("$L__BB0_7;"), "STORE")).entries();
    assert.equal(uri.toString(), document.uri.toString());
    assert.equal(edited(edits), text.replaceAll("$L__BB0_7", "STORE"));
    const refused = ask("executeDocumentRenameProvider", at("%p2"), "%less");
    await assert.rejects(refused, /a register of a family keeps its number/);
  },

  async "semantic tokens"() {
    const { tokenTypes, tokenModifiers } = await ask("provideDocumentSemanticTokensLegend");
    const { data } = await ask("provideDocumentSemanticTokens");
    const kinds = new Map();
    let [line, column] = [0, 0];
    for (let token = 0; token < data.length; token += 5) {
      const [down, right, length, kind, modifiers] = data.slice(token, token + 5);
      column = down ? right : column + right;
      line += down;
      const name = document.lineAt(line).text.slice(column, column + length);
      const declared = modifiers ? ` ${tokenModifiers.join()}` : "";
      if (!kinds.has(name)) {
        kinds.set(name, tokenTypes[kind] + declared);
      }
    }
    for (const [name, kind] of [
      ["k_f16", "function declaration"],
      ["k_f16_param_0", "property declaration"],
      ["mad", "keyword"],
      [".lo.s32", "modifier"],
      ["%rd10", "variable"],
      ["%ctaid", "enumMember"],
      ["$L__BB0_7", "label"],
    ]) {
      assert.equal(kinds.get(name), kind, name);
    }
  },

  async folding() {
    const folds = await ask("executeFoldingRangeProvider");
    assert.deepEqual(folds.slice(0, 3).map(({ start, end }) => [start, end]), [[0, 2], [15, 64], [71, 119]]);
  },

  async formatting() {
    const formatted = edited(await ask("executeFormatDocumentProvider", { tabSize: 8, insertSpaces: false }));
    const words = (text) => text.split(/\s+/);
    assert.deepEqual(words(formatted), words(document.getText()));
    assert(formatted.includes("\n\tmad.lo.s32      %r4, %r1, %r2, %r3;\n"), "operands stand in one column");
  },

  async "signature help"() {
    const help = await ask("executeSignatureHelpProvider", at("%r2, %r3;"));
    const [signature] = help.signatures;
    assert.deepEqual([signature.label, help.activeParameter], ["mad.lo.s32 d, a, b, c", 2]);
    assert.equal(signature.label.slice(...signature.parameters[2].label), "b");
    assert.match(signature.documentation, /^Integer multiply-add/);
    assert.equal(signature.parameters[2].documentation, "`b`: `.s32`");
  },

  async "inlay hints and code lenses"() {
    const hints = await ask("executeInlayHintProvider", new vscode.Range(at("mad.lo.s32"), at("cvt.u64.u32")));
    assert.deepEqual(hints.map((hint) => [hint.label, hint.position]), [[": .b32", at("%r4, ", 3)]]);
    const [lens] = await ask("executeCodeLensProvider", 1);
    assert.deepEqual([document.getText(lens.range), lens.command.title], ["k_f16", "needs PTX 4.2, sm_53"]);
  },

  async "comments of the language"() {
    const line = at("mad.lo.s32").line;
    const text = document.lineAt(line).text;
    window.activeTextEditor.selection = new vscode.Selection(line, 1, line, 1);
    await commands.executeCommand("editor.action.commentLine");
    assert.equal(document.lineAt(line).text, text.replace("mad", "// mad"));
    await commands.executeCommand("editor.action.commentLine");
    assert.equal(document.lineAt(line).text, text);
  },

  // The last, as it mends the module.
  async "code actions and typing"() {
    const inside = new vscode.Range(at("setp.lt.f32.ftz", 2), at("setp.lt.f32.ftz", 2));
    const actions = await ask("executeCodeActionProvider", inside, vscode.CodeActionKind.QuickFix.value);
    assert.deepEqual(actions.map((action) => [action.title, action.isPreferred]), [["Write `setp.lt.ftz.f32`", true]]);
    const all = await ask("executeCodeActionProvider", whole(), vscode.CodeActionKind.SourceFixAll.value);
    assert.equal(all.length, 1);
    assert(await workspace.applyEdit(actions[0].edit));
    assert(document.getText().includes("\tsetp.lt.ftz.f32 \t%p2, %r1, %r2;"));
    assert.deepEqual((await diagnostics(2)).map((finding) => finding.code), ["illegal-modifier", "operand-type"]);
    await replace(new vscode.Range(at("setp.lo.f16", 5), at("setp.lo.f16", 7)), "lt");
    assert.deepEqual((await diagnostics(1)).map((finding) => finding.code), ["operand-type"]);
  },
};

// Leaves a report for the script, as the editor tells it of no result.
exports.run = async () => {
  let report = `Visual Studio Code ${vscode.version} has ${Object.keys(tests).join(", ")}\n`;
  let name = "the module";
  try {
    document = await workspace.openTextDocument(vscode.Uri.joinPath(folder, "module.ptx"));
    await window.showTextDocument(document);
    for (name of Object.keys(tests)) {
      await tests[name]();
    }
  } catch (problem) {
    report = `failed: ${name}: ${problem.stack}\n`;
  }
  // Renamed, so that the script finds it whole.
  const file = path.join(folder.fsPath, "report");
  fs.writeFileSync(`${file}.new`, report);
  fs.renameSync(`${file}.new`, file);
};
