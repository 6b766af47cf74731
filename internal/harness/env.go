package harness

import (
	"runtime"
	"slices"
	"strings"
)

// basics are the variables that a program needs to find its way, and none
// that tells a secret.
func basics() []string {
	names := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
			"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS")
	}
	return names
}

// secret tells the names that no program ever gets: the runner's own
// credentials, and its upstream namesake's settings.
func secret(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "OMNIGENT_RUNNER_") {
		return true
	}
	ours := strings.HasPrefix(name, "OUTRUNNER_") || strings.HasPrefix(name, "OMNIGENT_")
	return ours && (strings.Contains(name, "TOKEN") || strings.Contains(name, "SECRET"))
}

// environment builds what a program gets: of own, the basics and what is
// named by pass; then what we say; then what the definition says. It is sorted.
func environment(own, pass []string, dir, session, turn string, set map[string]string) []string {
	pass = slices.Concat(basics(), pass)
	vars := make(map[string]string)
	for _, entry := range own {
		// Windows has variables such as "=C:".
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && matches(pass, name) && !secret(name) {
			vars[name] = value
		}
	}
	if utf8Locale() != "" && vars["LC_ALL"] == "" && vars["LC_CTYPE"] == "" && vars["LANG"] == "" {
		// A service often has no locale, and in the "C" one tools mangle every
		// character that is not ASCII.
		vars["LANG"] = utf8Locale()
	}
	vars["TERM"] = "dumb"
	vars["PWD"] = dir
	vars["OMNIGENT"] = "1"
	vars["OUTRUNNER_SESSION_ID"] = session
	vars["OUTRUNNER_TURN_ID"] = turn
	for name, value := range set {
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// utf8Locale is a locale that every machine of this system has, or "" where
// locales are no variables.
func utf8Locale() string {
	switch runtime.GOOS {
	case "windows":
		return ""
	case "darwin":
		return "en_US.UTF-8"
	}
	return "C.UTF-8"
}

// matches tells whether a list of names and beginnings ("LC_*") has name.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		n := name
		if runtime.GOOS == "windows" {
			p, n = strings.ToUpper(p), strings.ToUpper(n)
		}
		if start, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(n, start)
		}
		return p == n
	})
}
