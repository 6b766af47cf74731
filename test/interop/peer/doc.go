// Package peer starts the published programs that this project plays together
// with, and ours in their place.
//
// Server is the published server or our own, so that one flow runs on both.
// TheirRunner is the published runner; ours is testkit.Runner. Watch is a
// viewer of a session, who comes back after every cut. Tap is a line between a
// runner and a server that sees the frames, and may add some. Flow runs one
// flow and notes its result for the table.
//
// Everything has fresh ports and folders and ends with its test, each process
// by its id. The programs themselves are installed by ../setup.sh.
package peer
