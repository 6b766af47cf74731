package server

import (
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// The largest files of each kind (server.md 2.5), in bytes.
const (
	maxImageFile = 50 << 20
	maxPDFFile   = 20 << 20
	maxTextFile  = 10 << 20
)

// octets is the content type of what has none.
const octets = "application/octet-stream"

// textTypes are the content types outside of text/ whose files are text.
var textTypes = []string{"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
	"application/javascript", "application/x-javascript", "application/typescript", "application/sql", "application/x-sh",
	"application/x-python", "application/x-ipynb+json", "application/x-ndjson", "application/jsonl", "application/graphql"}

// textEndings are the names' endings of files that are text, whatever their
// sender calls them.
var textEndings = strings.Fields(`.txt .md .markdown .rst .log .csv .tsv .json .jsonl .ndjson .ipynb .yaml .yml .toml .ini .cfg .conf .env
	.xml .html .htm .css .scss .less .svg .js .jsx .mjs .cjs .ts .tsx .vue .py .pyi .rb .go .rs .java .kt .kts .scala .c .h .cc .cpp .hpp .cs
	.swift .m .mm .php .pl .lua .r .jl .sh .bash .zsh .fish .ps1 .bat .sql .graphql .proto .tf .diff .patch .tex .ex .exs .erl .hs .clj .dart`)

// fileType is the content type of an upload: what its sender says, else what
// its name says.
func fileType(name, given string) string {
	media, _, err := mime.ParseMediaType(given)
	if err == nil && media != octets {
		return media
	}
	ending := strings.ToLower(filepath.Ext(name))
	if byName, _, err := mime.ParseMediaType(mime.TypeByExtension(ending)); err == nil {
		return byName
	}
	if slices.Contains(textEndings, ending) {
		return "text/plain"
	}
	return octets
}

// fileLimit is how large a file may be. Archives, office documents and the like
// are for programs that open files by themselves, and none of those is here.
func fileLimit(name, media string) (int64, error) {
	switch {
	case strings.HasPrefix(media, "image/"):
		return maxImageFile, nil
	case media == "application/pdf":
		return maxPDFFile, nil
	case strings.HasPrefix(media, "text/"), slices.Contains(textTypes, media), slices.Contains(textEndings, strings.ToLower(filepath.Ext(name))),
		strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return maxTextFile, nil
	}
	return 0, detail(http.StatusUnsupportedMediaType, "A file of the type %q can not be attached: attach images, PDF or text.", clip(media, 100))
}
