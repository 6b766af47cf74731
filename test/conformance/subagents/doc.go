// Package subagents runs the built runner behind a fake of the upstream server
// (test/testkit/fakeserver) and holds it to what it promises of sub-agents: a
// child is answered by its own harness and never by its parent's, and its result
// reaches its parent once.
//
// Which harness was asked for is proved by which program was started: every
// harness id of the config file is a small program that writes its name and its
// session to a file (world_test.go). seeds_test.go has the scenarios that the
// project began with, faults_test.go unreadable snapshots, crash_test.go kills,
// reconnect_test.go interrupted scans, rebuild_test.go a lost journal, and
// replay_test.go what a real server asked.
package subagents
