package server

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// originInternal is the Origin of runners (server.md 6).
const originInternal = "omnigent://internal"

// safety refuses, before anything is looked at, what a web page in the user's
// browser could send to a port of this machine.
//
//   - Host: a page whose name was re-pointed at this machine (DNS rebinding)
//     still sends its own name.
//   - Origin: a page of another origin says so; our own programs send none.
//   - Content-Type: what a form can post without being asked is neither JSON
//     nor, without an Origin, multipart.
//
// It sends no CORS headers, so what a page may send it may still not read.
func (s *Server) safety(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.allowedHost(r) {
			fail(w, s.log, detail(http.StatusForbidden,
				"The host %q is not a name of this server; if it should be, add it to public_hosts.", clip(r.Host, 100)))
			return
		}
		if origins := r.Header.Values("Origin"); len(origins) > 0 && !ownOrigin(origins, r.Host) {
			fail(w, s.log, detail(http.StatusForbidden, "Requests from the origin %q are not allowed.", clip(origins[0], 100)))
			return
		}
		if !allowedType(r) {
			fail(w, s.log, detail(http.StatusUnsupportedMediaType, "A request with a body must be application/json or multipart/form-data."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowedHost is the Host rule: the address listened on, a loopback name with
// any port, or a public host.
func (s *Server) allowedHost(r *http.Request) bool {
	name, port := splitHost(r.Host)
	if name == "" {
		return false
	}
	if isLoopbackName(name) || s.publicHost(r.Host) {
		return true
	}
	listenName, listenPort := splitHost(s.cfg.Listen)
	if listenPort != "" && port != listenPort {
		return false
	}
	if strings.EqualFold(name, listenName) && listenName != "" {
		return true
	}
	// Listening on every address: the one on which this connection came. It is
	// a number, which no page can re-point.
	want, err := netip.ParseAddr(name)
	return err == nil && isUnspecified(listenName) && localAddr(r) == want.Unmap()
}

// publicHost says whether a Host is one of the configured names.
func (s *Server) publicHost(host string) bool {
	name, _ := splitHost(host)
	for _, p := range s.cfg.PublicHosts {
		pname, pport := splitHost(p)
		if strings.EqualFold(name, pname) && name != "" && (pport == "" || strings.EqualFold(host, p)) {
			return true
		}
	}
	return false
}

// ownOrigin says whether an Origin is the page that this very Host serves, or
// a runner.
func ownOrigin(origins []string, host string) bool {
	if len(origins) != 1 {
		return false
	}
	origin := origins[0]
	if origin == originInternal {
		return true
	}
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if rest, ok := strings.CutPrefix(origin, scheme); ok {
			return strings.EqualFold(strings.TrimSuffix(rest, port), strings.TrimSuffix(host, port))
		}
	}
	return false
}

// allowedType is the Content-Type rule.
func allowedType(r *http.Request) bool {
	given := r.Header.Values("Content-Type")
	if len(given) == 0 {
		return r.ContentLength == 0
	}
	media, _, err := mime.ParseMediaType(given[0])
	return err == nil && len(given) == 1 && (media == "application/json" || media == "multipart/form-data")
}

func splitHost(host string) (name, port string) {
	if n, p, err := net.SplitHostPort(host); err == nil {
		return strings.TrimSuffix(n, "."), p
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), "."), ""
}

func isLoopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

func isUnspecified(name string) bool {
	addr, err := netip.ParseAddr(name)
	return name == "" || err == nil && addr.IsUnspecified()
}

// localAddr is the address of this machine on which the request came.
func localAddr(r *http.Request) netip.Addr {
	a, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if a == nil {
		return netip.Addr{}
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// clip shortens a text for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
