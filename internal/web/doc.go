// Package web has the pages that the server shows: the list of sessions, their
// conversations and their terminals.
//
// They are written in TypeScript in app/, built into dist/ by "make web", and
// embedded from there, so that a Go tool chain alone builds the program. They
// are one page that finds its way by its path, and talk to the server's API
// like any other client. Handler knows nothing of sessions, and nothing it
// serves is secret.
package web
