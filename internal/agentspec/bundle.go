package agentspec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"time"
)

// configName is the agent file's name at the top of a bundle and in each
// sub-agent's folder.
const configName = "config.yaml"

// Bundle packs one agent file as a bundle. Equal files give equal bytes, so a
// hash of the bundle names its content.
func Bundle(text []byte) ([]byte, error) {
	if _, err := Parse(text); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zip)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: configName, Size: int64(len(text)),
		Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
	}
	if err := errors.Join(archive.WriteHeader(header), write(archive, text), archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("packing an agent file: %w", err)
	}
	return buf.Bytes(), nil
}

func write(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

// Open reads a one-file bundle in memory and returns its agent file, which it
// has parsed. A bundle of several files, or of one that is not an agent, is an
// error that wraps wire.ErrRejected.
func Open(bundle io.Reader) ([]byte, error) {
	var text []byte
	files := 0
	err := walk(bundle, func(name string, header *tar.Header, content io.Reader) error {
		if header.Typeflag == tar.TypeDir {
			return nil
		}
		if files++; files > 1 {
			return rejected("the bundle has more than one file; here an agent is a single %s", configName)
		}
		if ext := path.Ext(name); path.Dir(name) != "." || (ext != ".yaml" && ext != ".yml") {
			return rejected("the bundle has %q; here an agent is a single %s", name, configName)
		}
		var err error
		text, err = io.ReadAll(io.LimitReader(content, maxYAML+1))
		return err
	})
	if err != nil {
		return nil, err
	}
	if files == 0 {
		return nil, rejected("the bundle has no %s", configName)
	}
	if _, err := Parse(text); err != nil {
		return nil, err
	}
	return text, nil
}
