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

-- What the buffer's server answers, at a pattern of the text.
local function ask(method, params)
  local answers, problem = vim.lsp.buf_request_sync(0, method, params, 10000)
  check(answers, method .. ": " .. tostring(problem))
  for _, answer in pairs(answers) do
    check(not answer.err, method .. ": " .. vim.inspect(answer.err))
    return answer.result
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

local function line_of(location)
  return vim.api.nvim_buf_get_lines(0, location.range.start.line, location.range.start.line + 1, true)[1]
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

  local symbols = ask("textDocument/documentSymbol", { textDocument = vim.lsp.util.make_text_document_params() })
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
end

local fine, problem = xpcall(run, debug.traceback)
if not fine then
  fail(tostring(problem))
end
print("Neovim has diagnostics, hover, completion, definition, references, symbols and a quick fix\n")
vim.cmd("qall!")
