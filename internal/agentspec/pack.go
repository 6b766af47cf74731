package agentspec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// gitFolder holds the history of an agent's folder, which is no part of it.
const gitFolder = ".git"

// Pack packs an agent's folder as a bundle, with all its files but those of a
// .git folder. Equal files give equal bytes. A folder with a link, a special
// file, more than 10,000 entries or more than maxBytes of content cannot be
// packed: errors that wrap wire.ErrRejected.
func Pack(dir string, maxBytes int64) ([]byte, error) {
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zip)
	err := eachFile(dir, maxBytes, func(f packed) error {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.content)), Mode: 0o644,
			ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if f.executable {
			header.Mode = 0o755
		}
		return errors.Join(archive.WriteHeader(header), write(archive, f.content))
	})
	if err = errors.Join(err, archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("packing an agent's folder: %w", err)
	}
	return buf.Bytes(), nil
}

// Digest names the content of an agent's folder: the same files have the same
// digest, wherever they came from. Its limits are those of Pack.
func Digest(dir string, maxBytes int64) (string, error) {
	sum := sha256.New()
	err := eachFile(dir, maxBytes, func(f packed) error {
		head := binary.AppendUvarint(nil, uint64(len(f.name)))
		head = append(head, f.name...)
		if f.executable {
			head = append(head, 1)
		} else {
			head = append(head, 0)
		}
		head = binary.AppendUvarint(head, uint64(len(f.content)))
		return errors.Join(write(sum, head), write(sum, f.content))
	})
	if err != nil {
		return "", fmt.Errorf("reading an agent's folder: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// packed is one file of a folder.
type packed struct {
	name       string
	executable bool
	content    []byte
}

// eachFile visits the files of a folder in the order of their names.
func eachFile(dir string, maxBytes int64, visit func(packed) error) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	entries, left := 0, maxBytes
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == gitFolder:
			return fs.SkipDir
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return rejected("%q is a link or a special file; an agent's folder has only files and folders", name)
		}
		if entries++; entries > maxBundleEntries {
			return rejected("the folder has more than %d files", maxBundleEntries)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content, err := readUpTo(root, name, left)
		if err != nil {
			return err
		}
		if left -= int64(len(content)); left < 0 {
			return rejected("the folder has more than %d bytes", maxBytes)
		}
		return visit(packed{name: name, executable: info.Mode()&0o100 != 0, content: content})
	})
}

// readUpTo reads a file, and one byte more than limit of a larger one.
func readUpTo(root *os.Root, name string, limit int64) (content []byte, err error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
