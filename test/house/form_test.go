package house

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxLines is where a file holds more than one idea.
const maxLines = 500

func TestFilesAreShort(t *testing.T) {
	for _, f := range source(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines: split it by idea, the limit is %d", f.name, f.lines, maxLines)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range source(t) {
		if _, seen := documented[f.dir()]; !seen {
			documented[f.dir()] = false
		}
		if path.Base(f.name) == "doc.go" && f.syntax.Doc != nil && len(strings.TrimSpace(f.syntax.Doc.Text())) > 80 {
			documented[f.dir()] = true
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: doc.go with a package comment is missing, or it says nothing", dir)
		}
	}
}

func TestEveryPackageWithTestsLooksForLeaks(t *testing.T) {
	tested, watched := map[string]bool{}, map[string]bool{}
	for _, f := range source(t) {
		if !f.test {
			continue
		}
		tested[f.dir()] = true
		if path.Base(f.name) == "main_test.go" && verifies(f.syntax) {
			watched[f.dir()] = true
		}
	}
	require.NotEmpty(t, tested)
	for dir := range tested {
		if !watched[dir] {
			t.Errorf("%s has tests, and no main_test.go with a TestMain that calls goleak.VerifyTestMain", dir)
		}
	}
}

// verifies reports whether a file's TestMain calls goleak.VerifyTestMain.
func verifies(syntax *ast.File) bool {
	found := false
	for _, decl := range syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "TestMain" || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "VerifyTestMain" {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "goleak" {
					found = true
				}
			}
			return true
		})
	}
	return found
}

func TestNothingIsLeftForLater(t *testing.T) {
	for _, f := range source(t) {
		for _, group := range f.syntax.Comments {
			for _, word := range []string{"TODO", "FIXME"} {
				if strings.Contains(group.Text(), word) && f.dir() != "test/house" {
					t.Errorf("%s has a %s: do it, or file an issue", f.name, word)
				}
			}
		}
	}
}
