// Package observe is how a process tells what it does: one slog logger, as text
// for people or JSON for programs, with every secret taken out at the sink.
//
//   - log.go: the logger.
//   - redact.go: the sink. It sees finished bytes, so no attribute, error or
//     nested value can slip past it.
//
// Keys are stable: tunnel_gen, runner, session, turn, stream, reason, err.
package observe
