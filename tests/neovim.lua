-- What Neovim gets from `ptx-isa lsp` for a real module, which the argument names: run by `.ci/neovim`.

local module = vim.env.PTX_ISA_MODULE

local function fail(message)
  io.stderr:write(message .. "\n")
  vim.cmd("cquit")
end

local function check(holds, message)
  if not holds then
    fail(debug.traceback(message))
  end
end

-- Returns the result of a request to the buffer's server, and the client that asked it.
local function ask(method, params)
  local answers, problem = vim.lsp.buf_request_sync(0, method, params, 10000)
  check(answers, method .. ": " .. tostring(problem))
  for id, answer in pairs(answers) do
    check(not answer.err, method .. ": " .. vim.inspect(answer.err))
    return answer.result, vim.lsp.get_client_by_id(id)
  end
  fail(method .. ": no server is attached")
end

-- Moves the cursor to a piece of text, optionally a number of characters after its start.
local function go(piece, behind)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  check(vim.fn.search("\\V" .. piece, "cW") > 0, piece .. " is missing from the module")
  local at = vim.api.nvim_win_get_cursor(0)
  vim.api.nvim_win_set_cursor(0, { at[1], at[2] + (behind or 0) })
end

local function here()
  return vim.lsp.util.make_position_params(0, "utf-16")
end

local function document()
  return { textDocument = vim.lsp.util.make_text_document_params() }
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, true)
end

local function line_of(location)
  return lines()[location.range.start.line + 1]
end

-- Waits for an answer that Neovim applies by itself.
local function wait(message, holds)
  check(vim.wait(10000, holds, 10), message)
end

local function diagnostics(count)
  local found
  vim.wait(10000, function()
    found = vim.diagnostic.get(0)
    return #found == count
  end, 10)
  check(#found == count, count .. " diagnostics, not " .. vim.inspect(found))
  return found
end

-- Returns the semantic tokens of the cursor's line, each with its type. Columns are bytes: the module is ASCII.
local function tokens()
  local answer, client = ask("textDocument/semanticTokens/full", document())
  local types = client.server_capabilities.semanticTokensProvider.legend.tokenTypes
  local text, line, column, found = vim.api.nvim_get_current_line(), 1, 0, {}
  for at = 1, #answer.data, 5 do
    local down, right, length, kind = unpack(answer.data, at, at + 3)
    line, column = line + down, down == 0 and column + right or right
    if line == vim.fn.line(".") then
      table.insert(found, text:sub(column + 1, column + length) .. " " .. types[kind + 1])
    end
  end
  return table.concat(found, ", ")
end

-- Returns the labels of the inlay hints of the cursor's line, which Neovim shows by itself since 0.10.
local function hints()
  local line, length = vim.fn.line(".") - 1, #vim.api.nvim_get_current_line()
  local range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = length } }
  local found = ask("textDocument/inlayHint", vim.tbl_extend("error", document(), { range = range }))
  if vim.lsp.inlay_hint then
    vim.lsp.inlay_hint.enable(true)
    wait("Neovim does not have the server's inlay hints", function()
      return #vim.lsp.inlay_hint.get({ bufnr = 0, range = range }) == #found
    end)
  end
  return table.concat(vim.tbl_map(function(hint)
    return hint.label
  end, found), ", ")
end

-- Requests that only read the module.
local function read()
  go("%rd9,")
  local places = ask("textDocument/documentHighlight", here())
  check(#places == 5 and line_of(places[1]) == "\t.reg .b64 \t%rd<13>;", vim.inspect(places))

  go("@%p2 bra")
  check(tokens() == "%p2 variable, bra keyword, $L__BB0_7 label", tokens())
  go("mov.u32 \t%r2")
  check(tokens() == "mov keyword, .u32 modifier, %r2 variable, %ntid enumMember", tokens())

  local folds = {}
  for _, fold in ipairs(ask("textDocument/foldingRange", document())) do
    folds[lines()[fold.startLine + 1]] = fold.kind .. " to " .. lines()[fold.endLine + 1]
  end
  check(folds[")"] == "region to }" and folds["//"] == "comment to //", vim.inspect(folds))

  go("%r1, %r2, %r3;", 5)
  local help = ask("textDocument/signatureHelp", here())
  local signature = help.signatures[help.activeSignature + 1]
  local first, last = unpack(signature.parameters[help.activeParameter + 1].label)
  check(signature.label == "mad.lo.s32 d, a, b, c", signature.label)
  check(signature.label:sub(first + 1, last) == "b", vim.inspect(help))

  local named = ask("workspace/symbol", { query = "F16" })
  check(#named == 1 and line_of(named[1].location) == ".visible .entry k_f16(", vim.inspect(named))

  go("setp.ge.s64")
  check(hints() == ": .pred", hints())
  go("min.f32 \t%r34")
  check(hints() == ": .b32, = 255.0", hints())

  vim.lsp.codelens.refresh()
  local lens
  wait("Neovim has no code lenses", function()
    lens = vim.lsp.codelens.get(0)[1]
    return lens
  end)
  check(line_of(lens):find("k_f16") and lens.command.title == "needs PTX 4.2, sm_53", vim.inspect(lens))
end

-- Requests whose edits Neovim applies.
local function write()
  go("%rd9,")
  vim.lsp.buf.rename("%wide9")
  wait("the family is not renamed", function()
    return vim.fn.search("\\V.reg .b64 \t%wide<13>;", "n") > 0
  end)
  local body = table.concat(lines(), "\n"):match("k_f16%(.-\n}")
  check(body:find("add.s64 \t%wide10, %wide1, %wide9;", 1, true) and not body:find("%rd", 1, true), body)
  go("add.s64 \t%rd10, %rd1, %rd9;") -- The next function has a family of the same name.

  go("$L__BB0_7;")
  vim.lsp.buf.rename("$store")
  wait("the label is not renamed", function()
    return vim.fn.search("\\V\\^$store:", "n") > 0
  end)
  go("bra.uni \t$store;")
  check(vim.fn.search("\\V$L__BB0_7", "nw") == 0, "a place keeps the label's old name")

  local function words()
    return (table.concat(lines(), " "):gsub("%s+", " "))
  end
  local before, count = words(), #lines()
  local format = vim.lsp.buf.format or vim.lsp.buf.formatting_sync -- before 0.8, with the timeout behind the options
  format({ timeout_ms = 10000 }, 10000)
  check(words() == before and #lines() == count, "formatting changes more than blanks")
  go("mad.lo.s32")
  local line = vim.api.nvim_get_current_line()
  check(line == "\tmad.lo.s32      %r4, %r1, %r2, %r3;", line)
  wait("the module's last error does not follow the edits", function()
    local error = vim.diagnostic.get(0)[1]
    return error and lines()[error.lnum + 1]:find("%wide4", error.col + 1, true) == error.col + 1
  end)
end

local function run()
  vim.cmd("edit " .. vim.fn.fnameescape(module))
  local found = diagnostics(3)
  check(found[1].message:find("`.lo` is not a valid `.CmpOp`", 1, true), vim.inspect(found[1]))
  check(found[1].code == "illegal-modifier" and found[1].source == "ptx-isa", vim.inspect(found[1]))

  go("mad.lo.s32")
  local hover = ask("textDocument/hover", here()).contents.value
  check(hover:find("mad.lo.s32  d, a, b, c;", 1, true) and hover:find("PTX 7.0, sm_80", 1, true), hover)
  go("%rd9,")
  hover = ask("textDocument/hover", here()).contents.value
  check(hover:find(".reg .b64 %rd<13>", 1, true), hover)

  go("setp.lo.f16", 5)
  local labels = {}
  for _, item in ipairs(ask("textDocument/completion", here()).items) do
    labels[item.label] = true
  end
  check(labels.lt and labels.neu and not labels.lo, vim.inspect(labels))

  go("$L__BB0_7;")
  local definition = ask("textDocument/definition", here())
  check(line_of(definition) == "$L__BB0_7:", line_of(definition))
  local references = vim.tbl_extend("error", here(), { context = { includeDeclaration = true } })
  check(#ask("textDocument/references", references) == 4, "four places name the label")

  local symbols = ask("textDocument/documentSymbol", document())
  check(symbols[1].name == "k_f16" and #symbols[1].children > 5, vim.inspect(symbols[1].name))

  -- The quick fix of the order of modifiers, as Neovim applies it; then what is typed.
  go("setp.lt.f32.ftz", 2)
  local range = vim.lsp.util.make_range_params(0, "utf-16")
  range.context = { diagnostics = {}, only = { "quickfix" } }
  local actions = ask("textDocument/codeAction", range)
  check(#actions == 1 and actions[1].isPreferred, vim.inspect(actions))
  vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
  go("setp.lt.ftz.f32")
  diagnostics(2)
  go("setp.lo.f16", 6)
  vim.cmd("normal! rt")
  diagnostics(1)

  read()
  write()
end

local fine, problem = xpcall(run, debug.traceback)
if not fine then
  fail(tostring(problem))
end
print([[
Neovim has diagnostics, hover, completion, signature help, definition, references, highlights, symbols of the document
and the workspace, semantic tokens, folds, inlay hints, code lenses, a quick fix, renaming and formatting
]])
vim.cmd("qall!")
