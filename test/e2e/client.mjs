// Drives `ctx mcp serve` with the official TypeScript client and prints a transcript. Usage: node client.mjs PATH-OF-CTX
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { record } from "./transcript.mjs";

const transport = new StdioClientTransport({ command: process.argv[2], args: ["mcp", "serve"], env: process.env, stderr: "pipe" });
const client = new Client({ name: "e2e", version: "1" });
let problems = "";
client.onerror = (error) => { problems += `${error}\n`; };
await client.connect(transport);
transport.stderr.on("data", (chunk) => { problems += chunk; });

record("server", { name: client.getServerVersion().name, capabilities: client.getServerCapabilities(), instructions: client.getInstructions() });
await client.ping();
record("tools", (await client.listTools()).tools.map(({ name, title, inputSchema }) => ({ name, title, required: inputSchema.required, properties: Object.keys(inputSchema.properties) })));

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  record(`${name} ${JSON.stringify(args)}`, result);
  return result.structuredContent;
}

const found = await call("search", { query: "deadlock" });
await call("search", { query: "deadlock", compact: true });
await call("search", { query: "deadlock", since: "2030-01-01T00:00:00Z" });
await call("search", { query: "deadlock", limit: 0 });
const { ctx_session_id: session, ctx_event_id: event } = found.results[0];

// All pages of a session, one event each, are the whole session.
const whole = await call("show_session", { ctx_session_id: session, mode: "log" });
let paged = [];
for (let cursor; ;) {
  const page = (await client.callTool({ name: "show_session", arguments: { ctx_session_id: session, mode: "log", limit: 1, ...(cursor && { cursor }) } })).structuredContent;
  paged = paged.concat(page.events);
  assert.equal(page.pagination.has_more, page.pagination.next_cursor !== undefined);
  if (!(cursor = page.pagination.next_cursor)) break;
}
assert.deepEqual(paged, whole.events);

await call("show_event", { ctx_event_id: event.slice(0, 8), window: 1 });
await call("show_event", { ctx_event_id: "ffffffff" });
const listed = await call("query_events", { content: "none", limit: 2 });
await call("query_events", { content: "none", limit: 2, cursor: listed.next_cursor });
await call("query_events", { since: "yesterday" });
const status = await client.callTool({ name: "status", arguments: {} });
assert.equal(status.structuredContent.initialized, true);
const sources = await client.callTool({ name: "sources", arguments: {} });
assert.ok(sources.structuredContent.sources.some((row) => row.provider === "claude" && row.importable));
await assert.rejects(client.callTool({ name: "sql", arguments: {} }), /no such tool|Invalid params/);

// Many calls at once: each gets its own answer.
const words = ["deadlock", "order", "locks", "nothing"];
const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => client.callTool({ name: "search", arguments: { query: words[i % words.length] } })));
answers.forEach((a, i) => assert.equal(a.structuredContent.query, words[i % words.length]));

assert.equal(problems, "");

// An aborted call rejects here, and the server goes on.
const abort = new AbortController();
const aborted = client.callTool({ name: "search", arguments: { query: "deadlock" } }, undefined, { signal: abort.signal });
abort.abort();
await assert.rejects(aborted);
await client.ping(); // the answer may have been on its way; the client says so and drops it

await client.close();
