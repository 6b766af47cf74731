//go:build mutants

package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Most rules are switched: one build has the rule and its neutral form, and the
// number in MUTANT says which counts. What cannot be written so is built apart.

// switches are the changes of one file, by line.
type switches struct {
	source []string
	lines  map[int]map[int]string // line: rule: its neutral form
	blocks map[int][2]int         // rule: the lines that it leaves out
}

// add switches a rule. It returns false for one that must be built apart.
func (s *switches) add(t *testing.T, number int, r rule) bool {
	found := r.find(t, s.source)
	if len(r.neutral) == 1 && strings.TrimSpace(r.neutral[0]) == "" {
		s.blocks[number] = [2]int{found, found + len(r.lines)}
		return true
	}
	if len(r.neutral) != len(r.lines) {
		return false
	}
	changed := map[int]string{}
	for n := range r.lines {
		old, neutral := strings.TrimSpace(s.source[found+n]), strings.TrimSpace(r.neutral[n])
		if n == len(r.lines)-1 {
			neutral += old[len(r.lines[n]):]
		}
		if old == neutral || strings.HasPrefix(old, "//") {
			continue
		}
		if _, ok := combine(old, map[int]string{number: neutral}); !ok {
			return false
		}
		changed[found+n] = neutral
	}
	for at, neutral := range changed {
		if s.lines[at] == nil {
			s.lines[at] = map[int]string{}
		}
		s.lines[at][number] = neutral
	}
	return true
}

// text is the file with all its switches.
func (s *switches) text() string {
	out := append([]string{}, s.source...)
	for at, forms := range s.lines {
		out[at], _ = combine(strings.TrimSpace(s.source[at]), forms)
	}
	for number, block := range s.blocks {
		out[block[0]] = fmt.Sprintf("if mutant != %d {\n%s", number, out[block[0]])
		out[block[1]-1] += "\n}"
	}
	return strings.Join(out, "\n")
}

var (
	condition   = regexp.MustCompile(`^((?:if|for) (?:[^;{]+; )?|case |)([^;]+?)( \{|:)(?: //.*)?$`)
	fragment    = regexp.MustCompile(`^(if |return |)([^;{]+?)( \|\|| &&)$`)
	declaration = regexp.MustCompile(`^(\w+) := (.+)$`)
	statement   = regexp.MustCompile(`^(return .+|c\.\w+\(.*\)|_ = .+|[\w.\[\], ]+ (?:=|\+=) .+|[\w.\[\]]+\+\+)(?: //.*)?$`)
)

// combine writes a line and its neutral forms as one.
func combine(line string, forms map[int]string) (string, bool) {
	for _, shape := range []*regexp.Regexp{condition, fragment} {
		old := shape.FindStringSubmatch(line)
		if old == nil || strings.HasPrefix(line, "func ") {
			continue
		}
		text, others := "", ""
		for number, form := range forms {
			neutral := shape.FindStringSubmatch(form)
			if neutral == nil || neutral[1] != old[1] || neutral[3] != old[3] {
				return "", false
			}
			text += fmt.Sprintf("mutant == %d && (%s) || ", number, either(neutral[2]))
			others += fmt.Sprintf("mutant != %d && ", number)
		}
		return old[1] + "(" + text + others + "(" + either(old[2]) + "))" + old[3], true
	}
	if old := declaration.FindStringSubmatch(line); old != nil {
		text := line + "\nswitch mutant {\n"
		for number, form := range forms {
			neutral := declaration.FindStringSubmatch(form)
			if neutral == nil || neutral[1] != old[1] {
				return "", false
			}
			text += fmt.Sprintf("case %d:\n%s = %s\n", number, neutral[1], neutral[2])
		}
		return text + "}", true
	}
	if !statement.MatchString(line) {
		return "", false
	}
	text := "switch mutant {\n"
	for number, form := range forms {
		if !statement.MatchString(form) {
			return "", false
		}
		text += fmt.Sprintf("case %d:\n%s\n", number, form)
	}
	return text + "default:\n" + line + "\n}", true
}

// either joins the expressions of a case.
func either(list string) string {
	depth, from := 0, 0
	var parts []string
	for n, r := range list {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, list[from:n])
				from = n + 1
			}
		}
	}
	parts = append(parts, list[from:])
	return strings.Join(parts, " || ")
}

// number is the source file that tells which rule is left out.
const number = `package %s

import (
	"os"
	"strconv"
)

var mutant, _ = strconv.Atoi(os.Getenv("MUTANT"))
`

// switched returns an overlay with all rules that can be switched, by their
// numbers, and those that cannot.
func switched(t *testing.T, all []rule) (overlay string, apart map[int]rule) {
	dir := t.TempDir()
	files := map[string]*switches{}
	apart = map[int]rule{}
	for n, r := range all {
		s := files[r.file]
		if s == nil {
			raw, err := os.ReadFile(filepath.Join(root, r.file))
			require.NoError(t, err)
			s = &switches{source: strings.Split(string(raw), "\n"), lines: map[int]map[int]string{}, blocks: map[int][2]int{}}
			files[r.file] = s
		}
		if !s.add(t, n+1, r) {
			apart[n+1] = r
		}
	}
	changed := map[string]string{}
	for file, s := range files {
		changed[file] = s.text()
		pkg := filepath.Base(filepath.Dir(file))
		changed[filepath.Join(filepath.Dir(file), "mutant_number.go")] = fmt.Sprintf(number, pkg)
	}
	return writeOverlay(t, dir, changed), apart
}
