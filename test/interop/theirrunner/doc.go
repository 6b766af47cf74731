// Package theirrunner plays the published runner against our server: what its
// owner would see who points it at `outrunner server`.
package theirrunner
