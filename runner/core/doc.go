// Package core is the deterministic heart of the runner: one pure step
// function over everything the runner knows of its sessions.
//
//	Step(time, event) -> records (what must be durable), effects (what must happen)
//
// It does no I/O, reads no clock, starts no goroutine and takes no lock; its
// owner, the loop of package runner, calls it from one goroutine, makes the
// records durable and only then carries out the effects. What an effect learns
// comes back as an event. The core never waits inside a step: whatever needs an
// answer is an ask, and the answer is an event that names it.
//
// Durable state changes in one function, apply, and a restart folds apply over
// the journal, so that memory and journal cannot differ. Every change of
// anything ends in one function, advance, which asks catchup/plan what the
// session needs now. A turn's slot is freed in one function, endTurn.
//
// Read state.go for what is kept, event.go and effect.go for the vocabulary,
// core.go for the step, advance.go for the decisions.
package core
