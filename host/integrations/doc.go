// Package integrations adds ctx to the configuration files of other programs and takes it out again: the MCP server entry of
// agent clients, the skill folder and the slash command that teach an agent when to ask ctx.
//
// Vocabulary: a *client* is a program that can start MCP servers; its *scope* is global (the user's own files) or project (files
// below the working directory); a *place* is the file of a client in a scope; the *entry* is the object named "ctx" in it, under
// a *table* such as mcpServers. A *splice* changes the text of a file at one spot: comments, order and spelling of everything
// else stay byte for byte, and the result is parsed again and compared before anything is written.
package integrations
