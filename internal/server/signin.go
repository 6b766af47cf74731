package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// signInPath is where the form goes.
	signInPath = "/sign-in"
	// cookiePrefix begins the cookie's name; the port ends it, since browsers
	// do not keep the cookies of two ports apart.
	cookiePrefix = "outrunner_"
	// cookieLife is how long a browser stays signed in.
	cookieLife = 30 * 24 * time.Hour
	// maxSignIn bounds the form, in bytes.
	maxSignIn = 16 << 10
)

// signIn lets a person in who opens the pages from elsewhere: they give the
// server's token once, and the browser keeps a cookie. The token is in no URL,
// and the cookie is not the token. A page of another site cannot use it: it is
// not sent from there (SameSite), and what such a page asks for is refused by
// its Origin (safety.go).
func (s *Server) signIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == signInPath && r.Method == http.MethodPost {
			s.takeToken(w, r)
			return
		}
		if isPage(r) && strings.Contains(r.Header.Get("Accept"), "text/html") {
			if _, err := s.authn(r); err != nil {
				s.showSignIn(w, http.StatusUnauthorized, signInForm{Next: r.URL.Path})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// cookieSecret is the value of the cookie: whoever has the token can make it,
// and it tells nobody the token. A new token ends all of them.
func (s *Server) cookieSecret() string {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("outrunner browser 1"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func cookieName(r *http.Request) string {
	_, port := splitHost(r.Host)
	return cookiePrefix + firstOf(port, "default")
}

// signedIn says whether a request comes from a browser that was let in.
func (s *Server) signedIn(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if sameSecret(c.Value, s.cookieSecret()) {
			return true
		}
	}
	return false
}

// takeToken is POST /sign-in.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) {
	form, err := readSignIn(w, r)
	if err != nil {
		fail(w, s.log, err)
		return
	}
	if !sameSecret(strings.TrimSpace(form.token), s.token) {
		s.log.Warn("a sign-in with a wrong token", "peer", r.RemoteAddr)
		s.showSignIn(w, http.StatusUnauthorized, signInForm{Next: form.Next, Wrong: true})
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: s.cookieSecret(), Path: "/", MaxAge: int(cookieLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
}

// signInForm is what the page shows and sends.
type signInForm struct {
	Next  string // where to go then: a path of this server's
	Wrong bool
	token string
}

func readSignIn(w http.ResponseWriter, r *http.Request) (form signInForm, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	parts, err := r.MultipartReader()
	if err != nil {
		return form, detail(http.StatusUnsupportedMediaType, "A sign-in is multipart/form-data.")
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return form, badInput("the form can not be read: %v", err)
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return form, badInput("the form can not be read: %v", err)
		}
		switch part.FormName() {
		case "token":
			form.token = string(value)
		case "next":
			form.Next = string(value)
		}
	}
	form.Next = ownPath(form.Next)
	return form, nil
}

// ownPath is a path of this server's, "/" for anything that could lead away.
func ownPath(p string) string {
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsAny(p, "\\\r\n\t\x00") {
		return "/"
	}
	return p
}

func (s *Server) showSignIn(w http.ResponseWriter, status int, form signInForm) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	// With no-referrer a browser would send the form with the origin "null".
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	if err := signInPage.Execute(w, form); err != nil {
		s.log.Debug("writing the sign-in page", "error", err)
	}
}

var signInPage = template.Must(template.New("sign-in").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>outrunner: sign in</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 90vh; margin: 0 }
form { width: min(22rem, 90vw); display: grid; gap: .75rem }
h1 { font-size: 1.25rem; margin: 0 } p { margin: 0 }
input, button { font: inherit; padding: .5rem .75rem; border-radius: .5rem; border: 1px solid GrayText }
button { cursor: pointer } .wrong { color: #c62828 }
</style></head><body>
<form method="post" action="/sign-in" enctype="multipart/form-data">
<h1>Sign in to this outrunner server</h1>
{{if .Wrong}}<p class="wrong" role="alert">That is not this server's token.</p>{{end}}
<p>It is in the file <code>server/token</code> of the state directory, on the machine that the server runs on.</p>
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<input name="next" type="hidden" value="{{.Next}}">
<button>Sign in</button>
</form></body></html>
`))
