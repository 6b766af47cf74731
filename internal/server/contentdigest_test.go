package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tarred is a bundle of these entries, in their order.
func tarred(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		text := e.Linkname // of a file: its content
		if e.Typeflag == tar.TypeReg {
			e.Linkname, e.Size = "", int64(len(text))
		}
		require.NoError(t, archive.WriteHeader(&e))
		if e.Typeflag == tar.TypeReg {
			_, err := archive.Write([]byte(text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

// shellyConfig and shellyAgent are a bundle's only file and the id that the
// published server 0.19.1 gave its agent.
const (
	shellyConfig = "spec_version: 1\nname: shelly\nprompt: Each message is run as a command.\nexecutor:\n  type: omnigent\n  config:\n    harness: \"acp:shell\"\n"
	shellyAgent  = "e80a27d172be735de405571ca631b446"
)

func TestTheSameFilesAreTheSameAgentEverywhere(t *testing.T) {
	s := newSite(t)
	config := tar.Header{Typeflag: tar.TypeReg, Name: "config.yaml", Mode: 0o644, Linkname: shellyConfig}
	later := config
	later.ModTime, later.Uname, later.Name = time.Unix(1e9, 0), "me", "./config.yaml"
	for _, bundle := range [][]byte{tarred(t, config), tarred(t, later)} {
		code, out := s.upload(`{}`, bundle)
		require.Equal(t, 201, code, out)
		require.Equal(t, shellyAgent, out["agent_id"])
	}
	agent := s.ok(200, "GET", "/v1/agents/"+shellyAgent, nil)
	require.Equal(t, false, agent["builtin"])
	require.Equal(t, true, agent["mcp_servers_editable"])
	require.Nil(t, agent["updated_at"])
}

// The sums are those of the published server's own rule.
func TestContentDigest(t *testing.T) {
	file := func(name, text string, mode int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Linkname: text}
	}
	folder := tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o755}
	for want, entries := range map[string][]tar.Header{
		"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945": {},
		"a9552d2cee5d0ac40b93779c833a24ea5304d256f1e9d91991d769c723c4d120": {file("a", "1", 0o644), file("b", "2", 0o755), folder},
		"aba33164118d720dc949737563fc7e1e59ac9df7055516bee58d0533e1a0eab8": {file("nö\"\\\t😀\x7f", "", 0o644)},
	} {
		got, err := contentDigest(tarred(t, entries...))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	same, err := contentDigest(tarred(t, folder, file("b", "old", 0o600), file("./b", "2", 0o700), file("a", "1", 0o600)))
	require.NoError(t, err)
	require.Equal(t, "a9552d2cee5d0ac40b93779c833a24ea5304d256f1e9d91991d769c723c4d120", same)
	_, err = contentDigest(tarred(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}))
	require.Error(t, err)
	_, err = contentDigest([]byte("no archive"))
	require.Error(t, err)
}
