package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/outrunner/outrunner"

// file is one Go file of the project.
type file struct {
	name   string // from the top of the repository, with slashes
	test   bool
	lines  int
	syntax *ast.File
}

func (f file) dir() string { return path.Dir(f.name) }

// imports are the paths that the file imports.
func (f file) imports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

// source parses every Go file of the repository.
func source(t *testing.T) []file {
	t.Helper()
	top := filepath.Join("..", "..")
	fset := token.NewFileSet()
	var files []file
	err := filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); e.IsDir() && p != top && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, p)
		files = append(files, file{
			name: filepath.ToSlash(name), test: strings.HasSuffix(p, "_test.go"),
			lines: strings.Count(string(text), "\n"), syntax: syntax,
		})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}
