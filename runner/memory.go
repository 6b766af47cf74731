package runner

import (
	"slices"
	"sync"

	"github.com/outrunner/outrunner/runner/wire"
)

// MemoryJournal is a Journal that lives as long as the process: for tests, and
// for programs that need no more. The zero value is empty and ready.
type MemoryJournal struct {
	mu      sync.Mutex
	records []wire.Record
}

var _ Journal = (*MemoryJournal)(nil)

// Load implements Journal.
func (j *MemoryJournal) Load() ([]wire.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.records), nil
}

// Commit implements Journal.
func (j *MemoryJournal) Commit(records []wire.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, records...)
	return nil
}

// Replace implements Journal.
func (j *MemoryJournal) Replace(records []wire.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = slices.Clone(records)
	return nil
}
