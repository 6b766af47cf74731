package exec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestMessage(t *testing.T) {
	tests := map[string]struct {
		contents []string
		text     string
		says     string
	}{
		"a string":         {[]string{`"ls -l"`}, "ls -l", ""},
		"blocks":           {[]string{`[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:"},{"type":"text","text":"b"}]`}, "a\nb", ""},
		"kept as it is":    {[]string{`"  a \n"`}, "  a \n", ""},
		"several messages": {[]string{`"a"`, `[{"type":"input_text","text":"b"}]`}, "a\nb", ""},
		"an image":         {[]string{`[{"type":"input_image","image_url":"data:"}]`}, "", "no text"},
		"nothing":          {nil, "", "no text"},
		"no content":       {[]string{""}, "", "no text"},
		"empty blocks":     {[]string{`[]`}, "", "no text"},
		"null":             {[]string{`null`}, "", "no text"},
		"only space":       {[]string{`" \n\t"`}, "", "no text"},
		"NUL":              {[]string{`"a\u0000b"`}, "", "NUL"},
		"not a content":    {[]string{`{"a":1}`}, "", "cannot be read"},
		"a number":         {[]string{`7`}, "", "cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var inputs []wire.Input
			for _, c := range tt.contents {
				inputs = append(inputs, wire.Input{ItemID: "i", Content: json.RawMessage(c)})
			}
			text, err := message(inputs)
			require.Equal(t, tt.text, text)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
			end := noMessage(turn.Config{Command: []string{"bash"}}, err)
			require.Equal(t, turn.CodeInvalidInput, end.Error.Code)
			require.Contains(t, end.Error.Message, "bash")
		})
	}
}

func TestCommandLine(t *testing.T) {
	argv, stdin := commandLine([]string{"p", "-c", "{message}", "x{message}y"}, "{message}")
	require.Equal(t, []string{"p", "-c", "{message}", "x{message}y"}, argv, "replaced once, not again")
	require.Nil(t, stdin)
	argv, stdin = commandLine([]string{"p"}, "text")
	require.Equal(t, []string{"p"}, argv)
	require.Equal(t, []byte("text"), stdin)
}
