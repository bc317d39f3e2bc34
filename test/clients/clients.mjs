// Reads what ctx wrote into the files of clients with the libraries of another language: the entry is there as each client wants it,
// and everything that stood in the file before is there still. Usage: clients.mjs REPORT.json (of install --all-agents)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse as parseTOML } from "smol-toml";
import { parse as parseJSONC, printParseErrorCode } from "jsonc-parser";
import YAML from "yaml";

const argv = ["ctx", "mcp", "serve"];
const launch = { command: "ctx", args: ["mcp", "serve"] };
const wanted = {
  codex: ["mcp_servers", launch], "grok-build": ["mcp_servers", launch],
  "claude-code": ["mcpServers", { type: "stdio", ...launch }], cursor: ["mcpServers", { type: "stdio", ...launch }],
  opencode: ["mcp", { type: "local", command: argv, enabled: true }], mimocode: ["mcp", { type: "local", command: argv, enabled: true }],
  goose: ["extensions", { enabled: true, type: "stdio", name: "ctx", cmd: "ctx", args: launch.args, timeout: 300 }],
  cline: ["mcpServers", { ...launch, disabled: false, autoApprove: [] }],
  "github-copilot": ["mcpServers", { ...launch, type: "local", tools: ["*"] }],
  zed: ["context_servers", launch],
};

function read(path) {
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".toml")) return parseTOML(text);
  if (path.endsWith(".yaml")) return YAML.parse(text, { strict: true });
  const errors = [];
  const value = parseJSONC(text, errors, { allowTrailingComma: true });
  assert.deepEqual(errors.map((e) => printParseErrorCode(e.error)), [], path);
  return value;
}

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
let checked = 0;
for (const row of report.results) {
  if (!row.supported) continue;
  assert.ok(row.success, `${row.agent}: ${row.error}`);
  const document = read(row.path);
  if (row.agent === "continue") {
    assert.deepEqual(document.mcpServers.find((s) => s.name === "ctx"), { name: "ctx", ...launch });
  } else {
    const [table, entry] = wanted[row.agent] ?? ["mcpServers", launch];
    assert.deepEqual({ ...document[table].ctx }, entry, row.agent);
  }
  if (report.scope === "global") assert.equal(document.kept ?? document.mcp_servers?.kept, "as it was", `${row.agent} lost what was there`);
  checked++;
}
assert.ok(checked >= (report.scope === "global" ? 15 : 12), `${checked} files`);
console.log(`clients: ${checked} files of ${report.scope} scope are read as meant`);
