// Package wire is the vocabulary that the runner, the catch-up scan and every
// adapter share: items and snapshots as the server tells them, agent trees,
// harness events, and the records that make the runner's state durable.
//
// It is a leaf: plain data and a few pure functions, no I/O and nothing of
// ours imported. A type lives here when two rooms of the house must mean the
// same thing by it; what only one room needs stays in that room.
package wire
