package runner

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestStatusIsReadAsFarAsItIsKnown(t *testing.T) {
	out := "done"
	for data, want := range map[string]core.Status{
		`{"status":"idle","output":"done","turn_completed":true,"response_id":"r1"}`: {
			Status: "idle", Output: &out, Completed: true, Response: "r1",
		},
		`{"status":"idle","turn_outcome":"cancelled","response_id":null}`:                       {Status: "idle", Outcome: wire.Cancelled},
		`{"status":"idle","turn_completed":"true","turn_outcome":"weird","output":7,"extra":1}`: {Status: "idle"},
		`{"status":"failed","error":{"code":"c","message":"m"},"response_id":5}`: {
			Status: "failed", Error: &wire.TurnError{Code: "c", Message: "m"},
		},
		`7`: {},
	} {
		require.Equal(t, want, decodeStatus(map[string]json.RawMessage{"data": json.RawMessage(data)}), data)
	}
}
