// Package harness runs turns in programs: it is the runner's port Harness.
//
// A Manager has a table of definitions, from harness id to adapter and command
// (the config file's `harnesses:`), and a registry of the turns that run now.
// Turn looks the harness up, gives it a folder and an environment, and lets
// its adapter do the rest (adapter.go has their table; one folder each: exec,
// stdio, acp; keep is what the last two share). Interrupt, Close and Shutdown
// find turns in the registry and tell them to stop; how a program is made to
// stop, and that nothing of it stays behind, is the guard's work.
//
// The environment of a program is deny by default (env.go): it gets what it
// needs to find its way on the machine, what the user names, and never a
// credential of the runner.
package harness
