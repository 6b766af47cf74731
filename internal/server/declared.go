package server

import "github.com/outrunner/outrunner/runner/wire"

// terminalNames lists the terminals that an agent declares, in its order. A
// sub-agent that is not in the tree any more has none.
func terminalNames(spec *wire.Spec) []string {
	names := []string{}
	if spec != nil {
		for _, d := range spec.Terminals {
			names = append(names, d.Name)
		}
	}
	return names
}
