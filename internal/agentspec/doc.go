// Package agentspec reads agents: one YAML file, or a bundle (a gzip tar with
// a config.yaml and one folder per sub-agent), into a tree of wire.Spec
// (server.md 5).
//
//   - parse.go: one YAML file in either of the two accepted forms.
//   - terminals.go: where an agent works, and the terminals that it declares.
//   - fields.go: one mapping of such a file, key by key.
//   - bundle.go: a YAML file as a one-file bundle and back, in memory.
//   - pack.go: a folder as a bundle, and the digest that names its content.
//   - extract.go: any bundle into a folder, whatever its sender put in it.
//   - load.go: an extracted folder into a tree.
//   - errors.go: a fault of the author, as opposed to one of the disk or the line.
//   - loader.go: the runner's Specs port: fetch, extract, load, remember.
//
// A bundle comes from another machine and is hostile input: it is extracted
// beneath an os.Root, with caps and without links, into a folder that nobody
// reads before it is complete. Every error about its content wraps
// wire.ErrRejected and is a sentence that its author can act on; the file is
// named by its path inside the bundle.
package agentspec
