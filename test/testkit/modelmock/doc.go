// Package modelmock is the model behind a real agent, on loopback: enough of the
// chat completions API of OpenAI, streamed, for an agent to be tested offline.
//
// What it answers is steered by a word in the last message of the user:
//
//	SAY words      the words
//	SHELL command  a call of the tool bash; then what that said, as text
//	SLOW           a count that goes on until somebody cuts it
//	LINES          the same, a number a line
//	TOOLS          the names of the tools that are offered
//	CALL tool args a call of the tool whose name ends so, with a JSON object
//	RECALL         all that the user has said in the conversation
//	FAIL           an error
//
// A message that tells of results in an inbox is answered by a call of
// sys_read_inbox, and any other by a fixed sentence. A request that offers no tools is a side call
// of the agent, for a title or the like, and gets a short text whatever it says.
package modelmock
