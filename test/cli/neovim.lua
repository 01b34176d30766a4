-- Drives a real Neovim over one file, with the settings that docs/editors.md shows, and writes what it saw as JSON.
-- Called by neovim.test.ts: `settings.lua` and `steps.json` lie in the working directory.
local seen = {}
local steps = vim.fn.json_decode(vim.fn.readfile('steps.json'))

local function wait_for(what, holds)
  if not vim.wait(30000, holds, 20) then error('did not come true in time: ' .. what) end
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

local function put(lines)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(lines, '\n'))
end

-- Puts the cursor on the first letter of the last word of a text.
local function go_to(needle)
  local row = vim.fn.search('\\V' .. needle, 'wce')
  if row == 0 then error('not in the text: ' .. needle) end
  vim.cmd('normal! b')
end

local function ask(method, params)
  local answers = assert(vim.lsp.buf_request_sync(0, method, params, 20000))
  for _, answer in pairs(answers) do
    if answer.error then error(answer.error.message) end
    return answer.result
  end
end

local function diagnostics()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { each.code, each.lnum, each.col, each.end_lnum, each.end_col })
  end
  return found
end

local function run()
  dofile('settings.lua')
  vim.cmd('filetype on')
  vim.cmd('edit case.yaml')
  wait_for('the client is attached', function() return #vim.lsp.buf_get_clients(0) > 0 or next(vim.lsp.buf_get_clients(0)) ~= nil end)
  wait_for('findings', function() return #vim.diagnostic.get(0) >= steps.findings end)
  seen.diagnostics = diagnostics()

  -- The quick fix of a finding, chosen as a person chooses it.
  vim.ui.select = function(items, _, choose) choose(items[1], 1) end
  go_to(steps.misspelt)
  vim.lsp.buf.code_action()
  wait_for('the fix', function() return not text():find(steps.misspelt, 1, true) end)
  seen.fixed = text()

  put(steps.sound)
  wait_for('no finding', function() return #vim.diagnostic.get(0) == 0 end)
  go_to(steps.name)
  local here = vim.lsp.util.make_position_params()
  seen.hover = ask('textDocument/hover', here).contents.value
  local items = vim.lsp.util.text_document_completion_list_to_complete_items(ask('textDocument/completion', here), '')
  seen.completion = vim.tbl_map(function(each) return each.word end, items)

  vim.lsp.buf.rename(steps.renamed)
  wait_for('the new name', function() return text():find(steps.renamed, 1, true) ~= nil end)
  seen.renamed = text()
  put(steps.loose)
  ;(vim.lsp.buf.format or vim.lsp.buf.formatting_sync)()
  seen.formatted = text()
end

local ok, problem = pcall(run)
if not ok then seen = { problem = tostring(problem) } end
vim.fn.writefile({ vim.fn.json_encode(seen) }, 'seen.json')
vim.cmd('qall!')
