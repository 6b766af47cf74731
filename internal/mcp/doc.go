// Package mcp shows the runner's tools to a program that speaks the Model
// Context Protocol: an agent that was started by the runner, or any CLI that can
// be given an MCP server. It is a bridge and keeps nothing: what a tool does is
// done by the runner, reached through a socket in its state directory, so the
// bridge needs no credentials. A tool that is refused is a result that says so;
// only a runner that is not there is an error of the protocol.
package mcp
