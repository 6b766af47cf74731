// Package fakeserver answers a runner as the upstream server does, from a state
// that the test writes, and with the faults that the test orders.
//
// A Server takes the runner's tunnel (package tunnel's server end) and serves
// the calls that a runner makes: snapshots, items, agents, posted events, labels,
// children, policies, tools (server.go routes them; one file each). What the
// runner posts changes the state as it would at a real server: an item is stored
// once per source id, a message becomes an item and is forwarded to the runner.
// Do and Forward send requests through the tunnel; Watch keeps a session's
// stream open over every connection and records its events; Drop ends the
// connection. Every call is recorded in order, and a Fault breaks the calls that
// it matches.
package fakeserver
