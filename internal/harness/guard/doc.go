// Package guard runs one program so that nothing of it is left behind.
//
// Every harness process of the runner has a guard between the two: a copy of
// this binary in its hidden subcommand `guard` (Main). Its standard input is a
// pipe from the runner (orders), its standard output a pipe to the runner
// (reports), and its standard error is where the program writes. So the guard
// knows the moment the runner dies, however it dies: the order pipe ends.
//
// The program and all that descends from it are the family. When the program
// ends by itself, the order pipe ends, or the runner says so, the guard walks
// down the same ladder: interrupt, terminate, kill, with a grace between the
// steps; and it reports the end only when the family is gone.
//
// How sure that is depends on the system. On Linux the guard is a subreaper:
// double forks and setsid do not escape it. On Windows a job object holds the
// family. On macOS a process that leaves the program's group and whose parent
// has died is not found. On all of them a process that runs as somebody else
// (sudo) cannot be killed; after KillLimit it is counted and left.
package guard
