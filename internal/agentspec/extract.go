package agentspec

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// The caps of a bundle, those of the server that bundles are made for
// (server.md 5).
const (
	maxBundleBytes   = 500 << 20 // of unpacked content
	maxBundleEntries = 10_000
)

// partialPattern names a folder that is still being filled. Nothing looks into
// such a folder, and the loader removes those that a crash left.
const partialPattern = ".partial-*"

// Extract unpacks a bundle into dir, which must not exist, and loads it. dir
// appears complete or not at all: the bundle is unpacked beside it and renamed.
// Entries that are not files or folders, that lead outside, or that go over the
// caps (500 MB, 10,000 entries) fail the whole bundle. Errors about the bundle
// wrap wire.ErrRejected; those of the disk and of the reader do not.
func Extract(bundle io.Reader, dir string) (*wire.Spec, error) {
	partial, err := unpack(bundle, filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	return settle(partial, dir)
}

// unpack fills a new partial folder in parent; on error nothing is left.
func unpack(bundle io.Reader, parent string) (dir string, err error) {
	dir, err = os.MkdirTemp(parent, partialPattern)
	if err != nil {
		return "", fmt.Errorf("making a folder for an agent: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("opening a folder for an agent: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return dir, walk(bundle, func(name string, header *tar.Header, content io.Reader) error {
		if header.Typeflag == tar.TypeDir {
			return folder(root, name)
		}
		return place(root, name, header.FileInfo().Mode(), content)
	})
}

// settle loads a partial folder and gives it its name.
func settle(partial, dir string) (*wire.Spec, error) {
	_, err := Load(partial)
	if err == nil {
		err = os.Rename(partial, dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(partial))
	}
	return Load(dir)
}

// folder makes a folder and those above it. A file in the way is the bundle's
// fault, anything else the disk's.
func folder(root *os.Root, name string) error {
	err := root.MkdirAll(name, 0o700)
	if err == nil {
		return nil
	}
	for at := name; at != "."; at = path.Dir(at) {
		if info, statErr := root.Lstat(at); statErr == nil && !info.IsDir() {
			return rejected("the bundle has %q as a file and as a folder", at)
		}
	}
	return fmt.Errorf("unpacking %s: %w", name, err)
}

func place(root *os.Root, name string, mode fs.FileMode, content io.Reader) (err error) {
	if err := folder(root, path.Dir(name)); err != nil {
		return err
	}
	perm := fs.FileMode(0o600)
	if mode&0o100 != 0 {
		perm = 0o700
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) {
		return rejected("the bundle has %q twice", name)
	}
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	return nil
}

type visitor func(name string, header *tar.Header, content io.Reader) error

// walk calls visit for each file and folder of a bundle, with a clean local
// name, and reads the bundle to its end, so that its checksum was right.
func walk(bundle io.Reader, visit visitor) error {
	return walkCapped(bundle, maxBundleBytes, visit)
}

func walkCapped(bundle io.Reader, limit int64, visit visitor) error {
	source := &source{r: bundle}
	zip, err := gzip.NewReader(source)
	if err != nil {
		return source.blame(err)
	}
	capped := &capped{r: zip, limit: limit, left: limit}
	archive := tar.NewReader(capped)
	for entries := 0; ; entries++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return source.blame(err)
		}
		if entries == maxBundleEntries {
			return rejected("the bundle has more than %d entries", maxBundleEntries)
		}
		name, err := localName(header)
		if err != nil {
			return err
		}
		switch {
		case header.Typeflag == tar.TypeXGlobalHeader:
			continue
		case header.Typeflag == tar.TypeDir && name == ".":
			continue
		}
		content := &blamed{r: archive, source: source}
		if err := visit(name, header, content); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, capped); err != nil {
		return source.blame(err)
	}
	return nil
}

// localName refuses everything that is not a plain file or folder beneath the
// bundle's top.
func localName(header *tar.Header) (string, error) {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader:
	default:
		return "", rejected("the bundle has %q, which is a link or a special file; only files and folders are allowed", header.Name)
	}
	name := path.Clean(header.Name)
	if strings.ContainsAny(header.Name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", rejected("the bundle has %q, which leads outside of it", header.Name)
	}
	return name, nil
}

// source remembers whether an error came from the connection rather than from
// what the bundle says: only the second is the author's fault.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *source) blame(err error) error {
	switch {
	case s.err != nil:
		return fmt.Errorf("reading a bundle: %w", s.err)
	case errors.Is(err, wire.ErrRejected):
		return err
	}
	return rejected("the bundle is not a gzip tar: %w", err)
}

// blamed puts source's verdict on errors that surface while content is copied.
type blamed struct {
	r      io.Reader
	source *source
}

func (b *blamed) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.source.blame(err)
	}
	return n, err
}

// capped ends a bundle that unpacks to more than it may.
type capped struct {
	r           io.Reader
	limit, left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, rejected("the bundle unpacks to more than %d bytes", c.limit)
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
