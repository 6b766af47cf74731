// Package agents lets real agents answer through the runner's harnesses. Its
// tests are behind the build tag interop, since the agents are large and come
// from elsewhere; the model behind them is modelmock, so that they stay offline.
//
// OUTRUNNER_INTEROP_OPENCODE is the path of the program opencode, from the
// package opencode-ai of npm, version 1.18.33.
package agents
