-- Starts `ptx-isa lsp` for PTX files.
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = "*.ptx",
  callback = function()
    vim.bo.filetype = "ptx"
    local config = { name = "ptx-isa", cmd = { "ptx-isa", "lsp" } }
    if vim.lsp.start then
      vim.lsp.start(config)
    else -- before 0.8
      vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
    end
  end,
})
