// Package config is everything that a process is told before it runs, and the
// folder it keeps on disk.
//
//   - file.go: the YAML file, strict: an unknown key is an error with its line.
//   - value.go: durations and sizes as people write them.
//   - layer.go: precedence: flag, then environment, then file, then default.
//   - url.go: the server's address and the loopback rule.
//   - state.go, lock_*.go: the state directory, its rooms, and the lock that
//     keeps each room with one process.
//   - secret.go: the secret that a runner's id is made from.
//
// Every error is one line that names the file, key, folder or variable at
// fault, and what to do.
package config
