// Package tunnel carries HTTP requests, event streams and terminal channels
// from a server to a runner behind NAT, over one WebSocket that the runner
// dials. It knows frames and HTTP, and nothing of what they mean.
//
// A Client is the runner's end: it dials, says hello, hands each request frame
// to an http.Handler, and dials again when the connection ends. A Server is
// the other end: an http.Handler that takes those connections, and a
// RoundTripper per runner that sends requests through them.
//
// Each connection is a link, the same at both ends. Its reader decodes frames
// and hands them over, and never waits for anything. Its writer takes messages
// from queues, control before interactive before bulk, and is the only one
// that waits for the connection. A pipe between the WebSocket library and the
// connection keeps it so. What is bounded, and what happens at the bound, is
// in Limits; every duration is in Timing.
//
// Files, from the connection up: pipe, control, window, sched, writer, queue,
// reader, watch, link; then dial, client, runnerend, dispatch, call, response
// for the runner; accept, registry, server, serverend, exchange, roundtrip for
// the server; channel and inbox for both; frame, decode, encode for the wire.
package tunnel
