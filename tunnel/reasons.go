package tunnel

import "fmt"

// Cause names why a connection ended or could not be made. The set is closed:
// logs and metrics may use it as a label.
type Cause string

// The causes.
const (
	CauseClosed    Cause = "peer_closed"      // the peer sent a close frame; Code and Text are its own
	CauseLost      Cause = "connection_lost"  // the connection broke without a close frame
	CauseSilent    Cause = "silence"          // no byte for Timing.Silence
	CauseResumed   Cause = "resumed"          // this machine slept
	CauseReplaced  Cause = "replaced"         // server end: a newer connection of the same runner
	CauseFlood     Cause = "flood"            // the peer sent requests faster than they can be refused
	CauseProtocol  Cause = "protocol"         // the peer broke the WebSocket protocol, or sent too large a message
	CauseHello     Cause = "bad_hello"        // server end: no hello, a malformed one, or an unknown version
	CauseShutdown  Cause = "shutdown"         // this end was asked to stop
	CauseDial      Cause = "dial_failed"      // no connection: DNS, TCP, TLS, or no answer in time
	CauseUpgrade   Cause = "upgrade_refused"  // an HTTP answer other than 101; Code is its status
	CauseForeign   Cause = "foreign_answer"   // an HTTP answer of a website, not of a server of ours
	CauseHeader    Cause = "credential_error" // Client.Header failed
	CauseForbidden Cause = "not_admitted"     // server end: Authorize refused after the upgrade
)

// Reason tells why a connection ended or could not be made.
type Reason struct {
	Cause Cause
	Code  int    // WebSocket close code, or HTTP status for CauseUpgrade and CauseForeign; 0 when there is none
	Text  string // for people: the peer's words, or those of an error
}

// String joins what is known for a log line.
func (r Reason) String() string {
	s := string(r.Cause)
	if r.Code != 0 {
		s += fmt.Sprintf(" %d", r.Code)
	}
	if r.Text != "" {
		s += ": " + r.Text
	}
	return s
}

// Close codes of the tunnel (tunnel.md 3).
const (
	closeNormal      = 1000
	closeGoingAway   = 1001
	closeNoStatus    = 1005
	closeInternal    = 1011
	closeRestart     = 1012
	closeTryLater    = 1013
	closeReplaced    = 4000
	closeNoHello     = 4001
	closeVersion     = 4002
	closePingTimeout = 4003
	closeNotAdmitted = 4004
	closeNoChannel   = 4404
	closeFatal       = 4500
)
