package terminal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// The files of one terminal. The lock is held by the runner that serves it, and
// the operating system gives it back however that runner ends (T22).
const (
	socketFile = "tmux.sock"
	recordFile = "terminal.json"
	lockFile   = "lock"
	screenFile = "screen" // the last picture, of a runner that was stopped in good order
)

// errHeld says that another runner serves the terminal.
var errHeld = errors.New("held by another runner")

// A folder is one terminal's place on disk.
type folder struct {
	path string
	lock *os.File
}

// record is what the next runner must know of a terminal. What its program was
// given in its environment is not in it: nobody needs it again.
type record struct {
	Generation string            `json:"generation"`
	Session    string            `json:"session"`
	Created    time.Time         `json:"created"`
	Spec       wire.TerminalSpec `json:"spec"`
	Owner      claim             `json:"owner"`
}

// claim says where a terminal lives: a process number means nothing in another
// container, and no socket outlives a boot.
type claim struct {
	PID       int    `json:"pid"`
	Namespace string `json:"pid_namespace,omitempty"`
	Boot      string `json:"boot,omitempty"`
}

func ownClaim() claim {
	namespace, _ := os.Readlink("/proc/self/ns/pid")          // only Linux has it
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // only Linux has it
	return claim{PID: os.Getpid(), Namespace: namespace, Boot: string(trimLine(boot))}
}

func trimLine(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// newGeneration makes a name that no other terminal has.
func newGeneration() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// makeFolder makes a terminal's folder and holds it.
func makeFolder(root, generation string) (*folder, error) {
	path := filepath.Join(root, generation)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for a terminal: %w", err)
	}
	f, err := holdFolder(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return f, nil
}

func holdFolder(path string) (*folder, error) {
	file, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of a terminal: %w", err)
	}
	if err := tryLock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &folder{path: path, lock: file}, nil
}

func (f *folder) socket() string { return filepath.Join(f.path, socketFile) }

// write puts a file in the folder, whole or not at all.
func (f *folder) write(name string, data []byte) error {
	path := filepath.Join(f.path, name)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("writing %s of a terminal: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing %s of a terminal: %w", name, err)
	}
	return nil
}

func (f *folder) save(r record) error {
	r.Spec.Env = nil
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding a terminal: %w", err)
	}
	return f.write(recordFile, data)
}

func (f *folder) load() (record, error) {
	var r record
	data, err := os.ReadFile(filepath.Join(f.path, recordFile))
	if err != nil {
		return r, fmt.Errorf("reading a terminal: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("decoding %s: %w", filepath.Join(f.path, recordFile), err)
	}
	return r, nil
}

// release lets another runner have the folder.
func (f *folder) release() { _ = f.lock.Close() } // nothing was written to it

// remove ends the folder. It takes nothing along that is not a terminal's.
func (f *folder) remove() error {
	defer f.release()
	for _, name := range []string{socketFile, recordFile, screenFile, lockFile} {
		for _, path := range []string{filepath.Join(f.path, name), filepath.Join(f.path, name+".new")} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing a terminal's folder: %w", err)
			}
		}
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a terminal's folder: %w", err)
	}
	return nil
}

// isGeneration tells a folder of ours from whatever else lies beside it.
func isGeneration(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 8
}

// short is a name for a path that is too long.
func short(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:4])
}

// maxSocket is what the path of a socket may have, on all systems.
const maxSocket = 100

// rootFolder makes the folder of all terminals, a short one if the one that is
// asked for is too long for a socket's path. The same question has the same answer
// in the next runner.
func rootFolder(want string) (string, error) {
	want, err := filepath.Abs(want)
	if err != nil {
		return "", fmt.Errorf("finding the folder of terminals: %w", err)
	}
	room := 1 + len(newGeneration()) + 1 + len(socketFile)
	root := want
	if len(root)+room > maxSocket {
		root = filepath.Join(os.TempDir(), "outrunner-"+strconv.Itoa(os.Getuid())+"-"+short(want))
		if len(root)+room > maxSocket {
			return "", fmt.Errorf("the path %s is too long for the sockets of terminals: set TMPDIR to a shorter folder", root)
		}
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", fmt.Errorf("making the folder of terminals: %w", err)
	}
	info, err := os.Lstat(root)
	if err != nil {
		return "", fmt.Errorf("looking at the folder of terminals: %w", err)
	}
	if !info.IsDir() || !ownedByUs(info) {
		return "", fmt.Errorf("the folder of terminals %s is somebody else's: remove it, or choose another state directory", root)
	}
	if err := os.Chmod(root, 0o700); err != nil {
		return "", fmt.Errorf("closing the folder of terminals to others: %w", err)
	}
	return root, nil
}
