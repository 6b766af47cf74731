package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
)

// contentDigest sums up the files of a bundle as the Omnigent server does, so
// that equal files give the same agent on every server: the sha256 of a JSON
// list, sorted by path, of [path, [kind, content]], where the kind is f for a
// file, x for one that may be run and d for a folder, and the content is a
// file's sha256. Times, owners and order do not count; of entries with the same
// path the last one does.
func contentDigest(bundle []byte) (string, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(bundle))
	if err != nil {
		return "", err
	}
	entries := make(map[string][2]string)
	for archive := tar.NewReader(unzipped); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		name := path.Clean(head.Name)
		if name == "." {
			continue
		}
		switch head.Typeflag {
		case tar.TypeReg:
			sum := sha256.New()
			if _, err := io.Copy(sum, archive); err != nil { //nolint:gosec // bounded: it was unpacked under limits before
				return "", err
			}
			kind := "f"
			if head.Mode&0o111 != 0 {
				kind = "x"
			}
			entries[name] = [2]string{kind, hex.EncodeToString(sum.Sum(nil))}
		case tar.TypeDir:
			entries[name] = [2]string{"d", ""}
		default:
			return "", fmt.Errorf("%q is neither a file nor a folder", head.Name)
		}
	}
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	var list strings.Builder
	for n, name := range names {
		if n > 0 {
			list.WriteByte(',')
		}
		list.WriteString("[" + asciiJSON(name) + `,["` + entries[name][0] + `","` + entries[name][1] + `"]]`)
	}
	sum := sha256.Sum256([]byte("[" + list.String() + "]"))
	return hex.EncodeToString(sum[:]), nil
}

// asciiJSON is a JSON string in which everything beyond ASCII is escaped.
func asciiJSON(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		short := strings.IndexRune("\"\\\n\r\t\b\f", r)
		switch {
		case short >= 0:
			out.WriteString(`\` + `"\nrtbf`[short:short+1])
		case r < ' ' || r > '~':
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, u)
			}
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
