package core

// mix is a kind of world: who is in it, and what happens there, the frequent
// first.
type mix struct {
	name string
	cast []string
	acts []string
}

var often = []string{"answer", "answer", "answer", "answer", "forward"}

func and(acts ...string) []string { return append(often[:len(often):len(often)], acts...) }

var mixes = []mix{
	{"turns", []string{"T", "P"}, and("write", "works", "write", "approval", "write", "another", "message", "message", "end", "stream", "missed", "up", "init", "again", "down",
		"interrupt", "stop_session", "timer", "restart", "seen", "checkpoint", "unstored", "marker", "elsewhere", "rebind", "archive", "reset", "get",
		"effort_change", "unknown_kind", "request gone", "delete", "list tools", "result", "skill", "retire", "agent", "use terminal",
		"of a terminal")},
	{"identity", []string{"C", "X", "G", "T"}, and("message", "message", "end", "init", "status", "stream", "reset", "up", "down", "missed",
		"timer", "revision", "restart", "again", "delete", "get", "wipe", "deleted on the server")},
	{"delivery", []string{"N", "P", "C", "O", "I", "T"}, and("status", "message", "end", "status", "busy", "read", "stream", "read again", "init", "up",
		"timer", "interrupt", "restart", "reset", "delete", "cancel", "checkpoint", "down", "request gone")},
	{"remote", []string{"R", "Q", "G", "C"}, and("status", "status", "read", "init", "message", "end", "stream", "up", "restart", "delete", "timer", "busy",
		"insists", "retire")},
	{"native", []string{"O", "N", "K"}, and("in a terminal", "status", "interrupt", "send by id", "interrupt", "end", "status", "a guess", "cancel", "parent deleted", "status", "overtaken", "busy", "timer", "message", "up", "read", "restart", "stop_session", "cancel",
		"reset", "init")},
	{"dispatch", []string{"P", "C", "O", "K"}, and("send", "send", "end", "read", "made elsewhere", "status", "send by id", "up", "busy", "cancel", "write",
		"timer", "interrupt", "stream", "create", "restart", "look up", "closed on the server", "init", "reset", "delete", "down", "request gone")},
	{"recovery", []string{"P", "C", "N"}, and("send", "dispatched elsewhere", "read", "status", "end", "read", "restart", "init", "up", "wipe", "stream",
		"timer", "busy", "deleted on the server", "down", "checkpoint")},
}
