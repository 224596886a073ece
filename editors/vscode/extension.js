// Starts `ptx-isa lsp` for PTX files. All else the server does.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("ptx-isa").get("path");
  // Not the older versions of a file that a comparison shows.
  const options = { documentSelector: ["file", "untitled"].map((scheme) => ({ scheme, language: "ptx" })) };
  client = new LanguageClient("ptx-isa", "PTX", { command, args: ["lsp"] }, options);
  return client.start();
};

exports.deactivate = () => client?.stop();
