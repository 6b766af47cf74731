package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed dist
var built embed.FS

// policy is what a page may do. It loads nothing from elsewhere, no script that
// is not a file of ours, and can be framed by nobody. Inline styles are allowed
// since xterm.js makes style elements; no text of a model ever becomes markup,
// so that none can bring its own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self' ws: wss:; " +
	"img-src 'self' data: blob:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// index is the page itself, assets what it loads, each under a name that says
// what is in it.
const (
	index  = "index.html"
	assets = "assets/"
)

// Handler serves the pages: their files, and the page for every path at which
// it shows something. What is at none is the page too, with the status 404.
func Handler() http.Handler {
	dist, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	return pages{dist}
}

type pages struct{ files fs.FS }

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", connectTo(r.Host))
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The pages can only be read.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	switch info, err := fs.Stat(p.files, name); {
	case err == nil && !info.IsDir() && name != index:
		if strings.HasPrefix(name, assets) {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			h.Set("Cache-Control", "no-cache")
		}
		http.ServeFileFS(w, r, p.files, name)
	case strings.HasPrefix(name, assets): // of another version: not the page
		h.Set("Cache-Control", "no-store")
		http.Error(w, "There is no such file.", http.StatusNotFound)
	default:
		p.page(w, r, name)
	}
}

// connectTo is the policy with WebSockets to the page's own host only: not all
// browsers take 'self' to mean them.
func connectTo(host string) string {
	if host == "" || strings.ContainsAny(host, " ;,'\"\r\n\t") {
		return strings.Replace(policy, " ws: wss:", "", 1)
	}
	return strings.Replace(policy, "ws: wss:", "ws://"+host+" wss://"+host, 1)
}

func (p pages) page(w http.ResponseWriter, r *http.Request, name string) {
	body, err := fs.ReadFile(p.files, index)
	if err != nil {
		http.Error(w, "The pages are not built in; run make web.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if !isRoute(name) {
		w.WriteHeader(http.StatusNotFound)
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the browser may be gone
	}
}

// isRoute says whether the page shows something at a path.
func isRoute(name string) bool {
	session, ok := strings.CutPrefix(name, "c/")
	return name == "" || name == index || ok && session != "" && !strings.Contains(session, "/")
}
