// Command outrunner runs AI agents and shells of this machine for a server
// elsewhere, through one outgoing connection; or is that server; or both.
//
// A file per subcommand: it parses, wires and runs, and decides nothing. What
// they share:
//
//   - main.go, exit.go: the way in, and which error ends with which code.
//   - root.go: global flags, the config file, the logger.
//   - listen.go, runner.go: a serving server and a running runner, made of the
//     house's rooms; the checks that the rooms fit each other's ports.
//   - connect.go: the user-side client and its flags.
//   - table.go: rows for people, JSON lines for programs.
package main
