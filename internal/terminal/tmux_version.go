package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// The oldest tmux that does what we need (terminals.md T35).
const minMajor, minMinor = 3, 3

var versionText = regexp.MustCompile(`(\d+)\.(\d+)`)

// checkVersion asks a tmux for its version, and says what to do about one that
// is too old.
func checkVersion(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-V")
	cmd.WaitDelay = stopGrace
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w", path, err)
	}
	return judgeVersion(path, strings.TrimSpace(string(out)))
}

func judgeVersion(path, said string) error {
	name, version, _ := strings.Cut(said, " ")
	if name != "tmux" || version == "" {
		return refuse("%s says %q, which is no version of tmux: install tmux %d.%d or later", path, said, minMajor, minMinor)
	}
	if strings.HasPrefix(version, "openbsd-") || version == "master" {
		return nil // these follow their own numbers, and are new
	}
	numbers := versionText.FindStringSubmatch(version)
	if numbers == nil {
		return refuse("%s says %q, which is no version of tmux: install tmux %d.%d or later", path, said, minMajor, minMinor)
	}
	major, majorErr := strconv.Atoi(numbers[1])
	minor, minorErr := strconv.Atoi(numbers[2])
	if err := errors.Join(majorErr, minorErr); err != nil {
		return fmt.Errorf("reading the version %q of tmux: %w", version, err)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return refuse("tmux %s is too old for terminals: install tmux %d.%d or later", version, minMajor, minMinor)
	}
	return nil
}
